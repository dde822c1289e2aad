"""HAT as a metric for any task whose samples say their item, language and source language.

Inspect hands a metric either one score per sample, reduced over epochs, or one per sample and
epoch. From a mean the number of replies behind it cannot be told, and without it there is no
unbiased square of a rate, so this metric asks for the scores of every epoch: which reducer the
task has makes no difference to it.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from dataclasses import replace
from logging import getLogger
from typing import TYPE_CHECKING, Any

from inspect_ai.log._samples import active_samples

# Inspect reads the annotations of a metric at run time.
from inspect_ai.scorer import Metric, SampleScore, Value, metric

from hatscore.errors import HatscoreError, InputError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hatscore.outcomes import Aligned
    from hatscore.stats import Estimate

__all__ = ["hat"]

_LOGGER = getLogger(__name__)
_WARNED: set[str] = set()
_MEAN = ""  # no language's tag
_NOTHING = "hat: no item has been scored in its source language and in another one"
_FRACTIONS = (
    "hat: there are scores between 0 and 1, partial credit or means over epochs, whose noise "
    "cannot be told: only the plug-in is given"
)


@metric(scores="unreduced")
def hat(
    item: str = "item",
    language: str = "language",
    source: str = "source_language",
    group: str = "group",
    *,
    source_language: str | None = None,
    chance: str | None = None,
    confidence: float = 0.95,
    per_language: bool = True,
) -> Metric:
    """Hardness Adjusted Transfer: how much of what is solved in the source is solved elsewhere.

    Parameters
    ----------
    item, language, source, group
        Keys of the sample metadata that say which item a sample is, in which language, what the
        item's source language is, and to which cluster of items it belongs; without a cluster
        every item is one.
    source_language
        The source of all items, in place of `source`.
    chance
        Key of the probability that a blind guess is right; None leaves guessing out of account.
    confidence
        Level of the intervals, in (0, 1).
    per_language
        Give the values of every language, and not only their mean.

    Returns
    -------
    Metric
        With the values ``hat``, ``low``, ``high`` and ``plugin`` of the mean over languages, and
        ``hat_sw``, ``hat_sw_low``, ``hat_sw_high`` and ``hat_sw_plugin`` of every target. The
        first three are the corrected score of :func:`hatscore.hat_score` with its Fieller
        interval, the last is the published estimator. What the scores cannot tell is NaN; the
        reason is logged when the eval ends. Every epoch is one reply, an unscored one does not
        count.

    Examples
    --------
    >>> from inspect_ai.scorer import match
    >>> from inspect_ai import Task
    >>> task = Task(scorer=match(numeric=True), metrics=[hat(item="question_id")])
    """
    keys = {"item": item, "language": language, "group": group}
    if source_language is None:
        keys["source_language"] = source
    if chance is not None:
        keys["chance"] = chance

    def compute(scores: list[SampleScore]) -> Value:
        found: dict[str, tuple[Estimate, Estimate]] = {}
        try:
            block = _block(scores, keys, source_language)
            if block is not None:
                found = _estimates(block, confidence, adjusted=chance is not None)
            elif scores:
                _say(_NOTHING)
        except HatscoreError as error:
            _warn(f"hat: {error}")
        _tell_missing(found)
        values = _values("hat", "", *found.pop(_MEAN, (None, None)))
        if per_language:
            for tag, pair in found.items():
                values |= _values(f"hat_{tag}", f"hat_{tag}_", *pair)
        return values

    return compute


def _values(
    name: str, prefix: str, corrected: Estimate | None, plugin: Estimate | None
) -> dict[str, float]:
    nan = math.nan
    return {
        name: nan if corrected is None else float(corrected.value),
        f"{prefix}low": nan if corrected is None else float(corrected.low),
        f"{prefix}high": nan if corrected is None else float(corrected.high),
        f"{prefix}plugin": nan if plugin is None else float(plugin.value),
    }


def _block(
    scores: Sequence[SampleScore], keys: Mapping[str, str], source_language: str | None
) -> Aligned | None:
    """Sum the epochs of every item and language; None where nothing can be set against a source.

    Raises
    ------
    InputError
        A sample that does not say what it must, or a score that is no credit.
    """
    import polars as pl  # noqa: PLC0415 - inspect loads this module at every start

    from hatscore.outcomes import Outcomes  # noqa: PLC0415 - loads polars
    from hatscore.readers.inspect_score import credit  # noqa: PLC0415 - its room loads polars

    n: Counter[tuple[str, str]] = Counter()
    k: defaultdict[tuple[str, str], float] = defaultdict(float)
    fields: dict[tuple[str, str], dict[str, Any]] = {}
    for score in scores:
        got = credit(score.score.value, "score", f"sample {score.sample_id}")
        if math.isnan(got):
            continue
        said = _fields(score, keys)
        key = (said["item"], said["language"])
        n[key] += 1
        k[key] += got
        fields.setdefault(key, said)
    if not fields:
        return None
    fixed = {"model": "model", "benchmark": "benchmark"}
    if source_language is not None:
        fixed["source_language"] = source_language
    rows = [{**fixed, **said, "n": n[key], "k": k[key]} for key, said in fields.items()]
    frame = pl.DataFrame(rows, infer_schema_length=None)
    block = next(Outcomes.from_frame(frame).aligned(), None)
    return block if block is not None and block.languages else None


def _fields(score: SampleScore, keys: Mapping[str, str]) -> dict[str, Any]:
    metadata = score.sample_metadata or {}
    said: dict[str, Any] = {}
    for column, key in keys.items():
        value = metadata.get(key)
        if column == "chance" and isinstance(value, int | float):
            said[column] = float(value)
        elif value is not None and column != "chance":
            said[column] = str(value)
        elif column != "group":
            known = ", ".join(map(str, metadata)) or "nothing"
            raise InputError(
                f"sample {score.sample_id}: metadata {key!r} is {value!r}, which should say the "
                f"{column.replace('_', ' ')}; there is {known}. Name the right one: "
                + _remedy(column)
            )
        else:
            said[column] = said["item"]
    return said


def _remedy(column: str) -> str:
    if column != "source_language":
        return f"hat({column}='KEY')"
    return "hat(source='KEY'), or where no key says it, one for all: hat(source_language='en')"


def _estimates(
    block: Aligned, confidence: float, *, adjusted: bool
) -> dict[str, tuple[Estimate, Estimate]]:
    """Return corrected and plug-in estimate by language, the mean over languages first."""
    from hatscore.stats import hat_macro, hat_scores  # noqa: PLC0415 - SciPy

    counts = (block.k_source, block.n_source, block.k_target, block.n_target)
    chance = block.chance if adjusted else 0.0
    how: dict[str, Any] = {"groups": block.groups, "chance": chance, "confidence": confidence}
    plugins = [
        hat_macro(*counts, estimator="plugin", **how),
        *hat_scores(*counts, estimator="plugin", **how),
    ]
    if all(bool((x == x.round()).all()) for x in counts):
        corrected = [hat_macro(*counts, **how), *hat_scores(*counts, **how)]
    else:
        _warn(_FRACTIONS)
        corrected = plugins
    return {
        # two estimators under one name would mislead
        language: (_missing(one) if one.estimator == "plugin" else one, other)
        for language, one, other in zip([_MEAN, *block.languages], corrected, plugins, strict=True)
    }


def _missing(plugin: Estimate) -> Estimate:
    return replace(plugin, value=math.nan, low=math.nan, high=math.nan)


def _tell_missing(found: Mapping[str, tuple[Estimate, Estimate]]) -> None:
    for language, (corrected, _) in found.items():
        if language != _MEAN and not math.isfinite(corrected.value):
            _say(f"hat_{language} is NaN: {corrected.reason} (every epoch is one reply)")
            return


def _say(message: str) -> None:
    """Log what the data cannot tell, once the eval has ended: before, it may still come."""
    if not active_samples():
        _warn(message)


def _warn(message: str) -> None:
    """Log once: inspect computes metrics again and again while an eval is under way."""
    if message not in _WARNED:
        _WARNED.add(message)
        _LOGGER.warning(message)
