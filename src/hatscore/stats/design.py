"""How sharp a run will be, and the cheapest run that is sharp enough.

The variance of the slope is ``E[(a - m u)**2] / (items * E[S**2]**2)`` with ``a = s t`` and u the
unbiased square. Given an item's true rates S and T it has three parts, all known polynomials:

* *between items*: ``(S T - m S**2)**2``, which more replies do not shrink;
* *source noise*, of order 1 / n_source;
* *target noise*, of order 1 / n_target.

Their means over items come from a pilot (unbiased moments of counts) or from assumed rates.
An item that the source never solves adds nothing to either sum of the slope, so its target
prompts need not be sent (`skip_unsolved`); that changes the cost and leaves the width.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from hatscore.errors import InputError
from hatscore.stats.counts import check_counts, falling_moment
from hatscore.stats.intervals import normal_quantile

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]

__all__ = ["Components", "Plan", "cheapest_plan", "components", "components_of_rates", "plan"]

_PILOT_SOURCE = 4
_PILOT_TARGET = 2


@dataclass(frozen=True, slots=True)
class Components:
    """Mean moments of true rates over items: all that a width depends on.

    Attributes
    ----------
    moments
        ``moments[p][q]`` is E[S**p T**q] for p = 0..4, q = 0..2.
    slope
        The slope m.
    n_items
        Items of the pilot, 0 for assumed rates.
    never_solved
        How often n source replies are all wrong, for n = 1, 2, ..., as a function of n.
    """

    moments: tuple[tuple[float, ...], ...]
    slope: float
    n_items: int
    never_solved: tuple[float, ...]

    def variance(self, n_source: int, n_target: int) -> dict[str, float]:
        """Return the parts of E[(a - m u)**2]: ``items``, ``source`` and ``target``.

        Parameters
        ----------
        n_source, n_target
            Replies per item, at least 2 and at least 1.

        Raises
        ------
        InputError
            Fewer replies than that.
        """
        if n_source < 2 or n_target < 1:  # noqa: PLR2004 - the square needs two replies
            raise InputError(
                f"a plan needs n_source >= 2 and n_target >= 1; got {n_source} and {n_target}"
            )
        e, m, n = self.moments, self.slope, n_source
        items = e[2][2] - 2 * m * e[3][1] + m * m * e[4][0]
        # Var(s) T**2 - 2 m T Cov(s, u) + m**2 Var(u), all given S
        var_s = (e[1][2] - e[2][2]) / n
        cov_su = 2 * (e[2][1] - e[3][1]) / n
        # two replies form a pair in n (n - 1) / 2 ways: Hoeffding's variance of the mean product
        pairs = n * (n - 1) / 2
        var_u = (2 * (n - 2) * (e[3][0] - e[4][0]) + (e[2][0] - e[4][0])) / pairs
        source = var_s - 2 * m * cov_su + m * m * var_u
        # Var(t) times E[s**2 | S] = S**2 + S (1 - S) / n
        var_t = ((e[2][1] - e[2][2]) + ((e[1][1] - e[1][2]) - (e[2][1] - e[2][2])) / n) / n_target
        return {"items": items, "source": source, "target": var_t}

    def solved(self, n_source: int) -> float:
        """Return the expected share of items with at least one right of `n_source` replies."""
        index = min(n_source, len(self.never_solved)) - 1
        return 1 - self.never_solved[index]


@dataclass(frozen=True, slots=True)
class Plan:
    """What a run would ask and how sharp it would be.

    Attributes
    ----------
    n_items, n_source, n_target, n_languages
        The design; `n_target` is per solved item.
    skip_unsolved
        Whether target prompts of items that the source never solved are left out, but for `keep`.
    keep
        Share of them that is sent all the same, for accuracies and gaps.
    replies
        Expected replies over the source and all targets.
    width
        Expected full width of one language's interval at level `confidence`.
    shares
        Parts of the variance: items, source, target; they add up to 1.
    confidence
        Level.
    """

    n_items: int
    n_source: int
    n_target: int
    n_languages: int
    skip_unsolved: bool
    keep: float
    replies: float
    width: float
    shares: dict[str, float]
    confidence: float


def components(
    k_source: ArrayLike, n_source: ArrayLike, k_target: ArrayLike, n_target: ArrayLike
) -> Components:
    """Return the variance components behind a pilot.

    Parameters
    ----------
    k_source, n_source
        Correct replies and replies per item, shape (items,), at least 4 replies per item that
        counts.
    k_target, n_target
        Of one target, shape (items,), at least 2 replies per item that counts.

    Raises
    ------
    InputError
        No item with enough replies, or a source that is never solved.
    """
    ks, ns = check_counts(k_source, n_source, name="source", ndim=1, whole=True)
    kt, nt = check_counts(k_target, n_target, name="target", ndim=1, whole=True)
    if len(ks) != len(kt):
        raise InputError(f"source and target must list the same items: {len(ks)} and {len(kt)}")
    use = (ns >= _PILOT_SOURCE) & (nt >= _PILOT_TARGET)
    if not use.any():
        raise InputError(
            "a pilot needs items with at least 4 source and 2 target replies; there is none"
        )
    ks, ns, kt, nt = ks[use], ns[use], kt[use], nt[use]
    s = [np.ones_like(ks), *(falling_moment(ks, ns, p) for p in range(1, 5))]
    t = [np.ones_like(kt), *(falling_moment(kt, nt, q) for q in range(1, 3))]
    # unbiased chance that the first j of n replies are all wrong, beyond n by the last one
    longest = int(ns.min())
    never = [float(falling_moment(ns - ks, ns, j).mean()) for j in range(1, longest + 1)]
    return _components(s, t, never, len(ks))


def components_of_rates(source_rates: ArrayLike, target_rates: ArrayLike) -> Components:
    """Return the variance components of assumed true rates, each of shape (items,).

    Raises
    ------
    InputError
        Rates outside [0, 1], other shapes, a source that is never solved.
    """
    source = np.asarray(source_rates, dtype=np.float64)
    target = np.asarray(target_rates, dtype=np.float64)
    if source.shape != target.shape or source.ndim != 1 or not len(source):
        raise InputError(
            f"assumed rates need one number per item on both sides; "
            f"got shapes {source.shape} and {target.shape}"
        )
    for rates in (source, target):
        if not ((rates >= 0) & (rates <= 1)).all():
            raise InputError("assumed rates must lie in [0, 1]")
    never = [float(((1 - source) ** j).mean()) for j in range(1, 101)]
    return _components([source**p for p in range(5)], [target**q for q in range(3)], never, 0)


def plan(
    parts: Components,
    *,
    n_items: int,
    n_source: int = 10,
    n_target: int = 10,
    n_languages: int = 1,
    skip_unsolved: bool = False,
    keep: float = 0.15,
    confidence: float = 0.95,
) -> Plan:
    """Return the cost and the expected interval width of one design.

    Parameters
    ----------
    parts
        Variance components.
    n_items, n_source, n_target, n_languages
        Items, replies per item on each side, target languages; all at least 1, n_source 2.
    skip_unsolved, keep
        See `Plan`.
    confidence
        Level, in (0, 1).

    Raises
    ------
    InputError
        A number outside its range.
    """
    if n_items < 1 or n_languages < 1 or not 0 <= keep <= 1:
        raise InputError(
            f"a plan needs n_items >= 1, n_languages >= 1 and keep in [0, 1]; "
            f"got {n_items}, {n_languages} and {keep}"
        )
    variance = parts.variance(n_source, n_target)
    total = max(math.fsum(variance.values()), 0.0)
    width = 2 * normal_quantile(confidence) * math.sqrt(total / n_items) / parts.moments[2][0]
    solved = parts.solved(n_source)
    sent = solved + keep * (1 - solved) if skip_unsolved else 1.0
    return Plan(
        n_items=n_items,
        n_source=n_source,
        n_target=n_target,
        n_languages=n_languages,
        skip_unsolved=skip_unsolved,
        keep=keep,
        replies=n_items * (n_source + n_languages * n_target * sent),
        width=width,
        shares={name: part / total if total > 0 else math.nan for name, part in variance.items()},
        confidence=confidence,
    )


def cheapest_plan(
    parts: Components,
    *,
    width: float,
    max_items: int,
    n_languages: int = 1,
    skip_unsolved: bool = True,
    keep: float = 0.15,
    most_replies: int = 50,
    confidence: float = 0.95,
) -> Plan | None:
    """Return the plan with the fewest replies whose expected width is at most `width`.

    Parameters
    ----------
    parts
        Variance components.
    width
        Wanted full width of one language's interval, positive.
    max_items
        Items that exist.
    n_languages, skip_unsolved, keep, confidence
        As for `plan`.
    most_replies
        Most replies per item on either side.

    Returns
    -------
    Plan or None
        None when no plan within the limits is narrow enough.

    Raises
    ------
    InputError
        A width that is not positive, or a number outside its range.
    """
    if not width > 0 or max_items < 1:
        raise InputError(f"need width > 0 and max_items >= 1; got {width} and {max_items}")
    q = normal_quantile(confidence)
    best: Plan | None = None
    for n_source in range(2, most_replies + 1):
        for n_target in range(1, most_replies + 1):
            total = max(math.fsum(parts.variance(n_source, n_target).values()), 0.0)
            items = max(1, math.ceil(total * (2 * q / (width * parts.moments[2][0])) ** 2))
            if items > max_items:
                continue
            found = plan(
                parts,
                n_items=items,
                n_source=n_source,
                n_target=n_target,
                n_languages=n_languages,
                skip_unsolved=skip_unsolved,
                keep=keep,
                confidence=confidence,
            )
            if best is None or found.replies < best.replies:
                best = found
    return best


def _components(
    s: Sequence[Floats], t: Sequence[Floats], never: list[float], n_items: int
) -> Components:
    moments = tuple(tuple(float((sp * tq).mean()) for tq in t) for sp in s)
    if not moments[2][0] > 0:
        raise InputError("the source is never solved, so no plan gives a slope")
    return Components(
        moments=moments,
        slope=moments[1][1] / moments[2][0],
        n_items=n_items,
        never_solved=tuple(never),
    )
