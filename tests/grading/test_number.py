"""Numbers: shapes of every convention, where the answer stands, and both sides of each trap."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hatscore.grading import extract_number

EXACT = [
    # separators: thousands, decimals, and neither
    ("Antwort: 70.000", "70000"),
    ("Antwort: 7.000.000,25", "28000001/4"),
    ("Answer: 1'250'000", "1250000"),
    ("Réponse : 3\u202f500,5", "7001/2"),
    ("उत्तर: १२,३४,५६७", "1234567"),
    ("Antwort: 2,5", "5/2"),
    ("Antwort: 0,750", "3/4"),
    ("Answer: 1234.567", "1234567/1000"),
    ("Answer: 3, 5 or 7", "3"),
    ("12.05.2023 is a date. Answer: 12.05.2023", "12"),
    ("Answer: \\$12{,}300", "12300"),
    ("Answer: 12~300", "12300"),
    ("答案：１２，５", "25/2"),
    ("有5，10个苹果", "10"),
    # sign
    ("Answer: -$40", "-40"),
    ("Answer: $-40", "-40"),
    ("Answer: –5", "-5"),
    ("Antwort – 18", "18"),
    ("Ответ: возраст брата - 16", "16"),
    ("16-3-4", "4"),
    ("Answer:\n- 18 apples", "18"),
    # powers, fractions, units
    ("So the area is 5² = 25", "25"),
    ("Answer: 18 m²", "18"),
    ("Answer: 5²", "5"),
    ("Answer: ½", "1/2"),
    ("Answer: 2½", "5/2"),
    ("Answer: 2 1/2 cups", "5/2"),
    ("Answer: 30 2/3.", "92/3"),
    ("Answer: 2\\frac{1}{2}", "5/2"),
    ("\\boxed{-\\dfrac{1}{2}}", "-1/2"),
    ("Answer: 3/0", "3"),
    ("答案：3万", "30000"),
    ("답: 1억 2000만", "120000000"),
    # equations
    ("Answer: $480 - $520 = -$40", "-40"),
    ("Answer: 18 = 9 + 9", "18"),
    ("Answer: (12 + 6) / 2 = 9", "9"),
    ("Answer: 150% of 80,000 = 120,000", "120000"),
    ("Respuesta: [num]\n24 litros - 14 litros = 10 litros", "10"),
    # where the answer stands
    ("Answer: 14.\n\nIl est né 6 ans avant sa sœur, il y a 9 ans.", "14"),
    ("The answer is unclear. 16 hens, 5 eggs", "16"),
    ("The answer is approx. 42.", "42"),
    ("Answer: Let's think step by step. 16 - 7 = 9, and 9 x 2 = 18", "18"),
    ("Answer: not enough data. It could be 7", "7"),
    ("#### Step 1: Add\n2 + 5 makes 7", "7"),
    ("## Final Answer\n\n**18**", "18"),
    ("<answer>18</answer> after 3 steps", "18"),
    ('{"steps": 3, "answer": 18, "unit": "eggs"}', "18"),
    ("Answer: 18<|im_end|>\n<|im_start|>user\nAnd 5?", "18"),
    ("18\n\nQuestion: Ben has 4 pens.\nAnswer: 7", "18"),
    ("Sure, here it is:\n\nQuestion: Ben has 4 pens.\nAnswer: 7", "7"),
    ("Question: I have 3.\nAnswer: 7\nQuestion: And 5?\nAnswer: 9", "7"),
    ("Question 1: how many? Answer: 9\nQuestion 2: how much? Answer: 18", "18"),
    ("Answer: 12... wait. Answer: 18", "18"),
]


@pytest.mark.parametrize(("text", "value"), EXACT)
def test_number(text: str, value: str) -> None:
    assert extract_number(text) == Fraction(value)


@pytest.mark.parametrize(
    "text", ["Answer: ,", "...", "x²", "①", "Answer: " + "9" * 5000, "\\boxed{}"]
)
def test_no_number(text: str) -> None:
    assert extract_number(text) is None


ANNOUNCED = [
    "Antwoord: {}", "الجواب هو {}", "উত্তর হল {}।", "Odpověď: {}", "Die Antwort lautet {}.",
    "So the answer is {}.", "Por lo tanto, la respuesta es {}.", "La réponse est donc {}.",
    "उत्तर {} है", "A válasz: {}", "Jadi, jawabannya adalah {}.", "La risposta è {}.",
    "したがって、答えは{}です。", "따라서 정답은 {}입니다.", "म्हणून उत्तर {} आहे", "त्यसैले उत्तर {} हो",
    "A resposta é {}.", "Ответ — {}.", "Odgovor je {}.", "Одговор је {}.", "Jibu ni {}.",
    "సమాధానం {}", "คำตอบคือ {}", "Відповідь: {}.", "جواب {} ہے", "Đáp án là {}.",
    "Tontu bi mooy {}.", "Ìdáhùn náà ni {}.", "所以答案是{}。", "Impendulo ithi {}.",
    "התשובה היא {}.", "விடை: {}", "Cevap: {}", "Η απάντηση είναι {}.", "Odpowiedź to {}.",
    "Svaret er {}.", "ჩემი პასუხი: {}",
]  # fmt: skip


@pytest.mark.parametrize("sentence", ANNOUNCED)
def test_every_language_announces(sentence: str) -> None:
    text = f"3 + 4\n{sentence.format(18)}\nTrailing 99."
    assert extract_number(text) == 18


@pytest.mark.parametrize("sentence", ANNOUNCED)
def test_a_question_after_the_answer_ends_the_reply(sentence: str) -> None:
    assert extract_number(f"{sentence.format(18)}\n\nQ: 5 hens?\nAnswer: 42") == 18


DIGITS = [chr(0x30), "٠", "۰", "०", "০", "౦", "๐", "０", "\U0001d7ce"]


@settings(deadline=None, max_examples=60, derandomize=True)
@given(
    value=st.integers(0, 10**7),
    zero=st.sampled_from(DIGITS),
    group=st.sampled_from(["", ",", ".", " ", "\u00a0", "\u202f", "\u2009", "'", "’", "٬"]),
    sentence=st.sampled_from(ANNOUNCED),
)
def test_digits_and_groups_of_any_script_have_one_value(
    value: int, zero: str, group: str, sentence: str
) -> None:
    native = "".join(
        chr(ord(zero) + int(char)) if char.isdigit() else group for char in f"{value:,}"
    )
    assert extract_number(sentence.format(native)) == value


WRAPPINGS = [
    "{}", "**{}**", "*{}*", "`{}`", "${}$", "$\\boxed{{{}}}$", "[{}]", "({})", "“{}”", "「{}」",
    "\\({}\\)", "\\text{{{}}}", "\\mathbf{{{}}}", "{} %", "{} €", "${}", "{} apples.", "US${}",
    "{}, because that is so.", "{} (as 3 + 4 makes 7)", "{}.\n\nThis took 2 steps.",
]  # fmt: skip


@pytest.mark.parametrize("wrapping", WRAPPINGS)
@pytest.mark.parametrize("value", ["18", "1,250", "2.5", "-7"])
def test_wrapping_keeps_the_value(wrapping: str, value: str) -> None:
    wanted = Fraction(value.replace(",", ""))
    for label in ("Answer: ", "**Answer:** ", "答案：", "Ответ: ", "RÉPONSE : "):
        assert extract_number(label + wrapping.format(value)) == wanted
        assert extract_number(f"<think>3 or 4?</think>{label}{wrapping.format(value)}") == wanted
