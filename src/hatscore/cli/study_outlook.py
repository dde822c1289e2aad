"""What ``hatscore study STUDY.toml --dry-run`` says: what is there, what is missing, its cost."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from hatscore.cli.study_check import grouped
from hatscore.cli.study_cost import cost_of, expected, price_of
from hatscore.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hatscore.cli.study_check import Checked
    from hatscore.cli.study_cost import Expected
    from hatscore.cli.study_state import Present
    from hatscore.models import Registry
    from hatscore.sampling import SamplingPlan

__all__ = ["describe"]


def describe(
    checked: Sequence[Checked], registry: Registry, *, output_tokens: float | None = None
) -> str:
    """Return what of a study is there, what is missing, and what that is expected to cost.

    Parameters
    ----------
    checked
        From `study_check.check_cells`.
    registry
        Holds the prices of models.
    output_tokens
        Of one reply, reasoning included; default those of the replies that are there, else the
        most that a reply may have.
    """
    lines, costs, priceless = [], [], []
    missing = short = 0
    is_bound = False
    for each in checked:
        if each.plan is None:
            continue
        cell = each.cell
        head = f"{cell.model} on {cell.benchmark}"
        try:
            found = each.present()
        except InputError as error:
            lines.append(f"{head}: {error}")
            continue
        most = "at most " if found.is_bound else ""
        line = (
            f"{head}: {found.usage.replies:,} of {most}{found.wanted:,} replies are there, "
            f"{most}{found.missing:,} missing ({cell.directory})"
        )
        if found.missing:
            missing, short = missing + found.missing, short + 1
            is_bound |= found.is_bound
            price = price_of(cell, registry)
            if price is None:
                priceless.append(cell.model)
            else:
                ahead = _expected(each, each.plan, found, output_tokens)
                # a plan in stages is expected to ask for less than it may
                rest = min(found.missing, max(0, ahead.outlook.replies - found.usage.replies))
                costs.append((cost_of(price, ahead, rest), ahead))
                word = "at most" if ahead.is_bound else "about"
                line += f"; {word} {costs[-1][0]:.2f} USD ({price.said}; {ahead.basis})"
        lines.append(line)
    lines += _problems(checked)
    word = "at most " if is_bound else ""
    if any(c.plan is not None for c in checked):
        lines.append(f"Missing: {word}{missing:,} replies in {short} cells.")
    if costs:
        word = "at most" if any(found.is_bound for _, found in costs) else "about"
        total = math.fsum(cost for cost, _ in costs)
        many = "cell" if len(costs) == 1 else f"{len(costs)} cells"
        said = f"Cost: {word} {total:.2f} USD for the {many} whose price is known. "
        said += "Tokens of prompts are reckoned by their bytes"
        if output_tokens is None:
            said += "; say with --output-tokens how long replies are"
        lines.append(f"{said}.")
    if priceless:
        names = ", ".join(dict.fromkeys(priceless))
        lines.append(
            f"No price is known of {names} (--models adds one, or price_in and price_out in its "
            "[[model]])."
        )
    return "\n".join(lines)


def _expected(
    each: Checked, plan: SamplingPlan, found: Present, output_tokens: float | None
) -> Expected:
    request, usage = each.cell.request, found.usage
    return expected(
        each.tasks,
        plan=plan,
        repeats=request.repeats,
        params=request.params,
        output_tokens=output_tokens,
        seen=usage.output_tokens / usage.replies if usage.replies else None,
    )


def _problems(checked: Sequence[Checked]) -> list[str]:
    """Return why cells cannot be planned or, though they can, not be sampled."""
    lines = []
    for what, wrong in (
        ("planned", [c for c in checked if c.problem and c.plan is None]),
        ("sampled as they stand", [c for c in checked if c.problem and c.plan is not None]),
    ):
        if wrong:
            count = f"{len(wrong)} of {len(checked)} cells"
            lines.append(f"{count} cannot be {what}:")
            lines += [f"  {line}" for line in grouped(wrong)]
    return lines
