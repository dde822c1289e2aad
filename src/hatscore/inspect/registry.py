"""What the entry point of this package loads: importing it registers everything with inspect_ai.

Inspect loads it at every start, so nothing is read here: a benchmark's data are loaded when its
task is made.
"""

from __future__ import annotations

from hatscore.inspect import (
    ask,
    chain,
    custom,
    eclektic,
    graded,
    hat,
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
