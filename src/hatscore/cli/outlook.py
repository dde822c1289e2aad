"""What a plan will ask and how sharp it will be, before anything is asked.

The variance behind an interval comes from a pilot run, language by language, or from a model
that is simulated as the user assumes it. Widths scale with one over the root of the items.

A request brings several replies where the server takes ``n``, and its prompt is billed once. So
what is sent is counted in requests, stage by stage: a second stage sends prompts again.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.special import gammaln

from hatscore.errors import InputError, InsufficientData
from hatscore.planning import RATIO
from hatscore.sampling.plan import FEWEST_KEPT, FOLDS
from hatscore.stats import simulate
from hatscore.stats.allocation import learn
from hatscore.stats.levels import FIRST_LEVEL, first_replies, level_for_ratio, level_for_width

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import ArrayLike, NDArray

    from hatscore.outcomes import Aligned
    from hatscore.sampling import SamplingPlan, Task
    from hatscore.stats.allocation import Learned

    Floats = NDArray[np.float64]

__all__ = ["Assumed", "Outlook", "Pilot", "outlook", "spreads_of"]

_SIMULATED = 20_000
_SEED = 0
_ROUNDING = 1e-9


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
    first
        Target replies that each item gets in the first stage and the share of its kind that is
        sent then, shape (items,) each.
    """

    learned: Learned
    columns: Mapping[str, int]
    unsolved: float
    items: int
    first: tuple[NDArray[np.int64], Floats]


@dataclass(frozen=True, slots=True)
class Outlook:
    """One plan for one benchmark.

    Attributes
    ----------
    plan
        As on the command line.
    replies
        Expected replies.
    requests
        Expected requests that bring replies, by the number of replies that one may ask for.
    input_tokens
        Expected tokens of the prompts of those requests, by the same numbers.
    output_tokens
        Expected tokens of the replies; None where nothing is known of them.
    widths
        Expected full width of each language's 95 % interval.
    levels
        Target replies for an item that the source always solves, by language.
    note
        What is to be said of it, or "".
    """

    plan: str
    replies: float
    requests: Mapping[int, float]
    input_tokens: Mapping[int, float]
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
        Replies per item and language of the full plan; those to the source of a simulated model.

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
    return Pilot(
        learned.columns(known),
        columns,
        _unsolved(source.k_source),
        len(source.k_source),
        first_replies(source.k_source, source.n_source, most=repeats),
    )


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
    return Pilot(
        learned,
        dict.fromkeys(languages, 0),
        _unsolved(data.k_source),
        _SIMULATED,
        first_replies(data.k_source, data.n_source, most=repeats),
    )


def outlook(
    plan: SamplingPlan,
    pilot: Pilot,
    tasks: Sequence[Task],
    *,
    repeats: int,
    input_tokens: Mapping[str, float],
    output_tokens: Mapping[str, float] | None,
    per_request: Sequence[int] = (1,),
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
        Expected tokens of one prompt and of one reply, by language; None where nothing is known
        of the output.
    per_request
        Most replies that one request asks for, each at least 1: what is foretold of requests is
        foretold for each of these numbers.
    """
    cells: dict[str, int] = {}
    sources: dict[str, int] = {}
    for task in tasks:
        place = sources if task.item.language == task.item.source_language else cells
        place[task.item.language] = place.get(task.item.language, 0) + 1
    widths, levels = {}, {}
    common = None
    if plan.kind == "efficient":
        common = level_for_ratio(pilot.learned, RATIO, paper=repeats, further=False)
    replies = {language: float(n * repeats) for language, n in sources.items()}
    requests = {
        most: {language: float(n * math.ceil(repeats / most)) for language, n in sources.items()}
        for most in per_request
    }
    for language, items in cells.items():
        found = _language(plan, language, pilot, items, repeats, common, per_request)
        widths[language] = found.width
        if found.level is not None:
            levels[language] = found.level
        replies[language] = replies.get(language, 0.0) + found.replies
        for most, n in zip(per_request, found.requests, strict=True):
            requests[most][language] = requests[most].get(language, 0.0) + n
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
        {most: math.fsum(part.values()) for most, part in requests.items()},
        {
            most: math.fsum(n * input_tokens[x] for x, n in part.items())
            for most, part in requests.items()
        },
        None
        if output_tokens is None
        else math.fsum(n * output_tokens[x] for x, n in replies.items()),
        widths,
        levels,
        note,
    )


class _Language(NamedTuple):
    """What one language is expected to take."""

    level: float | None
    width: float
    replies: float
    requests: tuple[float, ...]


def _language(  # noqa: PLR0917 - all of one cell of the table
    plan: SamplingPlan,
    language: str,
    pilot: Pilot,
    items: int,
    repeats: int,
    common: float | None,
    per_request: Sequence[int],
) -> _Language:
    """Return level, width, target replies and requests of one language."""
    scale = math.sqrt(pilot.items / items)
    own = pilot.columns.get(language)
    learned = pilot.learned if own is None else pilot.learned.columns([own])
    if plan.kind == "paper":
        width = scale * float(learned.width(repeats).mean())
        requests = tuple(float(items * math.ceil(repeats / most)) for most in per_request)
        return _Language(None, width, float(items * repeats), requests)
    level = common
    if plan.width is not None:
        wanted = plan.width / scale
        level = level_for_width(learned, wanted, paper=repeats, further=False)
    level = max(level or 0.0, FIRST_LEVEL)
    n, share = learned.plan(level, most=repeats, further=False)
    first, begun = (x[:, None] for x in pilot.first)
    n = np.maximum(n, first)
    times = items / pilot.items
    begun = _sent(np.maximum(begun, plan.keep), learned.source, times)
    share = np.maximum(_sent(np.maximum(share, plan.keep), learned.source, times), begun)

    def total(per_cell: Floats) -> float:
        return times * float((learned.counts * per_cell).sum(0).mean())

    unsolved = pilot.unsolved * items
    kept = min(unsolved, max(plan.keep * unsolved, FEWEST_KEPT))
    requests = tuple(
        kept
        + total(
            # those of the first stage, what they lack in the second, and those that join then
            begun * (np.ceil(first / most) + np.ceil((n - first) / most))
            + (share - begun) * np.ceil(n / most)
        )
        for most in per_request
    )
    width = scale * float(learned.width(n, share).mean())
    return _Language(level, width, total(n * share) + kept, requests)


def _sent(share: Floats, source: Floats, times: float) -> Floats:
    """Return the share of cells that is sent where whole items are drawn of every kind.

    Of the items of one source rate in one part `draw` takes a share, rounded up; how many there
    are of a kind varies as a Poisson number.

    Parameters
    ----------
    share
        Wanted share, shape (items, columns) or (items, 1); all items of one source rate have one.
    source
        Source rates, shape (items,).
    times
        Items that are planned for, for each item of the pilot.
    """
    found = np.ones_like(share)
    for rate in np.unique(source[source > 0]):
        alike = source == rate
        wanted = share[alike].max(0)
        mean = float(alike.sum()) * times / FOLDS
        sizes = np.arange(1, math.ceil(mean + 6 * math.sqrt(mean)) + 2)
        chance = np.exp(sizes * math.log(mean) - mean - gammaln(sizes + 1))
        drawn = np.ceil(wanted[:, None] * sizes - _ROUNDING)
        found[alike] = np.minimum((drawn * chance).sum(1) / (sizes * chance).sum(), 1.0)
    return found
