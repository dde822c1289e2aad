"""What a plan will ask and how sharp it will be, before anything is asked.

The variance behind an interval comes from a pilot run, language by language, or from a model
that is simulated as the user assumes it. Widths scale with one over the root of the items.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from hatscore.errors import InputError, InsufficientData
from hatscore.planning import RATIO
from hatscore.sampling.plan import FEWEST_KEPT
from hatscore.stats import simulate
from hatscore.stats.allocation import learn
from hatscore.stats.levels import FIRST_LEVEL, level_for_ratio, level_for_width

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import ArrayLike

    from hatscore.outcomes import Aligned
    from hatscore.sampling import SamplingPlan, Task
    from hatscore.stats.allocation import Learned

__all__ = ["Assumed", "Outlook", "Pilot", "outlook", "spreads_of"]

_SIMULATED = 20_000
_SEED = 0


@dataclass(frozen=True, slots=True)
class Assumed:
    """A model as the user expects it.

    Attributes
    ----------
    source_accuracy
        Mean of the source rates, in (0, 1); they are drawn from a Beta distribution whose
        parameters add up to 2: uniform at 0.5.
    slope
        The HAT of every language, in (0, 1].
    heterogeneity
        Concentration of target rates given the source rate; small numbers for items that differ
        much.
    """

    source_accuracy: float = 0.5
    slope: float = 0.8
    heterogeneity: float = 3.0


@dataclass(frozen=True, slots=True)
class Pilot:
    """What widths and replies depend on, for each target language.

    Attributes
    ----------
    learned
        What replies have shown; a column for every language, or one for all that are assumed.
    columns
        Column by language; languages that are not known get the mean of the others.
    unsolved
        Share of items that the source never solves in its replies.
    items
        Items that it rests on.
    """

    learned: Learned
    columns: Mapping[str, int]
    unsolved: float
    items: int


@dataclass(frozen=True, slots=True)
class Outlook:
    """One plan for one benchmark.

    Attributes
    ----------
    plan
        As on the command line.
    replies
        Expected replies.
    input_tokens, output_tokens
        Expected tokens, every reply with its own prompt; None where nothing is known of them.
    widths
        Expected full width of each language's 95 % interval.
    levels
        Target replies for an item that the source always solves, by language.
    note
        What is to be said of it, or "".
    """

    plan: str
    replies: float
    input_tokens: float
    output_tokens: float | None
    widths: Mapping[str, float] = field(default_factory=dict)
    levels: Mapping[str, float] = field(default_factory=dict)
    note: str = ""


def spreads_of(source: Aligned | Assumed, languages: Sequence[str], *, repeats: int) -> Pilot:
    """Return the pilot of a run's outcomes, or of a simulated model.

    Parameters
    ----------
    source
        Outcomes of a pilot run on the benchmark, or assumptions.
    languages
        Target languages that are planned; those that the pilot lacks get the mean of the others.
    repeats
        Source replies per item of a simulated model.

    Raises
    ------
    InputError
        A pilot without any of the languages, or too small; assumptions outside their range.
    """
    if isinstance(source, Assumed):
        return _simulated(source, languages, repeats)
    try:
        learned = learn(
            source.k_source,
            source.n_source,
            source.k_target,
            source.n_target,
            weights=source.weights,
        )
    except InsufficientData:
        raise InputError(
            f"the pilot of {source.benchmark} holds no item that the source solves in two of its "
            "replies; sample more, or plan from assumptions"
        ) from None
    known = np.flatnonzero(np.isfinite(learned.denominator))
    columns = {source.languages[j]: i for i, j in enumerate(known)}
    return Pilot(learned.columns(known), columns, _unsolved(source.k_source), len(source.k_source))


def _unsolved(k_source: ArrayLike) -> float:
    return float((np.asarray(k_source) == 0).mean())


def _simulated(assumed: Assumed, languages: Sequence[str], repeats: int) -> Pilot:
    for value, low, what in (
        (assumed.source_accuracy, 0, "source accuracy"),
        (assumed.slope, 0, "HAT"),
    ):
        if not low < value <= 1 or (what == "source accuracy" and value == 1):
            raise InputError(f"an assumed {what} lies between 0 and 1; got {value:g}")
    if not assumed.heterogeneity > 0:
        raise InputError(f"an assumed heterogeneity is positive; got {assumed.heterogeneity:g}")
    mean = assumed.source_accuracy
    data = simulate(
        _SIMULATED,
        slopes=assumed.slope,
        source=(2 * mean, 2 * (1 - mean)),
        concentration=assumed.heterogeneity,
        n_source=repeats,
        n_target=10,
        rng=np.random.default_rng(_SEED),
    )
    learned = learn(data.k_source, data.n_source, data.k_target, data.n_target)
    return Pilot(learned, dict.fromkeys(languages, 0), _unsolved(data.k_source), _SIMULATED)


def outlook(
    plan: SamplingPlan,
    pilot: Pilot,
    tasks: Sequence[Task],
    *,
    repeats: int,
    input_tokens: Mapping[str, float],
    output_tokens: Mapping[str, float] | None,
) -> Outlook:
    """Return what `plan` will ask and how sharp it will be.

    Parameters
    ----------
    plan
        One plan.
    pilot
        From :func:`spreads_of`.
    tasks
        All cells of the full plan.
    repeats
        Replies per item and language of the full plan.
    input_tokens, output_tokens
        Expected tokens of one reply, by language; None where nothing is known of the output.
    """
    cells: dict[str, int] = {}
    sources: dict[str, int] = {}
    for task in tasks:
        place = sources if task.item.language == task.item.source_language else cells
        place[task.item.language] = place.get(task.item.language, 0) + 1
    mean_repeats, widths, levels = {}, {}, {}
    common = None
    if plan.kind == "efficient":
        common = level_for_ratio(pilot.learned, RATIO, paper=repeats, further=False)
    for language, items in cells.items():
        level, per_item, width = _language(plan, language, pilot, items, repeats, common)
        mean_repeats[language], widths[language] = per_item, width
        if level is not None:
            levels[language] = level
    replies = {language: float(n * repeats) for language, n in sources.items()}
    for language, n in cells.items():
        replies[language] = replies.get(language, 0.0) + n * mean_repeats[language]
    note = ""
    if plan.width is not None:
        wide = {x: w for x, w in widths.items() if w > plan.width}
        if wide:
            more = max((w / plan.width) ** 2 for w in wide.values())
            note = (
                f"{plan}: not reached with {repeats} replies per item in {len(wide)} of "
                f"{len(widths)} languages; about {more:.1f} times as many items would do"
            )
    return Outlook(
        str(plan),
        math.fsum(replies.values()),
        math.fsum(n * input_tokens[x] for x, n in replies.items()),
        None
        if output_tokens is None
        else math.fsum(n * output_tokens[x] for x, n in replies.items()),
        widths,
        levels,
        note,
    )


def _language(  # noqa: PLR0917 - all of one cell of the table
    plan: SamplingPlan,
    language: str,
    pilot: Pilot,
    items: int,
    repeats: int,
    common: float | None,
) -> tuple[float | None, float, float]:
    """Return level, target replies per item and width of one language."""
    scale = math.sqrt(pilot.items / items)
    own = pilot.columns.get(language)
    learned = pilot.learned if own is None else pilot.learned.columns([own])
    if plan.kind == "paper":
        return None, float(repeats), scale * float(learned.width(repeats).mean())
    level = common
    if plan.width is not None:
        wanted = plan.width / scale
        level = level_for_width(learned, wanted, paper=repeats, further=False)
    level = max(level or 0.0, FIRST_LEVEL)
    n, share = learned.plan(level, most=repeats, further=False)
    share = np.maximum(share, plan.keep)
    solved = float((learned.counts * n * share).sum(0).mean()) / pilot.items
    unsolved = pilot.unsolved * items
    kept = min(unsolved, max(plan.keep * unsolved, FEWEST_KEPT))
    return level, solved + kept / items, scale * float(learned.width(n, share).mean())
