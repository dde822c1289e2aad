"""What the registry knows of the models of a run, as charts and the page take it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

    from hatscore.models import Registry

__all__ = ["facts_of"]


def facts_of(models: Iterable[str], registry: Registry) -> dict[str, dict[str, Any]]:
    """Return family, release day and billions of parameters by model; others are left out.

    What sources disagree on is left out too.
    """
    found: dict[str, dict[str, Any]] = {}
    for name in dict.fromkeys(models):
        entry = registry.find(name)
        if entry is None:
            continue
        known = {
            "family": entry.family or None,
            "released": entry.released if entry.is_sure("released") else None,
            "params": entry.parameters_total if entry.is_sure("parameters_total") else None,
        }
        found[name] = {key: value for key, value in known.items() if value is not None}
    return found
