"""One number with its uncertainty, and the algebra of such numbers."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import stdtr

from hatscore.errors import InputError
from hatscore.stats.intervals import t_half_width

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

__all__ = [
    "Estimate",
    "combine",
    "contrast",
    "difference",
    "mean",
    "mean_of_shares",
    "p_value",
    "weighted_mean",
]

_LACKING = " parts have no value: "


@dataclass(frozen=True, slots=True, eq=False)
class Estimate:
    """A score with its interval and the influence that every cluster of items had on it.

    Parameters
    ----------
    value
        The point estimate; NaN when the data cannot tell, and then `reason` says why.
    low, high
        Ends of the interval at level `confidence`. ``-inf`` and ``inf`` mark a set that the data
        leave unbounded; `reason` describes it.
    se
        Standard error: root of the summed squares of `influence`.
    estimator
        Name of the estimator that made `value` (``corrected``, ``plugin``, ``mean`` ...).
    interval
        Name of the interval's method.
    confidence
        Level of the interval, in (0, 1).
    n_items
        Items that entered.
    n_effective
        Kish's effective number of clusters, ``sum(u)**2 / sum(u**2)`` over cluster weights u.
    reliability
        Share of the squared source rates that is signal, in [0, 1]; NaN where it has no meaning.
    reason
        Why the value is missing or the interval unusual; empty otherwise.
    influence, clusters
        Influence per cluster, shape (clusters,), and the cluster labels in the same order. The
        estimate moves by about ``-influence[g]`` when cluster g is left out, so sums of
        influences of several estimates over shared clusters give the standard error of any
        linear combination, paired and clustered by construction.
    """

    value: float
    low: float
    high: float
    se: float
    estimator: str
    interval: str
    confidence: float
    n_items: int
    n_effective: float
    reliability: float = math.nan
    reason: str = ""
    influence: NDArray[np.float64] = field(default_factory=lambda: np.empty(0), repr=False)
    clusters: NDArray[np.object_] = field(
        default_factory=lambda: np.empty(0, dtype=object), repr=False
    )

    @property
    def bounded(self) -> bool:
        """Whether both ends of the interval are finite."""
        return math.isfinite(self.low) and math.isfinite(self.high)

    def _repr_html_(self) -> str:
        """Show a notebook the score with its interval, and what made it."""
        cells = {
            "value": _shown(self.value),
            f"{100 * self.confidence:g} % interval": f"[{_shown(self.low)}, {_shown(self.high)}]",
            "standard error": _shown(self.se),
            "estimator": self.estimator,
            "interval by": self.interval,
            "items": str(self.n_items),
            "reliability": _shown(self.reliability),
        }
        if self.reason:
            cells["reason"] = self.reason
        head = "".join(f"<th>{escape(name)}</th>" for name in cells)
        body = "".join(f"<td>{escape(cell)}</td>" for cell in cells.values())
        return f"<table><thead><tr>{head}</tr></thead><tbody><tr>{body}</tr></tbody></table>"

    def to_dict(self) -> dict[str, Any]:
        """Return a mapping that JSON can hold, with influence, for `from_dict`.

        Non-finite numbers become the texts ``nan``, ``inf`` and ``-inf``; cluster labels become
        text, so that estimates of different runs join.
        """
        plain: dict[str, Any] = {}
        for name in self.__slots__:
            value = getattr(self, name)
            if name == "influence":
                plain[name] = [float(x) for x in value]
            elif name == "clusters":
                plain[name] = [str(x) for x in value]
            elif isinstance(value, float) and not math.isfinite(value):
                plain[name] = str(value)
            else:
                plain[name] = value
        return plain

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Estimate:
        """Return the estimate that `to_dict` described.

        Raises
        ------
        InputError
            A field is missing, unknown or of the wrong kind; says which.
        """
        names = set(cls.__slots__)
        if set(plain) != names:
            wrong = sorted(names.symmetric_difference(plain))
            raise InputError(f"no estimate: fields missing or unknown: {', '.join(wrong)}")
        kinds = {"estimator": str, "interval": str, "reason": str, "n_items": int}
        fields: dict[str, Any] = {}
        for name in cls.__slots__:
            value = plain[name]
            try:
                if name == "influence":
                    fields[name] = np.asarray(value, dtype=np.float64)
                elif name == "clusters":
                    labels = np.empty(len(value), dtype=object)
                    labels[:] = [str(x) for x in value]
                    fields[name] = labels
                else:
                    fields[name] = kinds.get(name, float)(value)
            except (TypeError, ValueError) as error:
                raise InputError(f"no estimate: field {name} holds {value!r}: {error}") from error
        if len(fields["influence"]) != len(fields["clusters"]):
            raise InputError(
                f"no estimate: {len(fields['influence'])} influences for "
                f"{len(fields['clusters'])} clusters"
            )
        return cls(**fields)

    @classmethod
    def missing(
        cls, reason: str, *, estimator: str, interval: str, confidence: float, n_items: int = 0
    ) -> Estimate:
        """Return the estimate that says that there is none, and why."""
        nan = math.nan
        return cls(nan, nan, nan, nan, estimator, interval, confidence, n_items, 0.0, reason=reason)


def combine(
    estimates: Sequence[Estimate],
    weights: Sequence[float],
    *,
    estimator: str = "combination",
    confidence: float | None = None,
) -> Estimate:
    """Return the linear combination ``sum(weights * estimates)`` with its joint uncertainty.

    The influences are added cluster by cluster, so items shared by several estimates are paired
    and disjoint items count as independent. The interval is ``value +- t * se`` with
    ``n_effective - 1`` degrees of freedom, n_effective being the smallest of the parts'. Where
    no cluster has any influence (every reply right, say) the ends of the parts' own intervals are
    added, which stays open at the boundary and is conservative.

    Parameters
    ----------
    estimates
        At least one estimate. One without a value makes the result missing, with its reason.
    weights
        One finite weight per estimate.
    estimator
        Name to give the result.
    confidence
        Level of the interval; default that of the first estimate.

    Raises
    ------
    InputError
        No estimates, or another number of weights than of estimates.

    Examples
    --------
    >>> from hatscore import hat_score
    >>> a = hat_score([9, 5, 2], 10, [8, 3, 1], 10)
    >>> combine([a, a], [0.5, 0.5]).value == a.value
    True
    """
    if not estimates or len(estimates) != len(weights):
        raise InputError(
            f"combine needs one weight per estimate and at least one; "
            f"got {len(estimates)} estimates and {len(weights)} weights"
        )
    level = estimates[0].confidence if confidence is None else confidence
    lacking = [e for e in estimates if math.isnan(e.value)]
    if lacking:
        return Estimate.missing(
            _why_missing(lacking, len(estimates)),
            estimator=estimator,
            interval="delta",
            confidence=level,
        )
    value = math.fsum(w * e.value for w, e in zip(weights, estimates, strict=True))
    influence, clusters = _joint_influence(estimates, weights)
    se = math.sqrt(math.fsum(influence**2))
    n_effective = min(e.n_effective for e in estimates)
    half_low = half_high = t_half_width(level, n_effective, se)
    if se == 0:
        half_low, half_high = _open_ends(estimates, weights)
    reason = "; ".join(sorted({e.reason for e in estimates if e.reason}))
    return Estimate(
        value=value,
        low=value - half_low,
        high=value + half_high,
        se=se,
        estimator=estimator,
        interval="delta",
        confidence=level,
        n_items=max(e.n_items for e in estimates),
        n_effective=n_effective,
        reason=reason,
        influence=influence,
        clusters=clusters,
    )


def mean(estimates: Sequence[Estimate], *, confidence: float | None = None) -> Estimate:
    """Return the unweighted mean of estimates with its joint uncertainty (see `combine`)."""
    n = len(estimates)
    return combine(estimates, [1 / n] * n if n else [], estimator="mean", confidence=confidence)


def mean_of_shares(estimates: Sequence[Estimate], *, confidence: float | None = None) -> Estimate:
    """Return the unweighted mean of shares, with an interval that lies where shares can lie.

    Near 0 and 1 the interval of a share is lopsided, and a symmetric one around the mean would
    leave [0, 1] or be too narrow. The distances of the parts' own ends are joined instead, by
    the correlations of their influences: with ``d_i = (value_i - low_i) / n``, ``low = mean -
    sqrt(sum_ij r_ij d_i d_j)``, and likewise above (Zou and Donner, Statistics in Medicine 27
    (2008) 1693, "MOVER"; here with correlations). Where the parts' intervals are symmetric this
    is the interval of `mean` but for degrees of freedom. Parts without spread are taken to move
    together with all others.

    Parameters
    ----------
    estimates
        Shares in [0, 1], of one confidence.
    confidence
        Level of the interval. With another one than that of the parts the interval is that of
        `mean`, cut to [0, 1].
    """
    found = mean(estimates, confidence=confidence)
    if math.isnan(found.value):
        return found
    if any(e.confidence != found.confidence for e in estimates):
        return replace(found, low=max(0.0, found.low), high=min(1.0, found.high))
    together = _correlations(estimates)
    ends = []
    for distances in (
        [e.value - e.low for e in estimates],
        [e.high - e.value for e in estimates],
    ):
        d = np.asarray(distances) / len(estimates)
        ends.append(math.sqrt(max(0.0, float(d @ together @ d))))
    low, high = max(0.0, found.value - ends[0]), min(1.0, found.value + ends[1])
    return replace(found, low=low, high=high, interval="mover")


def _correlations(estimates: Sequence[Estimate]) -> NDArray[np.float64]:
    """Return how the influences of estimates go together, shape (n, n); 1 where one has none."""
    first = estimates[0].clusters
    if all(e.clusters is first or np.array_equal(e.clusters, first) for e in estimates):
        rows = np.array([e.influence for e in estimates])
    else:
        place: dict[object, int] = {}
        for e in estimates:
            for label in e.clusters:
                place.setdefault(label, len(place))
        rows = np.zeros((len(estimates), len(place)))
        for row, e in zip(rows, estimates, strict=True):
            row[[place[label] for label in e.clusters]] = e.influence
    sizes = np.sqrt((rows**2).sum(axis=1))
    moves = sizes > 0
    found = np.ones((len(estimates), len(estimates)))
    scaled = rows[moves] / sizes[moves, None]
    found[np.ix_(moves, moves)] = scaled @ scaled.T
    return found


def difference(first: Estimate, second: Estimate, *, confidence: float | None = None) -> Estimate:
    """Return ``first - second``, paired over the clusters that both have (see `combine`)."""
    return combine([first, second], [1.0, -1.0], estimator="difference", confidence=confidence)


def weighted_mean(
    estimates: Sequence[Estimate],
    weights: Sequence[float],
    *,
    confidence: float | None = None,
) -> Estimate:
    """Return ``sum(w * estimates) / sum(w)`` with its joint uncertainty (see `combine`).

    Raises
    ------
    InputError
        A negative weight, or weights that add up to zero.
    """
    total = math.fsum(weights)
    if not total > 0 or min(weights, default=0.0) < 0:
        raise InputError(f"weights must not be negative and must add up to more than 0: {weights}")
    return combine(
        estimates, [w / total for w in weights], estimator="weighted_mean", confidence=confidence
    )


def contrast(
    first: Sequence[Estimate], second: Sequence[Estimate], *, confidence: float | None = None
) -> Estimate:
    """Return the mean of `first` minus the mean of `second`, jointly (see `combine`).

    For example the languages in the source's script against the others.
    """
    if not first or not second:
        raise InputError(
            f"a contrast needs estimates on both sides; got {len(first)} and {len(second)}"
        )
    weights = [1 / len(first)] * len(first) + [-1 / len(second)] * len(second)
    return combine([*first, *second], weights, estimator="contrast", confidence=confidence)


def p_value(estimate: Estimate, *, null: float = 0.0) -> float:
    """Return the two-sided p of ``estimate == null`` by Student's t with its effective clusters.

    NaN where there is no value, no spread or no second cluster.
    """
    n = estimate.n_effective
    if math.isnan(estimate.value) or estimate.se == 0 or not n > 1:
        return math.nan
    se = estimate.se * math.sqrt(n / (n - 1))
    return float(2 * stdtr(n - 1, -abs(estimate.value - null) / se))


def _shown(value: float) -> str:
    """Write a number to three decimals, NaN as a dash, infinity as its sign."""
    if math.isnan(value):
        return "\N{EN DASH}"
    if math.isinf(value):
        return "\N{INFINITY}" if value > 0 else "-\N{INFINITY}"
    return f"{value:.3f}"


def _why_missing(lacking: Sequence[Estimate], n_parts: int) -> str:
    """Say why a combination has no value; of parts that are combinations, what lies below."""
    reasons = [e.reason.rpartition(_LACKING)[2] for e in lacking]
    if len(lacking) == n_parts and len(set(reasons)) == 1:
        return reasons[0]
    return f"{len(lacking)} of {n_parts}{_LACKING}{reasons[0]}"


def _open_ends(estimates: Sequence[Estimate], weights: Sequence[float]) -> tuple[float, float]:
    """Add the parts' own half widths, each on the side where its weight puts it."""
    below = [e.value - e.low for e in estimates]
    above = [e.high - e.value for e in estimates]
    sides = list(zip(weights, below, above, strict=True))
    return (
        math.fsum(w * b if w >= 0 else -w * a for w, b, a in sides if w),
        math.fsum(w * a if w >= 0 else -w * b for w, b, a in sides if w),
    )


def _joint_influence(
    estimates: Sequence[Estimate], weights: Sequence[float]
) -> tuple[NDArray[np.float64], NDArray[np.object_]]:
    """Add influences of equal clusters; order of first appearance."""
    first = estimates[0].clusters
    if all(e.clusters is first or np.array_equal(e.clusters, first) for e in estimates):
        total = np.zeros(len(first))
        for e, w in zip(estimates, weights, strict=True):
            total += w * e.influence
        return total, first
    where: dict[object, int] = {}
    for e in estimates:
        for label in e.clusters:
            where.setdefault(label, len(where))
    total = np.zeros(len(where))
    for e, w in zip(estimates, weights, strict=True):
        np.add.at(total, [where[label] for label in e.clusters], w * e.influence)
    labels = np.empty(len(where), dtype=object)
    labels[:] = list(where)
    return total, labels
