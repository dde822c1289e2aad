"""Names: whole names in every script, hedges, denials and the choice of accepted languages."""

from __future__ import annotations

import unicodedata

import pytest

from hatscore.errors import InputError
from hatscore.grading import Gold, match_name

PARIS = Gold(
    "name",
    "Paris",
    language="ko",
    source_language="fr",
    names={
        "ko": ("파리",), "fr": ("Paris",), "en": ("Paris",), "ar": ("باريس",), "ja": ("パリ",),
        "th": ("ปารีส",), "hi": ("पेरिस",), "he": ("פריז",), "zh": ("巴黎",), "ru": ("Париж",),
    },
    others={"ko": ("런던",), "fr": ("Londres", "Rome"), "en": ("London", "Rome")},
)  # fmt: skip


def gold(accepted: str, *others: str, language: str = "en") -> Gold:
    return Gold(
        "name", accepted, language=language, names={language: (accepted,)}, others={"en": others}
    )


@pytest.mark.parametrize(
    "text",
    [
        "Paris", "PARIS", "París.", "**Paris**", "(Paris)", "'Paris'", "Paris's", "la Paris",
        "The capital is Paris.", "Answer: Paris", "No, it's Paris", "It is not London but Paris",
        "Paris, not London", "파리", "파리입니다.", "프랑스의 수도는 파리이다", "Paris입니다",
        "Sure!\nThe answer is Paris.\nI hope this answer is helpful.",
        "Great question about geography!\n\nIt is Paris.",
        "Paris. London is the capital of the United Kingdom.",
        "Paris\n\nQuestion: And of Italy?\nRome", "<think>London</think>Paris",
    ],
)  # fmt: skip
def test_accepted(text: str) -> None:
    assert match_name(text, PARIS) in {"Paris", "파리"}


@pytest.mark.parametrize(
    "text",
    [
        "Parisian", "Not Paris", "It isn't Paris.", "Paris or London", "London, Paris, Rome",
        "Paris. London. Rome.", "- Paris\n- London", "Lyon\nParis is a big city", "파리채",
        "I don't know", "", "...", "Ce n'est pas Paris", "Paris is not the capital",
    ],
)  # fmt: skip
def test_not_accepted(text: str) -> None:
    assert match_name(text, PARIS) is None


@pytest.mark.parametrize(
    ("accepted", "others", "text", "found"),
    [
        ("Niger", ("Nigeria",), "Nigeria", False),
        ("Niger", (), "Nigeria", False),
        ("Guinea", (), "Guinea-Bissau", False),
        ("Guinea", ("Guinea-Bissau",), "Guinea Bissau", False),
        ("Guinea-Bissau", ("Guinea",), "Guinea Bissau", True),
        ("Dollar", ("US Dollar",), "US dollar", False),
        ("US dollar", ("Dollar",), "the U.S. dollar", True),
        ("N'Djamena", (), "NDjamena", True),
        ("N'Djamena", (), "N’Djaména", True),
        ("Port-au-Prince", (), "Port au Prince", True),
        ("Washington, D.C.", (), "Washington DC", True),
        ("Africa", ("South Africa",), "l'Africa", True),
        ("インド", (), "インドネシア", False),
        ("インド", (), "インドです。", True),
        ("アディスアベバ", (), "アディス・アベバ", True),
        ("几内亚", ("几内亚比绍",), "几内亚比绍", False),
        ("几内亚", ("几内亚比绍",), "是几内亚。", True),
        ("Hà Nội", (), "ha noi", True),
        ("Århus", (), "ARHUS", True),
        ("Łódź", (), "Lodz", True),
        ("Αθήνα", (), "ΑΘΗΝΑ", True),
        ("الجزائر", (), "الجَزَائِر", True),
        ("טְייֵן פֿוּן", (), "טיין פון", True),
        ("फ़्रांस", (), "फ्रांस", True),
        ("कल", (), "कला", False),
        ("मल", (), "माल", False),
        ("ลาว", (), "คือลาวครับ", True),
    ],
)
def test_whole_names(accepted: str, others: tuple[str, ...], text: str, *, found: bool) -> None:
    result = match_name(text, gold(accepted, *others))
    assert result == (accepted if found else None)
    decomposed = unicodedata.normalize("NFD", text)
    assert match_name(decomposed, gold(accepted, *others)) == result


def test_lenient_takes_three_languages_strict_one() -> None:
    assert match_name("Paris", PARIS) == "Paris"
    assert match_name("Paris", PARIS, names="strict") is None
    assert match_name("파리", PARIS, names="strict") == "파리"
    assert match_name("Париж", PARIS) is None


def test_strict_needs_names_of_the_language() -> None:
    with pytest.raises(InputError, match="names in 'sw'"):
        match_name("x", Gold("name", "x", language="sw", names={"en": ("x",)}), names="strict")
    with pytest.raises(InputError, match="'lenient' or 'strict'"):
        match_name("x", PARIS, names="exact")  # type: ignore[arg-type]
