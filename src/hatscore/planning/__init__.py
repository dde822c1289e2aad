"""Which replies a run asks for next: the stages of a sampling plan, by what has come so far."""

from __future__ import annotations

from hatscore.planning.choice import DEFAULT_PLAN, choose_plan, stored_config, stored_plans
from hatscore.planning.stages import HIGHEST, RATIO, Stage, rounds, sample_planned, staged, together

__all__ = [
    "DEFAULT_PLAN",
    "HIGHEST",
    "RATIO",
    "Stage",
    "choose_plan",
    "rounds",
    "sample_planned",
    "staged",
    "stored_config",
    "stored_plans",
    "together",
]
