"""The worked cases of every extractor."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from hatscore.grading import extract_choice, extract_number, parse_verdict, strip_reasoning

_LINES = (Path(__file__).parent / "cases.jsonl").read_text(encoding="utf-8").splitlines()
CASES: list[dict[str, Any]] = [json.loads(line) for line in _LINES]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_case(case: dict[str, Any]) -> None:
    expect = case["expect"]
    match case["fn"]:
        case "extract_number":
            wanted = None if expect is None else Fraction(expect)
            assert extract_number(case["text"]) == wanted
        case "extract_choice":
            assert extract_choice(case["text"], case["labels"], case["options"]) == expect
        case "strip_reasoning":
            assert strip_reasoning(case["text"]) == (expect, case["open"])
        case "parse_verdict":
            assert parse_verdict(case["text"]) is expect
        case other:
            pytest.fail(f"no such function: {other}")
