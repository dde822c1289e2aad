from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from hatscore import Outcomes
from hatscore.stats import simulate


@pytest.fixture
def simulated(simulate_outcomes):
    """Outcomes of models with falling transfer over languages; keyword columns are constants."""
    return simulate_outcomes


@pytest.fixture(scope="session")
def simulate_outcomes():
    """Outcomes of models with falling transfer over languages; keyword columns are constants."""

    def make(
        models=("m",),
        languages=("de", "fr", "sw"),
        *,
        items=12,
        replies=10,
        source=(4.0, 1.5),
        **more,
    ):
        rng = np.random.default_rng(7)
        parts = []
        for model in models:
            data = simulate(
                items,
                slopes=np.linspace(0.95, 0.3, len(languages)),
                source=source,
                n_source=replies,
                n_target=replies,
                rng=rng,
            )
            k = np.column_stack([data.k_source, data.k_target])
            parts += [
                (model, "b", str(i), language, "en", replies, int(k[i, j]))
                for i in range(items)
                for j, language in enumerate(("en", *languages))
            ]
        names = ["model", "benchmark", "item", "language", "source_language", "n", "k"]
        frame = pl.DataFrame(parts, schema=names, orient="row")
        return Outcomes.from_frame(frame.with_columns(**{c: pl.lit(v) for c, v in more.items()}))

    return make


@pytest.fixture
def table():
    """Outcomes from rows (language, n, k, {status: count}), one item per language and row."""

    def make(*rows, model="m"):
        found, seen = [], {}
        for language, n, k, more in rows:
            seen[language] = seen.get(language, -1) + 1
            key = {"model": model, "benchmark": "b", "item": str(seen[language])}
            found.append(
                {**key, "language": language, "source_language": "en", "n": n, "k": k} | more
            )
        return Outcomes.from_frame(pl.DataFrame(found, infer_schema_length=None))

    return make


@pytest.fixture
def unbounded(table):
    """One source item alone carries the denominator: no slope can be rejected for certain."""

    def make(model="m"):
        k = {"en": (4, 1, 0, 1), "de": (3, 2, 1, 4), "fr": (5, 1, 1, 1)}
        rows = [(language, 10, right, {}) for language in k for right in k[language]]
        return table(*rows, model=model)

    return make
