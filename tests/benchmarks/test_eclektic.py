"""Own miniature files in both layouts; the real sample where it is at hand."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from hatscore.benchmarks import get_benchmark
from hatscore.benchmarks.base import Benchmark, Bindable, Checkable
from hatscore.benchmarks.eclektic_data import LANGUAGES
from hatscore.errors import InputError, ReaderError, UnknownNameError

ECLEKTIC = get_benchmark("eclektic")
SAMPLE = Path(__file__).parents[3] / "shared" / "data" / "eclektic" / "sample_39x12.csv"
SOURCES = {"7": "de", "12": "en", "30": "zh", "31": "zh", "502": "de", "9": "ko"}


def record(name, source):
    data = {"q_id": int(name), "original_lang": source, "title": f"T{name}", "url": "https:\\/\\/x"}
    for tag in LANGUAGES:
        data |= {
            f"{tag}_c": f"context {name} {tag}",
            f"{tag}_q": f"question {name} {tag}?",
            f"{tag}_a": f"answer {name} {tag}",
        }
    for long, short in (("content", "c"), ("question", "q"), ("answer", "a")):
        data[long] = data[f"{source}_{short}"]
    return data


def official(path, records):
    path.write_text("\n".join(json.dumps(r, ensure_ascii=False) for r in records) + "\n", "utf-8")
    return {"data": str(path)}


@pytest.fixture
def data(tmp_path):
    return official(tmp_path / "e.jsonl", [record(n, s) for n, s in SOURCES.items()])


def load(options, languages=("item", *LANGUAGES), source="item", items=None, seed=0):
    return ECLEKTIC.load(
        languages=languages, source_language=source, items=items, seed=seed, options=options
    )


def keys(items):
    return [(item.id, item.language) for item in items]


def test_it_is_a_benchmark_that_can_be_bound_and_checked():
    for protocol in (Benchmark, Bindable, Checkable):
        assert isinstance(ECLEKTIC, protocol)
    assert ECLEKTIC.languages == tuple(sorted(LANGUAGES))
    assert ECLEKTIC.source_languages[0] == "item"


def test_every_item_comes_in_its_own_source_and_all_targets(data):
    items = load(data)
    assert len(items) == 6 * 12
    assert len(set(keys(items))) == len(items)
    for item in items:
        assert item.source_language == SOURCES[item.id]
        assert item.question == f"question {item.id} {item.language}?"
        assert item.gold.value == f"answer {item.id} {item.language}"
        assert item.gold.context == f"context {item.id} {item.language}"
        assert item.gold.kind == "judge"
        assert item.group == item.id
    firsts = {item.id: item.language for item in reversed(items)}
    assert firsts == SOURCES


def test_few_targets_bring_each_source_along(data):
    items = load(data, ("item", "de"))
    assert set(keys(items)) == {
        (name, tag) for name, source in SOURCES.items() if source != "de" for tag in (source, "de")
    }, "questions written in German have no target here"


def test_a_language_as_source_keeps_its_questions(data):
    items = load(data, ("zh", "de", "fr"), "zh")
    assert set(keys(items)) == {(n, t) for n in ("30", "31") for t in ("zh", "de", "fr")}


def test_samples_are_nested_and_seeded(data):
    whole = list(dict.fromkeys(item.id for item in load(data)))
    for k in (1, 3, 6):
        assert list(dict.fromkeys(item.id for item in load(data, items=k))) == whole[:k]
    other = [list(dict.fromkeys(i.id for i in load(data, seed=s))) for s in range(1, 6)]
    assert any(order != whole for order in other)
    with pytest.raises(InputError, match="has 6 items; 7 were asked for"):
        load(data, items=7)


def test_grading_by_names(data):
    item = load({**data, "grading": "names"})[0]
    assert item.gold.kind == "name"
    assert item.gold.context == ""
    assert item.gold.names["hi"] == (f"answer {item.id} hi",)
    assert set(item.gold.names) == set(LANGUAGES)
    from hatscore.grading import Reply, grade

    assert grade(Reply(f"answer {item.id} {item.language}"), item.gold).status == "correct"
    assert grade(Reply("something else"), item.gold).status == "wrong"


def test_prompts(data):
    item = next(i for i in load(data) if i.language == "fr")
    chat = ECLEKTIC.prompt(item, mode="chat", prompt_language="native")
    assert chat.text == item.question
    for language in LANGUAGES:
        item = next(i for i in load(data) if i.language == language)
        native = ECLEKTIC.prompt(item, mode="completion", prompt_language="native")
        lines = native.text.split("\n")
        assert native.stop == ("\n",)
        assert len(lines) == 3 * 3 + 2
        assert lines[-2].endswith(item.question)
        label = lines[-1]
        assert label == label.rstrip()
        assert label[-1] in ":：", "ends with the label"
        assert all(line.startswith(label) for line in lines[1:9:3])
        assert item.gold.value not in native.text
        english = ECLEKTIC.prompt(item, mode="completion", prompt_language="english").text
        assert english.endswith(f"Question: {item.question}\nAnswer:")
        gap = "" if language in ("ja", "zh") else " "
        shots = [line.removeprefix(label + gap) for line in lines[1:9:3]]
        assert all(f"Answer: {shot}" in english for shot in shots)


def test_csv_layout_gives_the_same_items(data, tmp_path):
    path = tmp_path / "e.csv"
    with path.open("w", encoding="utf-8-sig", newline="") as file:
        names = ["original_lang", "content", "question", "answer", "language", "q_id"]
        writer = csv.DictWriter(file, names)
        writer.writeheader()
        for name, source in SOURCES.items():
            whole = record(name, source)
            for tag in LANGUAGES:
                writer.writerow(
                    {
                        "original_lang": source,
                        "content": whole[f"{tag}_c"],
                        "question": whole[f"{tag}_q"],
                        "answer": whole[f"{tag}_a"],
                        "language": tag,
                        "q_id": name,
                    }
                )
    assert load({"data": str(path)}) == load(data)


def test_faults_are_all_named_by_line(tmp_path):
    records = [record("1", "de"), record("2", "en"), record("3", "ko"), record("1", "de")]
    records[0]["hi_q"] = " "
    del records[0]["ja_c"]
    records[1]["original_lang"] = "ru"
    records[2]["question"] = "another"
    options = official(tmp_path / "bad.jsonl", records)
    with (tmp_path / "bad.jsonl").open("a", encoding="utf-8") as file:
        file.write('{"q_id": 5,\n[]\n{"original_lang": "de"}\n')
    with pytest.raises(ReaderError) as caught:
        load(options)
    message = str(caught.value)
    for part in (
        "has 8 faults",
        "line 1: q_id 1: no question in hi",
        "line 1: q_id 1: no context in ja",
        "line 2: q_id 2: original_lang 'ru'",
        "line 3: q_id 3: the text of the source language is not its ko_*",
        "line 4: q_id 1 is on line 1 too",
        "line 5: no JSON",
        "line 6: a list",
        "line 7: no q_id",
    ):
        assert part in message
    findings = ECLEKTIC.check(options=options)
    assert sum(f.level == "fault" for f in findings) == 8
    assert {f.language for f in findings} >= {"", "hi", "ja"}


def test_csv_faults(tmp_path):
    path = tmp_path / "e.csv"
    path.write_text(
        "q_id,original_lang,language,content,question,answer\n"
        '1,de,de,"a\nb",q,a\n1,de,xx,c,q,a\n1,en,en,c,q,a\n1,de,de,c,q,a\n1,de,fr,c,,a\n',
        "utf-8",
    )
    texts = [f"{f.row}: {f.text}" for f in ECLEKTIC.check(options={"data": str(path)})]
    text = "\n".join(texts)
    for part in (
        "line 4: language 'xx'",
        "line 5: q_id 1: original_lang 'en', but 'de' on line 2",
        "line 6: q_id 1 in de is on line 2 too",
        "line 7: q_id 1: no question in fr",
        "q_id 1: no row in zh",
    ):
        assert part in text
    assert "no row in fr" not in text
    path.write_text("q_id,question\n1,x\n", "utf-8")
    with pytest.raises(ReaderError, match="no column original_lang, language, content, answer"):
        load({"data": str(path)})


def test_messages(data, tmp_path):
    with pytest.raises(InputError, match=r"--set data=PATH; .*eclektic_main.jsonl.*Kaggle") as e:
        load({})
    assert "licence is not established" in str(e.value)
    with pytest.raises(InputError, match=r"missing; the official file"):
        load({"data": str(tmp_path / "none.jsonl")})
    with pytest.raises(InputError, match="is a directory"):
        load({"data": str(tmp_path)})
    with pytest.raises(UnknownNameError, match="did you mean names"):
        load({**data, "grading": "name"})
    with pytest.raises(UnknownNameError, match="did you mean data"):
        load({"dat": "x"})
    with pytest.raises(UnknownNameError, match="sw"):
        load(data, ("item", "sw"))
    with pytest.raises(InputError, match="no question of the source 'fr'"):
        load(data, ("fr", "de"), "fr")
    with pytest.raises(InputError, match="add it"):
        load(data, ("de",), "en")
    with pytest.raises(InputError, match="once each"):
        load(data, ("item", "de", "de"))
    (tmp_path / "latin").write_bytes(b"\xff\xfe{")
    with pytest.raises(ReaderError, match="not UTF-8"):
        load({"data": str(tmp_path / "latin")})
    (tmp_path / "empty").write_text("{}\n".replace("{}", ""), "utf-8")
    with pytest.raises(ReaderError):
        load({"data": str(tmp_path / "empty")})


def test_version_names_the_content(data, tmp_path):
    bound = ECLEKTIC.bind(data)
    assert bound.version.startswith(ECLEKTIC.version + "+data.")
    official(tmp_path / "e.jsonl", [record("1", "de")])
    assert ECLEKTIC.bind(data).version != bound.version
    with pytest.raises(InputError, match="cannot be read"):
        ECLEKTIC.bind({"data": str(tmp_path / "none")})


def test_real_sample():
    if not SAMPLE.is_file():
        pytest.skip("the sample of real questions is not at hand: ../shared is absent")
    options = {"data": str(SAMPLE)}
    items = load(options)
    assert len(items) == 39 * 12
    assert {item.source_language for item in items} == {"en"}
    assert all(item.gold.context and item.question for item in items)
    findings = ECLEKTIC.check(options=options)
    assert not [f for f in findings if f.level == "fault"]
    assert any("384" in f.text for f in findings)
    assert any(f.language == "zh" for f in findings)
    shots = [
        ECLEKTIC.prompt(item, mode="completion", prompt_language="native").text.rpartition("\n\n")[
            0
        ]
        for item in items
    ]
    for item, text in zip(items, shots, strict=True):
        assert item.question not in text
    sample = load(options, ("en", "hi"), "en", items=5)
    assert len(sample) == 10
