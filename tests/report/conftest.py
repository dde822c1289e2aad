from __future__ import annotations

import shutil

import numpy as np
import polars as pl
import pytest

from hatscore import Outcomes
from hatscore.benchmarks.base import Item, Prompt
from hatscore.grading.answer import Gold
from hatscore.sampling import BenchmarkPlan, Completion, Run, RunConfig, SamplingParams, Task
from hatscore.stats import simulate

HOSTILE = "</script><img src=x onerror=alert(1)><!-- \u2028 \N{GRINNING FACE} Answer: 4"
CUES = {"en": "Answer:", "ar": "الجواب:", "sw": "Jibu:"}


CHROMIUM = next(
    (p for p in map(shutil.which, ("chromium", "chromium-browser", "google-chrome")) if p), None
)


# of a module and no longer: while it runs, no other test may have an event loop
@pytest.fixture(scope="module")
def browser():
    if CHROMIUM is None:
        pytest.skip("no Chromium: apt-get install chromium, or set a browser on the PATH")
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as started:
        launched = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield launched
        launched.close()


@pytest.fixture
def visit(browser):
    """Open an address; what its page complains of, or asks for beyond `within`, is an error."""
    contexts, complaints = [], []

    def go(address, *, within, **options):
        context = browser.new_context(**{"viewport": {"width": 1280, "height": 900}, **options})
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(15_000)
        page.on("console", lambda m: complaints.append(f"{m.type}: {m.text}"))
        page.on("pageerror", lambda e: complaints.append(str(e)))
        page.on("dialog", lambda d: (complaints.append(f"dialog: {d.message}"), d.dismiss()))
        page.on("request", lambda r: None if r.url.startswith(within) else
                complaints.append(f"request: {r.url}"))  # fmt: skip
        page.goto(address)
        return page

    yield go
    for context in contexts:
        context.close()
    assert complaints == []


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


@pytest.fixture(scope="session")
def sampled_run(tmp_path_factory):
    """Six items in three languages; every way to end is there, and a hostile reply."""
    where = tmp_path_factory.mktemp("sampled")
    config = RunConfig(
        "lab/m", "openai-api", "lab/m", "chat", "native", SamplingParams(),
        (BenchmarkPlan("wordmath", "3", ("en", "ar", "sw"), "en", 4, items=6),),
        created_at="2026-05-04T10:00:00Z", version="0.0.1",
    )  # fmt: skip
    with Run.create_or_resume(where / "run", config) as opened:
        for language, cue in CUES.items():
            for i in range(6):
                question = f"{i} + 2 in {language}?"
                item = Item(str(i), language, "en", question, Gold("number", str(i + 2)))
                task = Task("wordmath", item, Prompt("chat", f"Sum.\n{question}\n{cue}"), 4)
                opened.store.put_items([task])
                right = Completion(f"Let me see.\n{cue} {i + 2}", "stop")
                others = [
                    Completion("", error="HTTP 500"), Completion(f"{cue} 99"), Completion("No."),
                    Completion("so 1 and", "length"), Completion(HOSTILE), Completion(""),
                ]  # fmt: skip
                last = right if language == "en" else others[i]
                opened.store.put_all(task.cell, range(4), [right, right, right, last], seed=None)
    return where / "run"
