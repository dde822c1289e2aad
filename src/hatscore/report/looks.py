"""Which colour and shape a model has, in every chart of a page alike.

A family has a colour, and its models have shapes of their own; a model of no known family is one
by itself. Both follow from the names alone, so neither a rank, a filter nor the order of the
records changes them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import altair as alt

from hatscore.report.charts_theme import COLOURS, SHAPES, legend, series_names
from hatscore.report.rows import UNKNOWN_FAMILY

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

__all__ = ["Look", "Looks", "looks_of"]


@dataclass(frozen=True, slots=True)
class Look:
    """Places in `COLOURS` and `SHAPES`."""

    colour: int
    shape: int


@dataclass(frozen=True, slots=True)
class Looks:
    """Who shares a colour, and who has which shape.

    Attributes
    ----------
    models
        Look by model.
    groups
        By model what shares its colour: its family, or the model itself.
    families
        The families among the groups.
    """

    models: Mapping[str, Look] = field(default_factory=dict)
    groups: Mapping[str, str] = field(default_factory=dict)
    families: Sequence[str] = ()

    def by_model(self, names: Sequence[str], width: float) -> dict[str, Any]:
        """Return the channels that tell models apart, in one legend above the chart."""
        shown = legend(names, width) if len(names) > 1 else None
        return {
            channel: kind("model:N", scale=alt.Scale(domain=list(names), range=looks),
                          legend=shown, title="model")
            for channel, kind, looks in (
                ("color", alt.Color, self._colours([self.models[name] for name in names])),
                ("shape", alt.Shape, self._shapes([self.models[name] for name in names])),
            )
        }  # fmt: skip

    def by_group(self, models: Sequence[str], width: float) -> dict[str, Any]:
        """Return the channels of groups, for records from `grouped`; families are in the legend."""
        names = self.groups_of(models)
        first = [next(self.models[m] for m in self.models if self.groups[m] == g) for g in names]
        shown = legend(names, width) if len(names) > 1 else None
        return {
            channel: kind("group:N", scale=alt.Scale(domain=names, range=looks), legend=shown,
                          title="group")
            for channel, kind, looks in (
                ("color", alt.Color, self._colours(first)),
                ("shape", alt.Shape, self._shapes(first)),
            )
        }  # fmt: skip

    def by_both(self, models: Sequence[str], width: float) -> dict[str, Any]:
        """Return colours of groups and shapes of models, for charts that name their models.

        The legend holds the families alone: all others are named by the chart.
        """
        names = self.groups_of(models)
        shown = [name for name in names if name in self.families]
        colour = self.by_group(models, width)["color"]
        if len(names) > 1 and shown:
            colour.legend = legend(shown, width, values=shown, symbolType="circle")
        else:
            colour.legend = None
        return {"color": colour, "shape": self.by_model(models, width)["shape"].legend(None)}

    def groups_of(self, models: Sequence[str]) -> list[str]:
        """Return the groups of some models, families first, in the order of their colours."""
        wanted = {self.groups[name] for name in models}
        return [g for g in dict.fromkeys(self.groups.values()) if g in wanted]

    def grouped(self, base: alt.Chart) -> alt.Chart:
        """Return a chart whose records have the field ``group``."""
        # what no family has is a group by itself, and so is all where one family is alone
        own = f"datum.family == '{UNKNOWN_FAMILY}'" if self.families else "true"
        chart: alt.Chart = base.transform_calculate(group=f"{own} ? datum.model : datum.family")
        return chart

    @staticmethod
    def _colours(looks: Sequence[Look]) -> list[dict[str, str]]:
        # from the theme in which the chart is shown
        return [{"expr": f"palette[{look.colour}]"} for look in looks]

    @staticmethod
    def _shapes(looks: Sequence[Look]) -> list[str]:
        return [SHAPES[look.shape] for look in looks]


def looks_of(rows: Iterable[Mapping[str, Any]]) -> Looks:
    """Give every model of some records its look.

    Colours go to families in the order of `series_names`, in turn where there are more of them
    than colours, and so do shapes; further models of a family take the next shape that none of
    its colour has. A family that is alone gives each of its models a colour instead.

    Parameters
    ----------
    rows
        Records with ``model`` and ``family``, as `rows.score_rows` gives them: all of a page or of
        a run, whatever one chart shows of them.

    Examples
    --------
    >>> rows = [{"model": m, "family": "G"} for m in ("g-2b", "g-10b")]
    >>> found = looks_of([*rows, {"model": "x", "family": "other"}])
    >>> [(name, look.colour, look.shape) for name, look in found.models.items()]
    [('g-2b', 0, 0), ('g-10b', 0, 1), ('x', 1, 2)]
    """
    family_of = {row["model"]: row.get("family", UNKNOWN_FAMILY) for row in rows}
    known = series_names(
        [{"family": f} for f in family_of.values() if f != UNKNOWN_FAMILY], "family"
    )
    names = series_names([{"model": m} for m in family_of], "model")
    alone = len(known) == 1 and UNKNOWN_FAMILY not in family_of.values()
    groups = [] if alone else [[m for m in names if family_of[m] == f] for f in known]
    groups += [[m] for m in names if alone or family_of[m] == UNKNOWN_FAMILY]
    models: dict[str, Look] = {}
    shape = 0
    for place, group in enumerate(groups):
        colour = place % len(COLOURS)
        taken = {look.shape for look in models.values() if look.colour == colour}
        for model in group:
            order = [(shape + i) % len(SHAPES) for i in range(len(SHAPES))]
            own = next((s for s in order if s not in taken), order[0])
            taken.add(own)
            models[model] = Look(colour, own)
            shape = (own + 1) % len(SHAPES)
    named = {
        m: m if alone or family_of[m] == UNKNOWN_FAMILY else family_of[m]
        for group in groups
        for m in group
    }
    return Looks(models, named, () if alone else tuple(known))
