"""Draw docs/figures/bias.png: what the published slope shows when transfer is known.

Usage: python docs/figures/bias.py
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from hatscore.stats.calibration import Condition, calibrate

SOURCES = {
    "strong: Beta(3, .5)": (3, 0.5),
    "uniform: Beta(1, 1)": (1, 1),
    "weak: Beta(.4, 1.2)": (0.4, 1.2),
    "weaker: Beta(.3, 2.7)": (0.3, 2.7),
}
MARKS = ("o", "s", "^", "D")
COLOURS = ("#0072B2", "#009E73", "#D55E00", "#CC79A7")
REPLIES = (2, 3, 5, 10, 20, 30)


def main() -> None:
    """Simulate both estimators over the number of replies and draw them side by side."""
    rng = np.random.default_rng(1)
    figure = Figure(figsize=(8.4, 3.6), layout="constrained")
    axes = figure.subplots(1, 2, sharey=True)
    for axis, estimator, title in zip(
        axes, ("plugin", "corrected"), ("published slope (plug-in)", "corrected slope"), strict=True
    ):
        for (name, source), mark, colour in zip(SOURCES.items(), MARKS, COLOURS, strict=True):
            values = [
                1.0
                + calibrate(
                    Condition(source, 1.0, None, 658, n, n),
                    repetitions=1000,
                    estimator=estimator,
                    interval="delta",
                    rng=rng,
                ).median_bias
                for n in REPLIES
            ]
            axis.plot(REPLIES, values, marker=mark, color=colour, label=name)
        axis.axhline(1.0, color="0.4", linewidth=0.8, linestyle="--")
        axis.set_xscale("log", base=2)
        axis.set_xticks(REPLIES, [str(n) for n in REPLIES])
        axis.minorticks_off()
        axis.set_xlabel("replies per item and language")
        axis.set_title(title, fontsize=11)
        axis.spines[["top", "right"]].set_visible(False)
    axes[0].set_ylabel("median score; the truth is 1")
    axes[1].legend(loc="lower right", title="source success rates", frameon=False, fontsize=9)
    figure.savefig(Path(__file__).with_name("bias.png"), dpi=130)


if __name__ == "__main__":
    main()
