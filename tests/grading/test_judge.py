"""Verdicts: one word wherever it stands, and None for everything that is not one."""

from __future__ import annotations

import pytest

from hatscore.grading import parse_verdict

VERDICTS = [
    ("Yes, it is supported by the text.", True),
    ("Yes. There is no doubt about it.", True),
    ('No. The candidate wrote "Yes".', False),
    ("No, the correct answer is Paris.", False),
    ("The answer is correct.", True),
    ("Based on the text, I decide.\n\nYES", True),
    ("Verdict: CORRECT\nExplanation: no errors found.", True),
    ("Verdict: YES\nVerdict: NO", False),
    ("<verdict>YES</verdict>", True),
    ("Judgement: **incorrect**", False),
    ('{"reason": "yes, it is", "verdict": "incorrect"}', False),
    ('{"is_correct": true}', True),
    ("ＹＥＳ", True),
    ("yes<think>", True),
    ("True", True),
    ("Wrong.", False),
    ("Verdict: partially correct", None),
    ('{"verdict": "partially correct"}', None),
    ("YES and NO", None),
    ("yes or no", None),
    ("Yes/No", None),
    ("not incorrect", None),
    ("Yes, but the answer is incorrect", None),
    ("Final verdict: NO. Actually yes.", None),
    ("No answer was given", None),
    ("correctly", None),
    ("known", None),
    ("<think>yes", None),
    ("Sí", None),
    ("はい", None),
    ("Y", None),
]


@pytest.mark.parametrize(("text", "verdict"), VERDICTS)
def test_verdict(text: str, *, verdict: bool | None) -> None:
    assert parse_verdict(text) is verdict
