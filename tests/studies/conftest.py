"""A small simulated study, drawn once: its truth is known."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from hatscore.models import load_models
from hatscore.outcomes import Outcomes
from hatscore.studies.material import gather
from hatscore.studies.simulated import PAPER, Layout, simulate_study

LAYOUT = Layout(
    benchmarks=("reasoning",),
    by_item="closed-book",
    languages=("de", "es", "ja", "sw", "th", "zh"),
    n_items=90,
)


@pytest.fixture(scope="session")
def registry():
    return load_models()


@pytest.fixture(scope="session")
def study(registry):
    # no noise of models or languages: the true lines are the effects themselves
    effects = replace(PAPER, model_sd=0.0, language_sd=0.0)
    return simulate_study(registry, effects=effects, layout=LAYOUT, rng=np.random.default_rng(3))


@pytest.fixture(scope="session")
def material(study, registry):
    return gather(study.outcomes, registry)


@pytest.fixture(scope="session")
def only(study, registry):
    """Return the material of some models alone."""

    def choose(*models, keep=None, rename=None):
        frame = study.outcomes.frame
        frame = frame.filter(frame["model"].is_in(models))
        if keep is not None:
            frame = frame.filter(keep)
        if rename:
            frame = frame.with_columns(frame["model"].replace(rename))
        return gather(Outcomes.from_frame(frame), registry)

    return choose
