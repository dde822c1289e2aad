"""Statuses: in which order they are told, for every kind of gold."""

from __future__ import annotations

import pytest

from hatscore.errors import InputError
from hatscore.grading import STATUSES, Gold, Graded, Reply, grade

NUMBER = Gold("number", "2,125")
CHOICE = Gold("choice", "B", labels=("A", "B", "C"), options=("x1", "y1", "z1"), also=("C",))
NAME = Gold("name", "Paris", language="en", names={"en": ("Paris",)}, others={"en": ("London",)})
JUDGED = Gold("judge", "Tian Fen")
KINDS = [NUMBER, CHOICE, NAME, JUDGED]


@pytest.mark.parametrize("gold", KINDS)
def test_endings_do_not_depend_on_the_kind(gold: Gold) -> None:
    assert grade(Reply("Answer: 2125", error="HTTP 500"), gold).status == "error"
    for reason in ("content_filter", "SAFETY", "refusal", "FinishReason.PROHIBITED_CONTENT"):
        assert grade(Reply("Answer: 2125", finish_reason=reason), gold).status == "refused"
    for text in ("", " \n", "\u200b", "<think>2125</think>", "</think>\n", "<|im_end|>"):
        assert grade(Reply(text, finish_reason="stop"), gold).status == "empty"
        assert grade(Reply(text, finish_reason="length"), gold).status == "truncated"
    assert grade(Reply("<think>2125, B, Paris"), gold).status == "truncated"


@pytest.mark.parametrize(
    ("text", "reason", "gold", "expected"),
    [
        ("Answer: 2125", "stop", NUMBER, Graded("correct", "2125")),
        ("Answer: 2125.5", None, NUMBER, Graded("wrong", "4251/2")),
        ("I cannot tell.", "stop", NUMBER, Graded("unparsed")),
        ("Answer: 2125", "length", NUMBER, Graded("correct", "2125")),
        ("First 1000, then 1125", "length", NUMBER, Graded("truncated")),
        ("First 1000, then 1125", "stop", NUMBER, Graded("wrong", "1125")),
        ("Answer: 2125 <think>or", "max_tokens", NUMBER, Graded("correct", "2125")),
        ("The sum is 2125 <think>or", "stop", NUMBER, Graded("truncated")),
        ("2125\n\nQuestion: And", "length", NUMBER, Graded("correct", "2125")),
        ("2125\n\n\n", "MAX_TOKENS", NUMBER, Graded("correct", "2125")),
        ("\\boxed{2125} and so", "length", NUMBER, Graded("correct", "2125")),
        ("B", "stop", CHOICE, Graded("correct", "B")),
        ("(C)", "stop", CHOICE, Graded("correct", "C")),
        ("(A)", "stop", CHOICE, Graded("wrong", "A")),
        ("I don't know.", "stop", CHOICE, Graded("unparsed")),
        ("Option B seems to", "length", CHOICE, Graded("truncated")),
        ("Answer: B. It", "length", CHOICE, Graded("correct", "B")),
        ("B\nQuestion: Who", "length", CHOICE, Graded("correct", "B")),
        ("Paris", "stop", NAME, Graded("correct", "Paris")),
        ("It is London.", "stop", NAME, Graded("wrong", "London")),
        ("Lyon", "stop", NAME, Graded("wrong", "Lyon")),
        ("?!", "stop", NAME, Graded("unparsed")),
        ("It could be Paris, or", "length", NAME, Graded("truncated")),
        ("Paris\nThe capital of", "length", NAME, Graded("correct", "Paris")),
        ("Answer: Paris", "length", NAME, Graded("correct", "Paris")),
    ],
)
def test_status(text: str, reason: str | None, gold: Gold, expected: Graded) -> None:
    assert expected.status in STATUSES
    assert grade(Reply(text, finish_reason=reason), gold) == expected


def test_a_judged_reply_needs_a_judge() -> None:
    with pytest.raises(InputError, match="judged by a model"):
        grade(Reply("Tian Fen"), JUDGED)
    assert grade(Reply("Tian F", finish_reason="length"), JUDGED).status == "truncated"


def test_strict_names() -> None:
    gold = Gold("name", "Paris", language="ko", names={"ko": ("파리",), "en": ("Paris",)})
    assert grade(Reply("Paris"), gold).status == "correct"
    assert grade(Reply("Paris"), gold, names="strict").status == "wrong"


@pytest.mark.parametrize(
    ("gold", "message"),
    [
        (Gold("number", "many"), "needs a number, got 'many'"),
        (Gold("choice", "D", labels=("A", "B")), "'D' is none of the item's labels A, B"),
        (Gold("numbr", "1"), "did you mean number"),  # type: ignore[arg-type]
    ],
)
def test_unusable_golds_are_refused(gold: Gold, message: str) -> None:
    with pytest.raises(InputError, match=message):
        grade(Reply("Answer: 1"), gold)


def test_the_language_of_the_item_changes_nothing() -> None:
    for language in ("en", "sw", "zh"):
        gold = Gold("number", "18", language=language)
        assert grade(Reply("Jibu ni 18. Answer 3"), gold) == grade(
            Reply("Jibu ni 18. Answer 3"), Gold("number", "18")
        )
