"""The page of what paths hold: what `run`, `report` and `view` all write."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from hatscore.models import Registry
    from hatscore.outcomes import Outcomes
    from hatscore.studies.material import Material
    from hatscore.studies.result import Analysis

__all__ = ["write_page", "write_study_page"]


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


def write_study_page(
    paths: Sequence[str | Path],
    material: Material,
    analyses: Sequence[Analysis],
    directory: Path,
    *,
    registry: Registry,
    given: Mapping[str, Any],
    formats: Sequence[str],
) -> Path:
    """Write the page of a study, without the items behind its scores, and return it.

    Parameters
    ----------
    paths
        What was read; nothing where the models were drawn, and then the page says so on top.
    material, analyses
        The study, and what was found.
    directory
        Where to.
    registry
        What is known of the models.
    given
        The options of the command: ``names``, ``count``, ``confidence``, ``seed``.
    formats
        Of the files beside the page, see `hatscore.report.write_report`.
    """
    drawn = (
        f"Simulated: no model was asked anything. All numbers were drawn with the seed "
        f"{given['seed']} from a truth that resembles the paper's; they say nothing of the models "
        "whose names they bear."
    )
    return write_page(
        list(map(str, paths)),
        material.outcomes,
        directory,
        names=given["names"],
        count=given["count"],
        registry=registry,
        given=given,
        wanted=False,
        confidence=given["confidence"],
        studies=analyses,
        formats=formats,
        remarks=() if paths else (drawn,),
    )
