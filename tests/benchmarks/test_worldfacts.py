from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from itertools import groupby
from typing import TYPE_CHECKING

import pytest
from babel.core import get_global
from hypothesis import given, settings
from hypothesis import strategies as st

from hatscore import languages
from hatscore.benchmarks import Benchmark, get_benchmark
from hatscore.benchmarks import worldfacts_data as data
from hatscore.benchmarks.worldfacts import BENCHMARK, KINDS
from hatscore.errors import InputError, UnknownNameError

if TYPE_CHECKING:
    from hatscore.benchmarks import Item

REQUIRED = [
    "en",
    "de",
    "fr",
    "es",
    "pt",
    "it",
    "ru",
    "uk",
    "ar",
    "he",
    "hi",
    "bn",
    "ta",
    "te",
    "th",
    "zh",
    "ja",
    "ko",
    "vi",
    "id",
    "sw",
    "yo",
    "am",
]
NOT_LATIN = ["am", "ar", "bn", "he", "hi", "ja", "ko", "ru", "ta", "te", "th", "uk", "zh"]

# Written down by hand, from a reader's knowledge of the languages.
CAPITALS = {
    ("JP", "en"): "Tokyo",
    ("JP", "ja"): "東京",
    ("JP", "zh"): "东京",
    ("JP", "ko"): "도쿄",
    ("JP", "de"): "Tokio",
    ("DE", "de"): "Berlin",
    ("DE", "es"): "Berlín",
    ("DE", "ru"): "Берлин",
    ("DE", "pt"): "Berlim",
    ("FR", "fr"): "Paris",
    ("FR", "it"): "Parigi",
    ("FR", "ar"): "باريس",
    ("FR", "hi"): "पेरिस",
    ("FR", "th"): "ปารีส",
    ("GB", "en"): "London",
    ("GB", "fr"): "Londres",
    ("GB", "he"): "לונדון",
    ("GB", "bn"): "লন্ডন",
    ("GB", "vi"): "Luân Đôn",
    ("UA", "uk"): "Київ",
    ("UA", "ru"): "Киев",
    ("UA", "en"): "Kyiv",
    ("UA", "ja"): "キーウ",
    ("EG", "ar"): "القاهرة",
    ("EG", "sw"): "Kairo",
    ("EG", "en"): "Cairo",
    ("ET", "am"): "አዲስ አበባ",
    ("ET", "en"): "Addis Ababa",
    ("TH", "th"): "กรุงเทพ",
    ("TH", "ko"): "방콕",
    ("AT", "de"): "Wien",
    ("AT", "uk"): "Відень",
    ("PT", "pt"): "Lisboa",
    ("NP", "hi"): "काठमांडू",
    ("NP", "en"): "Kathmandu",
    ("CU", "es"): "La Habana",
    ("AR", "en"): "Buenos Aires",
    ("BD", "bn"): "ঢাকা",
    ("RU", "he"): "מוסקבה",
    ("IQ", "ar"): "بغداد",
    ("ER", "en"): "Asmara",
    ("IT", "id"): "Roma",
    ("IT", "yo"): "Rome",
    ("IS", "de"): "Reykjavík",
    ("LY", "fr"): "Tripoli",
    ("HT", "en"): "Port-au-Prince",
    ("TD", "en"): "N'Djamena",
}
COUNTRIES = {
    ("Mumbai", "en"): None,
    ("Kolkata", "en"): "India",
    ("Kolkata", "hi"): "भारत",
    ("Kolkata", "bn"): "ভারত",
    ("Karachi", "ar"): "باكستان",
    ("Sydney", "vi"): "Úc",
    ("Sydney", "ru"): "Австралия",
    ("Zurich", "de"): "Schweiz",
    ("Shanghai", "zh"): "中国",
    ("Ho_Chi_Minh", "vi"): "Việt Nam",
    ("Lagos", "yo"): "Nàìjíríà",
    ("Dar_es_Salaam", "sw"): "Tanzania",
    ("Sao_Paulo", "pt"): "Brasil",
    ("Johannesburg", "uk"): "ПАР",
}


def rows(kind: str, tags: list[str] | None = None, **changes: object) -> list[Item]:
    arguments: dict[str, object] = {
        "languages": tags or list(BENCHMARK.languages),
        "source_language": "en",
        "items": None,
        "seed": 0,
        "options": {"kind": kind},
    }
    return BENCHMARK.load(**(arguments | changes))


def ids(loaded: list[Item]) -> list[str]:
    return list(dict.fromkeys(item.id for item in loaded))


def test_is_registered_and_says_what_it_is() -> None:
    assert get_benchmark("worldfacts") is BENCHMARK
    assert isinstance(BENCHMARK, Benchmark)
    assert set(REQUIRED) <= set(BENCHMARK.languages)
    assert list(BENCHMARK.languages) == sorted(BENCHMARK.languages)
    assert BENCHMARK.source_languages[0] == "en"
    assert set(BENCHMARK.source_languages) == set(BENCHMARK.languages)
    assert "CLDR" in BENCHMARK.version
    assert data.load_facts().version in BENCHMARK.version


def test_every_language_has_the_same_items_and_enough() -> None:
    loaded = rows("all")
    sets = {tag: [i.id for i in loaded if i.language == tag] for tag in BENCHMARK.languages}
    assert all(found == sets["en"] for found in sets.values())
    kinds = Counter(item.split(":")[0] for item in sets["en"])
    assert kinds["capital"] >= 105
    assert kinds["country"] >= 120
    assert kinds["currency"] >= 110
    default = ids(rows("", options={}))
    assert len(default) == kinds["capital"] + kinds["country"] >= 120
    assert set(default) == {i for i in sets["en"] if not i.startswith("currency")}


def test_rows_come_item_by_item_in_the_order_of_the_languages() -> None:
    loaded = rows("capital", ["th", "en", "de"])
    for item, group in groupby(loaded, key=lambda row: row.id):
        found = list(group)
        assert [row.language for row in found] == ["th", "en", "de"]
        assert {row.source_language for row in found} == {"en"}
        assert {row.group for row in found} == {item.removeprefix("capital:")}


def test_capital_and_city_of_one_country_are_one_cluster() -> None:
    groups = {item.id: item.group for item in rows("all", ["en"])}
    assert groups["capital:JP"] == groups["country:Tokyo"] == groups["currency:JP"] == "JP"
    assert groups["country:Sao_Paulo"] == "BR"


@pytest.mark.parametrize(("key", "name"), CAPITALS.items())
def test_capitals_written_by_hand(key: tuple[str, str], name: str) -> None:
    country, tag = key
    assert name in data.city_names(data.load_facts().capitals[country], tag)


@pytest.mark.parametrize(("key", "name"), COUNTRIES.items())
def test_countries_of_cities_written_by_hand(key: tuple[str, str], name: str | None) -> None:
    city, tag = key
    found = {row.id: row for row in rows("country", ["en"] if tag == "en" else ["en", tag])}
    if name is None:
        assert f"country:{city}" not in found
    else:
        row = found[f"country:{city}"]
        assert row.language == tag
        assert name in row.gold.names[tag]


def test_currencies_written_by_hand() -> None:
    assert data.currency_of("JP") == "JPY"
    assert data.currency_of("DE") is None  # shared
    assert data.currency_of("EC") is None  # another country's
    assert data.currency_of("PA") is None  # two
    loaded = {(row.id, row.language): row for row in rows("currency", ["en", "ja", "th"])}
    assert loaded["currency:JP", "en"].gold.value == "Japanese Yen"
    assert loaded["currency:TH", "th"].gold.value == "บาท"
    assert loaded["currency:BD", "ja"].gold.value == "バングラデシュ タカ"
    assert "Bangladeshi takas" in loaded["currency:BD", "en"].gold.names["en"]
    assert ("currency:IN", "en") not in loaded  # Bhutan takes rupees, too


def test_cities_lie_where_cldr_says() -> None:
    territories = get_global("zone_territories")
    for zone, country in data.load_facts().cities.items():
        older = data._table()["older_zones"].get(zone, zone)
        assert country == territories.get(zone, territories.get(older)), zone


@pytest.mark.parametrize("tag", NOT_LATIN)
def test_no_english_name_stands_in(tag: str) -> None:
    for row in rows("all", ["en", tag]):
        if row.language == tag:
            for name in (row.question, *row.gold.names[tag]):
                assert languages.written_in(name, tag), (row.id, name)


def test_a_city_missing_in_another_script_is_missing() -> None:
    # Cities that CLDR leaves out of German and English are named by their zone there; the same
    # zone must have no name in Thai unless Thai names it.
    assert data.city_names("Europe/Berlin", "de") == ("Berlin",)
    assert data.city_names("Nowhere/Some_City", "de") == ("Some City",)
    assert data.city_names("Nowhere/Some_City", "th") == ()
    assert data.country_names("XX-nowhere", "de") == ()
    assert data.currency_names("???", "am") == ()


def test_an_inherited_latin_name_is_no_name_in_another_script() -> None:
    # The root locale spells some cities with their accents, and every locale inherits them.
    assert data._own(["Asunción"], "X/Y", "th") == ()
    assert data._own(["Asunción"], "X/Y", "es") == ("Asunción",)


def test_names_are_clean() -> None:
    for row in rows("capital+country"):
        for name in (row.question, *row.gold.names[row.language]):
            assert name == name.strip() != ""
            assert not set(name) & set("()（）[]\xad\n") or row.id.startswith("capital:"), name
            assert not name.startswith("ìlú ")
        assert not set(row.gold.value) & set("()（）[]\xad\n")


def test_further_spellings_are_of_things_that_exist() -> None:
    ours = data._table()["also"]
    assert set(ours) <= set(BENCHMARK.languages)
    for tag, entries in ours.items():
        for key, spellings in entries.items():
            names = data.city_names(key, tag) if "/" in key else data.country_names(key, tag)
            assert set(spellings) <= set(names), (tag, key)
            assert all(languages.written_in(name, tag) for name in spellings), (tag, key)


def test_gold_accepts_target_source_and_english_and_knows_the_others() -> None:
    loaded = rows("capital", ["de", "fr", "th"], source_language="fr")
    row = next(r for r in loaded if r.id == "capital:AT" and r.language == "th")
    assert row.gold.kind == "name"
    assert set(row.gold.names) == set(row.gold.others) == {"th", "fr", "en"}
    assert row.gold.value == row.gold.names["th"][0]
    assert row.gold.names["fr"][0] == "Vienne"
    assert {"London", "Canberra"} & set(row.gold.others["en"]) == {"London"}
    assert "Sydney" in row.gold.others["en"]  # a city that is no capital is an answer, too
    assert "Londres" in row.gold.others["fr"]


def test_others_are_shared_between_items() -> None:
    loaded = rows("all")
    assert len({id(row.gold.others) for row in loaded}) == len(KINDS) * len(BENCHMARK.languages)


def test_no_name_in_any_language_answers_two_items() -> None:
    # Lenient grading reads a Thai row by Thai, source and English names, so a name must mean the
    # same country in all languages at once.
    facts = data.load_facts()
    for answers, read in (
        (tuple(facts.cities), data.city_names),
        (facts.countries, data.country_names),
        (tuple(filter(None, map(data.currency_of, facts.countries))), data.currency_names),
    ):
        owner: dict[str, str] = {}
        for answer in answers:
            for tag in BENCHMARK.languages:
                for name in read(answer, tag):
                    assert owner.setdefault(name.casefold(), answer) == answer, (name, tag)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("mode", ["chat", "completion"])
@pytest.mark.parametrize("prompt_language", ["native", "english"])
def test_prompt_never_holds_its_answer(kind: str, mode: str, prompt_language: str) -> None:
    for row in rows(kind):
        prompt = BENCHMARK.prompt(row, mode=mode, prompt_language=prompt_language)
        text = prompt.text.casefold()
        for name in row.gold.names[row.language]:
            assert name.casefold() not in text, (row.id, row.language, name)
        assert prompt.text.count(row.question) >= 1
        assert prompt.mode == mode


def test_given_away_capitals_are_asked_nowhere() -> None:
    asked = ids(rows("all", ["en"]))
    given_away = {"GT", "PA", "MX", "TN", "DZ", "GW", "CD", "CG"}
    assert not {f"capital:{code}" for code in given_away} & set(asked)
    assert "country:Guatemala" not in asked
    assert "capital:LY" in asked  # a note in brackets is no part of the name of Tripoli


def test_examples_are_never_asked() -> None:
    shots = set(data.load_facts().shots)
    assert len(shots) == 3
    assert not {row.group for row in rows("all", ["en"])} & shots


def test_completion_prompt_exactly() -> None:
    (row,) = [r for r in rows("capital", ["en"]) if r.id == "capital:JP"]
    prompt = BENCHMARK.prompt(row, mode="completion", prompt_language="native")
    assert prompt.text == (
        "Country: Poland\nCapital: Warsaw\n\n"
        "Country: Kenya\nCapital: Nairobi\n\n"
        "Country: Peru\nCapital: Lima\n\n"
        "Country: Japan\nCapital:"
    )
    assert prompt.stop == ("\n",)


def test_chat_prompt_exactly() -> None:
    loaded = {(r.id, r.language): r for r in rows("all", ["en", "ja", "fr"])}
    japanese = loaded["country:Zurich", "ja"]
    chat = BENCHMARK.prompt(japanese, mode="chat", prompt_language="native")
    question = "この都市はどの国にありますか。国名だけを答えてください。"
    assert chat.text == f"都市：チューリッヒ\n{question}"
    assert chat.stop == ()
    mixed = BENCHMARK.prompt(japanese, mode="chat", prompt_language="english")
    assert mixed.text.startswith("City: チューリッヒ\nWhich country")
    french = BENCHMARK.prompt(
        loaded["currency:JP", "fr"], mode="completion", prompt_language="native"
    )
    assert french.text.endswith("Pays : Japon\nMonnaie :")


def test_prompts_are_whole_in_every_language() -> None:
    prompts = data.load_prompts()
    for tag, texts in prompts.items():
        assert set(texts) == set(prompts["en"]), tag
        assert texts["gap"] in {"", " "}
        for key, text in texts.items():
            if key == "gap":
                continue
            assert languages.written_in(text, tag), (tag, key)
            assert text == text.strip()
            assert "\n" not in text
            labels = key in {"country", "capital", "city", "currency"}
            assert text.endswith((":", "：", "፦")) == labels, (tag, key)
        if tag != "en":
            assert not set(texts.values()) & {v for k, v in prompts["en"].items() if k != "gap"} - {
                "Capital:"
            }


@pytest.mark.parametrize("mode", ["chat", "completion"])
def test_longest_name_fits_at_one_token_a_byte(mode: str) -> None:
    for row in rows("all"):
        prompt = BENCHMARK.prompt(row, mode=mode, prompt_language="native")
        longest = max(len(name.encode()) for name in row.gold.names[row.language])
        assert longest <= prompt.max_tokens, row.id


@settings(deadline=None, derandomize=True, max_examples=30)
@given(
    st.integers(-(2**70), 2**70),
    st.integers(1, 242),
    st.integers(1, 242),
    st.lists(st.sampled_from(REQUIRED[1:]), max_size=4, unique=True),
)
def test_fewer_items_are_the_first_of_more(
    seed: int, one: int, two: int, further: list[str]
) -> None:
    tags = ["en", *further]
    few, many = sorted((one, two))
    more = rows("all", tags, seed=seed, items=many)
    fewer = rows("all", tags, seed=seed, items=few)
    assert fewer == more[: few * len(tags)]
    assert len(ids(more)) == many


def test_seeds_choose_other_items_and_languages_do_not() -> None:
    first = ids(rows("capital", ["en", "th"], items=30, seed=1))
    assert first == ids(rows("capital", ["yo", "en", "ja"], items=30, seed=1))
    second = ids(rows("capital", ["en", "th"], items=30, seed=2))
    assert first != second
    assert sorted(ids(rows("capital", ["en"], seed=1))) == sorted(
        ids(rows("capital", ["en"], seed=2))
    )


def test_an_item_missing_in_one_chosen_language_is_missing_in_all() -> None:
    # CLDR 49 names Bosnia's currency in Japanese with Latin letters in it.
    named = bool(data.currency_names("BAM", "ja"))
    assert "currency:BA" in ids(rows("currency", ["en", "de"]))
    assert ("currency:BA" in ids(rows("currency", ["en", "de", "ja"]))) == named
    for tag in BENCHMARK.languages:
        narrow = set(ids(rows("all", list(dict.fromkeys(["en", tag])))))
        assert set(ids(rows("all"))) <= narrow


def test_same_items_in_another_process() -> None:
    code = (
        "import hashlib; from hatscore.benchmarks.worldfacts import BENCHMARK as b;"
        "r = b.load(languages=b.languages, source_language='en', items=50, seed=7,"
        " options={'kind': 'all'});"
        "t = repr([(x, b.prompt(x, mode='completion', prompt_language='native')) for x in r]);"
        "print(hashlib.sha256(t.encode()).hexdigest())"
    )
    digests = {
        subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            check=True,
            env=os.environ | {"PYTHONHASHSEED": seed},
        ).stdout
        for seed in ("1", "2")
    }
    assert len(digests) == 1


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"languages": ["en", "swahili"]}, UnknownNameError, "did you mean sw"),
        ({"source_language": "xx"}, UnknownNameError, "unknown language 'xx'"),
        ({"source_language": "de"}, InputError, "'de', the source"),
        ({"languages": ["en", "th", "th"]}, InputError, "each language once"),
        ({"languages": []}, InputError, "got none"),
        ({"options": {"kinds": "all"}}, UnknownNameError, "did you mean kind"),
        ({"options": {"kind": "capitals"}}, UnknownNameError, "did you mean capital"),
        ({"options": {"kind": ""}}, UnknownNameError, "unknown kind of question ''"),
        ({"items": 10_000}, InputError, r"has \d+ items of kind capital in .*choose 1 to \d+"),
        ({"items": 0}, InputError, "choose 1 to"),
    ],
)
def test_wrong_use(changes: dict[str, object], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        rows("capital", ["en", "th"], **changes)


def test_kinds_may_be_joined_in_any_order() -> None:
    assert ids(rows("country+capital", ["en"])) == ids(rows("capital + country", ["en"]))
    assert ids(rows("all", ["en"])) == ids(rows("capital+country+currency", ["en"]))
