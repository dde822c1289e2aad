"""Plug-in for inspect_ai: our benchmarks as its tasks, our grading as a scorer, HAT as a metric.

``inspect eval hatscore/mgsm_v2 --model PROVIDER/NAME --epochs 10`` finds the tasks by the entry
point of this package. From Python::

    from hatscore.inspect import hat, mgsm_v2

Needs the extra ``providers``, of which inspect_ai is a part.
"""

from __future__ import annotations

import importlib.util

from hatscore.errors import MissingExtraError

if importlib.util.find_spec("inspect_ai") is None:
    raise MissingExtraError("providers", "the plug-in for inspect_ai")

from hatscore.inspect.metric import hat
from hatscore.inspect.scorer import graded
from hatscore.inspect.solver import ask
from hatscore.inspect.tasks import (
    chain,
    custom,
    eclektic,
    mgsm,
    mgsm_v2,
    mmlu_prox_lite,
    wordmath,
    worldfacts,
)

__all__ = [
    "ask",
    "chain",
    "custom",
    "eclektic",
    "graded",
    "hat",
    "mgsm",
    "mgsm_v2",
    "mmlu_prox_lite",
    "wordmath",
    "worldfacts",
]
