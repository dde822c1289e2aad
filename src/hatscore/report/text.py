"""How numbers and languages are written, everywhere alike."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from hatscore.errors import InputError
from hatscore.languages import name
from hatscore.scoring import MACRO

if TYPE_CHECKING:
    from hatscore.scoring import Measurement
    from hatscore.stats.estimate import Estimate

__all__ = [
    "DAGGER",
    "MISSING",
    "headline",
    "interval",
    "label",
    "language_name",
    "number",
    "p_value",
    "percent",
    "printable",
    "with_interval",
]

MISSING = "\N{EN DASH}"
DAGGER = "\N{DAGGER}"
"""Marks a plug-in score among corrected ones."""
_SMALLEST_P = 0.001


def number(value: float) -> str:
    """Write a score to three decimals, NaN as a dash, infinity as its sign.

    Examples
    --------
    >>> number(-0.0001), number(1.2), number(float("-inf"))
    ('0.000', '1.200', '-∞')
    """
    if math.isnan(value):
        return MISSING
    if math.isinf(value):
        return "\N{INFINITY}" if value > 0 else "-\N{INFINITY}"
    text = f"{value:.3f}"
    return "0.000" if text == "-0.000" else text


def interval(estimate: Estimate) -> str:
    """Write the interval in brackets, an unbounded end as infinity; empty without a value."""
    if math.isnan(estimate.value) or math.isnan(estimate.low) or math.isnan(estimate.high):
        return ""
    return f"[{number(estimate.low)}, {number(estimate.high)}]"


def with_interval(estimate: Estimate) -> str:
    """Write ``0.842 [0.801, 0.885]``, or a dash."""
    return f"{number(estimate.value)} {interval(estimate)}".rstrip()


def percent(share: float | None) -> str:
    """Write a share in [0, 1] as percent with one decimal; None as a dash."""
    return MISSING if share is None else f"{100 * share:.1f} %"


def p_value(p: float) -> str:
    """Write a p value with its relation sign."""
    return f"p < {_SMALLEST_P}" if p < _SMALLEST_P else f"p = {p:.3f}"


def printable(text: str) -> str:
    """Put a blank in place of every control character: names of models come from outside."""
    return "".join(c if c.isprintable() else " " for c in text)


def language_name(code: str) -> str:
    """Return the English name of a language, or the code where CLDR has none."""
    try:
        return name(code)
    except InputError:
        return code


def label(code: str) -> str:
    """Return code and English name, ``sw Swahili``; the macro row is called an average."""
    if code == MACRO:
        return "macro average"
    english = language_name(code)
    return code if english == code else f"{code} {english}"


def headline(measurement: Measurement) -> tuple[str, Estimate]:
    """Return the HAT score to show first and its name in `scores`.

    The corrected slope; where the data have none (one source reply per item, partial credit),
    the plug-in, if there is one.
    """
    corrected, plugin = measurement.scores["hat"], measurement.scores["hat_plugin"]
    if math.isnan(corrected.value) and not math.isnan(plugin.value):
        return "hat_plugin", plugin
    return "hat", corrected
