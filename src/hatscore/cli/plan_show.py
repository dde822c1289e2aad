"""Print what plans will ask, cost and show."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from hatscore.cli.outlook import Outlook
    from hatscore.cli.per_request import PerRequest
    from hatscore.cli.plan import Price

    Found = tuple[str, str, Sequence[Outlook]]

__all__ = ["document", "text"]


def text(found: Sequence[Found], prices: Sequence[Price], assumed: Sequence[PerRequest]) -> str:
    """Return tables for a terminal.

    Parameters
    ----------
    found
        Of every benchmark its name, what the figures rest on, and its plans, the full one first.
    prices
        Of every model.
    assumed
        How many replies a request to every model brings; one for no model where there is none.
    """
    tables = [_table(*part, prices, assumed) for part in found]
    notes = [f"* {_sentence(one)}" for one in assumed]
    notes += [f"* {price.model}: {price.said}" for price in prices]
    return "\n".join(["\n\n".join(tables), *notes])


def document(
    found: Sequence[Found],
    prices: Sequence[Price],
    assumed: Sequence[PerRequest],
) -> str:
    """Return everything as JSON; parameters as for :func:`text`."""
    parts = [
        {
            "benchmark": name,
            "basis": basis,
            "plans": [
                {
                    **asdict(o),
                    "cost": {
                        p.model: {n: p.cost(o, n) for n in one.numbers}
                        for p, one in zip(prices, assumed, strict=False)
                    },
                }
                for o in outlooks
            ],
            "dearer_than_paper": list(_dearer(outlooks, prices, assumed)),
        }
        for name, basis, outlooks in found
    ]
    everything = {
        "benchmarks": parts,
        "prices": [asdict(p) for p in prices],
        "replies_per_request": [asdict(one) for one in assumed],
    }
    return json.dumps(everything, indent=2, ensure_ascii=False)


def _sentence(one: PerRequest) -> str:
    """Say how many replies a request brings, and who says so."""
    whom = f"{one.model}: " if one.model else ""
    if not one.is_known:
        few, many = one.numbers
        return (
            f"{whom}a prompt is billed once for all replies to one request; how many a request "
            f"brings is {one.said}. Figures are for n={few} and n={many}"
        )
    (n,) = one.numbers
    what = "1 reply" if n == 1 else f"{n} replies"
    return f"{whom}{what} to a request, whose prompt is billed once ({one.said})"


def _dearer(
    outlooks: Sequence[Outlook], prices: Sequence[Price], assumed: Sequence[PerRequest]
) -> Iterator[dict[str, Any]]:
    """Yield every plan that costs more than the full one, though it shows less."""
    paper = outlooks[0]
    for price, one in zip(prices, assumed, strict=False):
        for n in one.numbers:
            full = price.cost(paper, n)
            for o in outlooks[1:]:
                cost = price.cost(o, n)
                if full is not None and cost is not None and cost > full:
                    yield {
                        "model": price.model,
                        "plan": o.plan,
                        "n": n,
                        "cost": cost,
                        "cost_of_paper": full,
                    }


def _heads(numbers: Sequence[int]) -> list[str]:
    """Return what tells the columns apart, "" where there is one."""
    return [""] if len(numbers) == 1 else [f", n={n}" for n in numbers]


def _table(
    name: str,
    basis: str,
    outlooks: Sequence[Outlook],
    prices: Sequence[Price],
    assumed: Sequence[PerRequest],
) -> str:
    full = outlooks[0].replies
    numbers = list(outlooks[0].requests)
    heads = _heads(numbers)
    priced = list(zip(prices, assumed, strict=False))
    head = ["plan", "replies", "% of paper"]
    head += [f"{what}{more}" for what in ("requests", "input tokens") for more in heads]
    head += ["output tokens", "width, mean", "widest"]
    head += [f"USD {p.model}{more}" for p, one in priced for more in _heads(one.numbers)]
    rows = [head]
    for o in outlooks:
        costs = [p.cost(o, n) for p, one in priced for n in one.numbers]
        rows.append(
            [
                o.plan,
                f"{o.replies:,.0f}",
                f"{100 * o.replies / full:.0f}",
                *(f"{o.requests[n]:,.0f}" for n in numbers),
                *(f"{o.input_tokens[n]:,.0f}" for n in numbers),
                "-" if o.output_tokens is None else f"{o.output_tokens:,.0f}",
                f"{sum(o.widths.values()) / len(o.widths):.3f}",
                f"{max(o.widths.values()):.3f}",
                *("-" if c is None else _usd(c) for c in costs),
            ]
        )
    lines = [name, *_columns(rows), f"* {basis}", *(f"* {o.note}" for o in outlooks if o.note)]
    lines += [
        f"* {x['model']}: {x['plan']} costs more than paper where a request brings {x['n']} "
        f"replies, {_usd(x['cost'])} against {_usd(x['cost_of_paper'])} USD: its stages send "
        "prompts again. Take --plan paper"
        for x in _dearer(outlooks, prices, assumed)
    ]
    if len({f"{w:.3f}" for w in outlooks[0].widths.values()}) > 1:
        by_language = [["language", *(o.plan for o in outlooks)]]
        by_language += [[x, *(f"{o.widths[x]:.3f}" for o in outlooks)] for x in outlooks[0].widths]
        lines += ["", "Width of the 95 % interval of HAT", *_columns(by_language)]
    return "\n".join(lines)


def _usd(cost: float) -> str:
    """Return cents, and of less than a dollar four places: small pilots cost little."""
    return f"{cost:,.2f}" if cost >= 1 else f"{cost:.4f}"


def _columns(rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            cell.ljust(w) if i == 0 else cell.rjust(w)
            for i, (cell, w) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
