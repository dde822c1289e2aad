"""How much of the gap is noise of replies, of items, of languages.

For a language l the observed gap is ``mean(s) - mean(t_l)`` over items. Its variance has two
parts: *replies*, the binomial noise of k out of n per item,
``sum(s (1 - s) / (n_s - 1) + t (1 - t) / (n_t - 1)) / items**2``, which more replies would
remove, and *items*, the rest of its sampling variance, which only more items would. *Languages*
is the spread of true gaps between languages: the variance of observed gaps less what the sampling
of items and replies adds to differences between languages.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from scipy.special import chdtri

from hatscore.errors import InputError
from hatscore.scoring import MACRO
from hatscore.stats import difference
from hatscore.stats.design import components
from hatscore.studies.result import Analysis, Figure, Finding, between, cannot_tell

if TYPE_CHECKING:
    from hatscore.outcomes import Aligned
    from hatscore.stats import Estimate
    from hatscore.studies.material import Material

__all__ = ["language_sd", "reply_variance", "variance"]

QUESTION = "How much of the gap is noise of replies, of items, of languages?"
_FEWEST = 3


def variance(material: Material) -> Analysis:
    """Return the parts of the gap's uncertainty, and of HAT's, per model and benchmark."""
    rows = [_row(material, block) for block in material.outcomes.aligned() if block.languages]
    table = pl.DataFrame(rows, infer_schema_length=None)
    if not rows:
        return cannot_tell("variance", QUESTION, "there are no targets")
    notes = (
        (
            "sd_replies, sd_items: of one language's gap. sd_languages: of true gaps between "
            "languages, with its interval over languages. hat_replies: share of the variance of "
            "one language's HAT that more replies would remove."
        ),
    )
    of_languages = pl.col("variable") == "sd_languages"
    points = table.unpivot(
        on=["sd_replies", "sd_items", "sd_languages"],
        index=["model", "benchmark", "languages_low", "languages_high"],
    ).select(
        panel="benchmark",
        series=pl.col("variable").str.strip_prefix("sd_"),
        label="model",
        y="value",
        # replies and items have no interval, the spread of languages has one
        low=pl.when(of_languages).then("languages_low").otherwise(math.nan),
        high=pl.when(of_languages).then("languages_high").otherwise(math.nan),
    )
    figure = Figure(points, x_label="", y_label="standard deviation of the gap", least=0.0)
    return Analysis("variance", QUESTION, table, tuple(_say(table)), figure, notes)


def reply_variance(block: Aligned) -> dict[str, float]:
    """Return the variance of each language's gap that comes from replies.

    NaN for a language where no item has two replies on both sides.
    """
    found = {}
    for j, language in enumerate(block.languages):
        ns, nt = block.n_source, block.n_target[:, j]
        use = (ns > 0) & (nt > 0)
        seen = use & (ns > 1) & (nt > 1)
        if not seen.any():
            found[language] = math.nan
            continue
        s, t = block.k_source[seen] / ns[seen], block.k_target[seen, j] / nt[seen]
        # a cell that stands for others that a plan left out counts as often, noise and all
        w = block.weights[:, j]
        noise = w[seen] * s * (1 - s) / (ns[seen] - 1) + w[seen] ** 2 * t * (1 - t) / (nt[seen] - 1)
        # items with a single reply on one side are taken to be like the others
        found[language] = float(noise.mean()) * int(use.sum()) / float(w[use].sum()) ** 2
    return found


def language_sd(scores: list[Estimate], *, confidence: float) -> tuple[float, float, float]:
    """Return the spread of true scores between languages, with its interval.

    Parameters
    ----------
    scores
        One per language, all with a value.
    confidence
        Level, in (0, 1).

    Returns
    -------
    tuple of float
        Standard deviation, low, high, all at least 0. With L languages and observed variance V
        of scores, ``(L - 1) V / (sd**2 + v)`` is taken for chi squared with L - 1 degrees of
        freedom, v being half the mean sampling variance of a difference between two languages.
        NaN with fewer than 3 languages.
    """
    n = len(scores)
    if n < _FEWEST:
        return math.nan, math.nan, math.nan
    observed = float(np.var([s.value for s in scores], ddof=1))
    noise = [
        difference(scores[i], scores[j]).se ** 2 / 2 for i in range(n) for j in range(i + 1, n)
    ]
    v = float(np.mean(noise))
    tail = (1 - confidence) / 2
    total = (n - 1) * observed
    ends = (total / float(chdtri(n - 1, tail)), total / float(chdtri(n - 1, 1 - tail)))
    sd, low, high = (math.sqrt(max(0.0, x - v)) for x in (observed, *ends))
    return sd, low, high


def _row(material: Material, block: Aligned) -> dict[str, Any]:
    replies = reply_variance(block)
    gaps = {
        x: material.of(block.model, block.benchmark, x, "gap")
        for x in block.languages
        if math.isfinite(material.of(block.model, block.benchmark, x, "gap").value)
    }
    of_replies = float(np.mean([replies[x] for x in gaps])) if gaps else math.nan
    sampling = float(np.mean([e.se**2 for e in gaps.values()])) if gaps else math.nan
    sd, low, high = language_sd(list(gaps.values()), confidence=material.confidence)
    macro = material.of(block.model, block.benchmark, MACRO, "gap")
    return {
        "model": block.model,
        "benchmark": block.benchmark,
        "gap": macro.value,
        "gap_low": macro.low,
        "gap_high": macro.high,
        "sd_replies": _root(of_replies),
        "sd_items": _root(max(0.0, sampling - of_replies)),
        "sd_languages": sd,
        "languages_low": low,
        "languages_high": high,
        "hat_replies": _hat_share(block),
        "n_languages": len(gaps),
    }


def _root(x: float) -> float:
    return math.nan if math.isnan(x) else math.sqrt(x)


def _hat_share(block: Aligned) -> float:
    """Return the mean share of replies in the variance of HAT, NaN where it cannot be known."""
    shares = []
    for j in range(len(block.languages)):
        n_target = block.n_target[:, j]
        try:
            parts = components(block.k_source, block.n_source, block.k_target[:, j], n_target)
            n_s = int(np.median(block.n_source[block.n_source > 0]))
            n_t = int(np.median(n_target[n_target > 0]))
            of = parts.variance(n_s, n_t)
        except InputError:
            continue  # too few replies, or partial credit: this language cannot say
        total = math.fsum(of.values())
        if total > 0:
            shares.append(min(1.0, (of["source"] + of["target"]) / total))
    return float(np.mean(shares)) if shares else math.nan


def _say(table: pl.DataFrame) -> list[Finding]:
    found = []
    for (benchmark,), part in table.group_by(["benchmark"], maintain_order=True):
        if part["sd_replies"].is_nan().all():
            found.append(
                Finding(
                    "cannot tell",
                    f"{benchmark}: with one reply per item noise of replies cannot be told from "
                    "differences of items.",
                )
            )
            continue
        middle = {
            c: part[c].drop_nans().median()
            for c in ("gap", "sd_replies", "sd_items", "sd_languages", "hat_replies")
        }
        who = f"medians over {part.height} models" if part.height > 1 else part["model"][0]
        text = (
            f"{benchmark}, {who}: one language's gap is known "
            f"to within a standard error of {_number(middle['sd_replies'])} from replies and "
            f"{_number(middle['sd_items'])} from items"
        )
        if middle["sd_languages"] is not None:
            text += (
                "; true gaps differ between languages with a standard deviation of "
                f"{_number(middle['sd_languages'])}"
            )
        if middle["hat_replies"] is not None:
            text += (
                f"; more replies would remove {_percent(middle['hat_replies'])} of HAT's variance"
            )
        found.append(Finding("described", f"{text}."))
    noisy = table.filter((pl.col("gap_low") <= 0) & (pl.col("gap_high") >= 0))
    if noisy.height:
        row = noisy.row(0, named=True)
        found.append(
            Finding(
                "described",
                f"{noisy.height} of {table.height} macro gaps are within noise of zero, such as "
                f"{row['model']} on {row['benchmark']}: "
                f"{between(row['gap'], row['gap_low'], row['gap_high'], sign=True)}.",
            )
        )
    return found


def _number(x: Any) -> str:
    return "an unknown amount" if x is None else f"{float(x):.3f}"


def _percent(x: Any) -> str:
    return f"{100 * float(x):.0f} %"
