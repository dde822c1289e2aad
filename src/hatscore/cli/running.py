"""From the words of a command to a sampled run directory."""

from __future__ import annotations

import json
import os
import re
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hatscore.benchmarks import get_benchmark
from hatscore.benchmarks.base import Bindable
from hatscore.benchmarks.chosen import load_chosen
from hatscore.cli.known import as_known, spec_of
from hatscore.cli.planned import DEFAULT_PLAN, choose_plan, sample_planned, stored_plans
from hatscore.cli.progress import show_progress
from hatscore.errors import InputError, UnknownNameError
from hatscore.sampling import (
    BenchmarkPlan,
    Budget,
    Run,
    RunConfig,
    SamplingParams,
    SamplingPlan,
    make_client,
    make_tasks,
    run_sampling,
    warn_before,
)
from hatscore.sampling.clients.providers import PROVIDERS
from hatscore.sampling.pace import Paced

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from hatscore.benchmarks.base import Benchmark, Item, Mode, PromptLanguage
    from hatscore.cli.progress import ProgressMode
    from hatscore.sampling import Summary, Task
    from hatscore.sampling.cluster import Cluster
    from hatscore.sampling.start import NamedClient

    _Loaded = tuple[Benchmark, BenchmarkPlan, list[Item]]

__all__ = [
    "Request",
    "default_directory",
    "load_tasks",
    "parse_pairs",
    "reasoning_fields",
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
class Request:
    """What the user asked to sample, of one model.

    Attributes
    ----------
    languages
        None for all of a benchmark; the source language comes along by itself.
    options
        Options of the benchmarks; each must be known to one of them.
    plan
        How replies are spread over cells; None takes that of a run that is there already, else
        the default where it is possible.
    """

    model: str
    benchmarks: tuple[str, ...]
    languages: Sequence[str] | None
    source_language: str | None = None
    items: int | None = None
    repeats: int = 10
    plan: SamplingPlan | None = field(default_factory=SamplingPlan)
    seed: int = 0
    mode: Mode | None = None
    prompt_language: PromptLanguage = "native"
    params: SamplingParams = field(default_factory=SamplingParams)
    options: Mapping[str, str] = field(default_factory=dict)
    base_url: str | None = None
    concurrency: int | None = None
    model_files: tuple[str, ...] = ()
    timeout_s: float = 600.0
    tries: int = 8
    budget: Budget = field(default_factory=Budget)
    mixed_models: bool = False
    progress: ProgressMode = "auto"
    batch: bool = False


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
    from hatscore.sampling.cluster_shard import fetch_run, publish_run

    url = cluster.shelf_url
    jobs = []
    with ExitStack() as stack:
        for request, directory in zip(requests, directories, strict=True):
            if request.plan is not None and request.plan.kind != "paper":
                raise InputError(
                    f"plan {request.plan} goes by what the source solves, stage by stage, and "
                    "workers of a cluster take everything at once: use --plan paper with --ray"
                )
            if request.plan is None and DEFAULT_PLAN.kind != "paper":
                click.echo("Note: on a cluster runs are sampled by the full plan", err=True)
            prepared = _prepare(replace(request, plan=SamplingPlan()))
            if url is not None:
                fetch_run(url, directory)
            run = stack.enter_context(Run.create_or_resume(directory, prepared.config))
            local = prepared.client.kind == "local"
            make = _maker(request, threads=max(1, int(cluster.cpus_per_worker)) if local else None)
            level = prepared.concurrency
            if request.concurrency is None and _runs_in_workers(request):
                level *= cluster.workers or MOST_ENGINES  # each has an engine of its own
            jobs.append(
                Job(
                    run,
                    prepared.tasks,
                    make,
                    concurrency=level,
                    mixed_models=request.mixed_models,
                    budget=request.budget,
                )
            )
        label = ", ".join(request.model for request in requests)
        with show_progress(label, quiet=quiet, mode=requests[0].progress) as progress:
            summaries = sample_on_ray(jobs, cluster, progress=progress)
    for summary, directory in zip(summaries, directories, strict=True):
        _tell(summary, directory, quiet=quiet)
        if url is not None:
            where = publish_run(directory, url)
            if not quiet:
                click.echo(f"{directory}: also at {where}", err=True)
    return summaries


def sample_into(request: Request, directory: Path, *, quiet: bool = False) -> Summary:
    """Sample what `directory` lacks of `request`, with progress on stderr.

    Raises
    ------
    InputError, ModelError, RunError
        Before anything is sampled where the request cannot work, and as `run_sampling`.
    """
    prepared = _prepare(request, stored_plans(directory))
    clients = chain([prepared.client], iter(_maker(request), None))  # each start closes its own
    with (
        Run.create_or_resume(directory, prepared.config) as run,
        show_progress(request.model, quiet=quiet, mode=request.progress) as progress,
    ):
        start = partial(
            run_sampling,
            run,
            concurrency=prepared.concurrency,
            progress=progress,
            budget=request.budget,
            mixed_models=request.mixed_models,
            on_stop=_say_stopping,
        )
        summary = sample_planned(
            run, prepared.tasks, lambda tasks: start(tasks=tasks, client=next(clients))
        )
    _tell(summary, directory, quiet=quiet)
    return summary


def _prepare(request: Request, stored: Mapping[str, SamplingPlan] | None = None) -> _Prepared:
    """Return what `request` means, with warnings about it on stderr."""
    request = as_known(request)
    loaded = _load_all(request, stored or {})
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


def reasoning_fields(model: str, effort: str | None, tokens: int | None) -> dict[str, Any]:
    """Return the reasoning settings as fields of the request.

    Raises
    ------
    InputError
        A budget for a model that is not reached through a provider: servers have no common
        field for it.
    """
    if tokens is not None and model.partition("/")[0] not in PROVIDERS:
        raise InputError(
            f"--reasoning-tokens is for providers like anthropic/NAME; for {model!r} use "
            "--extra with the field that its server knows"
        )
    given = {"reasoning_effort": effort, "reasoning_tokens": tokens}
    return {name: value for name, value in given.items() if value is not None}


def default_directory(model: str, benchmarks: Sequence[str], options: Mapping[str, str]) -> Path:
    """Return ``runs/`` and a name made of the model, the benchmarks and their options."""
    named = {k: Path(v).name if k == "data" else v for k, v in sorted(options.items())}
    parts = [model, *benchmarks, *(f"{k}-{v}" for k, v in named.items())]
    slug = "_".join(re.sub(r"[^A-Za-z0-9.-]+", "-", part).strip("-.") for part in parts)
    return Path("runs") / slug


def parse_pairs(pairs: Sequence[str], *, what: str, as_json: bool = False) -> dict[str, Any]:
    """Return ``NAME=VALUE`` texts as a mapping.

    Raises
    ------
    InputError
        A text without ``=``, or a value that is no JSON where JSON is asked for.
    """
    found: dict[str, Any] = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or not name:
            raise InputError(f"{what} {pair!r}: expected NAME=VALUE")
        if as_json:
            try:
                found[name] = json.loads(value)
            except ValueError as error:
                raise InputError(
                    f'{what} {pair!r}: the value must be JSON (text in "quotes"): {error}'
                ) from error
        else:
            found[name] = value
    return found


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
        request.plan or stored.get(benchmark.name),
        items,
        benchmark=benchmark.name,
        repeats=request.repeats,
        default=DEFAULT_PLAN,
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
