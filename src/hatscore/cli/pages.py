"""The page of what paths hold: what `run`, `report` and `view` all write."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from hatscore.models import Registry
    from hatscore.outcomes import Outcomes

__all__ = ["write_page"]


def write_page(
    paths: Sequence[str],
    outcomes: Outcomes,
    directory: Path,
    *,
    names: str,
    count: str,
    registry: Registry,
    given: Mapping[str, Any] | None = None,
    wanted: bool | None = None,
    **more: Any,
) -> Path:
    """Write the page with what only the paths and the registry know, and return it.

    Parameters
    ----------
    paths, outcomes
        What was read, and what came of it.
    directory
        Where to.
    names, count, given, wanted
        As for `hatscore.cli.reading.items_behind`.
    registry
        What is known of the models.
    more
        Further options of `hatscore.report.write_report`.
    """
    from hatscore.cli.context import run_context
    from hatscore.cli.facts import facts_of
    from hatscore.cli.reading import items_behind
    from hatscore.report import write_report

    return write_report(
        outcomes,
        directory,
        context=run_context(paths),
        facts=facts_of(outcomes.frame["model"].unique().to_list(), registry),
        items=items_behind(paths, outcomes, names=names, count=count, given=given, wanted=wanted),
        **more,
    )
