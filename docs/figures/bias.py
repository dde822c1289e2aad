"""Draw docs/figures/bias.png: what the published slope shows when transfer is known.

Usage: python docs/figures/bias.py
"""

from __future__ import annotations

from pathlib import Path

import altair as alt
import numpy as np

from hatscore.report.charts import theme
from hatscore.report.drawing import save_chart
from hatscore.stats.calibration import Condition, calibrate

SOURCES = {
    "strong: Beta(3, .5)": (3, 0.5),
    "uniform: Beta(1, 1)": (1, 1),
    "weak: Beta(.4, 1.2)": (0.4, 1.2),
    "weaker: Beta(.3, 2.7)": (0.3, 2.7),
}
ESTIMATORS = {"plugin": "published slope (plug-in)", "corrected": "corrected slope"}
REPLIES = (2, 3, 5, 10, 20, 30)


def simulated() -> list[dict[str, str | float]]:
    """Simulate both estimators over the number of replies."""
    rng = np.random.default_rng(1)
    rows = []
    for estimator, title in ESTIMATORS.items():
        for name, source in SOURCES.items():
            for n in REPLIES:
                found = calibrate(
                    Condition(source, 1.0, None, 658, n, n),
                    repetitions=1000,
                    estimator=estimator,
                    interval="delta",
                    rng=rng,
                )
                score = 1.0 + found.median_bias
                rows.append({"estimator": title, "source": name, "replies": n, "score": score})
    return rows


def main() -> None:
    """Draw them side by side."""
    scale = alt.Scale(domain=list(SOURCES))
    legend = alt.Legend(title="source success rates", orient="right")
    lines = alt.Chart().encode(
        x=alt.X(
            "replies:Q",
            title="replies per item and language",
            scale=alt.Scale(type="log", base=2, nice=False, padding=12),
            axis=alt.Axis(values=REPLIES, grid=False, format="d"),
        ),
        y=alt.Y("score:Q", title="median score; the truth is 1", scale=alt.Scale(zero=False)),
        color=alt.Color("source:N", scale=scale, legend=legend),
        shape=alt.Shape("source:N", scale=scale, legend=legend),
    )
    truth = alt.Chart().mark_rule(style="reference").encode(y=alt.datum(1.0))
    chart = (
        alt.layer(
            truth, lines.mark_line(), lines.mark_point(size=45), data=alt.InlineData(simulated())
        )
        .properties(width=270, height=230)
        .facet(facet=alt.Facet("estimator:N", sort=list(ESTIMATORS.values()), title=None))
        .properties(
            config=alt.Config(**theme()),
            description="Median score over replies per item for four kinds of sources, with the "
            "published and the corrected slope.",
        )
    )
    save_chart(chart, Path(__file__).with_name("bias"), ("png",))


if __name__ == "__main__":
    main()
