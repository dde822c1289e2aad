"""hatscore: how much of what a model can do in one language survives in another.

The public names load on first use, so that ``import hatscore`` costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from hatscore._version import __version__

if TYPE_CHECKING:
    from hatscore.outcomes import Outcomes
    from hatscore.readers import read
    from hatscore.scoring import measure
    from hatscore.stats.estimate import Estimate
    from hatscore.stats.hat import hat_score

__all__ = ["Estimate", "Outcomes", "__version__", "hat_score", "measure", "read"]

_HOME = {
    "Estimate": "hatscore.stats.estimate",
    "Outcomes": "hatscore.outcomes",
    "hat_score": "hatscore.stats.hat",
    "measure": "hatscore.scoring",
    "read": "hatscore.readers",
}


def __getattr__(name: str) -> object:
    """Import a public name when it is first asked for."""
    if name not in _HOME:
        raise AttributeError(f"module 'hatscore' has no attribute {name!r}")
    home = import_module(_HOME[name])
    # `import hatscore.scoring` binds the module over the function: bind all names of ours again
    for public, module in _HOME.items():
        if module == home.__name__:
            globals()[public] = getattr(home, public)
    value: object = globals()[name]
    return value


def __dir__() -> list[str]:
    """List the public names, loaded or not."""
    return list(__all__)
