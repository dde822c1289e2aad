"""From the words of a command to a sampled run directory."""

from __future__ import annotations

import os
from contextlib import ExitStack, nullcontext
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING

import click

from hatscore.benchmarks import get_benchmark
from hatscore.benchmarks.base import Bindable
from hatscore.benchmarks.chosen import load_chosen
from hatscore.cli.known import as_known, spec_of
from hatscore.cli.progress import show_progress
from hatscore.errors import InputError, UnknownNameError
from hatscore.planning import choose_plan, sample_planned, staged, stored_plans
from hatscore.sampling import (
    BenchmarkPlan,
    Run,
    RunConfig,
    SamplingPlan,
    make_client,
    make_tasks,
    run_sampling,
    warn_before,
)
from hatscore.sampling.pace import Paced

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from hatscore.benchmarks.base import Benchmark, Item, Mode
    from hatscore.cli.request import Request
    from hatscore.sampling import Summary, Task
    from hatscore.sampling.cluster import Cluster
    from hatscore.sampling.start import NamedClient

    _Loaded = tuple[Benchmark, BenchmarkPlan, list[Item]]

__all__ = [
    "judge_all",
    "load_tasks",
    "sample_all",
    "sample_into",
]

LOCAL_CONCURRENCY = 1  # one request of n replies fills the slots of a local server
SERVER_CONCURRENCY = 16
PACED_CONCURRENCY = 64  # at most: the engine finds what the server can do
ENGINES = ("hf", "sglang", "vllm")  # providers that start a model where no server is named
MOST_ENGINES = 64  # where the number of workers is left to the cluster
BATCH_CONCURRENCY = 10_000  # in a batch all are under way at once


@dataclass(frozen=True, slots=True)
class _Prepared:
    """A request with everything that is needed to sample it."""

    request: Request
    client: NamedClient
    config: RunConfig
    tasks: list[Task]

    @property
    def concurrency(self) -> int:
        if self.request.concurrency is not None:
            return self.request.concurrency
        if self.request.batch:
            return BATCH_CONCURRENCY
        if isinstance(self.client, Paced):
            return PACED_CONCURRENCY
        return LOCAL_CONCURRENCY if self.client.kind == "local" else SERVER_CONCURRENCY


def sample_all(
    requests: Sequence[Request],
    directories: Sequence[Path],
    *,
    cluster: Cluster | None = None,
    quiet: bool = False,
) -> list[Summary]:
    """Sample what each directory lacks of its request, on this machine or on a cluster.

    Raises
    ------
    InputError, ModelError, RunError
        As of :func:`sample_into` and :func:`hatscore.sampling.cluster.sample_on_ray`.
    """
    if cluster is None:
        pairs = zip(requests, directories, strict=True)
        return [sample_into(request, directory, quiet=quiet) for request, directory in pairs]
    return _sample_on_cluster(requests, directories, cluster, quiet=quiet)


def _sample_on_cluster(
    requests: Sequence[Request], directories: Sequence[Path], cluster: Cluster, *, quiet: bool
) -> list[Summary]:
    from hatscore.sampling.cluster import Job, sample_on_ray
    from hatscore.sampling.cluster_shard import fetch_run

    url = cluster.shelf_url
    jobs = []
    with ExitStack() as stack:
        for request, directory in zip(requests, directories, strict=True):
            if url is not None:
                fetch_run(url, directory)
            prepared = _prepare(request, stored_plans(directory))
            run = stack.enter_context(Run.create_or_resume(directory, prepared.config))
            local = prepared.client.kind == "local"
            make = _maker(request, threads=max(1, int(cluster.cpus_per_worker)) if local else None)
            level = prepared.concurrency
            if request.concurrency is None and _runs_in_workers(request):
                level *= cluster.workers or MOST_ENGINES  # each has an engine of its own
            # without a bar of its own: the cluster's stands there
            judge = _judge(prepared, directory, quiet=True)
            tasks, then = staged(run, prepared.tasks, judge=judge)
            jobs.append(
                Job(
                    run,
                    tasks,
                    make,
                    concurrency=level,
                    mixed_models=request.mixed_models,
                    budget=request.budget,
                    then=then,
                )
            )
        label = ", ".join(request.model for request in requests)
        with show_progress(label, quiet=quiet, mode=requests[0].progress) as progress:
            summaries = sample_on_ray(jobs, cluster, progress=progress)
    for summary, directory in zip(summaries, directories, strict=True):
        _tell(summary, directory, quiet=quiet)
    return summaries


def judge_all(
    requests: Sequence[Request],
    directories: Sequence[Path],
    *,
    cluster: Cluster | None = None,
    quiet: bool = False,
) -> bool:
    """Have what was sampled judged, where judges are named, and the runs put where they go.

    Returns whether every reply has been heard.

    Raises
    ------
    InputError, ModelError, RunError
        As of :func:`hatscore.judging.run_judging` and
        :func:`hatscore.sampling.cluster_shard.publish_run`.
    """
    complete = True
    try:
        for request, directory in zip(requests, directories, strict=True):
            if request.judges:
                complete &= _ask_judges(request, directory, quiet=quiet)
    finally:
        if cluster is not None and cluster.shelf_url is not None:
            _publish(directories, cluster.shelf_url, quiet=quiet)
    return complete


def _publish(directories: Sequence[Path], url: str, *, quiet: bool) -> None:
    from hatscore.sampling.cluster_shard import publish_run

    for directory in directories:
        where = publish_run(directory, url)
        if not quiet:
            click.echo(f"{directory}: also at {where}", err=True)


def _ask_judges(request: Request, directory: Path, *, quiet: bool) -> bool:
    from hatscore.cli.judge import judge_into

    return judge_into(
        directory,
        request.judges,
        base_url=request.judge_url or request.base_url,
        quiet=quiet,
        mode=request.progress,
        timeout_s=request.timeout_s,
        tries=request.tries,
    )


def _judge(prepared: _Prepared, directory: Path, *, quiet: bool) -> Callable[[], bool] | None:
    """Return what has the replies judged between stages; None where no plan goes by judges."""
    request = prepared.request
    planned = {b.name for b in prepared.config.benchmarks if b.plan.kind != "paper"}
    needed = any(t.benchmark in planned and t.item.gold.kind == "judge" for t in prepared.tasks)
    if not needed or not request.judges:
        return None
    return partial(_ask_judges, request, directory, quiet=quiet)


def sample_into(request: Request, directory: Path, *, quiet: bool = False) -> Summary:
    """Sample what `directory` lacks of `request`, with progress on stderr.

    Raises
    ------
    InputError, ModelError, RunError
        Before anything is sampled where the request cannot work, and as `run_sampling`.
    """
    prepared = _prepare(request, stored_plans(directory))
    clients = chain([prepared.client], iter(_maker(request), None))  # each start closes its own
    judge = _judge(prepared, directory, quiet=quiet)
    show = partial(show_progress, request.model, quiet=quiet, mode=request.progress)
    with Run.create_or_resume(directory, prepared.config) as run, ExitStack() as shown:
        # judges show a bar of their own between the stages
        whole = None if judge else shown.enter_context(show())

        def start(tasks: Sequence[Task]) -> Summary:
            with show() if judge else nullcontext(whole) as progress:
                return run_sampling(
                    run,
                    tasks,
                    next(clients),
                    concurrency=prepared.concurrency,
                    progress=progress,
                    budget=request.budget,
                    mixed_models=request.mixed_models,
                    on_stop=_say_stopping,
                )

        summary = sample_planned(run, prepared.tasks, start, judge=judge)
    _tell(summary, directory, quiet=quiet)
    return summary


def _prepare(request: Request, stored: Mapping[str, SamplingPlan] | None = None) -> _Prepared:
    """Return what `request` means, with warnings about it on stderr."""
    request = as_known(request)
    loaded = _load_all(request, stored or {})
    if request.judges:
        _check_judges(request, loaded)
    client = _maker(request)()
    config = RunConfig(
        model=request.model,
        client=client.kind,
        served_model=client.name,
        mode=client.mode,
        prompt_language=request.prompt_language,
        params=request.params,
        benchmarks=tuple(plan for _, plan, _ in loaded),
        base_url=client.base_url,
    )
    for warning in warn_before(request.params, request.repeats):
        click.echo(f"Warning: {warning}", err=True)
    tasks = [task for part in loaded for task in _tasks(part, request, client.mode)]
    return _Prepared(request, client, config, tasks)


def _check_judges(request: Request, loaded: Sequence[_Loaded]) -> None:
    """Refuse, before anything is paid for, judges that cannot be asked or have nothing to do."""
    from hatscore.judging import make_judges

    if all(item.gold.kind != "judge" for _, _, items in loaded for item in items):
        names = ", ".join(request.benchmarks)
        raise InputError(f"--judge: no item of {names} is graded by a judge; leave it out")
    make_judges(request.judges, base_url=request.judge_url or request.base_url)


def load_tasks(request: Request, mode: Mode) -> list[tuple[BenchmarkPlan, list[Task]]]:
    """Return everything that the full plan of `request` asks, by benchmark; asks nothing.

    Raises
    ------
    InputError
        As of :func:`sample_into`.
    """
    return [(part[1], _tasks(part, request, mode)) for part in _load_all(request, {})]


def _load_all(request: Request, stored: Mapping[str, SamplingPlan]) -> list[_Loaded]:
    benchmarks = [get_benchmark(name) for name in request.benchmarks]
    _check_options(benchmarks, request.options)
    return [(benchmark, *_load(benchmark, request, stored)) for benchmark in benchmarks]


def _tasks(loaded: _Loaded, request: Request, mode: Mode) -> list[Task]:
    benchmark, plan, items = loaded
    # one language after the other: servers keep what equal prompts begin with
    ordered = sorted(items, key=lambda i: (i.language != i.source_language, i.language))
    return make_tasks(
        benchmark,
        ordered,
        mode=mode,
        prompt_language=request.prompt_language,
        repeats=plan.repeats,
    )


def _maker(request: Request, *, threads: int | None = None) -> Callable[[], NamedClient]:
    """Return what makes the client of `request`, here or on another machine."""
    return partial(
        make_client,
        spec_of(request),
        base_url=request.base_url,
        mode=request.mode,
        timeout_s=request.timeout_s,
        tries=request.tries,
        threads=threads,
        batch=request.batch,
    )


def _runs_in_workers(request: Request) -> bool:
    """Whether each worker loads the model, where others share a server."""
    kind = spec_of(request).partition("/")[0]
    served = request.base_url or os.environ.get(f"{kind.upper()}_BASE_URL")
    return kind == "local" or (kind in ENGINES and not served)


def _tell(summary: Summary, directory: Path, *, quiet: bool) -> None:
    if not quiet:
        _say(summary, directory)
    for warning in summary.warnings:
        click.echo(f"Warning: {warning}", err=True)


def _check_options(benchmarks: Sequence[Benchmark], options: Mapping[str, str]) -> None:
    known = {name for benchmark in benchmarks for name in benchmark.options}
    for name in options:
        if name not in known:
            names = ", ".join(b.name for b in benchmarks)
            raise UnknownNameError(f"option of {names}", name, known or {"(it has none)"})


def _load(
    benchmark: Benchmark, request: Request, stored: Mapping[str, SamplingPlan]
) -> tuple[BenchmarkPlan, list[Item]]:
    options = {k: v for k, v in request.options.items() if k in benchmark.options}
    if isinstance(benchmark, Bindable):
        benchmark = benchmark.bind(options)
    everything, items = load_chosen(
        benchmark,
        languages=request.languages,
        source_language=request.source_language,
        items=request.items,
        seed=request.seed,
        options=options,
    )
    spread, note = choose_plan(
        request.plan,
        items,
        benchmark=benchmark.name,
        repeats=request.repeats,
        stored=stored.get(benchmark.name),
        judged=bool(request.judges),
    )
    if note:
        click.echo(f"Note: {note}", err=True)
    plan = BenchmarkPlan(
        name=benchmark.name,
        version=benchmark.version,
        languages=everything,
        source_language=everything[0],
        repeats=request.repeats,
        items=request.items,
        seed=request.seed,
        options=options,
        plan=spread,
    )
    return plan, items


def _say_stopping() -> None:
    click.echo("Stopping: waiting for what is under way (Ctrl-C again drops it).", err=True)


def _say(summary: Summary, directory: Path) -> None:
    if summary.new == 0 and summary.complete:
        click.echo(f"{directory}: all {summary.total} replies are there already", err=True)
        return
    tokens = f", {summary.output_tokens:,} tokens generated" if summary.output_tokens else ""
    if summary.cost is not None:
        tokens += f", {summary.cost:.4g} USD for the whole run"
    click.echo(
        f"{directory}: {summary.new:,} new replies in {summary.wall_s:.0f} s "
        f"({summary.already:,} were there){tokens}",
        err=True,
    )
    if not summary.complete:
        missing = summary.total - summary.already - summary.new
        last = f"; the last failure: {summary.last_error}" if summary.last_error else ""
        if summary.stopped:
            last = f": {summary.stopped}; raise it to go on"
        click.echo(
            f"Incomplete: {missing:,} of {summary.total:,} replies are missing{last}. "
            "The same command asks for them again.",
            err=True,
        )
