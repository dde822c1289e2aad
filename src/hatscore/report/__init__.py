"""Tables, figures and the page: what people see of a measurement.

The names load on first use: matplotlib and Jinja come in with the first figure or page.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hatscore.report.export import to_csv, to_json, to_latex, to_markdown
    from hatscore.report.figures import hat_dots, profile_plot, save
    from hatscore.report.health import alarms, status_shares
    from hatscore.report.page import write_report
    from hatscore.report.table import render_table

__all__ = [
    "alarms",
    "hat_dots",
    "profile_plot",
    "render_table",
    "save",
    "status_shares",
    "to_csv",
    "to_json",
    "to_latex",
    "to_markdown",
    "write_report",
]

_HOME = {
    "alarms": "health",
    "hat_dots": "figures",
    "profile_plot": "figures",
    "render_table": "table",
    "save": "figures",
    "status_shares": "health",
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
