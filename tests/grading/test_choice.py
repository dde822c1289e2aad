"""Options: announced, bare, native, rejected and joined labels, and words that are none."""

from __future__ import annotations

import unicodedata

import pytest

from hatscore.grading import extract_choice

LETTERS = "ABCDEFGHIJ"

READ = [
    ("The answer is A because a car moves.", "A"),
    ("The answer is A, as I said.", "A"),
    ("Answer: I", "I"),
    ("The answer is I think C", "C"),
    ("My answer: (d)", "D"),
    ("Answer: b", "B"),
    ("I think (b) fits.", "B"),
    ("I think B is right.", "B"),
    ("C is correct.", "C"),
    ("A is correct.", "A"),
    ("B. Paris", "B"),
    ("B) because it is", "B"),
    ("A - Paris", "A"),
    ('"C"', "C"),
    ('{"answer": "C"}', "C"),
    ("\\boxed{\\text{(C)}}", "C"),
    ("Answer: $\\mathbf{C}$", "C"),
    ("Answer: <b>C</b>", "C"),
    ("The answer is:\n\nC. Paris", "C"),
    ("B\n\nQuestion: next?\nAnswer: C", "B"),
    ("Option A fails since it is odd. Option C is correct.", "C"),
    # rejected options
    ("The answer is not (A) but (C).", "C"),
    ("B is not correct; the answer is D", "D"),
    ("La réponse n'est pas A mais B", "B"),
    ("La respuesta no es A sino B", "B"),
    ("Die Antwort ist nicht A, sondern B.", "B"),
    ("Jibu si A bali B", "B"),
    ("正确答案不是A，而是B", "B"),
    ("答えはAではなくBです", "B"),
    ("A नहीं, उत्तर (D) है", "D"),
    ("답은 A가 아니라 B입니다", "B"),
    # articles, copulas and elisions of other languages
    ("A helyes válasz az A.", "A"),
    ("A helyes válasz a C.", "C"),
    ("A resposta é E.", "E"),
    ("La risposta è: E", "E"),
    ("È l'A.", "A"),
    ("Cevap C'dir", "C"),
    ("La bonne réponse est la lettre C", "C"),
    # native letters and look-alikes
    ("الإجابة الصحيحة هي (د)", "D"),
    ("الخيار ج", "C"),
    ("উত্তর: গ", "C"),
    ("คำตอบคือข้อ ก", "A"),
    ("जवाब: ग", "C"),
    ("התשובה היא (ב)", "B"),
    ("Απάντηση: Β", "B"),
    ("Відповідь: С.", "C"),
    ("答案：Ｃ", "C"),
    ("选 D", "D"),
    ("C가 정답입니다", "C"),
    ("正解はCです", "C"),
]
UNREAD = [
    "The answer is not B.",
    "It is neither A nor B.",
    "The answer is A or B",
    "Answer: A, C",
    "答案是B和C",
    "Answer: not A",
    "Answer: A difficult question, I cannot tell",
    "C'est la vie",
    "The answer is 12 J",
    "f(B) = 2",
    "E = mc^2",
    "Az A válasz a helyes",
    "Между (A) и (C)",
    "None of the above",
    "Answer: Б",
    "(A) and (B) were close. The answer is (K).",
    "I'd say D'Artagnan",
]


@pytest.mark.parametrize(("text", "label"), READ)
def test_choice(text: str, label: str) -> None:
    assert extract_choice(text, LETTERS) == label
    assert extract_choice(unicodedata.normalize("NFD", text), LETTERS) == label
    assert extract_choice(f"<think>(J)</think>\n{text}", LETTERS) == label


@pytest.mark.parametrize("text", UNREAD)
def test_no_choice(text: str) -> None:
    assert extract_choice(text, LETTERS) is None


SENTENCES = [
    "Die antwoord is {}", "الإجابة هي {}", "উত্তর হল {}", "Odpověď je {}", "Die Antwort ist {}",
    "the answer is {}", "La respuesta es {}", "La réponse est {}", "उत्तर है {}", "A válasz {}",
    "Jawabannya adalah {}", "La risposta è {}", "答えは {} です", "답은 {}입니다", "उत्तर आहे {}",
    "उत्तर {} हो।", "A resposta é {}", "Ответ - {}", "Odgovor je {}", "Jibu ni {}", "సమాధానం {}",
    "คำตอบคือ {}", "Відповідь: {}", "جواب {} ہے", "Câu trả lời là {}", "Tontu bi mooy {}",
    "Ìdáhùn náà ni {}", "答案是 {}", "Impendulo ithi {}",
]  # fmt: skip


@pytest.mark.parametrize("sentence", SENTENCES)
@pytest.mark.parametrize("form", ["({})", "{}", "**{}**", "**({})**", "（{}）", "$\\boxed{{{}}}$"])
def test_every_language_and_form(sentence: str, form: str) -> None:
    for letter in LETTERS:
        text = sentence.format(form.format(letter))
        assert extract_choice(text, LETTERS) == letter, text
        assert extract_choice(f"{text}.\n\nThe others are wrong.", LETTERS) == letter
        assert extract_choice(unicodedata.normalize("NFD", text), LETTERS) == letter


OPTIONS = ["London", "Paris", "Rome", "Paris and Rome"]


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("It must be Paris!", "B"),
        ("París", "B"),
        ("Answer: Paris", "B"),
        ("Answer: A London", "A"),
        ("Paris and Rome", "D"),
        ("The answer is Rome, not Paris", "C"),
        ("Not Paris.", None),
        ("Parisian style", None),
        ("London or Rome", None),
        ("\\boxed{Rome}", "C"),
    ],
)
def test_option_text(text: str, label: str | None) -> None:
    assert extract_choice(text, "ABCD", OPTIONS) == label


def test_options_of_one_text_are_read_as_the_first() -> None:
    assert extract_choice("Phobos", "ABC", ["Deimos", "Phobos", "Phobos"]) == "B"


def test_numbers_as_options() -> None:
    assert extract_choice("That makes 12.5 in all.", "ABC", ["12", "12.5", "-12.5"]) == "B"
    assert extract_choice("That makes -12.5 in all.", "ABC", ["12", "12.5", "-12.5"]) == "C"


def test_other_labels() -> None:
    assert extract_choice("Ответ: (Б)", ["А", "Б", "В"]) == "Б"
    assert extract_choice("Answer: (2)", ["1", "2"]) == "2"
