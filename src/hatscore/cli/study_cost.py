"""What the missing replies of a study cost, as far as prices and tokens can be known beforehand.

The same assumptions as in ``hatscore plan``: tokens of a prompt by its bytes, tokens of a reply as
given, as the replies that are there have on average, or at most as many as a reply may have.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hatscore.cli.outlook import Assumed, outlook, spreads_of
from hatscore.cli.plan import BYTES_PER_TOKEN, Price

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hatscore.cli.outlook import Outlook
    from hatscore.cli.study_file import Cell
    from hatscore.models import Registry
    from hatscore.sampling import SamplingParams, SamplingPlan, Task

__all__ = ["Expected", "cost_of", "expected", "price_of"]

_PRICED = {"input", "output"}
_SILENT = ("", "none", "off")
_PAIR = 2


@dataclass(frozen=True, slots=True)
class Expected:
    """What a cell of a study asks, with tokens.

    Attributes
    ----------
    outlook
        Of the whole cell.
    basis
        Where the output tokens come from, in words.
    is_bound
        Whether the output tokens are an upper bound.
    """

    outlook: Outlook
    basis: str
    is_bound: bool


def expected(
    tasks: Sequence[Task],
    *,
    plan: SamplingPlan,
    repeats: int,
    params: SamplingParams,
    output_tokens: float | None,
    seen: float | None,
) -> Expected:
    """Return the replies and tokens that `tasks` are expected to take.

    Parameters
    ----------
    tasks
        All cells of the full plan of one model on one benchmark.
    plan, repeats
        How replies are spread over cells; replies per cell of the full plan.
    params
        Their ``max_tokens`` bounds a reply where the user sets it.
    output_tokens
        Of one reply, as the user says; None where he does not.
    seen
        Mean output tokens of the replies that are there; None without any.
    """
    bytes_of: dict[str, list[int]] = {}
    bounds: dict[str, float] = {}
    for task in tasks:
        language = task.item.language
        bytes_of.setdefault(language, []).append(len(task.prompt.text.encode("utf-8", "replace")))
        bounds[language] = float(params.max_tokens or task.prompt.max_tokens)
    outputs: Mapping[str, float] = bounds
    basis = "output at most what a reply may have"
    if output_tokens is not None:
        outputs = dict.fromkeys(bounds, output_tokens)
        basis = f"{output_tokens:g} output tokens a reply as given"
    elif seen is not None:
        outputs = dict.fromkeys(bounds, seen)
        basis = f"{seen:.0f} output tokens a reply as in those that are there"
    source = tasks[0].item.source_language if tasks else ""
    # a single reply tells nothing of how much replies vary, and its plan asks nothing of that
    pilot = spreads_of(Assumed(), sorted(set(bounds) - {source}), repeats=max(repeats, _PAIR))
    found = outlook(
        plan,
        pilot,
        tasks,
        repeats=repeats,
        input_tokens={x: sum(n) / len(n) / BYTES_PER_TOKEN for x, n in bytes_of.items()},
        output_tokens=outputs,
    )
    return Expected(found, basis, output_tokens is None and seen is None)


def price_of(cell: Cell, registry: Registry) -> Price | None:
    """Return the price that the study file gives, else that of the registry, else None.

    Parameters
    ----------
    cell
        Of a study file; for batches some vendors ask less.
    registry
        Holds the prices.
    """
    model = cell.model
    if cell.prices is not None:
        return Price(model, *cell.prices, f"{cell.prices[0]:g} and {cell.prices[1]:g} as given")
    entry = registry.find(model)
    if entry is None or not set(entry.price) >= _PRICED:
        return None
    price = entry.price
    who = price.get("of", "vendor")
    who = "the vendor" if who == "vendor" else who
    said = f"price of {who} on {price.get('date', 'an unknown day')}"
    share = 1.0
    if cell.request.batch and "batch_discount" in price:
        share = 1.0 - float(price["batch_discount"])
        said += f", {price['batch_discount']:.0%} off in batches"
    if not entry.is_sure("price"):
        said += ", unsure"
    if entry.thinking not in _SILENT:
        said += "; it reasons, and reasoning is billed as output"
    return Price(model, share * float(price["input"]), share * float(price["output"]), said)


def cost_of(price: Price, found: Expected, missing: float) -> float:
    """Return USD for the missing replies of a cell, as a share of all that it takes."""
    whole = price.cost(found.outlook)
    if whole is None or not found.outlook.replies:
        return math.nan
    return whole * min(1.0, missing / found.outlook.replies)
