"""``hatscore convert``: whatever can be read, as one table, or in the format of Every Eval Ever."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

from hatscore.cli.complete import complete_paths
from hatscore.cli.options import grading_options, reader_options
from hatscore.errors import InputError

if TYPE_CHECKING:
    from hatscore.grading.answer import NameMode
    from hatscore.outcomes import Outcomes

__all__ = ["command"]

PARQUET = "parquet"
EVERY_EVAL_EVER = "every_eval_ever"


@click.command("convert")
@click.argument(
    "paths", nargs=-1, required=True, metavar="IN... OUT", shell_complete=complete_paths
)
@click.option(
    "--format",
    "style",
    type=click.Choice([PARQUET, EVERY_EVAL_EVER]),
    default=PARQUET,
    show_default=True,
    help="parquet: the canonical table, OUT.parquet; every_eval_ever: OUT is a directory of "
    "records of that format, with every reply of the runs among IN.",
)
@click.option("--force", is_flag=True, help="Replace OUT.parquet, or write into OUT, if it exists.")
@click.option("--organization", metavar="NAME", help="Of every_eval_ever: who provides the data.")
@click.option(
    "--relationship",
    type=click.Choice(["first_party", "third_party", "collaborative", "other"]),
    default="other",
    show_default=True,
    help="Of every_eval_ever: of the provider to the makers of the models.",
)
@grading_options
@reader_options
def command(paths: tuple[str, ...], style: str, names: str, count: str, **given: Any) -> None:
    """Read runs, logs and tables and write them as one table or in another tool's format.

    What was accepted while reading (--allow-missing and the like) is kept in the table, and said
    again wherever it is scored.
    """
    from hatscore.cli.reading import read_graded

    *inputs, last = paths
    out = Path(last)
    if not inputs:
        raise InputError(
            "give at least one path to read, then the file to write: IN... OUT.parquet"
        )
    if style == EVERY_EVAL_EVER:
        _check_folder(out, inputs, given)
    else:
        _check_file(out, inputs, given)
    outcomes = read_graded(inputs, names=names, count=count, given=given)
    if style == EVERY_EVAL_EVER:
        _write_records(inputs, out, outcomes, names=names, count=count, given=given)
    else:
        _write_table(outcomes, out)
    for note in outcomes.notes:
        click.echo(f"Note: {note}", err=True)


def _check_file(out: Path, inputs: list[str], given: dict[str, Any]) -> None:
    if out.suffix.lower() != ".parquet":
        raise InputError(f"{out}: the last path is written, and its name must end in .parquet")
    if given["organization"] is not None:
        raise InputError("--organization is for --format every_eval_ever")
    if out.exists() and not (given["force"] and out.is_file()):
        raise InputError(
            f"{out} exists; it would be replaced. Name another file to write, or say --force"
        )
    if any(out.resolve() == Path(path).resolve() for path in inputs):
        raise InputError(f"{out} is read and would be replaced; name another file to write")


def _check_folder(out: Path, inputs: list[str], given: dict[str, Any]) -> None:
    if given["organization"] is None:
        raise InputError("--format every_eval_ever needs --organization NAME: who provides this")
    if out.exists() and not out.is_dir():
        raise InputError(f"{out} is a file; the last path is a directory to write into")
    if out.is_dir() and any(out.iterdir()) and not given["force"]:
        raise InputError(f"{out} is not empty. Name another directory, or say --force")
    if any(out.resolve() == Path(path).resolve() for path in inputs):
        raise InputError(f"{out} is read; name another directory to write into")


def _write_table(outcomes: Outcomes, out: Path) -> None:
    from polars.exceptions import PolarsError

    draft = out.with_name(f".{out.name}.{os.getpid()}")
    try:
        outcomes.write_parquet(draft)
        draft.replace(out)
    except (OSError, PolarsError) as err:  # Polars has an error of its own for a full disk
        why = getattr(err, "strerror", None) or err
        raise InputError(f"{out}: cannot be written: {why}") from err
    finally:
        with suppress(OSError):  # where it could not be written there is nothing to remove
            draft.unlink(missing_ok=True)
    click.echo(f"{out}: {outcomes!r}")


def _write_records(
    inputs: list[str],
    out: Path,
    outcomes: Outcomes,
    *,
    names: str,
    count: str,
    given: dict[str, Any],
) -> None:
    from hatscore.cli.every_eval_ever import write_every_eval_ever
    from hatscore.scoring import measurements

    try:
        written = write_every_eval_ever(
            inputs,
            out,
            outcomes=outcomes,
            found=measurements(outcomes),
            organization=given["organization"],
            relationship=given["relationship"],
            names=cast("NameMode", names),
            count=count,
        )
    except OSError as err:
        raise InputError(f"{out}: cannot be written: {err.strerror or err}") from err
    replies = sum(path.suffix == ".jsonl" for path in written)
    records = len(written) - replies
    click.echo(f"{out}: {records} records, {replies} of them with every reply")
    if replies < records:
        click.echo(
            "Note: replies are stored in runs of hatscore alone; of logs and tables only the "
            "records are written",
            err=True,
        )
