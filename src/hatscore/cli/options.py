"""Options that several commands share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from hatscore.cli.complete import complete_benchmarks, complete_languages, complete_readers
from hatscore.errors import InputError, UnknownNameError

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = [
    "asked_options",
    "check_every_column",
    "every_column_option",
    "figures_option",
    "grading_options",
    "interval_options",
    "items_option",
    "printed_option",
    "reader_options",
    "split_list",
]


_FORMATS = ("png", "svg", "pdf", "none")

printed_option = click.option(
    "--format",
    "style",
    type=click.Choice(["table", "json", "csv", "md", "latex"]),
    default="table",
    show_default=True,
    help="How to print; json is one document and nothing else.",
)

every_column_option = click.option(
    "--every-column",
    is_flag=True,
    help="With --format latex: all columns that csv has, not only those a paper has room for.",
)


def check_every_column(style: str, *, every_column: bool) -> None:
    """Raise InputError where `every_column_option` has nothing to widen."""
    if every_column and style != "latex":
        raise InputError("--every-column is for --format latex; csv and json hold every column")


def split_list(values: tuple[str, ...]) -> list[str]:
    """Split repeated and comma-separated values into one list, each once, in order."""
    parts = (part.strip() for value in values for part in value.split(","))
    return list(dict.fromkeys(part for part in parts if part))


def asked_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add what is asked: benchmarks, languages, items."""
    for option in reversed(_ASKED_OPTIONS):
        function = option(function)
    return function


_ASKED_OPTIONS = (
    click.option(
        "-b",
        "--benchmark",
        "benchmarks",
        multiple=True,
        required=True,
        shell_complete=complete_benchmarks,
        help="Benchmark; repeatable.",
    ),
    click.option(
        "-l",
        "--languages",
        multiple=True,
        shell_complete=complete_languages,
        help="Target languages, comma-separated; default all. The source comes along by itself.",
    ),
    click.option("--source", help="Source language; default that of the benchmark."),
    click.option("--items", type=click.IntRange(min=1), help="Number of items; default all."),
)


def grading_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that decide how stored replies are read."""
    function = click.option(
        "--names",
        type=click.Choice(["lenient", "strict"]),
        default="lenient",
        show_default=True,
        help="Accept names in the target language, the source language and English, "
        "or in the target language alone.",
    )(function)
    return click.option(
        "--count",
        default="unparsed,empty,truncated,refused",
        show_default=True,
        help="Replies that count as not correct beside the wrong ones; 'answered' for none.",
    )(function)


def reader_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that say how logs and tables of others are read.

    `hatscore.cli.reading.read_graded` takes them as they come from click.
    """
    for option in reversed(_READER_OPTIONS):
        function = option(function)
    return function


_READER_OPTIONS = (
    click.option(
        "--reader",
        metavar="FORMAT",
        shell_complete=complete_readers,
        help="Read all paths as this format; default: what their content says.",
    ),
    click.option(
        "--source",
        metavar="TAG",
        shell_complete=complete_languages,
        help="Language of the source rows, such as en.",
    ),
    click.option(
        "--columns",
        multiple=True,
        metavar="FIELD=COLUMN,...",
        help="Columns of a table: item=q_id,language=lang,score=correct; item=@row joins by row "
        "and needs gold=COLUMN.",
    ),
    click.option(
        "--map",
        multiple=True,
        metavar="FIELD=SPEC",
        help="Values of a field: language=path:REGEX, language=re:REGEX or "
        "language=English:en,German:de; repeatable. Of logs: where language and benchmark are.",
    ),
    click.option(
        "--grade", metavar="KIND", help="Grade the replies of a table: number, choice or name."
    ),
    click.option("--model", metavar="NAME", help="Name of the model, where no column says it."),
    click.option("--benchmark", metavar="NAME", help="Name of the benchmark, likewise."),
    click.option(
        "--item", metavar="FIELD", help="Which field of a log's items tells the question."
    ),
    click.option("--run", metavar="TIME", help="Which of a task's runs is read, or 'latest'."),
    click.option("--metric", metavar="NAME", help="Which of a log's metrics is the score."),
    click.option("--filter", metavar="NAME", help="Which of a log's filters is read."),
    click.option("--scorer", metavar="NAME", help="Which of a log's scorers is read."),
    click.option(
        "--allow-missing",
        is_flag=True,
        help="Accept languages that lack items, and rows without a result.",
    ),
    click.option("--allow-golds", is_flag=True, help="Accept golds that differ between languages."),
    click.option("--pool", is_flag=True, help="Take repeated rows of an item for replies to it."),
)


def interval_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the level of the intervals."""
    return click.option(
        "--confidence",
        type=click.FloatRange(0, 1, min_open=True, max_open=True),
        default=0.95,
        show_default=True,
        help="Level of the intervals.",
    )(function)


def figures_option(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the formats of the figures beside a page, as a list; an empty one for none."""
    return click.option(
        "--figures",
        multiple=True,
        default=("png",),
        show_default=True,
        metavar="LIST",
        callback=lambda _context, _parameter, value: _formats(value),
        help="Files beside the page: some of png, svg, pdf, or none.",
    )(function)


def _formats(values: tuple[str, ...]) -> list[str]:
    names = split_list(values)
    for name in names:
        if name not in _FORMATS:
            raise UnknownNameError("format", name, _FORMATS)
    return [name for name in names if name != "none"]


def items_option(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add whether the items behind the scores come with a page: all, none, or what is bounded."""
    return click.option(
        "--items/--no-items",
        "items",
        default=None,
        help="Keep all items and replies with the page, to be opened from a score, or none. "
        "Default: all, of very large runs a sample.",
    )(function)
