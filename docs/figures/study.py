"""Draw docs/figures/study_validation.png: what metrics do where items get easier.

One simulated study, drawn and analysed by the functions that analyse real ones.
"""

from pathlib import Path

import numpy as np

from hatscore.models import load_models
from hatscore.report.charts import study_chart
from hatscore.report.drawing import save_chart
from hatscore.studies.material import gather
from hatscore.studies.simulated import Layout, simulate_study
from hatscore.studies.validation import validation

registry = load_models()
layout = Layout(benchmarks=("reasoning",), by_item="")
study = simulate_study(registry, layout=layout, rng=np.random.default_rng(0))
found = validation(gather(study.outcomes, registry))
save_chart(study_chart(found.figure), Path(__file__).with_name("study_validation"), ("png",))
