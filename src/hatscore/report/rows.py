"""Scores as plain records: what a chart draws and a page embeds.

A record holds texts, whole numbers, rounded numbers, truth values and None, nothing else, so JSON
holds it. Beside the records stands their packed form, one list per column and each text once:
1,740 records of scores take about a fifth of the room.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from hatscore.errors import InputError
from hatscore.languages import native_name, script, script_name
from hatscore.report.blocks import CURVED_P
from hatscore.report.text import headline, language_name, printable
from hatscore.scoring import MACRO
from hatscore.stats.estimate import p_value

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from hatscore.outcomes import Outcomes
    from hatscore.scoring import Measurement

__all__ = [
    "MACRO_LABEL",
    "PLUGIN",
    "UNKNOWN_FAMILY",
    "family_row",
    "label_of",
    "mixed",
    "ordered_labels",
    "packed",
    "rounded",
    "score_rows",
    "sources_of",
    "unpacked",
]

MACRO_LABEL = "mean over languages"
UNKNOWN_FAMILY = "other"
"""What records call the family of a model that nobody knows."""
PLUGIN = "plugin"
"""What records call the estimator of a slope that is not corrected for noise."""
_DIGITS = 4
_WITH_INTERVAL = ("source_accuracy", "target_accuracy", "gap", "transfer_score")

Row = dict[str, Any]


def score_rows(
    measurements: Iterable[Measurement],
    *,
    facts: Mapping[str, Mapping[str, Any]] | None = None,
    sources: Mapping[str, Sequence[str]] | None = None,
) -> list[Row]:
    """Return one flat record per (model, benchmark, language), macro rows included.

    Parameters
    ----------
    measurements
        Of any number of models and benchmarks.
    facts
        What is known of models, by name: ``family``, ``released``, ``params`` and others; only
        those three are taken, each None where it is not known.
    sources
        Source languages by benchmark, see `sources_of`; for ``same_script``.

    Returns
    -------
    list of dict
        In the order given. Numbers are rounded to four decimals and None where there are none.

        ``model``, ``benchmark``, ``language``, ``macro``
            Whose scores; `macro` is true for the mean over languages.
        ``label``, ``native_label``, ``english``
            ``sw · Swahili``, ``sw · Kiswahili``, ``Swahili``; `MACRO_LABEL` for macro.
        ``script``, ``script_name``, ``same_script``
            ISO 15924 code, and its English name, empty where it is not known; whether all sources
            of the benchmark share it, None where some do or nobody said.
        ``family``, ``released``, ``params``
            Of the model, from `facts`; `family` is ``other`` where it is not known.
        ``n_items``
            Items behind the target accuracy.
        ``hat``, ``hat_low``, ``hat_high``, ``low_open``, ``high_open``, ``estimator``
            The score to read: the corrected slope, else the plug-in; `estimator` says which
            (``corrected``, ``plugin``, or empty without a score). An infinite end is None and its
            flag true.
        ``hat_plugin``, ``hat_profile``
            The slope as published; the integral of the curved profile.
        ``source_accuracy``, ``target_accuracy``, ``gap``, ``transfer_score``
            Each also with ``_low`` and ``_high``.
        ``reliability``, ``curvature_p``, ``curved``, ``floor``
            `curved` where that p is below `blocks.CURVED_P`, `floor` where the target is right
            although the source never is, by the same level.
        ``reason``
            Why there is no score or an unusual interval; empty otherwise.
    """
    known = facts or {}
    places: dict[str, Row] = {}
    return [
        {
            "model": printable(m.model),
            "benchmark": printable(m.benchmark),
            **places.setdefault(m.language, _place(m.language)),
            "same_script": _same_script(m, places, sources or {}),
            **_facts_of(known.get(m.model, {})),
            **_scores_of(m),
        }
        for m in measurements
    ]


def sources_of(outcomes: Outcomes) -> dict[str, tuple[str, ...]]:
    """Return the source languages of every benchmark, sorted."""
    pairs = outcomes.frame.select("benchmark", "source_language").unique().sort("source_language")
    found: dict[str, tuple[str, ...]] = {}
    for benchmark, source in pairs.iter_rows():
        found[benchmark] = (*found.get(benchmark, ()), source)
    return found


def mixed(rows: Iterable[Mapping[str, Any]]) -> bool:
    """Whether some scores are corrected and others plug-in: the latter are lower by their noise.

    Such scores share no order and no mean.
    """
    return len({r.get("estimator") for r in rows} - {"", None}) > 1


def ordered_labels(rows: Iterable[Mapping[str, Any]], *, field: str = "label") -> list[str]:
    """Return labels of languages by mean HAT, best first, those without a score then, macro last.

    Of corrected and plug-in scores only the former count.

    Parameters
    ----------
    rows
        From `score_rows`.
    field
        Which label: ``label`` or ``native_label``.
    """
    values: dict[tuple[bool, str], list[float]] = {}
    rows = list(rows)
    apart = mixed(rows)
    for row in rows:
        held = values.setdefault((row["macro"], row[field]), [])
        if row["hat"] is not None and not (apart and row["estimator"] == PLUGIN):
            held.append(row["hat"])
    means = {key: sum(held) / len(held) if held else -math.inf for key, held in values.items()}
    return [label for _, label in sorted(means, key=lambda key: (key[0], -means[key], key[1]))]


def packed(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return records as columns, with each text of a column written once.

    Parameters
    ----------
    rows
        Records that all have the same fields.

    Returns
    -------
    dict
        ``n``, the number of records, and ``columns``: by field a list of values, ``{"all":
        value}`` where they are all alike, or ``{"levels": [...], "codes": [...]}`` for texts,
        `codes` being places in `levels`.

    Raises
    ------
    InputError
        Records of different fields.

    Examples
    --------
    >>> packed([{"a": "x", "b": 1}, {"a": "y", "b": 1}])["columns"]
    {'a': {'levels': ['x', 'y'], 'codes': [0, 1]}, 'b': {'all': 1}}
    """
    names = list(rows[0]) if rows else []
    for i, row in enumerate(rows):
        if set(row) != set(names):
            raise InputError(
                f"record {i} has the fields {', '.join(row)}; expected {', '.join(names)}"
            )
    return {"n": len(rows), "columns": {name: _column([r[name] for r in rows]) for name in names}}


def unpacked(columns: Mapping[str, Any]) -> list[Row]:
    """Return the records that `packed` packed."""
    lists = {}
    for name, column in columns["columns"].items():
        if isinstance(column, list):
            lists[name] = column
        elif "all" in column:
            lists[name] = [column["all"]] * columns["n"]
        else:
            lists[name] = [column["levels"][code] for code in column["codes"]]
    return [{name: held[i] for name, held in lists.items()} for i in range(columns["n"])]


def rounded(value: float | None, digits: int = _DIGITS) -> float | None:
    """Round a number; None for what is none."""
    if value is None or not math.isfinite(value):
        return None
    # adding zero turns -0.0 into 0.0
    return round(float(value), digits) + 0.0


def _column(values: list[Any]) -> Any:
    if all(type(v) is type(values[0]) and v == values[0] for v in values):
        return {"all": values[0]}
    # one and true are one key: only among texts does a value name itself
    if all(v is None or isinstance(v, str) for v in values):
        levels = list(dict.fromkeys(values))
        place = {level: i for i, level in enumerate(levels)}
        return {"levels": levels, "codes": [place[v] for v in values]}
    return values


def _place(language: str) -> Row:
    """Return what is known of a language from its tag alone."""
    if language == MACRO:
        label = native = english = MACRO_LABEL
        written = None
    else:
        english = printable(language_name(language))
        label = label_of(language)
        native = label_of(language, native=True)
        try:
            written = script(language)
        except InputError:
            written = None
    return {
        "language": printable(language),
        "macro": language == MACRO,
        "label": label,
        "native_label": native,
        "english": english,
        "script": written,
        "script_name": "" if written is None else script_name(written),
    }


def label_of(code: str, *, native: bool = False) -> str:
    """Return ``sw · Swahili``, or ``sw · Kiswahili``; the code where CLDR has no name."""
    try:
        name = native_name(code) if native else language_name(code)
    except InputError:
        name = code
    return printable(code if name == code else f"{code} · {name}")


def _same_script(
    m: Measurement, places: dict[str, Row], sources: Mapping[str, Sequence[str]]
) -> bool | None:
    own = places[m.language]["script"]
    of_sources = {places.setdefault(s, _place(s))["script"] for s in sources.get(m.benchmark, ())}
    if own is None or not of_sources or None in of_sources:
        return None
    if own not in of_sources:
        return False
    return True if len(of_sources) == 1 else None


def family_row(model: str, facts: Mapping[str, Mapping[str, Any]]) -> Row:
    """Return ``model`` and ``family`` of a record."""
    return {
        "model": printable(model),
        "family": _family(facts.get(model, {})),
    }


def _family(known: Mapping[str, Any]) -> str:
    return printable(str(known.get("family") or UNKNOWN_FAMILY))


def _facts_of(known: Mapping[str, Any]) -> Row:
    released, params = known.get("released"), known.get("params")
    return {
        "family": _family(known),
        "released": None if released is None else str(released),
        "params": None if params is None else float(params),
    }


def _scores_of(m: Measurement) -> Row:
    name, hat = headline(m)
    missing = math.isnan(hat.value)
    floor = m.scores["floor"]
    row: Row = {
        "n_items": m.scores["target_accuracy"].n_items,
        "hat": rounded(hat.value),
        "hat_low": None if missing else rounded(hat.low),
        "hat_high": None if missing else rounded(hat.high),
        "low_open": not missing and math.isinf(hat.low),
        "high_open": not missing and math.isinf(hat.high),
        "estimator": "" if missing else PLUGIN if name == "hat_plugin" else "corrected",
        "hat_plugin": rounded(m.scores["hat_plugin"].value),
        "hat_profile": rounded(m.scores["hat_profile"].value),
    }
    for score in _WITH_INTERVAL:
        estimate = m.scores[score]
        row[score] = rounded(estimate.value)
        row[f"{score}_low"] = rounded(estimate.low)
        row[f"{score}_high"] = rounded(estimate.high)
    row["reliability"] = rounded(hat.reliability)
    row["curvature_p"] = rounded(m.curvature_p)
    row["curved"] = m.curvature_p < CURVED_P
    row["floor"] = m.language != MACRO and floor.value > 0 and p_value(floor) / 2 < CURVED_P
    row["reason"] = printable(m.reason)
    return row
