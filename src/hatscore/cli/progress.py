"""Progress on stderr: a bar for people, a line now and then for logs, JSON lines for machines."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, get_args

import click

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from hatscore.sampling import Progress

__all__ = ["PROGRESS_MODES", "OverStages", "ProgressMode", "progress_json", "show_progress"]

ProgressMode = Literal["auto", "bar", "lines", "json", "none"]
PROGRESS_MODES: tuple[ProgressMode, ...] = get_args(ProgressMode)

_EVERY_S = {"bar": 0.1, "lines": 10.0, "json": 1.0}
_MOST_LANGUAGES = 12
_MOST_NAMED = 3
_FEW = 20  # replies below which a share says nothing


@contextmanager
def show_progress(
    what: str, *, quiet: bool, mode: ProgressMode = "auto"
) -> Iterator[Callable[[Progress], None] | None]:
    """Yield a callback that shows how far the sampling is; None when there is nothing to show.

    Parameters
    ----------
    what
        Name of what is sampled, a model.
    quiet
        The same as `mode` ``none``.
    mode
        ``auto`` is a bar on a terminal and lines elsewhere.
    """
    if mode == "auto":
        mode = "bar" if sys.stderr.isatty() else "lines"
    if quiet or mode == "none":
        yield None
    elif mode == "bar":
        with _bar(what) as show:
            yield _now_and_then(show, _EVERY_S["bar"])
    elif mode == "lines":
        yield _now_and_then(lambda p: click.echo(_line(what, p), err=True), _EVERY_S["lines"])
    else:
        yield from _json_lines(what)


def _now_and_then(
    show: Callable[[Progress], None], every_s: float, *, at_once: bool = False
) -> Callable[[Progress], None]:
    """Return what calls `show` for the last reply, and not more often than `every_s`."""
    last = time.monotonic() - (every_s if at_once else 0.0)

    def update(progress: Progress) -> None:
        nonlocal last
        now = time.monotonic()
        is_end = progress.done >= progress.total and every_s < 1  # a log needs no last line
        if now - last >= every_s or is_end:
            last = now
            show(progress)

    return update


class OverStages:
    """Shows the stages of a run as one: what is new, and how replies end, since the command.

    Parameters
    ----------
    show
        Shows the progress.

    Attributes
    ----------
    stage
        Name of the stage that goes on.
    """

    def __init__(self, show: Callable[[Progress], None]) -> None:
        self._show = show
        self._last: Progress | None = None
        self._new = 0
        self._elapsed_s = 0.0
        self._endings: dict[str, dict[Any, int]] = {}
        self.stage = ""

    def begin(self, stage: str) -> None:
        """Say that another stage begins."""
        last, self._last, self.stage = self._last, None, stage
        if last is not None:
            self._new += last.new
            self._elapsed_s += last.elapsed_s
            whole = _Added(self._endings, last.endings)
            self._endings = {language: dict(whole[language]) for language in whole}

    def __call__(self, progress: Progress) -> None:
        """Show how far the run is, from how far its stage is."""
        self._last = progress
        self._show(
            replace(
                progress,
                new=self._new + progress.new,
                elapsed_s=self._elapsed_s + progress.elapsed_s,
                endings=_Added(self._endings, progress.endings)
                if self._endings
                else progress.endings,
                stage=self.stage,
            )
        )


class _Added(Mapping[str, Mapping[Any, int]]):
    """Counts of earlier stages and of this one, added where they are looked at."""

    def __init__(
        self, before: Mapping[str, Mapping[Any, int]], now: Mapping[str, Mapping[Any, int]]
    ) -> None:
        self._before = before
        self._now = now

    def __getitem__(self, language: str) -> Mapping[Any, int]:
        parts = [part[language] for part in (self._before, self._now) if language in part]
        if not parts:
            raise KeyError(language)
        return {name: sum(part.get(name, 0) for part in parts) for name in parts[-1]}

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys((*self._before, *self._now)))

    def __len__(self) -> int:
        return len({*self._before, *self._now})


# -- machines --------------------------------------------------------------------------------


def progress_json(what: str, progress: Progress, *, event: str = "progress") -> dict[str, Any]:
    """Return one line of ``--progress json``; the fields are those of :class:`Progress`."""
    return {
        "event": event,
        "model": what,
        "done": progress.done,
        "total": progress.total,
        "new": progress.new,
        "errors": progress.errors,
        "elapsed_s": round(progress.elapsed_s, 3),
        "rate": round(progress.rate, 3),
        "eta_s": None if progress.eta_s is None else round(progress.eta_s, 1),
        "input_tokens": progress.input_tokens,
        "output_tokens": progress.output_tokens,
        "cost_usd": None if progress.cost is None else round(progress.cost, 6),
        "under_way": progress.under_way,
        "level": progress.level,
        "endings": {language: dict(ends) for language, ends in progress.endings.items()},
        "stage": progress.stage or None,
        "trouble": progress.trouble,
    }


def _json_lines(what: str) -> Iterator[Callable[[Progress], None]]:
    latest: list[Progress] = []

    def write(progress: Progress, event: str = "progress") -> None:
        line = json.dumps(progress_json(what, progress, event=event), ensure_ascii=False)
        click.echo(line, err=True)

    show = _now_and_then(write, _EVERY_S["json"], at_once=True)

    def update(progress: Progress) -> None:
        latest[:] = [progress]
        show(progress)

    try:
        yield update
    finally:
        if latest:
            write(latest[0], "end")


# -- people ----------------------------------------------------------------------------------


@contextmanager
def _bar(what: str) -> Iterator[Callable[[Progress], None]]:
    from rich.console import Console, Group
    from rich.live import Live
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
    from rich.progress import Progress as Bar
    from rich.text import Text

    bar = Bar(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[pace]}"),
    )
    task = bar.add_task(what, total=None, pace="starting")
    with Live(bar, console=Console(stderr=True), refresh_per_second=4) as live:

        def show(progress: Progress) -> None:
            bar.update(task, completed=progress.done, total=progress.total, pace=_pace(progress))
            shares = _by_language(progress.endings)
            live.update(Group(bar, Text("\n".join(shares))) if shares else bar)

        yield show


def _line(what: str, progress: Progress) -> str:
    shares = [text for text in _by_language(progress.endings, few=_FEW) if "," in text]
    named = f"; {'; '.join(shares[:_MOST_NAMED])}" if shares else ""
    return f"{what}: {progress.done:,}/{progress.total:,} replies, {_pace(progress)}{named}"


def _by_language(endings: Mapping[str, Mapping[Any, int]], *, few: int = 1) -> list[str]:
    """Return how the replies of each language have ended, the least answered language first."""
    found = []
    for language, ends in endings.items():
        total = sum(ends.values())
        if total < few:
            continue
        shares = [f"{count / total:.0%} {name}" for name, count in ends.items() if count]
        found.append((ends.get("answered", 0) / total, f"{language}: {', '.join(shares)}"))
    return [text for _, text in sorted(found)[:_MOST_LANGUAGES]]


def _pace(progress: Progress) -> str:
    left = "?" if progress.eta_s is None else _duration(progress.eta_s)
    parts = [progress.stage] if progress.stage else []
    parts += [f"{progress.rate:.1f}/s", f"{left} left"]
    tokens = progress.input_tokens + progress.output_tokens
    if tokens:
        parts.append(f"{_short(tokens)} tokens")
    if progress.cost is not None:
        parts.append(f"{progress.cost:.2f} USD")
    if progress.errors:
        parts.append(f"{progress.errors} failed")
    if progress.trouble:
        parts.append(progress.trouble)
    return ", ".join(parts)


def _short(number: int) -> str:
    for size, name in ((10**9, "G"), (10**6, "M"), (10**3, "k")):
        if number >= size:
            return f"{number / size:.1f}{name}"
    return str(number)


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
