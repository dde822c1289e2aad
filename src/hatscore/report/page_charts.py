"""The charts of the page: specifications without data for the script, and files beside it."""

from __future__ import annotations

from functools import cache
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from hatscore.outcomes import STATUS_COLUMNS
from hatscore.report import charts
from hatscore.report.drawing import file_name, save_chart
from hatscore.report.rows import MACRO_LABEL
from hatscore.report.rows_profile import BINS, encoded
from hatscore.report.rows_rank import ANSWERED

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from hatscore.report.looks import Looks

__all__ = ["MOST", "described_looks", "draw", "filters", "lost_statuses", "specs", "themes"]

MOST = 6
"""Models that one chart of languages holds; the script takes no more either."""
_MOST_PROFILES = 3
_NAMES = {
    "benchmark": "Benchmark",
    "model": "Model",
    "family": "Family",
    "script": "Script",
    "language": "Language",
}

Rows = list[dict[str, Any]]


@cache
def specs() -> dict[str, Any]:
    """Return a specification per kind of chart, without data, by the name the script knows it by.

    They are made from records of no meaning: names, orders, axes and sizes are set by the script
    from the rows that it shows.
    """
    scores = [
        _record(model, macro=macro) for macro in (False, True) for model in ("first", "second")
    ]
    ranks = [r | {"rank": 1, "worst_rank": 2, "tied": True} for r in scores if r["macro"]]
    profile = [
        {"model": "", "benchmark": "", "label": "", "native_label": "", "language": "", "n": 1,
         "density": encoded([1] + [0] * (BINS * BINS - 1)), "slope": 1.0, "plugin": False,
         "b1": 1.0, "b2": 0.0, "curved": False}
    ]  # fmt: skip
    ended = [
        {"model": "", "benchmark": "", "label": "", "status": s, "place": i + 1, "share": 1.0}
        for i, s in enumerate(STATUS_COLUMNS)
    ]
    found = {
        "dots": charts.hat_dots(scores, embed=False),
        "languages": charts.metrics_beside(scores, embed=False),
        "models": charts.metrics_beside(scores, by="model", embed=False),
        "ranking": charts.ranking(ranks, embed=False),
        "profiles": charts.profiles(profile, embed=False),
        "status": charts.status_bars(ended, answered=False, embed=False),
    }
    return {name: _bare(chart.to_dict(validate=False)) for name, chart in found.items()}


def _record(model: str, *, macro: bool) -> dict[str, Any]:
    named = {"model": model, "family": model, "benchmark": "", "macro": macro, "reason": ""}
    label = MACRO_LABEL if macro else ""
    where = {"language": label, "label": label, "native_label": label, "estimator": "corrected"}
    scores = {
        f"{metric}{end}": 0.5
        for metric in ("hat", "target_accuracy", "source_accuracy", "gap", "transfer_score")
        for end in ("", "_low", "_high")
    }
    return named | where | scores | {"low_open": False, "high_open": False, "n_items": 1}


def lost_statuses(shares: Rows) -> list[str]:
    """Return the statuses that occur at all, `ANSWERED` not among them."""
    return [s for s in STATUS_COLUMNS if s != ANSWERED and any(r[s] for r in shares)]


def described_looks(looks: Looks) -> dict[str, Any]:
    """Return looks as the script takes them: by model colour, shape and group; the families."""
    return {
        "models": {
            name: [look.colour, look.shape, looks.groups[name]]
            for name, look in looks.models.items()
        },
        "families": list(looks.families),
    }


def themes() -> dict[str, Any]:
    """Return the configurations for a light and a dark ground."""
    return {"light": charts.theme(), "dark": charts.theme(dark=True)}


def filters(rows: Rows) -> list[dict[str, Any]]:
    """Return the filters: field, name, and options as (value, text)."""
    found = []
    for field, name in _NAMES.items():
        text = {"language": "label", "script": "script_name"}.get(field, field)
        # the script writes what is not known as JSON does
        options = {
            "null" if r[field] is None else r[field]: r[text] or "unknown"
            for r in rows
            if not r["macro"]
        }
        by = itemgetter(1) if field == "script" else itemgetter(0)
        found.append({"field": field, "name": name, "options": sorted(options.items(), key=by)})
    return found


def draw(
    rows: Rows,
    ranks: Rows,
    profiles: Rows,
    directory: Path,
    formats: Sequence[str],
    *,
    looks: Looks,
) -> list[Path]:
    """Write the charts as files; names that any file system takes, and no two alike.

    Charts of languages hold the first `MOST` models of a benchmark. Profiles are drawn where there
    are few of them: a page shows all.
    """
    taken: set[str] = set()
    written: list[Path] = []
    for name, chart in _files(rows, ranks, profiles, looks) if formats else ():
        written += save_chart(chart, directory / file_name(name, taken), formats)
    return written


def _files(rows: Rows, ranks: Rows, profiles: Rows, looks: Looks) -> Iterator[tuple[str, Any]]:
    for benchmark in dict.fromkeys(r["benchmark"] for r in rows):
        part, ranked = _of(rows, benchmark), _of(ranks, benchmark)
        models = [r["model"] for r in ranked][:MOST]
        first = [r for r in part if r["model"] in models]
        first.sort(key=lambda r: models.index(r["model"]))
        yield f"hat-{benchmark}", charts.hat_dots(first, looks=looks)
        if len(ranked) > 1:
            yield f"map-{benchmark}", charts.heat_map(part)
            yield f"ranking-{benchmark}", charts.ranking(ranked, looks=looks)
        beside = (
            charts.metrics_beside(part, by="model", looks=looks)
            if len(ranked) > MOST
            else charts.metrics_beside(part, looks=looks)
        )
        yield f"metrics-{benchmark}", beside
    blocks = list(dict.fromkeys(map(_block, profiles)))
    if len(blocks) <= _MOST_PROFILES:
        for model, benchmark in blocks:
            part = [r for r in profiles if _block(r) == (model, benchmark)]
            yield f"profile-{model}-{benchmark}", charts.profiles(part)


def _bare(spec: dict[str, Any]) -> dict[str, Any]:
    """Leave out what the script gives: the look, the address of the schema."""
    return {k: v for k, v in spec.items() if k not in ("config", "$schema", "datasets")}


def _of(rows: Rows, benchmark: str) -> Rows:
    return [r for r in rows if r["benchmark"] == benchmark]


def _block(row: Mapping[str, Any]) -> tuple[str, str]:
    return row["model"], row["benchmark"]
