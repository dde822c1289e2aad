"""The table of benchmarks: built in, or brought by an installed package.

A package adds a benchmark with an entry point in its ``pyproject.toml``::

    [project.entry-points."hatscore.benchmarks"]
    proverbs = "hatscore_proverbs:BENCHMARK"

The object it names implements :class:`hatscore.benchmarks.base.Benchmark`. Nothing is imported
before its benchmark is asked for, so that listing them stays cheap.
"""

from __future__ import annotations

from importlib import import_module
from importlib.metadata import entry_points
from typing import TYPE_CHECKING

from hatscore.benchmarks.base import Benchmark
from hatscore.errors import InputError, UnknownNameError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

__all__ = ["BUILT_IN", "ENTRY_POINT_GROUP", "get_benchmark", "list_benchmarks"]

ENTRY_POINT_GROUP = "hatscore.benchmarks"

BUILT_IN: dict[str, tuple[str, str]] = {
    "custom": ("hatscore.benchmarks.custom", "BENCHMARK"),
    "eclektic": ("hatscore.benchmarks.eclektic", "BENCHMARK"),
    "mgsm": ("hatscore.benchmarks.mgsm", "MGSM"),
    "mgsm_v2": ("hatscore.benchmarks.mgsm", "MGSM_V2"),
    "mmlu_prox_lite": ("hatscore.benchmarks.mmlu_prox_lite", "BENCHMARK"),
    "chain": ("hatscore.benchmarks.chain", "BENCHMARK"),
    "wordmath": ("hatscore.benchmarks.wordmath", "BENCHMARK"),
    "worldfacts": ("hatscore.benchmarks.worldfacts", "BENCHMARK"),
}
"""Name of a benchmark -> (module, attribute)."""


def list_benchmarks() -> tuple[str, ...]:
    """Return the names of all benchmarks, sorted, without importing any of them.

    Returns
    -------
    tuple of str
        The built-in names and those of installed plug-ins.
    """
    return tuple(sorted({*BUILT_IN, *_plug_ins()}))


def get_benchmark(name: str) -> Benchmark:
    """Return the benchmark of that name, importing it now.

    Parameters
    ----------
    name
        One of :func:`list_benchmarks`.

    Returns
    -------
    Benchmark
        The same object at every call.

    Raises
    ------
    UnknownNameError
        No benchmark has this name; the message names the nearest ones.
    InputError
        Two packages claim the name, or a plug-in cannot be loaded or is not a benchmark.
    """
    claims = _plug_ins().get(name, [])
    if name in BUILT_IN:
        if claims:
            raise InputError(
                f"the benchmark {name!r} is built in, but {_owners(claims)} brings another of the "
                f"same name: rename the entry point or uninstall that package"
            )
        module, attribute = BUILT_IN[name]
        return _checked(name, getattr(import_module(module), attribute))
    if not claims:
        raise UnknownNameError("benchmark", name, list_benchmarks())
    if len(claims) > 1:
        raise InputError(
            f"the benchmark {name!r} is claimed by {_owners(claims)}: uninstall all but one"
        )
    try:
        loaded = claims[0].load()
    except (ImportError, AttributeError) as error:
        raise InputError(
            f"the benchmark {name!r} of {_owners(claims)} cannot be loaded from "
            f"{claims[0].value!r}: {error}"
        ) from error
    return _checked(name, loaded)


def _plug_ins() -> dict[str, list[EntryPoint]]:
    """Entry points by name; one package seen twice on the path counts once."""
    found: dict[str, list[EntryPoint]] = {}
    for point in entry_points(group=ENTRY_POINT_GROUP):
        claims = found.setdefault(point.name, [])
        if all(point.value != other.value for other in claims):
            claims.append(point)
    return found


def _owners(claims: list[EntryPoint]) -> str:
    return " and ".join(sorted(p.dist.name if p.dist else p.value for p in claims))


def _checked(name: str, loaded: object) -> Benchmark:
    """Refuse an object that lacks part of the protocol, and say which part."""
    if not isinstance(loaded, Benchmark):
        parts = sorted({*Benchmark.__annotations__, "load", "prompt"})
        missing = [part for part in parts if not hasattr(loaded, part)]
        raise InputError(
            f"the benchmark {name!r} is a {type(loaded).__name__} without {', '.join(missing)}: "
            f"it must have {', '.join(parts)}"
        )
    if loaded.name != name:
        raise InputError(
            f"the benchmark registered as {name!r} calls itself {loaded.name!r}: "
            f"stored runs could not find it again, give both the same name"
        )
    return loaded
