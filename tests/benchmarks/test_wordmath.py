"""The tasks in words: right numerals, right golds, the same items everywhere."""

from __future__ import annotations

import ast
import hashlib
import json
import re
import subprocess
import sys
import tomllib
import unicodedata
import warnings
from importlib import metadata, resources

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hatscore.benchmarks import wordmath
from hatscore.benchmarks.base import Benchmark, Item
from hatscore.benchmarks.wordmath import BENCHMARK
from hatscore.benchmarks.wordmath_tasks import DIFFICULTIES, all_tasks, draw, examples
from hatscore.errors import InputError, UnknownNameError

SCRIPTS = {
    "ar": "ARABIC",
    "bn": "BENGALI",
    "fa": "ARABIC",
    "he": "HEBREW",
    "ja": "CJK HIRAGANA",
    "ko": "HANGUL",
    "ru": "CYRILLIC",
    "te": "TELUGU",
    "th": "THAI",
    "uk": "CYRILLIC",
}

# Written down by hand; a dozen numerals with the irregularities of each language.
NUMERALS = {
    "ar": {2: "اثنان", 8: "ثمانية", 11: "أحد عشر", 21: "واحد وعشرون", 99: "تسعة وتسعون"},
    "bn": {15: "পনেরো", 29: "উনত্রিশ", 35: "পঁয়ত্রিশ", 44: "চুয়াল্লিশ", 99: "নিরানব্বই"},
    "ca": {16: "setze", 21: "vint-i-un", 32: "trenta-dos", 80: "vuitanta"},
    "cs": {4: "čtyři", 19: "devatenáct", 21: "dvacet jedna", 90: "devadesát"},
    "da": {21: "enogtyve", 50: "halvtreds", 72: "tooghalvfjerds", 99: "nioghalvfems"},
    "de": {1: "eins", 17: "siebzehn", 21: "einundzwanzig", 30: "dreißig", 99: "neunundneunzig"},
    "en": {12: "twelve", 40: "forty", 57: "fifty-seven", 90: "ninety"},
    "es": {16: "dieciséis", 22: "veintidós", 31: "treinta y uno", 70: "setenta"},
    "fa": {18: "هجده", 21: "بیست و یک", 60: "شصت", 99: "نود و نه"},
    "fi": {11: "yksitoista", 28: "kaksikymmentäkahdeksan", 90: "yhdeksänkymmentä"},
    "fr": {
        21: "vingt et un",
        71: "soixante et onze",
        80: "quatre-vingts",
        97: "quatre-vingt-dix-sept",
    },
    "he": {2: "שתיים", 12: "שתים עשרה", 21: "עשרים ואחת", 80: "שמונים"},
    "hu": {2: "kettő", 12: "tizenkettő", 21: "huszonegy", 30: "harminc"},
    "id": {11: "sebelas", 17: "tujuh belas", 58: "lima puluh delapan"},
    "it": {21: "ventuno", 23: "ventitré", 28: "ventotto", 88: "ottantotto"},
    "ja": {10: "十", 11: "十一", 47: "四十七", 99: "九十九"},
    "ko": {6: "육", 10: "십", 47: "사십칠", 99: "구십구"},
    "nb": {18: "atten", 20: "tjue", 41: "førtien", 70: "sytti"},
    "nl": {8: "acht", 14: "veertien", 22: "tweeëntwintig", 80: "tachtig"},
    "pl": {11: "jedenaście", 19: "dziewiętnaście", 40: "czterdzieści", 56: "pięćdziesiąt sześć"},
    "pt": {14: "catorze", 16: "dezesseis", 19: "dezenove", 55: "cinquenta e cinco"},
    "ro": {11: "unsprezece", 14: "paisprezece", 21: "douăzeci și unu", 60: "șaizeci"},
    "ru": {12: "двенадцать", 40: "сорок", 58: "пятьдесят восемь", 90: "девяносто"},
    "sk": {14: "štrnásť", 21: "dvadsaťjeden", 60: "šesťdesiat"},
    "sv": {1: "ett", 18: "arton", 20: "tjugo", 47: "förtiosju"},
    "te": {14: "పద్నాలుగు", 15: "పదిహేను", 21: "ఇరవై ఒకటి", 50: "యాభై"},
    "th": {11: "สิบเอ็ด", 20: "ยี่สิบ", 21: "ยี่สิบเอ็ด", 99: "เก้าสิบเก้า"},
    "tr": {10: "on", 11: "on bir", 20: "yirmi", 47: "kırk yedi", 86: "seksen altı"},
    "uk": {5: "п'ять", 12: "дванадцять", 40: "сорок", 96: "дев'яносто шість"},
    "vi": {5: "năm", 15: "mười lăm", 21: "hai mươi mốt", 45: "bốn mươi lăm"},
}

SMALL = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen "
    "fifteen sixteen seventeen eighteen nineteen"
)
TENS = "twenty thirty forty fifty sixty seventy eighty ninety"
UNITS = {word: number for number, word in enumerate(SMALL.split())}
UNITS |= {word: 10 * number for number, word in enumerate(TENS.split(), 2)}


def load(
    difficulty: int = 2,
    languages: tuple[str, ...] = BENCHMARK.languages,
    items: int | None = 12,
    seed: int = 1,
    source: str = "en",
) -> list[Item]:
    return BENCHMARK.load(
        languages=languages,
        source_language=source,
        items=items,
        seed=seed,
        options={"difficulty": str(difficulty)},
    )


def evaluate(expression: str) -> int:
    """Compute a key by Python's own grammar, which knows nothing of steps."""

    def visit(node: ast.expr) -> int:
        if isinstance(node, ast.Constant):
            return int(str(node.value))
        assert isinstance(node, ast.BinOp)
        left, right = visit(node.left), visit(node.right)
        if isinstance(node.op, ast.Add):
            return left + right
        if isinstance(node.op, ast.Sub):
            return left - right
        assert isinstance(node.op, ast.Mult)
        return left * right

    return visit(ast.parse(expression, mode="eval").body)


def solve_english(question: str) -> int:
    """Solve a task from its English words alone."""
    lines = question.splitlines()
    if len(lines) == 1:
        lines = re.sub(r"What is |\?", "", lines[0]).replace(" ", "\n", 2).split("\n")
        steps = [("start", lines[0]), (lines[1], lines[2])]
    else:
        steps = [(line.split(": ")[0], line.split(": ")[1]) for line in lines[:-1]]
    result = 0
    for step, numeral in steps:
        number = sum(UNITS[word] for word in numeral.split("-"))
        if step in {"start", "Start with"}:
            result = number
        elif step in {"plus", "Then add"}:
            result += number
        elif step in {"minus", "Then subtract"}:
            result -= number
        else:
            assert step in {"times", "Then multiply the result by"}
            result *= number
    return result


def test_is_a_benchmark() -> None:
    assert isinstance(BENCHMARK, Benchmark)
    assert BENCHMARK.name == "wordmath"
    assert BENCHMARK.licence == "Apache-2.0"
    assert BENCHMARK.language_neutral_gold
    assert BENCHMARK.source_languages[0] == "en"
    assert sorted(BENCHMARK.source_languages) == list(BENCHMARK.languages)
    assert set(BENCHMARK.languages) == set(NUMERALS)
    assert not {"hi", "zh", "sw"} & set(BENCHMARK.languages)


def test_version_names_the_data_and_num2words() -> None:
    # A change of texts, ranges or order must raise _DATA_VERSION; then renew both digests.
    path = resources.files("hatscore.benchmarks").joinpath("prompts", "wordmath.toml")
    texts = json.dumps(tomllib.loads(path.read_text(encoding="utf-8")), sort_keys=True)
    keys = [task.key for d in DIFFICULTIES for task in (*examples(d), *draw(all_tasks(d), 30, 0))]
    digests = [hashlib.sha256(text.encode()).hexdigest()[:16] for text in (texts, " ".join(keys))]
    assert BENCHMARK.version == f"1+num2words.{metadata.version('num2words')}"
    assert digests == ["96cb82870b9f1eec", "128703c2578fff51"]


@pytest.mark.parametrize("language", BENCHMARK.languages)
def test_numerals_written_by_hand(language: str) -> None:
    expected = {
        number: unicodedata.normalize("NFC", words) for number, words in NUMERALS[language].items()
    }
    assert {number: wordmath._numeral(language, number) for number in expected} == expected


@pytest.mark.parametrize("language", BENCHMARK.languages)
def test_numerals_are_distinct_words(language: str) -> None:
    words = [wordmath._numeral(language, number) for number in range(1, 100)]
    assert len(set(words)) == 99
    for word in words:
        assert word == word.strip()
        assert "  " not in word
        assert word == word.lower()
        assert not re.search(r"[\d.,]", word)
        assert unicodedata.is_normalized("NFC", word)


def test_warnings_of_num2words_do_not_leak(monkeypatch: pytest.MonkeyPatch) -> None:
    def noisy(number: int, *, lang: str) -> str:
        warnings.warn("old spelling", DeprecationWarning, stacklevel=1)
        return f"{lang} {number}"

    monkeypatch.setattr("num2words.num2words", noisy)
    assert wordmath._numeral.__wrapped__("de", 7) == "de 7"


@pytest.mark.parametrize("difficulty", DIFFICULTIES)
@pytest.mark.parametrize("language", BENCHMARK.languages)
def test_every_language_renders_every_task_in_its_own_script(
    language: str, difficulty: int
) -> None:
    for item in load(difficulty, (language,), source=language):
        chat = BENCHMARK.prompt(item, mode="chat", prompt_language="native").text
        completion = BENCHMARK.prompt(item, mode="completion", prompt_language="native").text
        assert item.question in chat
        assert item.question in completion
        for text in (item.question, chat, completion):
            assert not set("{}") & set(text)
            scripts = {unicodedata.name(c).split()[0] for c in text if c.isalpha()}
            assert scripts <= set(SCRIPTS.get(language, "LATIN").split())


@pytest.mark.parametrize("language", BENCHMARK.languages)
def test_templates_hold_their_numerals(language: str) -> None:
    texts = wordmath._TEXTS[language]
    whole = [texts.sum, texts.difference, texts.product]
    lines = [texts.start, texts.add, texts.subtract, texts.multiply]
    assert len({*whole, *lines}) == 7
    for template in whole:
        assert re.findall(r"{.*?}", template) == ["{a}", "{b}"]
    for template in lines:
        assert template.endswith("{n}")
    for text in (texts.result, texts.answer, texts.instruction, texts.number):
        assert text == text.strip()
        assert "{" not in text
    assert texts.answer.endswith(":")


@pytest.mark.parametrize("difficulty", DIFFICULTIES)
def test_numerals_stand_in_the_question_in_the_order_of_the_steps(difficulty: int) -> None:
    for item in load(difficulty, items=6):
        numerals = [
            wordmath._numeral(item.language, int(number)) for number in re.findall(r"\d+", item.id)
        ]
        pattern = ".*".join(re.escape(numeral) for numeral in numerals)
        assert re.search(pattern, item.question, flags=re.DOTALL)
        if difficulty > 3:
            ends = [re.split(r": |：", line)[-1] for line in item.question.splitlines()[:-1]]
            assert ends == numerals


@pytest.mark.parametrize("difficulty", DIFFICULTIES)
def test_no_language_borrows_the_text_of_another(difficulty: int) -> None:
    items = load(difficulty, items=8)
    english = {"two", "three", "four", "five", "eight", "nine", "twenty", "thirty", "forty"}
    for start in range(0, len(items), len(BENCHMARK.languages)):
        rows = items[start : start + len(BENCHMARK.languages)]
        assert len({row.question for row in rows}) == len(rows)
        for row in rows:
            if row.language != "en":
                assert not english & set(re.findall(r"\w+", row.question))


@pytest.mark.parametrize("difficulty", DIFFICULTIES)
def test_items_and_golds_are_the_same_in_all_languages(difficulty: int) -> None:
    items = load(difficulty, source="te")
    by_language = {
        language: [item for item in items if item.language == language]
        for language in BENCHMARK.languages
    }
    reference = [(item.id, item.gold.value) for item in by_language["en"]]
    assert len({key for key, _ in reference}) == 12
    for language, rows in by_language.items():
        assert [(item.id, item.gold.value) for item in rows] == reference
        for item in rows:
            assert item.source_language == item.gold.source_language == "te"
            assert item.gold.kind == "number"
            assert item.gold.language == language
            assert item.group == item.id
            assert item.chance == 0.0
            assert dict(item.fields) == {"difficulty": str(difficulty)}


@settings(max_examples=60, deadline=None, derandomize=True)
@given(difficulty=st.sampled_from(DIFFICULTIES), seed=st.integers(0, 2**32))
def test_golds_by_two_independent_ways(difficulty: int, seed: int) -> None:
    for item in load(difficulty, ("en",), items=10, seed=seed):
        gold = evaluate(item.id)
        assert item.gold.value == str(gold)
        assert gold > 0
        assert solve_english(item.question) == gold


def test_the_tasks_are_those_of_the_documented_ranges() -> None:
    two_digit, factors = range(11, 100), range(2, 10)
    expected = {
        1: {f"{a}+{b}" for a in range(1, 10) for b in range(1, 10) if a + b <= 10},
        2: {f"{a}+{b}" for a in range(1, 100) for b in range(1, 100) if 11 <= a + b <= 100}
        | {f"{a}-{b}" for a in two_digit for b in range(1, a)},
        3: {f"{a}*{c}" for a in two_digit for c in factors},
        4: {
            f"({a}{sign}{b})*{c}"
            for a in two_digit
            for b in two_digit
            for sign, result in (("+", a + b), ("-", a - b))
            if 11 <= result <= 99
            for c in factors
        },
    }
    for difficulty, keys in expected.items():
        pairs = {frozenset(re.findall(r"\d+", task.key)[:2]) for task in examples(difficulty)}
        kept = {key for key in keys if frozenset(re.findall(r"\d+", key)[:2]) not in pairs}
        tasks = [task.key for task in all_tasks(difficulty)]
        assert len(tasks) == len(set(tasks))
        assert set(tasks) == kept


@settings(max_examples=200, deadline=None, derandomize=True)
@given(index=st.integers(0, len(all_tasks(5)) - 1))
def test_the_hardest_tasks_keep_their_ranges(index: int) -> None:
    task = all_tasks(5)[index]
    found = re.fullmatch(r"\((\d+)([+-])(\d+)\)\*(\d)([+-])(\d+)", task.key)
    assert found is not None
    a, sign, b, c, _, d = found.groups()
    assert 50 <= evaluate(f"{a}{sign}{b}") <= 198
    assert {int(a), int(b), int(d)} <= set(range(11, 100))
    assert 2 <= int(c) <= 9
    assert 1 <= task.value == evaluate(task.key)


def test_a_task_list_is_a_sequence() -> None:
    tasks = all_tasks(5)
    assert tasks[-1] == tasks[len(tasks) - 1]
    assert tasks[1:3] == [tasks[1], tasks[2]]
    with pytest.raises(IndexError):
        tasks[len(tasks)]


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    difficulty=st.sampled_from(DIFFICULTIES),
    seed=st.integers(0, 10_000),
    counts=st.tuples(st.integers(1, 39), st.integers(1, 39)),
)
def test_samples_are_nested_and_without_duplicates(
    difficulty: int, seed: int, counts: tuple[int, int]
) -> None:
    small, large = (draw(all_tasks(difficulty), count, seed) for count in sorted(counts))
    assert large[: len(small)] == small
    assert len(set(large)) == len(large)


def test_a_full_sample_is_a_permutation() -> None:
    for difficulty in (1, 3):
        tasks = all_tasks(difficulty)
        drawn = draw(tasks, len(tasks), 5)
        assert drawn != list(tasks)
        assert sorted(task.key for task in drawn) == sorted(task.key for task in tasks)


def test_a_sample_is_uniform() -> None:
    # Each of 39 tasks comes second in 1/39 of 3900 samples: 100 times, standard deviation 10.
    seconds = [draw(all_tasks(1), 2, seed)[1].key for seed in range(3900)]
    counts = [seconds.count(task.key) for task in all_tasks(1)]
    assert min(counts) > 50
    assert max(counts) < 150


@pytest.mark.parametrize("difficulty", DIFFICULTIES)
def test_seeds_differ(difficulty: int) -> None:
    first, second = (load(difficulty, ("en",), seed=seed) for seed in (1, 2))
    assert [item.id for item in first] != [item.id for item in second]
    assert first == load(difficulty, ("en",), seed=1)


def test_other_processes_draw_the_same_and_warn_of_nothing() -> None:
    script = (
        "import sys\n"
        "from hatscore.benchmarks.wordmath import BENCHMARK\n"
        "assert 'num2words' not in sys.modules, 'listing must not load num2words'\n"
        "rows = BENCHMARK.load(languages=['de', 'ja', 'te'], source_language='de', items=20,\n"
        "                      seed=9, options={'difficulty': '4'})\n"
        "assert 'num2words' in sys.modules\n"
        "print(ascii([(r.id, r.language, r.question, r.gold.value) for r in rows]))\n"
    )
    outputs = []
    for hash_seed in ("0", "1"):
        done = subprocess.run(
            [sys.executable, "-W", "error", "-c", script],
            capture_output=True,
            text=True,
            check=True,
            env={"PYTHONHASHSEED": hash_seed, "PYTHONUTF8": "1"},
        )
        assert done.stderr == ""
        outputs.append(done.stdout)
    rows = load(4, ("de", "ja", "te"), items=20, seed=9, source="de")
    here = [(r.id, r.language, r.question, r.gold.value) for r in rows]
    assert outputs == [ascii(here) + "\n"] * 2


@pytest.mark.parametrize("difficulty", DIFFICULTIES)
def test_examples_are_right_and_never_items(difficulty: int) -> None:
    shown = {task.key for task in examples(difficulty)}
    assert len(shown) == 3
    assert len({task.value for task in examples(difficulty)}) == 3
    for task in examples(difficulty):
        assert task.value == evaluate(task.key)
    if difficulty < 5:
        assert shown.isdisjoint(task.key for task in all_tasks(difficulty))
    else:
        assert {task.key for task in examples(5)}.isdisjoint(
            task.key for task in draw(all_tasks(5), 500, 3)
        )
        firsts = {(head.start, head.steps[0]) for head in all_tasks(5)._heads}
        assert firsts.isdisjoint((task.start, task.steps[0]) for task in examples(5))


def test_completion_prompt_exactly() -> None:
    item = load(3, ("de",), items=1, seed=3, source="de")[0]
    prompt = BENCHMARK.prompt(item, mode="completion", prompt_language="native")
    assert prompt.mode == "completion"
    assert prompt.text == (
        "Wie viel ist dreiundzwanzig mal vier?\nAntwort: 92\n\n"
        "Wie viel ist siebenundvierzig mal sechs?\nAntwort: 282\n\n"
        "Wie viel ist fünfundachtzig mal drei?\nAntwort: 255\n\n"
        f"{item.question}\nAntwort:"
    )
    assert prompt.stop == ("\n",)
    assert prompt.max_tokens == 16


def test_chat_prompt_exactly() -> None:
    item = load(4, ("fr",), items=1, seed=3, source="fr")[0]
    prompt = BENCHMARK.prompt(item, mode="chat", prompt_language="native")
    assert prompt.mode == "chat"
    assert prompt.text == (
        "Résous ce problème de calcul. Termine ta réponse par une ligne de cette forme :\n"
        f"Réponse : <nombre en chiffres>\n\n{item.question}"
    )
    assert prompt.stop == ()
    assert prompt.max_tokens == 512


@pytest.mark.parametrize("language", BENCHMARK.languages)
def test_english_prompts_keep_the_task_in_its_language(language: str) -> None:
    item = load(2, (language,), items=1, source=language)[0]
    completion = BENCHMARK.prompt(item, mode="completion", prompt_language="english").text
    chat = BENCHMARK.prompt(item, mode="chat", prompt_language="english").text
    first = wordmath._question(language, examples(2)[0])
    assert completion.startswith(f"{first}\nAnswer: 63\n\n")
    assert completion.endswith(f"{item.question}\nAnswer:")
    assert chat == (
        "Solve this arithmetic problem. End your reply with a line in this form:\n"
        f"Answer: <number in digits>\n\n{item.question}"
    )


@pytest.mark.parametrize("difficulty", DIFFICULTIES)
def test_no_digit_gives_the_answer_away(difficulty: int) -> None:
    shown = {str(task.value) for task in examples(difficulty)}
    for item in load(difficulty, items=4):
        chat = BENCHMARK.prompt(item, mode="chat", prompt_language="native").text
        completion = BENCHMARK.prompt(item, mode="completion", prompt_language="native").text
        assert not re.search(r"\d", chat)
        assert set(re.findall(r"\d+", completion)) == shown


def test_defaults() -> None:
    rows = BENCHMARK.load(languages=["en"], source_language="en", items=None, seed=0, options={})
    assert len(rows) == 200
    assert {row.fields["difficulty"] for row in rows} == {"2"}
    assert len(load(1, ("en",), items=None)) == len(all_tasks(1)) == 39


def test_rows_come_item_by_item_and_once() -> None:
    rows = load(2, ("ja", "en", "ja"), items=2)
    assert [row.language for row in rows] == ["ja", "en", "ja", "en"]
    assert rows[0].id == rows[1].id != rows[2].id


@pytest.mark.parametrize("items", [40, 0, -1])
def test_impossible_sizes_say_how_many_there_are(items: int) -> None:
    with pytest.raises(InputError, match=rf"39 items of difficulty 1, but {items} .* 1 to 39"):
        load(1, ("en",), items=items)


@pytest.mark.parametrize("difficulty", ["0", "6", "two", "", "2.0"])
def test_unknown_difficulty(difficulty: str) -> None:
    with pytest.raises(
        InputError, match=r"difficulty .* does not exist: choose one of 1, 2, 3, 4, 5"
    ):
        BENCHMARK.load(
            languages=["en"],
            source_language="en",
            items=1,
            seed=0,
            options={"difficulty": difficulty},
        )


def test_unknown_option_names_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match=r"'dificulty': did you mean difficulty\?"):
        BENCHMARK.load(
            languages=["en"], source_language="en", items=1, seed=0, options={"dificulty": "2"}
        )


def test_unknown_language() -> None:
    with pytest.raises(UnknownNameError, match=r"language of wordmath 'sw'.*Known: ar, bn"):
        load(2, ("en", "sw"))


def test_the_source_must_be_loaded() -> None:
    with pytest.raises(InputError, match=r"'en' is not among the languages to load \(de, fr\)"):
        load(2, ("de", "fr"))
