"""``hatscore doctor``: what works on this machine."""

from __future__ import annotations

import json
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from hatscore.cli.checks import Check

__all__ = ["command"]

SCHEMA_NUMBER = 1
"""Raised whenever a key of the JSON document changes its name or meaning."""
EXIT_BROKEN = 1
_INDENT = 34
_WIDTH = 80


@click.command("doctor")
@click.option(
    "--format", "style", type=click.Choice(["table", "json"]), default="table", show_default=True
)
@click.option("--try", "start", is_flag=True, help="Also start the local model, if it is there.")
def command(style: str, start: bool) -> int:
    """Say what works on this machine, what is missing, and what to do.

    Exit code 0 if everything works that a measurement needs, 1 otherwise; extras may be missing.
    Of keys only the names of the variables are looked at, and no request is sent.
    """
    from hatscore.benchmarks import get_benchmark
    from hatscore.cli.checks import core_checks, font_checks, optional_checks

    checks = list(core_checks(Path.cwd()))
    works = all(check.status == "ok" for check in checks)
    if works:
        languages = dict.fromkeys(get_benchmark("worldfacts").languages)
        checks += [*optional_checks(start=start), *font_checks(list(languages))]
    if style == "json":
        click.echo(json.dumps(_document(checks, works=works), indent=2))
    else:
        for check in checks:
            click.echo(_line(check))
        said = "works" if works else "does not work: mend what is broken above"
        click.echo(f"\nhatscore {said} on this machine.")
    return 0 if works else EXIT_BROKEN


def _document(checks: list[Check], *, works: bool) -> dict[str, object]:
    """Return what `hatscore schema doctor` describes."""
    from hatscore._version import __version__

    rows = [
        {
            "name": check.name,
            "status": check.status,
            "core": check.core,
            "detail": check.detail,
            "advice": check.advice,
        }
        for check in checks
    ]
    return {"hatscore": __version__, "schema": SCHEMA_NUMBER, "works": works, "checks": rows}


def _line(check: Check) -> str:
    parts = [f"{check.status:<9}{check.name:<25}{check.detail}"]
    if check.advice:
        parts.append(f"{'':{_INDENT}}to do: {check.advice}")
    return "\n".join(
        textwrap.fill(
            part,
            _WIDTH,
            subsequent_indent=" " * _INDENT,
            break_long_words=False,
            break_on_hyphens=False,
        )
        for part in parts
    )
