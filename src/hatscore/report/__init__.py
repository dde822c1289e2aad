"""Tables, figures and the page: what people see of a measurement.

The names load on first use: Altair and Jinja come in with the first chart or page.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hatscore.report.charts import (
        hat_dots,
        heat_map,
        metrics_beside,
        profiles,
        ranking,
        status_bars,
        study_chart,
    )
    from hatscore.report.drawing import save_chart
    from hatscore.report.export import to_csv, to_json, to_latex, to_markdown
    from hatscore.report.health import alarms, status_shares
    from hatscore.report.page import write_report
    from hatscore.report.rows import score_rows
    from hatscore.report.rows_profile import profile_rows
    from hatscore.report.rows_rank import rank_rows, status_rows
    from hatscore.report.table import render_table

__all__ = [
    "alarms",
    "hat_dots",
    "heat_map",
    "metrics_beside",
    "profile_rows",
    "profiles",
    "rank_rows",
    "ranking",
    "render_table",
    "save_chart",
    "score_rows",
    "status_bars",
    "status_rows",
    "status_shares",
    "study_chart",
    "to_csv",
    "to_json",
    "to_latex",
    "to_markdown",
    "write_report",
]

_HOME = {
    "alarms": "health",
    "hat_dots": "charts",
    "heat_map": "charts",
    "metrics_beside": "charts",
    "profile_rows": "rows_profile",
    "profiles": "charts",
    "rank_rows": "rows_rank",
    "ranking": "charts",
    "render_table": "table",
    "save_chart": "drawing",
    "score_rows": "rows",
    "status_bars": "charts",
    "status_rows": "rows_rank",
    "status_shares": "health",
    "study_chart": "charts",
    "to_csv": "export",
    "to_json": "export",
    "to_latex": "export",
    "to_markdown": "export",
    "write_report": "page",
}


def __getattr__(name: str) -> object:
    """Import a public name when it is first asked for."""
    if name not in _HOME:
        raise AttributeError(f"module 'hatscore.report' has no attribute {name!r}")
    value: object = getattr(import_module(f"hatscore.report.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """List the public names, loaded or not."""
    return list(__all__)
