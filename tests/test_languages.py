from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hatscore import languages
from hatscore.errors import InputError, UnknownNameError

SCRIPTS = {
    "am": "Ethi",
    "ar": "Arab",
    "bn": "Beng",
    "en": "Latn",
    "he": "Hebr",
    "hi": "Deva",
    "ja": "Jpan",
    "ko": "Kore",
    "ru": "Cyrl",
    "sr": "Cyrl",
    "sr-Latn": "Latn",
    "sw": "Latn",
    "ta": "Taml",
    "te": "Telu",
    "th": "Thai",
    "uk": "Cyrl",
    "vi": "Latn",
    "yo": "Latn",
    "zh": "Hans",
    "zh-Hant": "Hant",
    "zh-TW": "Hant",
}


@pytest.mark.parametrize(("tag", "code"), SCRIPTS.items())
def test_script(tag: str, code: str) -> None:
    assert languages.script(tag) == code


@pytest.mark.parametrize(
    ("code", "called"),
    [
        ("Latn", "Latin"),
        ("Deva", "Devanagari"),
        ("Hans", "Han (Simplified)"),
        ("Hant", "Han (Traditional)"),
        ("Jpan", "Japanese"),
        ("Zzzz", "Unknown Script"),
        ("Qaaa", "Qaaa"),
    ],
)
def test_scripts_have_names(code: str, called: str) -> None:
    assert languages.script_name(code) == called


def test_names() -> None:
    assert languages.name("sw") == "Swahili"
    assert languages.name("pt") == "Portuguese"
    assert languages.name("zh-Hant") == "Chinese (Traditional)"
    assert languages.native_name("de") == "Deutsch"
    assert languages.native_name("sw") == "Kiswahili"
    assert languages.native_name("th") == "ไทย"


def test_a_language_cldr_only_names_is_called_by_its_english_name() -> None:
    assert languages.name("tlh") == languages.native_name("tlh") == "Klingon"


@pytest.mark.parametrize("tag", ["", "xx", "english please", "e", "sw sw", "12"])
def test_what_is_no_language_is_refused(tag: str) -> None:
    for function in (languages.name, languages.native_name, languages.script):
        with pytest.raises(InputError, match="no language has the tag"):
            function(tag)


def test_a_name_in_place_of_a_tag_is_told_its_tag() -> None:
    with pytest.raises(InputError, match="Swahili has the tag sw"):
        languages.name("swahili")


def test_check_returns_the_tag() -> None:
    assert languages.check_language("sw", {"en", "sw"}) == "sw"


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("swahili", "sw"),
        ("Swahili", "sw"),
        ("Kiswahili", "sw"),
        ("swahilli", "sw"),
        ("SW", "sw"),
        ("zh-CN", "zh"),
        ("zh_Hans", "zh"),
        ("pt-BR", "pt"),
        ("germann", "de"),
    ],
)
def test_check_says_which_was_meant(written: str, meant: str) -> None:
    with pytest.raises(UnknownNameError, match=rf"did you mean {meant} \(") as caught:
        languages.check_language(written, ["de", "en", "pt", "sw", "zh"])
    assert "Known: de, en, pt, sw, zh" in str(caught.value)
    assert caught.value.name == written


def test_check_without_a_near_name_lists_what_is_known() -> None:
    with pytest.raises(UnknownNameError, match="unknown language 'qqq': Known: en, sw"):
        languages.check_language("qqq", ["sw", "en"])


def test_check_bears_private_tags() -> None:
    with pytest.raises(UnknownNameError, match="Known: elvish, en"):
        languages.check_language("orcish-of-mordor", ["en", "elvish"])


def test_written_in() -> None:
    assert languages.written_in("Рейкʼявік", "uk")
    assert languages.written_in("ดาร์-เอส-ซาลาม 2", "th")
    assert languages.written_in("São Tomé", "pt")
    assert languages.written_in("アジスアベバ", "ja")
    assert not languages.written_in("Nairobi", "am")
    assert not languages.written_in("Москва (Moscow)", "ru")
    assert not languages.written_in("アジスアベバ", "zh")
    assert not languages.written_in("123", "en")
    with pytest.raises(InputError, match="letters of the script Cher"):
        languages.written_in("x", "chr")


@settings(deadline=None, derandomize=True, max_examples=150)
@given(st.text(max_size=12))
def test_any_text_gives_a_name_or_one_clear_error(tag: str) -> None:
    try:
        named = languages.name(tag)
    except InputError as error:
        assert "no language has the tag" in str(error)  # noqa: PT017 - both ends are right
    else:
        assert named
        assert languages.script(tag)
        assert languages.native_name(tag)


def test_importing_loads_no_babel() -> None:
    code = "import sys, hatscore.languages; print('babel' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
