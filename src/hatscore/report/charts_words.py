"""What charts say of a score: its name on an axis, its words under a pointer, how it is marked.

A plug-in slope is not corrected for noise and lies lower for it. Where a chart holds both kinds,
the plug-in has a hollow marker and a dashed interval, and the axis says so; where it holds nothing
else, the axis calls it by its name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import altair as alt

from hatscore.report.rows import PLUGIN, mixed
from hatscore.report.text import DAGGER, MISSING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = [
    "HOLLOW",
    "NO_SCORE",
    "daggered",
    "dashed",
    "filled_points",
    "hat_name",
    "hollow_points",
    "is_mixed",
    "score_tooltip",
    "told",
]

HOLLOW = "hollow with a dashed interval: plug-in, not corrected for noise"
"""What an axis says of the marks of plug-in slopes beside corrected ones."""

NO_SCORE = "no score"
"""What stands in a line of a chart where there is none."""
_APART = f"mixed && datum.estimator == '{PLUGIN}'"
_TOLD = {
    "hat": "HAT",
    "target_accuracy": "target accuracy",
    "source_accuracy": "source accuracy",
}


def hat_name(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return ``HAT``, or ``plug-in HAT`` where no record has a corrected slope but some one has."""
    return "plug-in HAT" if {r.get("estimator") for r in rows} - {"", None} == {PLUGIN} else "HAT"


def is_mixed(rows: Sequence[Mapping[str, Any]]) -> alt.Parameter:
    """Return the parameter ``mixed``, which marks plug-in slopes; a page sets it anew."""
    return alt.param(name="mixed", value=mixed(rows))


def dashed() -> Any:
    """Return the dashes of intervals."""
    return alt.condition(_APART, alt.value([3, 2]), alt.value([1, 0]))


def filled_points(base: alt.Chart, size: float) -> alt.Chart:
    """Return the markers of scores, but of those that stand apart."""
    points: alt.Chart = base.transform_filter(f"!({_APART})").mark_point(size=size)
    return points


def hollow_points(base: alt.Chart, size: float) -> alt.Chart:
    """Return the markers of plug-in slopes among corrected ones."""
    points: alt.Chart = base.transform_filter(_APART).mark_point(
        filled=False, size=size, strokeWidth=1.6
    )
    return points


def daggered(form: str) -> str:
    """Return an expression of a score, with a dagger where it stands apart."""
    return f"format(datum.hat, '{form}') + ({_APART} ? '{DAGGER}' : '')"


def told(base: alt.Chart, *names: str) -> alt.Chart:
    """Return a chart whose records say their scores in words, for `score_tooltip`.

    Parameters
    ----------
    base
        Before its marks.
    names
        Of scores; default those of `score_tooltip`.
    """
    said = {f"{name}_told": _written(name) for name in names or _TOLD}
    chart: alt.Chart = base.transform_calculate(**said)
    return chart


def _written(name: str) -> str:
    """Return an expression that writes a score as tables do, a dash where there is none."""
    if name == "hat":
        # an infinite end is none in the records, and its flag says so
        low = "(datum.low_open ? -1e9 : datum.hat_low)"
        high = "(datum.high_open ? 1e9 : datum.hat_high)"
    else:
        low, high = f"datum.{name}_low", f"datum.{name}_high"
    ends = [
        f"({end} <= -1e9 ? '\N{MINUS SIGN}\N{INFINITY}' : {end} >= 1e9 ? '\N{INFINITY}'"
        f" : format({end}, '.3f'))"
        for end in (low, high)
    ]
    both = f"' [' + {ends[0]} + ', ' + {ends[1]} + ']'"
    interval = f"(isValid({low}) && isValid({high}) ? {both} : '')"
    kind = f" + (datum.estimator == '{PLUGIN}' ? ', plug-in' : '')" if name == "hat" else ""
    return f"isValid(datum.{name}) ? format(datum.{name}, '.3f') + {interval}{kind} : '{MISSING}'"


def score_tooltip() -> list[alt.Tooltip]:
    """Return what a pointer on a score shows; the records come from `told`."""
    return [
        alt.Tooltip("model:N", title="model"),
        alt.Tooltip("benchmark:N", title="benchmark"),
        alt.Tooltip("label:N", title="language"),
        alt.Tooltip("script_name:N", title="script"),
        *(alt.Tooltip(f"{name}_told:N", title=title) for name, title in _TOLD.items()),
        alt.Tooltip("n_items:Q", title="items"),
        alt.Tooltip("reason:N", title="note"),
    ]
