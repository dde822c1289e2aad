"""Real replies, damaged at random: an extractor reads something or nothing, and never raises."""

from __future__ import annotations

import json
import random
import unicodedata
from pathlib import Path

import pytest

from hatscore.grading import (
    STATUSES,
    Gold,
    Reply,
    extract_choice,
    extract_number,
    grade,
    parse_verdict,
    strip_reasoning,
)

LOGS = Path(__file__).parents[2] / ".." / "shared" / "logs" / "clsp_mgsm_chatgpt"
pytestmark = pytest.mark.skipif(not LOGS.is_dir(), reason="needs the replies in ../shared/logs")

DIGITS = [0x0660, 0x06F0, 0x0966, 0x09E6, 0x0C66, 0x0E50, 0xFF10]
SNIPPETS = [
    "<think>", "</think>", "\\boxed{", "}", "####", "**", "$", "Answer:", "答案：", "ответ — ",
    "\u200b", "\u202e", "\ufeff", "\x00", "\ud83d", "²", "½", "−", "1,2,3", "%", "\n\n", "Q:",
]  # fmt: skip


def replies():
    texts = []
    for path in sorted(LOGS.glob("*/*.jsonl")):
        with path.open(encoding="utf-8") as file:
            for line in file:
                record = json.loads(line)
                texts += [turn["content"] for turn in record["message"]]
    return texts


def mutate(text, rng):
    for _ in range(rng.randint(1, 4)):
        at = rng.randrange(len(text) + 1)
        to = min(len(text), at + rng.randint(0, 40))
        kind = rng.randrange(7)
        if kind == 0:
            text = text[:at] + text[to:]
        elif kind == 1:
            text = text[:at] + rng.choice(SNIPPETS) + text[at:]
        elif kind == 2:
            text = text[:at] + text[at:to] * 3 + text[to:]
        elif kind == 3:
            text = text[at:] + text[:at]
        elif kind == 4:
            text = unicodedata.normalize(rng.choice(["NFD", "NFKC", "NFKD"]), text)
        elif kind == 5:
            zero = rng.choice(DIGITS)
            text = text.translate({ord("0") + d: zero + d for d in range(10)})
        else:
            text = text[:at] + chr(rng.randrange(0x110000)) + text[at:]
    return text


def check(count):
    texts = replies()
    rng = random.Random(7)
    golds = [Gold("number", "18"), Gold("choice", "B", labels=tuple("ABCDEFGHIJ"))]
    for _ in range(count):
        text = mutate(rng.choice(texts), rng)
        extract_number(text)
        extract_choice(text, "ABCDEFGHIJ")
        parse_verdict(text)
        assert strip_reasoning(text)[0] in text
        assert (
            grade(Reply(text, rng.choice(["stop", "length"])), rng.choice(golds)).status in STATUSES
        )


def test_two_thousand_damaged_replies():
    check(2_000)


@pytest.mark.slow
def test_a_hundred_thousand_damaged_replies():
    check(100_000)
