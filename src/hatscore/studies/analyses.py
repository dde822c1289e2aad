"""All analyses in the order of the report."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hatscore.errors import UnknownNameError
from hatscore.studies.coupling import coupling
from hatscore.studies.family import family
from hatscore.studies.script import script
from hatscore.studies.size import size
from hatscore.studies.thinking import thinking
from hatscore.studies.time import time
from hatscore.studies.validation import validation
from hatscore.studies.variance import variance

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hatscore.studies.material import Material
    from hatscore.studies.result import Analysis

__all__ = ["ANALYSES", "analyse"]

ANALYSES = {
    "coupling": coupling,
    "validation": validation,
    "size": size,
    "time": time,
    "family": family,
    "thinking": thinking,
    "script": script,
    "variance": variance,
}


def analyse(material: Material, names: Sequence[str] = ()) -> list[Analysis]:
    """Return the analyses of `names`, default all, in their order.

    Raises
    ------
    UnknownNameError
        No such analysis; names the nearest.
    """
    for name in names:
        if name not in ANALYSES:
            raise UnknownNameError("analysis", name, ANALYSES)
    return [run(material) for name, run in ANALYSES.items() if not names or name in names]
