"""``hatscore convert``: whatever can be read, as one table of outcomes."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import click

from hatscore.cli.options import grading_options, reader_options
from hatscore.errors import InputError

__all__ = ["command"]


@click.command("convert")
@click.argument("paths", nargs=-1, required=True, metavar="IN... OUT.parquet")
@click.option("--force", is_flag=True, help="Replace OUT.parquet if it exists.")
@grading_options
@reader_options
def command(paths: tuple[str, ...], force: bool, names: str, count: str, **given: Any) -> None:
    """Read runs, logs and tables and write the canonical table.

    What was accepted while reading (--allow-missing and the like) is kept in the file, and said
    again wherever it is scored.
    """
    from hatscore.cli.reading import read_graded

    *inputs, last = paths
    out = Path(last)
    if not inputs:
        raise InputError(
            "give at least one path to read, then the file to write: IN... OUT.parquet"
        )
    if out.suffix.lower() != ".parquet":
        raise InputError(f"{out}: the last path is written, and its name must end in .parquet")
    if out.exists() and not (force and out.is_file()):
        raise InputError(
            f"{out} exists; it would be replaced. Name another file to write, or say --force"
        )
    if any(out.resolve() == Path(path).resolve() for path in inputs):
        raise InputError(f"{out} is read and would be replaced; name another file to write")
    outcomes = read_graded(inputs, names=names, count=count, given=given)
    draft = out.with_name(f".{out.name}.{os.getpid()}")
    try:
        outcomes.write_parquet(draft)
        draft.replace(out)
    except OSError as err:
        raise InputError(f"{out}: cannot be written: {err.strerror or err}") from err
    finally:
        draft.unlink(missing_ok=True)
    click.echo(f"{out}: {outcomes!r}")
    for note in outcomes.notes:
        click.echo(f"Note: {note}", err=True)
