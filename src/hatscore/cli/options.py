"""Options that several commands share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["grading_options", "interval_options", "split_list"]


def split_list(values: tuple[str, ...]) -> list[str]:
    """Split repeated and comma-separated values into one list, each once, in order."""
    parts = (part.strip() for value in values for part in value.split(","))
    return list(dict.fromkeys(part for part in parts if part))


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


def interval_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the level of the intervals."""
    return click.option(
        "--confidence",
        type=click.FloatRange(0, 1, min_open=True, max_open=True),
        default=0.95,
        show_default=True,
        help="Level of the intervals.",
    )(function)
