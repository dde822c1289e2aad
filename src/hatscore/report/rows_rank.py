"""Who leads, and which orders the data do not tell; how replies ended."""

from __future__ import annotations

import math
from itertools import combinations
from typing import TYPE_CHECKING, Any

from hatscore.outcomes import STATUS_COLUMNS
from hatscore.report.health import status_shares
from hatscore.report.rows import label_of, rounded, score_rows
from hatscore.report.text import headline, printable
from hatscore.scoring import MACRO
from hatscore.stats.estimate import difference, p_value

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from hatscore.outcomes import Outcomes
    from hatscore.scoring import Measurement

__all__ = ["ANSWERED", "rank_rows", "status_rows"]

ANSWERED = "answered"


def rank_rows(
    measurements: Iterable[Measurement],
    *,
    facts: Mapping[str, Mapping[str, Any]] | None = None,
) -> list[dict[str, Any]]:
    """Return the macro records of `score_rows` with their ranks.

    A model's rank is 1 + the number of models that are shown to be better, so models that the
    data cannot tell apart may share a rank. Shown is what holds for all pairs of a benchmark at
    once: paired differences over shared items, Holm's correction, at the level of the intervals.
    Models are compared only where they have the same languages and the same estimator; a plug-in
    score beside corrected ones has no rank.

    Parameters
    ----------
    measurements, facts
        As for `score_rows`.

    Returns
    -------
    list of dict
        Records of macro rows, benchmarks in order of first appearance, best first, then plug-in
        scores where others are corrected, models without a score last, with these fields more:

        ``rank``, ``worst_rank``
            1 + models shown to be better; models minus those shown to be worse. None without a
            score that is compared.
        ``tied``
            Whether the data leave the model more than one rank.
        ``n_languages``
            Languages behind the mean.
    """
    found = list(measurements)
    languages: dict[tuple[str, str], frozenset[str]] = {}
    for m in found:
        key = (m.model, m.benchmark)
        languages[key] = languages.get(key, frozenset()) | ({m.language} - {MACRO})
    rows = []
    macros = [m for m in found if m.language == MACRO]
    for benchmark in dict.fromkeys(m.benchmark for m in macros):
        part = [m for m in macros if m.benchmark == benchmark]
        apart = _apart(part)
        part.sort(key=lambda m: (m.model in apart, _last_if_nan(headline(m)[1].value), m.model))
        better = _shown(part, languages)
        ranks = [
            None if m.model in apart else 1 + sum((j, i) in better for j in range(len(part)))
            for i, m in enumerate(part)
        ]
        n = sum(rank is not None for rank in ranks)
        for i, (m, row) in enumerate(zip(part, score_rows(part, facts=facts), strict=True)):
            worse = sum((i, j) in better for j in range(len(part)))
            row["rank"] = ranks[i]
            row["worst_rank"] = None if ranks[i] is None else n - worse
            row["tied"] = row["rank"] != row["worst_rank"]
            row["n_languages"] = len(languages[m.model, benchmark])
            rows.append(row)
    return rows


def _apart(part: list[Measurement]) -> set[str]:
    """Return the models that are not ranked: without a score, or plug-in among corrected ones."""
    names = {m.model: headline(m)[0] for m in part if not math.isnan(headline(m)[1].value)}
    ranked = "hat" if "hat" in names.values() else "hat_plugin"
    return {m.model for m in part if names.get(m.model) != ranked}


def _last_if_nan(value: float) -> float:
    return math.inf if math.isnan(value) else -value


def _shown(
    part: list[Measurement], languages: Mapping[tuple[str, str], frozenset[str]]
) -> set[tuple[int, int]]:
    """Return the pairs (better, worse) that hold together, by Holm's step-down procedure."""
    tests = []
    for i, j in combinations(range(len(part)), 2):
        (name, a), (other, b) = headline(part[i]), headline(part[j])
        same = (
            languages[part[i].model, part[i].benchmark]
            == languages[part[j].model, part[j].benchmark]
        )
        if same and name == other and not (math.isnan(a.value) or math.isnan(b.value)):
            p = p_value(difference(a, b))
            if not math.isnan(p):
                tests.append((p, (i, j) if a.value > b.value else (j, i)))
    tests.sort()
    shown = set()
    for step, (p, pair) in enumerate(tests):
        level = 1 - headline(part[pair[0]])[1].confidence
        if p * (len(tests) - step) > level:
            break
        shown.add(pair)
    return shown


def status_rows(outcomes: Outcomes) -> list[dict[str, Any]]:
    """Return one record per (model, benchmark, language) and way in which replies ended.

    Parameters
    ----------
    outcomes
        The canonical table; source languages are among the rows.

    Returns
    -------
    list of dict
        ``model``, ``benchmark``, ``language``, ``label``, ``native_label``, ``role`` (as
        `health.status_shares` gives it), ``replies``, ``status`` (`ANSWERED` or one of
        `outcomes.STATUS_COLUMNS`), ``place`` (its place in that order), ``share`` in [0, 1].
        Shares of 0 are left out, and languages without replies.
    """
    rows = []
    for share in status_shares(outcomes).iter_rows(named=True):
        if not share["replies"]:
            continue
        ended = {c: share[c] or 0.0 for c in STATUS_COLUMNS}
        ended = {ANSWERED: max(0.0, 1.0 - sum(ended.values())), **ended}
        rows += [
            {
                "model": printable(share["model"]),
                "benchmark": printable(share["benchmark"]),
                "language": printable(share["language"]),
                "label": label_of(share["language"]),
                "native_label": label_of(share["language"], native=True),
                "role": share["role"],
                "replies": share["replies"],
                "status": status,
                "place": i,
                "share": rounded(part),
            }
            for i, (status, part) in enumerate(ended.items())
            # under a policy that keeps statuses out of n their shares may pass 1
            if part > 0
        ]
    return rows
