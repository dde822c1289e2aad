"""The chains: right facts, golds by another way, the same items everywhere and fresh per seed."""

from __future__ import annotations

import calendar
import os
import re
import subprocess
import sys
import unicodedata
from collections import Counter
from itertools import pairwise

import pytest
from babel import Locale
from babel.core import get_global
from hypothesis import given, settings
from hypothesis import strategies as st

from hatscore import languages
from hatscore.benchmarks import chain, get_benchmark
from hatscore.benchmarks import chain_tasks as tasks
from hatscore.benchmarks.base import Benchmark
from hatscore.benchmarks.chain import BENCHMARK
from hatscore.benchmarks.chain_tasks import STEPS, all_chains, examples, load_chain_facts, sample
from hatscore.benchmarks.wordmath import numeral, wording
from hatscore.benchmarks.worldfacts_data import city_names, country_names, load_facts
from hatscore.errors import InputError, UnknownNameError
from hatscore.grading.number import extract_number

REQUIRED = set(
    re.findall(
        r"\w+",
        "ar bn ca cs da de en es fa fi fr he hu id it ja ko nb nl pl pt ro ru sk sv te th tr uk vi",
    )
)

# The E.164 list in the order of its numbers, as the zones of the plan run: written down on its
# own, so that a slip in the table of countries shows.
PLAN = """
20 EG 211 SS 212 MA 213 DZ 216 TN 218 LY 220 GM 221 SN 222 MR 223 ML 224 GN 225 CI 226 BF 227 NE
228 TG 229 BJ 230 MU 231 LR 232 SL 233 GH 234 NG 235 TD 236 CF 237 CM 238 CV 239 ST 240 GQ 241 GA
244 AO 245 GW 249 SD 250 RW 251 ET 252 SO 253 DJ 254 KE 255 TZ 256 UG 257 BI 258 MZ 260 ZM 261 MG
263 ZW 264 NA 265 MW 266 LS 267 BW 268 SZ 269 KM 27 ZA 291 ER 30 GR 31 NL 32 BE 33 FR 34 ES 351 PT
352 LU 353 IE 354 IS 355 AL 356 MT 357 CY 358 FI 359 BG 36 HU 370 LT 371 LV 372 EE 373 MD 374 AM
375 BY 376 AD 377 MC 380 UA 381 RS 382 ME 385 HR 386 SI 387 BA 389 MK 39 IT 40 RO 41 CH 420 CZ
421 SK 423 LI 43 AT 44 GB 45 DK 46 SE 47 NO 48 PL 49 DE 501 BZ 502 GT 503 SV 504 HN 505 NI 506 CR
507 PA 509 HT 51 PE 52 MX 53 CU 54 AR 55 BR 56 CL 57 CO 58 VE 591 BO 592 GY 593 EC 595 PY 597 SR
598 UY 60 MY 61 AU 62 ID 63 PH 64 NZ 65 SG 66 TH 670 TL 673 BN 674 NR 675 PG 676 TO 677 SB 678 VU
679 FJ 680 PW 685 WS 686 KI 688 TV 691 FM 692 MH 81 JP 82 KR 84 VN 850 KP 855 KH 856 LA 86 CN
880 BD 90 TR 91 IN 92 PK 93 AF 94 LK 95 MM 960 MV 961 LB 962 JO 963 SY 964 IQ 965 KW 966 SA 967 YE
968 OM 971 AE 972 IL 973 BH 974 QA 975 BT 976 MN 977 NP 98 IR 992 TJ 993 TM 994 AZ 995 GE 996 KG
998 UZ
"""
CODES = {country: int(code) for code, country in re.findall(r"(\d+) ([A-Z]{2})", PLAN)}

# March, May and November, from a reader's knowledge of the languages.
MONTHS = {
    "ar": ("مارس", "مايو", "نوفمبر"),
    "cs": ("březen", "květen", "listopad"),
    "de": ("März", "Mai", "November"),
    "en": ("March", "May", "November"),
    "es": ("marzo", "mayo", "noviembre"),
    "fi": ("maaliskuu", "toukokuu", "marraskuu"),
    "he": ("מרץ", "מאי", "נובמבר"),
    "ja": ("三月", "五月", "十一月"),
    "ko": ("삼월", "오월", "십일월"),
    "pl": ("marzec", "maj", "listopad"),
    "ru": ("март", "май", "ноябрь"),
    "th": ("มีนาคม", "พฤษภาคม", "พฤศจิกายน"),
    "tr": ("Mart", "Mayıs", "Kasım"),
    "uk": ("березень", "травень", "листопад"),
    "vi": ("tháng ba", "tháng năm", "tháng mười một"),
}

QUESTIONS = {
    "en": (
        "Start with: the telephone country code of the country in which the city lies "
        "(city: Tokyo)\nThen subtract: the number of days in the month (month: March)\n"
        "Then multiply the result by: seven\nWhat is the final result?"
    ),
    "fr": (
        "Nombre de départ : indicatif téléphonique international du pays où se trouve la ville "
        "(ville : Tokyo)\nPuis soustraire : nombre de jours du mois (mois : mars)\n"
        "Puis multiplier le résultat par : sept\nQuel est le résultat final ?"
    ),
    "ja": (
        "はじめの数：都市がある国の国際電話の国番号（都市：東京）\n"
        "次にひく数：月の日数（月：三月）\n次に結果にかける数：七\n最後の結果はいくつですか。"
    ),
}

ZONES = get_global("zone_territories")
CITY_COUNTRY = {zone.rsplit("/", maxsplit=1)[-1]: code for zone, code in ZONES.items()}
OLDER = {"Kolkata": "IN", "Kathmandu": "NP", "Kyiv": "UA", "Buenos_Aires": "AR"}


def evaluate(key: str) -> int:
    """Work out an id with the tables above and Python's arithmetic alone."""

    def city(found: re.Match[str]) -> str:
        name = found.group(1)
        return str(CODES[CITY_COUNTRY.get(name) or OLDER[name]])

    text = re.sub(r"code\(country\(([\w-]+)\)\)", city, key)
    text = re.sub(r"code\(([A-Z]{2})\)", lambda found: str(CODES[found.group(1)]), text)
    text = re.sub(r"days\((\d+)\)", lambda m: str(calendar.monthrange(2023, int(m[1]))[1]), text)
    assert re.fullmatch(r"[\d+*()-]+", text), key
    return int(eval(text))  # noqa: S307 - digits and operators, checked in the line above


def count_steps(key: str) -> int:
    operators = re.sub(r"\([\w-]*\)", "", key)
    return len(re.findall(r"code|country|days", key)) + len(re.findall(r"[-+*]", operators))


def load(steps, tags=None, *, items=None, seed=0, source="en"):
    return BENCHMARK.load(
        languages=tags or list(BENCHMARK.languages),
        source_language=source,
        items=items,
        seed=seed,
        options={"steps": str(steps)},
    )


def folded(text: str) -> str:
    # Accents of Latin and vowel points of Arabic go; the vowel signs of Bengali are letters.
    plain = unicodedata.normalize("NFKD", text.casefold())
    return re.sub("[\u0300-\u036f\u064b-\u0652\u200c\u200d\u2019 '-]", "", plain)


def named(tag):
    """Every name that a chain or an example can show in a language, with its language's key."""
    facts = load_chain_facts()
    yield from ((code, chain._country(code, tag)) for code in facts.codes)
    yield from ((zone, chain._city(zone, tag)) for zone in facts.cities)
    yield from ((month, chain._month(month, tag)) for month in facts.days)


def test_is_registered_and_says_what_it_is() -> None:
    assert get_benchmark("chain") is BENCHMARK
    assert isinstance(BENCHMARK, Benchmark)
    assert set(BENCHMARK.languages) == REQUIRED
    assert list(BENCHMARK.languages) == sorted(BENCHMARK.languages)
    assert BENCHMARK.source_languages[0] == "en"
    assert set(BENCHMARK.source_languages) == REQUIRED
    assert BENCHMARK.language_neutral_gold
    assert "CLDR" in BENCHMARK.version
    assert "num2words" in BENCHMARK.version


def test_codes_are_those_of_the_numbering_plan() -> None:
    facts = load_chain_facts()
    assert len(CODES) == len(PLAN.split()) // 2 == len(set(CODES.values()))
    assert facts.codes == {code: CODES[code] for code in facts.codes}
    assert set(CODES) - set(facts.codes) == {"MM"}
    # No code is the beginning of another: the plan is a prefix code, a slip mostly is not.
    codes = sorted(map(str, facts.codes.values()))
    assert not [pair for pair in pairwise(codes) if pair[1].startswith(pair[0])]


def test_codes_everyone_knows() -> None:
    known = {"JP": 81, "DE": 49, "FR": 33, "GB": 44, "IT": 39, "ES": 34, "BR": 55, "IN": 91,
             "CN": 86, "AU": 61, "ZA": 27, "EG": 20, "NG": 234, "KE": 254, "MX": 52, "TR": 90,
             "IR": 98, "SA": 966, "IL": 972, "TH": 66, "VN": 84, "ID": 62, "KR": 82, "UA": 380,
             "FI": 358, "PT": 351, "GR": 30, "CZ": 420, "AR": 54, "NZ": 64}  # fmt: skip
    assert len(known) == 30
    for country, code in known.items():
        assert load_chain_facts().codes[country] == code


def test_cities_lie_where_cldr_says_and_have_a_code() -> None:
    facts = load_chain_facts()
    assert len({zone.rsplit("/", maxsplit=1)[-1] for zone in facts.cities}) == len(facts.cities)
    for zone, country in facts.cities.items():
        name = zone.rsplit("/", maxsplit=1)[-1]
        assert country in facts.codes
        assert load_facts().cities[zone] == country
        assert (ZONES.get(zone) or OLDER[name]) == country
        assert (CITY_COUNTRY.get(name) or OLDER[name]) == country


def test_days_of_months_are_those_of_the_calendar() -> None:
    days = load_chain_facts().days
    assert days == {str(m): calendar.monthrange(2023, m)[1] for m in range(1, 13) if m != 2}


@pytest.mark.parametrize(("tag", "expected"), MONTHS.items())
def test_months_written_by_hand(tag, expected) -> None:
    assert tuple(chain._month(m, tag) for m in ("3", "5", "11")) == expected


@pytest.mark.parametrize("tag", BENCHMARK.languages)
def test_names_are_of_the_language_and_mean_one_thing(tag) -> None:
    owners: dict[str, str] = {}
    for key, name in named(tag):
        assert languages.written_in(name, tag), (key, name)
        assert not re.search(r"[\d()（）\[\]:：\n]", name), (key, name)
        assert name == name.strip() != ""
        assert name == unicodedata.normalize("NFC", name)
        assert owners.setdefault(folded(name), key) == key, (key, owners[folded(name)], name)


@pytest.mark.parametrize("tag", sorted(REQUIRED - {"en"}))
def test_no_english_name_stands_in_for_a_name_of_the_language(tag) -> None:
    # Languages of Latin script share names with English; Vietnamese, the most of all, four fifths.
    english = dict(named("en"))
    names = dict(named(tag))
    shared = [key for key, name in names.items() if name == english[key]]
    assert len(shared) < 0.81 * len(names)
    assert languages.script(tag) == "Latn" or not shared


def test_no_city_gives_its_country_away() -> None:
    for zone, country in load_chain_facts().cities.items():
        cities = {folded(n) for tag in REQUIRED for n in city_names(zone, tag)}
        countries = {folded(n) for tag in REQUIRED for n in country_names(country, tag)}
        for city in cities:
            for name in countries:
                assert len(name) < 3 or name not in city, (zone, city, name)
                assert len(city) < 3 or city not in name, (zone, city, name)


def test_own_names_are_of_known_things_and_needed() -> None:
    facts = load_chain_facts()
    for tag, names in facts.names.items():
        for key, name in names.items():
            assert key in facts.codes or key in facts.cities
            theirs = city_names(key, tag) if "/" in key else country_names(key, tag)
            assert theirs[0] != name
    for tag, names in facts.month_names.items():
        assert set(names) == set(facts.days)
        theirs = Locale.parse(tag).months["stand-alone"]["wide"]
        assert all(re.search(r"\d", theirs[int(month)]) for month in names)


@pytest.mark.parametrize("steps", STEPS)
def test_golds_by_another_way_the_same_in_all_languages(steps) -> None:
    rows = load(steps, items=60, seed=4)
    assert len(rows) == 60 * len(REQUIRED)
    by_id: dict[str, set[str]] = {}
    for row in rows:
        assert row.gold.kind == "number"
        assert row.gold.value == str(evaluate(row.id))
        by_id.setdefault(row.id, set()).add(row.gold.value)
        assert row.id.isascii()
    assert len(by_id) == 60
    assert all(len(golds) == 1 for golds in by_id.values())
    orders = {tag: [r.id for r in rows if r.language == tag] for tag in REQUIRED}
    assert all(order == orders["en"] for order in orders.values())


@settings(max_examples=300, deadline=None, derandomize=True)
@given(data=st.data(), steps=st.sampled_from(STEPS))
def test_any_chain_keeps_its_rules(data, steps) -> None:
    kind = data.draw(st.sampled_from(all_chains(steps)))
    one = kind[data.draw(st.integers(0, len(kind) - 1))]
    assert one.steps == steps == count_steps(one.key)
    assert one.results[-1] == evaluate(one.key)
    assert min(one.results) >= 11
    operands = [one.start, *(operand for _, operand in one.operations)]
    subjects = [operand.subject for operand in operands if operand.kind != "number"]
    assert len(set(subjects)) == len(subjects)
    facts = load_chain_facts()
    assert not set(subjects) & (facts.shown_countries | facts.shown_months)
    for operation, operand in one.operations:
        if operand.kind == "number":
            allowed = range(2, 10) if operation == "*" else range(11, 100)
            assert int(operand.name) in allowed
        else:
            assert operation != "*"


def test_longer_chains_have_more_of_everything() -> None:
    def shape(steps):
        found = sample(steps, 150, 2)
        lookups = [len(re.findall(r"code|country|days", one.key)) for one in found]
        lengths = [len(chain._worked(one, "en").splitlines()) for one in found]
        return sum(lookups) / len(found), sum(lengths) / len(found)

    shapes = [shape(steps) for steps in STEPS]
    assert [length for _, length in shapes] == list(STEPS)
    means = [lookups for lookups, _ in shapes]
    assert means == sorted(means)
    sizes = [sum(map(len, all_chains(steps))) for steps in STEPS]
    assert sizes == sorted(sizes)


@pytest.mark.parametrize("steps", STEPS[:3])
def test_keys_name_one_chain_each(steps) -> None:
    keys = Counter(one.key for kind in all_chains(steps) for one in kind)
    assert set(keys.values()) == {1}


def test_a_sum_of_two_like_facts_comes_in_one_order() -> None:
    countries = all_chains(3)[1]
    plus = {one.key for one in countries if one.operations[0][0] == "+"}
    for key in plus:
        first, second = key.split("+")
        assert f"{second}+{first}" not in plus


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    steps=st.sampled_from(STEPS),
    seed=st.integers(-(2**70), 2**70),
    counts=st.tuples(st.integers(1, 169), st.integers(1, 169)),
)
def test_samples_are_nested_and_without_duplicates(steps, seed, counts) -> None:
    available = sum(map(len, all_chains(steps)))
    small, large = (sample(steps, min(n, available), seed) for n in sorted(counts))
    assert large[: len(small)] == small
    assert len({one.key for one in large}) == len(large)


def test_a_full_sample_takes_every_chain_once() -> None:
    everything = {one.key for one in all_chains(1)[0]}
    drawn = [one.key for one in sample(1, len(everything), 7)]
    assert sorted(drawn) == sorted(everything)
    # Where the kinds are of unequal size, the longer ones go on alone.
    kinds = all_chains(4)
    many = sample(4, 3 * len(kinds[2]) + 500, 7)
    assert len(set(many)) == len(many)
    assert sum("days" in one.key for one in many) == len(kinds[2])


@pytest.mark.parametrize("steps", STEPS[1:])
def test_every_seed_asks_fresh_items(steps) -> None:
    first, second = ({row.id for row in load(steps, ["en"], seed=seed)} for seed in (1, 2))
    assert len(first) == len(second) == 200
    assert len(first & second) <= 10


def test_kinds_take_turns() -> None:
    keys = [one.key for one in sample(5, 30, 3)]
    assert all("days" in key for key in keys[::3])
    assert all(key.count("country") == 2 for key in keys[2::3])


def test_items_that_share_their_first_fact_are_one_cluster() -> None:
    for row in load(4, ["en"], items=60):
        city = re.match(r"\(?code\(country\(([\w-]+)\)\)", row.id)
        assert city is not None
        assert row.group == (CITY_COUNTRY.get(city[1]) or OLDER[city[1]])


@pytest.mark.parametrize(("tag", "expected"), QUESTIONS.items())
def test_question_exactly(tag, expected) -> None:
    city, month = tasks.Operand("city", "Asia/Tokyo"), tasks.Operand("month", "3")
    seven = tasks.Operand("number", "7")
    one = tasks.Chain(city, (("-", month), ("*", seven)))
    assert one.key == "(code(country(Tokyo))-days(3))*7"
    assert one.results == (81, 50, 350)
    assert chain._question(one, tag) == expected


@pytest.mark.parametrize("steps", STEPS)
def test_questions_show_what_the_id_says_in_their_language_without_digits(steps) -> None:
    for one in sample(steps, 12, 8):
        for tag in REQUIRED:
            text = chain._question(one, tag)
            assert not any(char.isdigit() for char in text), (tag, text)
            assert languages.written_in(text, tag), (tag, text)
            lines = text.split("\n")
            operands = [one.start, *(operand for _, operand in one.operations)]
            assert len(lines) == len(operands) + 1
            for line, operand in zip(lines, operands, strict=False):
                name = operand.name
                shown = (
                    numeral(tag, int(name))
                    if operand.kind == "number"
                    else chain._name(operand, tag)
                )
                assert shown in line, (tag, line)


@pytest.mark.parametrize("steps", STEPS)
def test_examples_are_right_and_never_items(steps) -> None:
    shown = examples(steps)
    assert len(set(shown)) == 3
    facts = load_chain_facts()
    keys = {one.key for one in shown}
    for one in shown:
        assert one.steps == steps
        assert one.results[-1] == evaluate(one.key)
        operands = [one.start, *(operand for _, operand in one.operations)]
        subjects = {operand.subject for operand in operands if operand.kind != "number"}
        assert subjects <= facts.shown_countries | facts.shown_months
    assert len({one.results[-1] for one in shown}) == 3
    assert not keys & {one.key for one in sample(steps, 150, 5)}


@pytest.mark.parametrize("tag", BENCHMARK.languages)
def test_worked_examples_are_read_as_their_answer(tag) -> None:
    for steps in STEPS:
        for one in examples(steps):
            reply = f"{chain._worked(one, tag)}\n{wording(tag).answer} {one.results[-1]}"
            assert extract_number(reply) == one.results[-1]


@pytest.mark.parametrize("steps", STEPS)
def test_worked_replies_fit_at_one_token_a_byte(steps) -> None:
    for one in sample(steps, 60, 6):
        for tag in REQUIRED:
            reply = f"{chain._worked(one, tag)}\n{wording(tag).answer} {one.results[-1]}"
            assert len(reply.encode()) < chain._COMPLETION_TOKENS


def test_completion_prompt_exactly() -> None:
    (item,) = load(4, ["en"], items=1, seed=1)
    prompt = BENCHMARK.prompt(item, mode="completion", prompt_language="native")
    code = "the telephone country code of the country"
    assert prompt.text == (
        f"Start with: {code} in which the city lies (city: Warsaw)\n"
        "Then add: twenty-seven\nThen multiply the result by: four\nWhat is the final result?\n"
        "Warsaw: Poland\nPoland: 48\n48 + 27 = 75\n75 × 4 = 300\nAnswer: 300\n\n"
        f"Start with: {code} in which the city lies (city: Nairobi)\n"
        f"Then subtract: {code} (country: Sweden)\nWhat is the final result?\n"
        "Nairobi: Kenya\nKenya: 254\nSweden: 46\n254 - 46 = 208\nAnswer: 208\n\n"
        f"Start with: {code} in which the city lies (city: Lima)\n"
        "Then add: the number of days in the month (month: October)\nWhat is the final result?\n"
        "Lima: Peru\nPeru: 51\nOctober: 31\n51 + 31 = 82\nAnswer: 82\n\n"
        f"{item.question}\n"
    )
    assert prompt.mode == "completion"
    assert prompt.stop == ("\n\n",)


def test_chat_prompt_exactly() -> None:
    item = load(3, ["fr"], items=1, source="fr")[0]
    prompt = BENCHMARK.prompt(item, mode="chat", prompt_language="native")
    assert prompt.text == (
        "Résous ce problème étape par étape. Termine ta réponse par une ligne de cette forme :\n"
        f"Réponse : <nombre en chiffres>\n\n{item.question}"
    )
    assert prompt.mode == "chat"
    assert prompt.stop == ()
    assert prompt.max_tokens == 1024


@pytest.mark.parametrize("tag", BENCHMARK.languages)
def test_chat_prompts_hold_no_digit_and_english_ones_keep_the_chain(tag) -> None:
    for item in load(5, [tag], items=3, source=tag):
        native = BENCHMARK.prompt(item, mode="chat", prompt_language="native").text
        assert not any(char.isdigit() for char in native)
        assert wording(tag).answer in native
        english = BENCHMARK.prompt(item, mode="chat", prompt_language="english").text
        assert english.startswith("Solve this problem step by step.")
        assert "\nAnswer: <number in digits>\n\n" in english
        assert english.endswith(item.question)
        completion = BENCHMARK.prompt(item, mode="completion", prompt_language="english").text
        assert completion.count("\nAnswer: ") == 3
        assert completion.endswith(f"{item.question}\n")
        first = chain._question(examples(5)[0], tag)
        assert completion.startswith(f"{first}\n")


def test_prompt_texts_are_whole_in_every_language() -> None:
    texts = chain._texts()
    for tag, table in texts.items():
        assert set(table) == {"country", "city", "month", "instruction"}
        assert len(set(table.values())) == 4
        for key, text in table.items():
            assert text.count("{name}") == (key != "instruction")
            assert languages.written_in(text.replace("{name}", ""), tag), (tag, key)
            assert not any(char.isdigit() for char in text)
            assert text == unicodedata.normalize("NFC", text.strip())
            if key != "instruction":
                assert re.search(r"[(（][^()（）]+[:：] ?\{name\}[)）]$", text), (tag, key)
            else:
                assert text.endswith((":", "："))
        if tag != "en":
            assert not set(table.values()) & set(texts["en"].values())


def test_defaults() -> None:
    rows = BENCHMARK.load(languages=["en"], source_language="en", items=None, seed=0, options={})
    assert len(rows) == 200
    assert {count_steps(row.id) for row in rows} == {3}
    assert len(load(1, ["en"])) == len(all_chains(1)[0]) > 160


def test_other_processes_load_the_same_and_listing_stays_light() -> None:
    script = (
        "import sys\n"
        "from hatscore.benchmarks.chain import BENCHMARK as b\n"
        "assert 'num2words' not in sys.modules\n"
        "rows = b.load(languages=['de', 'ja', 'te'], source_language='de', items=20, seed=9,"
        " options={'steps': '5'})\n"
        "print(ascii([(r.id, r.language, r.question, r.gold.value) for r in rows]))\n"
    )
    rows = load(5, ["de", "ja", "te"], items=20, seed=9, source="de")
    here = [(r.id, r.language, r.question, r.gold.value) for r in rows]
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", script],
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | {"PYTHONHASHSEED": "1", "PYTHONUTF8": "1"},
    )
    assert done.stderr == ""
    assert done.stdout == ascii(here) + "\n"


def test_rows_come_item_by_item_and_once() -> None:
    rows = load(2, ["ja", "en", "ja"], items=2)
    assert [row.language for row in rows] == ["ja", "en", "ja", "en"]
    assert rows[0].id == rows[1].id != rows[2].id


def test_a_name_missing_in_an_older_babel_is_an_error_that_says_so() -> None:
    with pytest.raises(InputError, match=r"no name for 'ZZ' in 'th': pip install -U babel"):
        chain._first((), "ZZ", "th")


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"languages": ["en", "sw"]}, UnknownNameError, "unknown language 'sw'"),
        ({"languages": ["de", "fr"]}, InputError, r"'en' is not among .*\(de, fr\)"),
        ({"options": {"step": "3"}}, UnknownNameError, r"did you mean steps\?"),
        ({"options": {"steps": "6"}}, InputError, "no '6' steps: choose one of 1, 2, 3, 4, 5"),
        ({"options": {"steps": ""}}, InputError, "no '' steps"),
        ({"options": {"steps": "1"}, "items": 170}, InputError, "168 items of 1 steps, but 170"),
        ({"items": 0}, InputError, "but 0 were asked for: ask for 1 to"),
    ],
)
def test_wrong_use(changes, error, message) -> None:
    arguments = {
        "languages": ["en", "de"],
        "source_language": "en",
        "items": 1,
        "seed": 0,
        "options": {},
    }
    with pytest.raises(error, match=message):
        BENCHMARK.load(**(arguments | changes))
