"""``hatscore models``: what is known of models, and what is unsure."""

from __future__ import annotations

import datetime as dt
import json
from typing import TYPE_CHECKING, Any

import click

from hatscore.cli.complete import complete_models

if TYPE_CHECKING:
    from hatscore.models import Model, Registry

__all__ = ["command", "registry_option"]

_DASH = "-"


def registry_option(function: Any) -> Any:
    """Add ``--models``, files of the user that add to the registry or override it."""
    return click.option(
        "--models",
        "model_files",
        multiple=True,
        type=click.Path(dir_okay=False),
        metavar="FILE.toml",
        help="Adds models to the registry or overrides fields; repeatable.",
    )(function)


@click.command("models")
@click.argument("names", nargs=-1, metavar="[NAME...]", shell_complete=complete_models)
@click.option(
    "--format", "style", type=click.Choice(["table", "json"]), default="table", show_default=True
)
@registry_option
def command(names: tuple[str, ...], style: str, model_files: tuple[str, ...]) -> None:
    """List the known models, or say all that is known of NAME, which may be an id of a server.

    A value with a question mark is unsure: sources disagree, or only third parties confirm it. A
    dash is not known. `hatscore run paper/NAME` asks for a model of the list.
    """
    from hatscore.models import load_models

    registry = load_models(model_files)
    found = [m for name in names for m in registry.named(name) or [registry.get(name)]]
    chosen = list({m.name: m for m in found}.values()) or list(registry.models.values())
    if style == "json":
        click.echo(json.dumps([_plain(m) for m in chosen], indent=2, ensure_ascii=False))
    elif names:
        click.echo("\n\n".join(_details(m) for m in chosen))
    else:
        click.echo(_table(registry))


def _today() -> dt.date:
    return dt.datetime.now(dt.UTC).date()


def _table(registry: Registry) -> str:
    rows: list[tuple[str, ...]] = [("name", "released", "total", "active", "thinking", "in/out $")]
    rows += [_row(m) for m in registry.models.values()]
    widths = [max(len(row[j]) for row in rows) for j in range(len(rows[0]))]
    right = {2, 3}
    lines = [
        "  ".join(
            cell.rjust(w) if j in right else cell.ljust(w)
            for j, (cell, w) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
    gone = [
        r.describe(_today())
        for r in dict.fromkeys(r for m in registry.models.values() for r in m.retired)
    ]
    legend = "total, active: billions of parameters; $ per million tokens; ? unsure; - not known"
    return "\n".join([*lines, "", legend, *gone])


def _row(m: Model) -> tuple[str, ...]:
    price = f"{m.price['input']:g}/{m.price['output']:g}" if m.price else _DASH
    return (
        m.name,
        _marked(m, "released"),
        _size(m, "parameters_total"),
        _size(m, "parameters_active"),
        _marked(m, "thinking"),
        f"{price}{'' if m.is_sure('price') else '?'}",
    )


def _marked(m: Model, field: str) -> str:
    value = getattr(m, field)
    if value is None or value == "":
        return _DASH
    return f"{value}{'' if m.is_sure(field) else '?'}"


def _size(m: Model, field: str) -> str:
    value = getattr(m, field)
    return _DASH if value is None else f"{value:.3g}{'' if m.is_sure(field) else '?'}"


def _details(m: Model) -> str:
    lines = [m.name]
    for field, value in _plain(m).items():
        if field in ("name", "unsure", "notes", "retired") or value in (None, "", [], {}):
            continue
        parts = [k for k in m.unsure if k.startswith(f"{field}.")]
        doubt = "" if m.is_sure(field) else " (unsure)"
        doubt += f" (unsure: {', '.join(p.partition('.')[2] for p in parts)})" if parts else ""
        lines.append(f"  {field.replace('_', ' ')}: {_shown(value)}{doubt}")
    doubt = "" if m.is_sure("retired") else " (unsure)"
    lines += [f"  ! {r.describe(_today())}{doubt}" for r in m.retired]
    lines += [f"  note: {note}" for note in m.notes]
    return "\n".join(lines)


def _shown(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{k} {_shown(v)}" for k, v in value.items())
    if isinstance(value, list):
        return ", ".join(map(str, value))
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value)


def _plain(m: Model) -> dict[str, Any]:
    from dataclasses import asdict

    plain = json.loads(json.dumps(asdict(m), default=lambda day: day.isoformat()))
    for entry, retirement in zip(plain["retired"], m.retired, strict=True):
        entry["is_past"] = retirement.on <= _today()
    return dict(plain)
