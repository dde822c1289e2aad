"""``hatscore benchmarks``: list, show, check."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from hatscore.benchmarks import list_benchmarks

SHARED = Path(__file__).parents[2] / "shared" / "data"


def test_list_names_every_benchmark_with_licence_source_and_size(hatscore):
    code, out, _ = hatscore("benchmarks")
    assert code == 0
    for name in list_benchmarks():
        assert re.search(rf"^{name} ", out, re.MULTILINE)
    assert out.count("  licence: ") == out.count("  source: ") == len(list_benchmarks())
    assert "items: 244 by default" in out  # worldfacts, between any two languages at least this
    assert hatscore("benchmarks", "list")[1] == out


def test_show_prints_prompt_gold_and_how_a_reply_is_read(hatscore):
    code, out, _ = hatscore(
        "benchmarks",
        "show",
        "worldfacts",
        "-l",
        "th",
        "--item",
        "capital:JP",
        "--mode",
        "completion",
        "--reply",
        " โตเกียว",
    )
    assert code == 0
    assert "prompt (completion" in out
    assert "stop at: '\\n'" in out
    assert "accepted in th: โตเกียว" in out
    assert "correct, read" in out


def test_show_of_an_unknown_item_names_some(hatscore):
    code, _, err = hatscore("benchmarks", "show", "worldfacts", "--item", "capital:XX")
    assert code == 2
    assert "no item 'capital:XX'" in err


@pytest.mark.skipif(not SHARED.is_dir(), reason="needs the official files in ../shared/data")
def test_official_files_are_checked_and_shown(hatscore):
    data = SHARED / "mgsm_rev2"
    code, out, _ = hatscore("benchmarks", "check", "mgsm_v2", "--data", data)
    assert code == 0
    assert "mgsm_v2: 0 faults" in out
    code, out, _ = hatscore("benchmarks", "check", "mgsm_v2", "--data", SHARED / "mgsm_v1")
    assert code == 1
    assert "have the text of mgsm" in out
    code, out, _ = hatscore(
        "benchmarks", "show", "mgsm_v2", "-l", "sw", "--item", 13, "--data", data
    )
    assert code == 0
    assert "gold (number): 13" in out


def test_generated_benchmarks_have_nothing_to_check(hatscore):
    code, _, err = hatscore("benchmarks", "check", "wordmath")
    assert code == 2
    assert "generated" in err
    code, _, err = hatscore("benchmarks", "check", "mgsm_v2", "--data", "nowhere")
    assert code == 2
    assert "nowhere" in err
    assert "Traceback" not in err
