"""Real logs: what docs/study.md says of them is what comes out."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from hatscore import read
from hatscore.models import load_models
from hatscore.studies.material import gather
from hatscore.studies.script import script

ROOT = Path(__file__).parents[2]
LOGS = ROOT / ".." / "shared" / "logs"


def found(folder, **options):
    if not (LOGS / folder).is_dir():
        pytest.skip(f"needs ../shared/logs/{folder}")
    return script(gather(read(LOGS / folder, **options), load_models()))


@pytest.fixture(scope="module")
def said():
    return (ROOT / "docs" / "study.md").read_text(encoding="utf-8").replace("−", "-")


def test_ten_languages_of_mgsm(said):
    a = found(
        "clsp_mgsm_chatgpt",
        source="de",
        model="chatgpt",
        benchmark="mgsm",
        grade="number",
        columns="item=@row,reply=message.0.content,gold=origin.answer",
        map=[r"language=path:([a-z]+)/[a-z]+\.jsonl$", r"repeat=path:([a-z]+)\.jsonl$"],
    )
    by = {(r["trait"], r["effect"]): r for r in a.table.iter_rows(named=True)}
    articles = by["log10 articles", "over languages"]
    assert articles["p"] < 0.05 < articles["q"]
    (verdict,) = (f.verdict for f in a.findings if "articles" in f.text)
    assert verdict == "not shown"
    other = by["other script", "over languages"]
    for text in (
        f"{articles['value']:+.3f} [{articles['low']:+.3f}, {articles['high']:+.3f}]",
        f"p = {articles['p']:.3f}",
        f"q = {articles['q']:.3f}",
        f"[{other['low']:.3f}, {other['high']:+.3f}] over other languages",
    ):
        assert text in said
    items = by["script", "other - same"]
    assert f"HAT {items['value']:.3f} [{items['low']:.3f}, {items['high']:.3f}]" in said
    # these two hold together, over items
    held = a.table.filter(pl.col("q") < 0.05)
    assert set(held["effect"]) == {"other - same"}
    assert held.height == 2


def test_nothing_is_shown_above_a_rate_that_says_otherwise():
    a = found(
        "eclektic_gpt4o",
        columns="item=q_id,language=target_lang,source=source_lang,score=correct_target",
        model="gpt-4o",
        benchmark="eclektic",
    )
    lines = a.table.filter(pl.col("effect") == "over languages")
    by = {r["trait"]: r for r in lines.iter_rows(named=True)}
    assert by["log10 articles"]["p"] < 0.05 < by["log10 articles"]["q"]
    verdicts = {f.text.split(" targets of another ")[-1][:6]: f.verdict for f in a.findings}
    assert verdicts["script"] == ("shown" if by["other script"]["q"] < 0.05 else "not shown")
    assert sum(f.verdict == "shown" for f in a.findings) == sum(r["q"] < 0.05 for r in by.values())
