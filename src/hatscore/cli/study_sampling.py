"""Sampling what a study lacks: cell after cell, within limits for all of them together."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import click

from hatscore.cli.running import judge_all, sample_prepared, tell
from hatscore.cli.study_check import grouped
from hatscore.cli.study_cost import price_of
from hatscore.errors import InputError, ModelError, RunError
from hatscore.sampling import Budget

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hatscore.cli.prepared import Prepared
    from hatscore.cli.study_check import Checked
    from hatscore.models import Registry

__all__ = ["Limits", "check_prices", "sample_study"]

_FREE = (0.0, 0.0)


@dataclass(frozen=True, slots=True)
class Limits:
    """What a whole study may use, earlier starts included; None for no limit.

    Attributes
    ----------
    max_replies, max_tokens
        Good replies; input and output tokens together.
    max_cost
        USD.
    """

    max_replies: int | None = None
    max_tokens: int | None = None
    max_cost: float | None = None

    def of_cell(self, others: Sequence[_Used], prices: tuple[float, float] | None) -> Budget | None:
        """Return what is left for one cell; None where the `others` leave nothing."""
        limits = (self.max_replies, self.max_tokens, self.max_cost)
        used = (
            sum(x.replies for x in others),
            sum(x.tokens for x in others),
            math.fsum(x.cost for x in others),
        )
        left = [None if m is None else m - u for m, u in zip(limits, used, strict=True)]
        if any(rest is not None and rest <= 0 for rest in left):
            return None
        replies, tokens, cost = left
        price_in, price_out = (None, None) if cost is None else prices or _FREE
        return Budget(
            max_replies=None if replies is None else int(replies),
            max_tokens=None if tokens is None else int(tokens),
            max_cost=cost,
            price_in=price_in,
            price_out=price_out,
        )

    def said(self, used: Sequence[_Used]) -> str:
        """Return the limits with what is used, in words."""
        parts = []
        if self.max_replies is not None:
            parts.append(f"{sum(x.replies for x in used):,} of {self.max_replies:,} replies")
        if self.max_tokens is not None:
            parts.append(f"{sum(x.tokens for x in used):,} of {self.max_tokens:,} tokens")
        if self.max_cost is not None:
            parts.append(f"{math.fsum(x.cost for x in used):.4g} of {self.max_cost:g} USD")
        return ", ".join(parts)


@dataclass(frozen=True, slots=True)
class _Used:
    """What one cell has used."""

    replies: int
    tokens: int
    cost: float


def check_prices(checked: Sequence[Checked], registry: Registry, limits: Limits) -> None:
    """Refuse a limit of costs for models whose price nobody knows.

    Raises
    ------
    InputError
        There are some; names them.
    """
    if limits.max_cost is None:
        return
    unknown = dict.fromkeys(
        c.cell.model for c in checked if c.prepared and _prices(c, registry) is None
    )
    if unknown:
        raise InputError(
            f"--max-cost: no price is known of {', '.join(unknown)}: give price_in and price_out "
            "in its [[model]] (0 for a server of your own), or price in a file for --models"
        )


def sample_study(
    checked: Sequence[Checked], registry: Registry, limits: Limits, *, quiet: bool = False
) -> bool:
    """Sample and judge what is missing; return whether everything is there.

    A cell that fails does not stop the others: it is told at once, and again at the end. A
    limit does: the same call with a higher one goes on.

    Parameters
    ----------
    checked
        Cells without a problem.
    registry
        Holds the prices.
    limits
        For all cells together.
    quiet
        No progress.

    Raises
    ------
    InputError
        A judge cannot be asked.
    """
    used = [_used(c, registry) for c in checked]
    failed: list[Checked] = []
    complete, stopped = True, False
    for i, each in enumerate(checked):
        cell, prepared = each.cell, each.prepared
        if prepared is None:
            raise InputError(f"{cell.directory}: {each.problem}")
        budget = limits.of_cell([*used[:i], *used[i + 1 :]], _prices(each, registry))
        if stopped or budget is None:
            here = each.present().missing == 0
            complete &= here
            stopped |= not here
            continue
        try:
            done, reached = _sample(each, prepared, budget, quiet=quiet)
        except (ModelError, RunError) as error:
            failed.append(replace(each, problem=str(error)))
            (line,) = grouped(failed[-1:])
            click.echo(f"Failed, going on with the others: {line}", err=True)
            done, reached = False, False
        complete &= done
        stopped |= reached
        used[i] = _used(each, registry)
    if stopped:
        click.echo(
            f"Stopped at a limit of the study: {limits.said(used)}. Raise it, and the same command "
            "goes on.",
            err=True,
        )
    if failed:
        click.echo(
            f"{len(failed)} of {len(checked)} cells failed; the same command asks again:\n  "
            + "\n  ".join(grouped(failed)),
            err=True,
        )
    return complete


def _sample(each: Checked, prepared: Prepared, budget: Budget, *, quiet: bool) -> tuple[bool, bool]:
    """Sample and judge one cell; return whether it is complete, and whether a limit is reached."""
    directory = each.cell.directory
    request = replace(prepared.request, budget=budget)
    summary = sample_prepared(replace(prepared, request=request), directory, quiet=quiet)
    reached = summary.stopped is not None
    if reached:  # the cell's share of a limit is a number that nobody has given
        summary = replace(summary, stopped="a limit of the study is reached")
    tell(summary, directory, quiet=quiet)
    heard = judge_all([request], [directory], quiet=quiet)
    return summary.complete and heard, reached


def _prices(each: Checked, registry: Registry) -> tuple[float, float] | None:
    """Return USD per million input and output tokens; None where nobody knows."""
    price = price_of(each.cell, registry)
    if price is not None and price.input is not None and price.output is not None:
        return price.input, price.output
    local = each.prepared is not None and each.prepared.client.kind == "local"
    return _FREE if local else None


def _used(each: Checked, registry: Registry) -> _Used:
    usage = each.present().usage
    price_in, price_out = _prices(each, registry) or _FREE
    cost = Budget(price_in=price_in, price_out=price_out).cost(
        usage.input_tokens, usage.output_tokens
    )
    return _Used(usage.replies, usage.input_tokens + usage.output_tokens, cost or 0.0)
