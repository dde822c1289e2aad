"""From the words of a command to a sampled run directory."""

from __future__ import annotations

from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from hatscore.cli.prepared import maker, prepare, runs_in_workers
from hatscore.cli.progress import OverStages, show_progress
from hatscore.errors import InputError, ModelError
from hatscore.planning import sample_planned, staged, stored_config, stored_plans, together
from hatscore.sampling import Run, run_sampling, run_stages
from hatscore.sampling.config import differences

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from hatscore.cli.prepared import Prepared
    from hatscore.cli.request import Request
    from hatscore.planning import Stage
    from hatscore.sampling import Progress, Summary, Task
    from hatscore.sampling.cluster import Cluster

__all__ = ["judge_all", "sample_all", "sample_into", "sample_prepared", "tell"]

MOST_ENGINES = 64  # where the number of workers is left to the cluster


def sample_all(
    requests: Sequence[Request],
    directories: Sequence[Path],
    *,
    cluster: Cluster | None = None,
    quiet: bool = False,
) -> list[Summary | None]:
    """Sample what each directory lacks of its request, on this machine or on a cluster.

    Returns
    -------
    list of Summary or None
        None for a model that failed, which is said on stderr: the others go on without it. On a
        cluster a failure ends all.

    Raises
    ------
    InputError, RunError
        Before anything is sampled, where any of the requests cannot work.
    ModelError
        As of :func:`hatscore.sampling.cluster.sample_on_ray`.
    """
    if cluster is not None:
        return list(_sample_on_cluster(requests, directories, cluster, quiet=quiet))
    summaries: list[Summary | None] = []
    with ExitStack() as stack:
        opened = []
        for request, directory in zip(requests, directories, strict=True):
            prepared = prepare(request, stored_plans(directory))
            _look_at_judges(prepared, directory)
            run = stack.enter_context(Run.create_or_resume(directory, prepared.config))
            opened.append((run, prepared, directory))
        for run, prepared, directory in opened:
            try:
                summary = _sample_run(run, prepared, directory, quiet=quiet)
            except ModelError as error:
                click.echo(f"Error: {error}", err=True)
                summaries.append(None)
            else:
                tell(summary, directory, quiet=quiet)
                summaries.append(summary)
    return summaries


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
            prepared = prepare(request, stored_plans(directory))
            _look_at_judges(prepared, directory)
            run = stack.enter_context(Run.create_or_resume(directory, prepared.config))
            local = prepared.client.kind == "local"
            make = maker(request, threads=max(1, int(cluster.cpus_per_worker)) if local else None)
            level = prepared.concurrency
            if request.concurrency is None and runs_in_workers(request):
                level *= cluster.workers or MOST_ENGINES  # each has an engine of its own
            # without a bar of its own: the cluster's stands there
            judge = _judge(prepared, directory, quiet=True)
            stage, then = staged(run, prepared.tasks, judge=judge, panel=request.judges)
            jobs.append(
                Job(
                    run,
                    stage.tasks,
                    make,
                    concurrency=level,
                    mixed_models=request.mixed_models,
                    budget=request.budget,
                    then=_tasks_of(then),
                )
            )
        label = ", ".join(request.model for request in requests)
        with show_progress(label, quiet=quiet, mode=requests[0].progress) as progress:
            summaries = sample_on_ray(jobs, cluster, progress=progress)
    for summary, directory in zip(summaries, directories, strict=True):
        tell(summary, directory, quiet=quiet)
    return summaries


def _look_at_judges(prepared: Prepared, directory: Path) -> None:
    """Refuse, before a run is written or paid for, what would stop for want of a judge."""
    request = prepared.request
    held = stored_config(directory)
    if request.judges and held is None:
        from hatscore.judging import check_judges

        check_judges(request.judges, base_url=request.judge_url)
    if not request.judges and held is not None and _goes_by_judges(prepared):
        more = differences(held, prepared.config)
        if more:
            raise InputError(
                f"{directory}: to grow this run ({'; '.join(more)}) its plan goes by what a judge "
                "says; name the judge with --judge"
            )


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
    InputError, RunError
        As of :func:`hatscore.judging.run_judging` and
        :func:`hatscore.sampling.cluster_shard.publish_run`.
    """
    complete = True
    try:
        for request, directory in zip(requests, directories, strict=True):
            if request.judges:
                try:
                    complete &= _ask_judges(request, directory, quiet=quiet)
                except ModelError as error:
                    # what has been heard is scored, and the same command asks for the rest
                    click.echo(f"Error: {error}", err=True)
                    complete = False
    finally:
        if cluster is not None and cluster.shelf_url is not None:
            _publish(directories, cluster.shelf_url, quiet=quiet)
    return complete


def _tasks_of(
    then: Callable[[Summary], Stage | None] | None, progress: OverStages | None = None
) -> Callable[[Summary], list[Task] | None] | None:
    """Return what gives the tasks of the next stage, and tells `progress` that it begins."""
    if then is None:
        return None

    def more(summary: Summary) -> list[Task] | None:
        stage = then(summary)
        if stage is None:
            return None
        if progress is not None:
            progress.begin(stage.name)
        return stage.tasks

    return more


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
        base_url=request.judge_url,
        quiet=quiet,
        mode=request.progress,
        timeout_s=request.timeout_s,
        tries=request.tries,
    )


def _judge(prepared: Prepared, directory: Path, *, quiet: bool) -> Callable[[], bool] | None:
    """Return what has the replies judged between stages; None where no plan goes by judges."""
    request = prepared.request
    if not request.judges or not _goes_by_judges(prepared):
        return None
    return partial(_ask_judges, request, directory, quiet=quiet)


def _goes_by_judges(prepared: Prepared) -> bool:
    planned = {b.name for b in prepared.config.benchmarks if b.plan.kind != "paper"}
    return any(t.benchmark in planned and t.item.gold.kind == "judge" for t in prepared.tasks)


def sample_into(request: Request, directory: Path, *, quiet: bool = False) -> Summary:
    """Sample what `directory` lacks of `request`, with progress on stderr.

    Raises
    ------
    InputError, ModelError, RunError
        Before anything is sampled where the request cannot work, and as `run_sampling`.
    """
    prepared = prepare(request, stored_plans(directory))
    summary = sample_prepared(prepared, directory, quiet=quiet)
    tell(summary, directory, quiet=quiet)
    return summary


def sample_prepared(prepared: Prepared, directory: Path, *, quiet: bool = False) -> Summary:
    """Sample what `directory` lacks, with progress on stderr; `tell` says what has come.

    Raises
    ------
    InputError, ModelError, RunError
        As `run_sampling`.
    """
    _look_at_judges(prepared, directory)
    with Run.create_or_resume(directory, prepared.config) as run:
        return _sample_run(run, prepared, directory, quiet=quiet)


def _sample_run(run: Run, prepared: Prepared, directory: Path, *, quiet: bool) -> Summary:
    request = prepared.request
    for said in run.grown:
        click.echo(f"Note: {directory}: {said}", err=True)
    judge = _judge(prepared, directory, quiet=quiet)
    show = partial(show_progress, request.model, quiet=quiet, mode=request.progress)
    sampling: dict[str, Any] = {
        "concurrency": prepared.concurrency,
        "budget": request.budget,
        "mixed_models": request.mixed_models,
        "on_stop": _say_stopping,
    }
    if judge is None:
        with show() as shown:
            return _in_one_go(run, prepared, shown, **sampling)

    def start(stage: Stage) -> Summary:
        # judges show a bar of their own between the stages, and sample by themselves
        with show() as shown:
            progress = _over_stages(shown, stage)
            return run_sampling(run, stage.tasks, prepared.client, progress=progress, **sampling)

    return sample_planned(run, prepared.tasks, start, judge=judge, panel=request.judges)


def _in_one_go(
    run: Run,
    prepared: Prepared,
    show: Callable[[Progress], None] | None,
    **sampling: Any,
) -> Summary:
    """Sample all stages with one client, so that a model in this process is loaded once."""
    stage, then = staged(run, prepared.tasks)
    progress = _over_stages(show, stage)
    more = _tasks_of(then, progress)
    summaries = run_stages(
        run, stage.tasks, prepared.client, then=more, progress=progress, **sampling
    )
    return together(summaries)


def _over_stages(show: Callable[[Progress], None] | None, stage: Stage) -> OverStages | None:
    if show is None:
        return None
    progress = OverStages(show)
    progress.begin(stage.name)
    return progress


def tell(summary: Summary, directory: Path, *, quiet: bool) -> None:
    """Say on stderr what has come and what is missing, warnings also if `quiet`."""
    if not quiet:
        _say(summary, directory)
    for warning in summary.warnings:
        click.echo(f"Warning: {warning}", err=True)


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
