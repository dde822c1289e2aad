"""The analyses of a study on the page: findings in words, a table, and a chart of their numbers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from hatscore.report.charts_study import study_chart
from hatscore.report.page_tables import frame_table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hatscore.studies.result import Analysis

__all__ = ["StudyParts", "study_parts"]


@dataclass(frozen=True, slots=True)
class StudyParts:
    """What the template shows, and the specifications of its charts by name."""

    shown: list[dict[str, Any]] = field(default_factory=list)
    specs: dict[str, Any] = field(default_factory=dict)


def study_parts(studies: Sequence[Analysis]) -> StudyParts:
    """Lay out analyses for the page; charts of analyses hold their few records themselves."""
    parts = StudyParts()
    for a in studies:
        chart = a.figure is not None and a.figure.points.height > 0
        if a.figure is not None and chart:
            spec = study_chart(a.figure, description=a.question).to_dict(validate=False)
            parts.specs[f"study {a.name}"] = {
                k: v for k, v in spec.items() if k not in ("config", "$schema")
            }
        parts.shown.append(
            {
                "name": a.name,
                "question": a.question,
                "findings": a.findings,
                "notes": a.notes,
                "table": frame_table(a.table, f"Every number of the analysis {a.name}"),
                "chart": chart,
            }
        )
    return parts
