"""Progress on stderr: a bar for people, a line now and then for logs."""

from __future__ import annotations

import sys
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from hatscore.sampling import Progress

__all__ = ["show_progress"]

_LINE_EVERY_S = 10.0


@contextmanager
def show_progress(what: str, *, quiet: bool) -> Iterator[Callable[[Progress], None] | None]:
    """Yield a callback that shows how far the sampling is; None when quiet."""
    if quiet:
        yield None
    elif sys.stderr.isatty():
        with _bar(what) as update:
            yield update
    else:
        yield _lines(what)


@contextmanager
def _bar(what: str) -> Iterator[Callable[[Progress], None]]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
    from rich.progress import Progress as Bar

    bar = Bar(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[pace]}"),
        console=Console(stderr=True),
    )
    with bar:
        task = bar.add_task(what, total=None, pace="starting")

        def update(progress: Progress) -> None:
            bar.update(task, completed=progress.done, total=progress.total, pace=_pace(progress))

        yield update


def _lines(what: str) -> Callable[[Progress], None]:
    last = time.monotonic()

    def update(progress: Progress) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last < _LINE_EVERY_S:
            return
        last = now
        click.echo(
            f"{what}: {progress.done:,}/{progress.total:,} replies, {_pace(progress)}", err=True
        )

    return update


def _pace(progress: Progress) -> str:
    left = "?" if progress.eta_s is None else _duration(progress.eta_s)
    errors = f", {progress.errors} failed" if progress.errors else ""
    return f"{progress.rate:.1f}/s, {left} left{errors}"


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
