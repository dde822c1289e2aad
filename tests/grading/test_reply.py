"""Cleaning: thinking, normal form, turns and run-on questions; and the public surface."""

from __future__ import annotations

import subprocess
import sys
import unicodedata

import pytest

import hatscore.grading
from hatscore.grading import clean_reply, strip_reasoning
from hatscore.grading.cues import answer_cues, phrases
from hatscore.grading.text import fold, normalise

UNICODE = [chr(code) for code in range(sys.maxunicode + 1)]


@pytest.mark.parametrize(
    ("text", "visible", "is_open"),
    [
        ("<THINK>a</THINK>b", "b", False),
        ("<reasoning>a</reasoning>b", "b", False),
        ("<thought>a</thought>b", "b", False),
        ("◁think▷a◁/think▷b", "b", False),
        ("<seed:think>a</seed:think>b", "b", False),
        ("<|START_THINKING|>a<|END_THINKING|>b", "b", False),
        ("<|channel|>analysis<|message|>a<|end|><|start|>assistant<|channel|>final<|message|>b",
         "b", False),
        ("<|channel|>analysis<|message|>a", "", True),
        ("analysisWe add.assistantfinalAnswer: 5", "Answer: 5", False),
        ("b<think>a", "b", True),
        ("</think>b<think>c", "b", True),
        ("a < b and [x] > c", "a < b and [x] > c", False),
    ],
)  # fmt: skip
def test_strip_reasoning(text: str, visible: str, *, is_open: bool) -> None:
    assert strip_reasoning(text) == (visible, is_open)


def test_no_digit_is_made_of_what_is_none() -> None:
    for char in UNICODE:
        plain = normalise(char)
        if unicodedata.category(char) != "Nd":
            assert not any(digit in plain for digit in "0123456789"), hex(ord(char))
        elif char.isdecimal():
            assert plain == str(unicodedata.decimal(char))


def test_fold_keeps_positions() -> None:
    text = normalise("".join(UNICODE[:0xD800] + UNICODE[0xE000:0x20000]))
    assert len(fold(text)) == len(text)


def test_normal_form_is_stable() -> None:
    for text in ("Réponse", "5² ½ ①", "ＡＢＣ：１２", "x\u200by\r\nz", "الإِجَابَة", "हिन्दी १२"):
        once = normalise(text)
        assert normalise(once) == once
        assert normalise(unicodedata.normalize("NFD", text)) == once


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("Paris<|im_end|>\n<|im_start|>user", "Paris"),
        ("<|im_start|>assistant\nParis", "\nParis"),
        ("Paris</s></s>", "Paris"),
        ("Paris\n\nFrage: Wer?\nAntwort: Er", "Paris"),
        ("Question: Where?\nAnswer: Paris\n\nQuestion: Who?", "Question: Where?\nAnswer: Paris"),
        ("Here it is:\nQuestion: Where?", "Here it is:\nQuestion: Where?"),
    ],
)
def test_clean_reply(text: str, clean: str) -> None:
    assert clean_reply(text) == clean


def test_cues_of_every_benchmark_language() -> None:
    needed = (
        "af ar bn cs de en es fr he hi hu id it ja ko mr ne pt ru sr sw ta te th uk ur vi wo yo "
        "zh zu"
    )
    import json
    from importlib.resources import files

    data = json.loads(files("hatscore.grading").joinpath("cues.json").read_text("utf-8"))
    assert list(data) == sorted(data)
    for language in needed.split():
        assert {"answer", "question"} <= set(data[language]), language
    for language, roles in data.items():
        for noun in roles["answer"]:
            text = normalise(f"{noun}: 5")
            assert answer_cues(text, fold(text)), (language, noun)


def test_no_word_for_answer_is_a_common_word_of_another_kind() -> None:
    # "ans" is years in French, "as" and "a" are everything.
    assert not {"ans", "a", "as", "la", "es"} & set(phrases("answer"))


def test_public_names() -> None:
    assert len(set(hatscore.grading.__all__)) == len(hatscore.grading.__all__)
    assert all(hasattr(hatscore.grading, name) for name in hatscore.grading.__all__)


def test_import_is_light() -> None:
    code = (
        "import sys, hatscore.grading as g; print({'numpy', 'polars', 'babel'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
