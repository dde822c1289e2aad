"""The rule behind a reading: never another status than grading, and a place that is in the text."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hatscore.errors import InputError
from hatscore.grading import Gold, Reply, grade
from hatscore.grading.explain import explain

NUMBER = Gold("number", "18")
CHOICE = Gold("choice", "B", labels=("A", "B", "C"), options=("London", "Paris", "Rom"))
NAME = Gold(
    "name", "Paris", "de", "en", names={"de": ("Paris",)}, others={"de": ("Bern", "Rom")}
)  # fmt: skip
JUDGE = Gold("judge", "x", context="c")

CASES = [
    (NUMBER, "答え: １８\n\nQuestion: And 5²?", "after the cue “答え:”; a question", "答え:"),
    (NUMBER, "18", "it holds this number alone", "18"),
    (NUMBER, "5 + 13 makes 18", "no cue announces an answer: the last number counts", "18"),
    (NUMBER, r"so $\boxed{18}$", "in the last box", r"\boxed{18}$"),
    (NUMBER, "so\n#### 18", "after ####", "#### 18"),
    (NUMBER, "No idea", "no number stands in it", None),
    (NUMBER, "<think>17</think>Answer: 18", "after the cue “Answer:”; its thinking", "Answer: 18"),
    (CHOICE, "The answer is (B).", "after the cue “answer is”", "answer is (B)."),
    (CHOICE, "B. Paris", "a line holds or begins with the label", "B. Paris"),
    (CHOICE, "It must be Paris", "the only option whose text occurs in it", None),
    (CHOICE, "A and B are fine", "no option's label or text", None),
    (NAME, "Antwort: Bern", "after the cue “Antwort:”: no accepted name alone", "Antwort: Bern"),
    (NAME, "Paris.", "the first line that answers", "Paris"),
    (JUDGE, "Whatever", "the whole reply goes to the judge", None),
]


@pytest.mark.parametrize(("gold", "text", "why", "place"), CASES)
def test_rules_are_named(gold, text, why, place):
    found = explain(Reply(text), gold)
    assert found.why.startswith(why)
    assert (found.place and text[slice(*found.place)]) == place
    if gold.kind != "judge":
        assert found.graded == grade(Reply(text), gold)


@pytest.mark.parametrize(
    ("reply", "why"),
    [
        (Reply("", error="HTTP 500"), "no reply came: HTTP 500"),
        (Reply("x", "content_filter"), "the server ended it with 'content_filter'"),
        (Reply(""), "no text came"),
        (Reply("<think>a</think>"), "nothing but thinking came"),
        (Reply("<think>a"), "it ends inside its thinking"),
        (Reply("so 5", "length"), "it was cut off (length)"),
    ],
)
def test_endings_are_named(reply, why):
    assert explain(reply, NUMBER).why.startswith(why)


WORDS = st.sampled_from(
    ["Answer:", "answer is", "Antwort", "答え：", "الجواب:", "(B)", "C", "18", "1,5", "Paris",
     "Bern", "\\boxed{", "}", "####", "\n", "<think>", "</think>", "not", "Question:",
     "\N{GRINNING FACE}"]
)  # fmt: skip


@settings(max_examples=150, deadline=None, derandomize=True)
@given(
    st.lists(WORDS | st.text(max_size=4), max_size=12),
    st.sampled_from([NUMBER, CHOICE, NAME]),
    st.sampled_from([None, "stop", "length"]),
)
def test_it_agrees_with_grading_whatever_comes(parts, gold, finish):
    reply = Reply(" ".join(parts), finish)
    found = explain(reply, gold)
    assert found.graded == grade(reply, gold)
    assert found.why
    if found.place is not None:
        begin, end = found.place
        assert 0 <= begin < end <= len(reply.text)


def test_a_gold_that_cannot_be_used_is_refused():
    with pytest.raises(InputError, match="needs a number"):
        explain(Reply("5"), Gold("number", "none"))
