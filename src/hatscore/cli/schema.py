"""``hatscore schema``: what the JSON of the other commands looks like."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

import click

from hatscore.errors import UnknownNameError

__all__ = ["command", "load_schema", "schema_names"]

_HOME = files("hatscore").joinpath("report", "schema")
_SUFFIX = ".json"


def schema_names() -> list[str]:
    """Return the names of the commands whose JSON has a published schema, sorted."""
    names = (file.name for file in _HOME.iterdir())
    return sorted(name.removesuffix(_SUFFIX) for name in names if name.endswith(_SUFFIX))


def load_schema(name: str) -> dict[str, Any]:
    """Return the JSON schema (draft 2020-12) of what ``hatscore NAME --format json`` prints.

    Raises
    ------
    UnknownNameError
        No such schema; names those there are.
    """
    if name not in schema_names():
        raise UnknownNameError("schema", name, schema_names())
    found: dict[str, Any] = json.loads(_HOME.joinpath(name + _SUFFIX).read_text(encoding="utf-8"))
    return found


def _complete(
    ctx: click.Context,  # noqa: ARG001 - click's signature
    param: click.Parameter,  # noqa: ARG001 - click's signature
    incomplete: str,
) -> list[str]:
    return [name for name in schema_names() if name.startswith(incomplete)]


@click.command("schema")
@click.argument("name", required=False, metavar="[NAME]", shell_complete=_complete)
def command(name: str | None) -> None:
    """Print the JSON schema of what `hatscore NAME --format json` writes.

    Without NAME: which there are. The schemas are draft 2020-12 and allow no further keys; every
    document carries the number of its schema under `schema`.
    """
    if name is None:
        for known in schema_names():
            click.echo(f"{known:<10}{load_schema(known)['title']}")
        return
    click.echo(json.dumps(load_schema(name), indent=2))
