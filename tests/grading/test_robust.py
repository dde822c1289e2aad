"""No text raises, no text takes long, and what surrounds an answer does not change it."""

from __future__ import annotations

import json
import random
import time
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hatscore.grading import (
    STATUSES,
    Gold,
    Reply,
    clean_reply,
    extract_choice,
    extract_number,
    grade,
    match_name,
    parse_verdict,
    strip_reasoning,
)

LOGS = Path(__file__).parents[2] / ".." / "shared" / "logs" / "clsp_mgsm_chatgpt"
NAME = Gold("name", "Niger", language="fr", names={"fr": ("Niger",)}, others={"fr": ("Tchad",)})
CHOICE = Gold("choice", "B", labels=tuple("ABCD"), options=("one", "two", "three", "four"))
PIECES = [
    *("Answer: ", "答案是", "उत्तर ", "الجواب", "(B)", "A", "not ", "1,234", "½", "万", "-", "−"),
    *("\\boxed{", "}", "\\frac{1}{0}", "####", "\n", "Question:", "<think>", "</think>", "**"),
    *("=", "Niger", "'", "\u200d", "\u0301", "٣", "yes", '{"verdict": "', "%", "9" * 500, "\ud800"),
]


def read_all(text: str) -> None:
    extract_number(text)
    extract_choice(text, "ABCD", CHOICE.options)
    match_name(text, NAME)
    parse_verdict(text)
    clean_reply(text)
    visible, _ = strip_reasoning(text)
    assert visible in text
    for gold in (Gold("number", "5"), CHOICE, NAME):
        for finish in ("stop", "length"):
            assert grade(Reply(text, finish_reason=finish), gold).status in STATUSES


@settings(deadline=None, max_examples=300, derandomize=True)
@given(st.text(st.characters(codec=None), max_size=60))
def test_any_text(text: str) -> None:
    read_all(text)


@settings(deadline=None, max_examples=300, derandomize=True)
@given(st.lists(st.sampled_from(PIECES), max_size=14).map("".join))
def test_any_order_of_what_is_looked_for(text: str) -> None:
    read_all(text)


@pytest.mark.parametrize(
    "unit",
    ["answer ", "答", "Answer: ", "(A) ", "\\boxed{", "1,", "1+1=", "<", "Q: \n", "\u0301\u0323",
     "not A ", "Paris, ", "A or ", '"verdict": ', "answer = ", "*", "ﷺ", "</think>", "9"],
)  # fmt: skip
def test_time_is_linear(unit: str) -> None:
    def seconds(size: int) -> float:
        text = (unit * size)[:size]
        begin = time.process_time()
        for gold in (Gold("number", "5"), CHOICE, NAME):
            grade(Reply(text, finish_reason="length"), gold)
        parse_verdict(text)
        return time.process_time() - begin

    seconds(1000)
    # A quadratic step takes minutes at this size.
    assert seconds(200_000) < 20


REPLIES = [
    ("Zuerst 16 - 7 = 9, dann 9 x 2.\n\nAntwort: {}", "18"),
    ("9×2={}なので、答えは{}です。", "18"),
    ("Donc la réponse est {}.", "1 250,5"),
    ("因此答案是：{}", "27,000"),
    ("Kwa hivyo jibu ni {}.", "3/4"),
]


@pytest.mark.parametrize(("reply", "written"), REPLIES)
def test_what_surrounds_an_answer_does_not_change_it(reply: str, written: str) -> None:
    text = reply.replace("{}", written)
    value = extract_number(text)
    assert value is not None
    for changed in (
        f"<think>Is it 7? Answer: 7</think>\n{text}",
        f"7 it is.</think>{text}",
        unicodedata.normalize("NFD", text),
        reply.replace("{}", f"**{written}**"),
        reply.replace("{}", f"({written})"),
        reply.replace("{}", f"${written}$"),
        f"{text}\n\nThis took 3 steps.",
        f"{text}\n\nQuestion: I have 5 hens.\nAnswer: 6",
        text.translate({ord("0") + digit: 0xFF10 + digit for digit in range(10)}),
        text.translate({ord("0") + digit: 0x0966 + digit for digit in range(10)}),
        text.replace("\n", "\r\n"),
        text.replace(" ", "\u00a0"),
    ):
        assert extract_number(changed) == value, changed


def test_real_replies() -> None:
    if not LOGS.is_dir():
        pytest.skip("the logs beside the project are not here")
    rng = random.Random(5)
    right = total = 0
    for path in sorted(LOGS.glob("*/*.jsonl"))[::7]:
        for line in rng.sample(path.read_text(encoding="utf-8").splitlines(), 12):
            record = json.loads(line)
            text = record["message"][-1]["content"]
            answer = record["origin"]["answer"]
            total += 1
            right += grade(Reply(text), Gold("number", answer)).status == "correct"
            decomposed = unicodedata.normalize("NFD", text)
            assert extract_number(decomposed) == extract_number(text)
            cut = rng.randrange(len(text) + 1)
            read_all(text[:cut])
            read_all(text[cut:] + text[:cut])
    assert 0.4 < right / total < 0.9
