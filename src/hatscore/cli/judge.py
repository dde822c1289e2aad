"""``hatscore judge``: let models say which stored replies are right."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from hatscore.cli import EXIT_INCOMPLETE
from hatscore.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hatscore.cli.progress import ProgressMode
    from hatscore.grading.agreement import Proportion
    from hatscore.judging import JudgeSummary, ReplyKey

__all__ = ["command", "judge_into"]

_MORE_THAN_ONE = 2


@click.command("judge")
@click.argument("runs", nargs=-1, required=True, metavar="RUN...", type=click.Path(path_type=Path))
@click.option(
    "--judge", "judges", multiple=True, metavar="MODEL", help="Model that judges; repeatable."
)
@click.option("--base-url", help="Address of the judges' OpenAI-compatible server.")
@click.option(
    "--concurrency",
    type=click.IntRange(min=1),
    default=16,
    show_default=True,
    help="Requests under way at once.",
)
@click.option("--again", is_flag=True, help="Forget what these judges have said, and ask anew.")
@click.option(
    "--labels",
    type=click.Path(path_type=Path),
    help="CSV with columns benchmark, item, language, repeat, label (yes or no): prints how often "
    "each judge is right. `hatscore score RUN --labels` corrects the scores by them.",
)
@click.option(
    "--draw-labels",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Write replies drawn at random as a CSV for people to label, and do nothing else.",
)
@click.option(
    "--per-language",
    type=click.IntRange(min=1),
    default=100,
    show_default=True,
    help="With --draw-labels: how many replies of each language.",
)
@click.option("-q", "--quiet", is_flag=True, help="No progress.")
def command(
    runs: tuple[Path, ...],
    *,
    judges: tuple[str, ...],
    base_url: str | None,
    concurrency: int,
    again: bool,
    labels: Path | None,
    draw_labels: Path | None,
    per_language: int,
    quiet: bool,
) -> int:
    """Judge the stored replies of RUN, then print how far its judges agree.

    The replies are not sampled again, and what a judge has said is kept in the run: the same
    command goes on where it stopped, and another judge adds its verdicts to those that are
    there. Without --judge nothing is asked. `hatscore score RUN` then counts what more than half
    of the judges say.

    How good is a judge? --draw-labels FILE writes replies for you to label, --labels FILE then
    prints how often each judge agrees with you, in each language.
    """
    if draw_labels is not None:
        if judges or labels:
            raise InputError("--draw-labels goes without --judge and --labels: draw, then ask")
        _draw(runs, draw_labels, per_language)
        return 0
    complete = True
    for run in runs:
        if judges:
            complete &= judge_into(
                run, judges, base_url=base_url, concurrency=concurrency, again=again, quiet=quiet
            )
        _show(run, labels)
    return 0 if complete else EXIT_INCOMPLETE


def _draw(runs: tuple[Path, ...], file: Path, per_language: int) -> None:
    from hatscore.judging.labels import draw_labels

    if len(runs) != 1:
        raise InputError(
            f"--draw-labels takes one run, since labels are of its replies; got {len(runs)}"
        )
    drawn = draw_labels(runs[0], file, per_language=per_language)
    shown = ", ".join(f"{language} {n}" for language, n in drawn.items())
    click.echo(f"{file}: {sum(drawn.values())} replies to label ({shown})")
    click.echo(
        "Write yes or no into the column label, from the top of each language; then "
        f"`hatscore score {runs[0]} --labels {file}`",
        err=True,
    )


def judge_into(
    run: Path,
    judges: Sequence[str],
    *,
    base_url: str | None = None,
    concurrency: int = 16,
    again: bool = False,
    quiet: bool = False,
    mode: ProgressMode = "auto",
    timeout_s: float = 600.0,
    tries: int = 8,
) -> bool:
    """Ask the judges for what `run` lacks; return whether every reply has been heard."""
    from hatscore.cli.progress import show_progress
    from hatscore.judging import run_judging

    with show_progress(f"judging {run}", quiet=quiet, mode=mode) as progress:
        summaries = run_judging(
            run,
            judges,
            base_url=base_url,
            concurrency=concurrency,
            again=again,
            progress=None if progress is None else lambda _, far: progress(far),
            timeout_s=timeout_s,
            tries=tries,
        )
    for summary in summaries:
        if not quiet:
            click.echo(f"{run}: {_said(summary)}", err=True)
        if not summary.complete:
            last = f"; the last failure: {summary.last_error}" if summary.last_error else ""
            click.echo(
                f"Incomplete: {summary.judge} has not been heard on {summary.missing:,} of "
                f"{summary.subjects:,} different answers{last}. The same command asks again.",
                err=True,
            )
    return all(summary.complete for summary in summaries)


def _said(summary: JudgeSummary) -> str:
    unread = f", {summary.unparsed} verdicts cannot be read" if summary.unparsed else ""
    return (
        f"{summary.judge} has judged {summary.subjects - summary.missing:,} different answers in "
        f"{summary.replies:,} replies ({summary.asked:,} asked now){unread}"
    )


def _show(run: Path, labels: Path | None) -> None:
    from hatscore.grading.agreement import agreement
    from hatscore.judging import read_labels, read_verdicts

    judged = read_verdicts(run)
    click.echo(f"{run}")
    for judge, votes in judged.votes.items():
        yes, no = (sum(v is word for v in votes.values()) for word in (True, False))
        click.echo(f"  {judge}: yes {yes}, no {no}, neither {len(votes) - yes - no}")
    if len(judged.judges) >= _MORE_THAN_ONE:
        found = agreement(judged.votes)
        name = {"cohen": "Cohen's kappa", "krippendorff": "Krippendorff's alpha"}[found.method]
        click.echo(
            f"  agreement on {found.replies} replies: {_interval(found.percent)}, "
            f"{name} {found.coefficient:.3f}"
        )
    if labels is not None:
        known = read_labels(labels)
        for judge, votes in judged.votes.items():
            click.echo(f"  {judge} against {len(known)} labels: {_rates(judge, votes, known)}")
            languages = sorted({key.language for key in known})
            for language in languages * (len(languages) > 1):
                here = {key: label for key, label in known.items() if key.language == language}
                click.echo(f"    {language}: {_rates(judge, votes, here)}")
    for note in judged.notes:
        click.echo(f"Note: {note}", err=True)


def _rates(
    judge: str, votes: Mapping[ReplyKey, bool | None], labels: Mapping[ReplyKey, bool]
) -> str:
    from hatscore.grading.agreement import judge_accuracy

    found = judge_accuracy(judge, votes, labels)
    return (
        f"sensitivity {_interval(found.sensitivity)}, specificity {_interval(found.specificity)}; "
        f"{found.unreadable} without a verdict, {found.unknown} not in this run"
    )


def _interval(share: Proportion) -> str:
    if not share.n:
        return "- (none labelled)"
    return f"{share.value:.3f} [{share.low:.3f}, {share.high:.3f}] of {share.n}"
