"""Logs of inspect_ai: written by inspect itself, packed in every way, and broken ones."""

from __future__ import annotations

import io
import json
import random
import shutil
import struct
import subprocess
import sys
import zipfile
from pathlib import Path

import fsspec
import polars as pl
import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

import hatscore
from hatscore.errors import AlignmentError, HatscoreError, InputError, ReaderError, UnknownNameError
from hatscore.readers import inspect_files, inspect_json, inspect_log
from hatscore.readers.inspect_json import Document, elements, fields
from hatscore.readers.inspect_score import judge
from hatscore.readers.inspect_zip import Archive

WRITER = Path(__file__).with_name("inspect_logs.py")


@pytest.fixture(scope="module")
def logs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("inspect")
    done = subprocess.run(
        [sys.executable, WRITER, folder], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="module")
def expected(logs):
    return json.loads((logs / "expected.json").read_text())


def read(path, **options):
    return hatscore.read(path, **{"source": "en", **options})


def counts(outcomes):
    return {
        language: [k for _, k in sorted(part.select("item", "k").iter_rows())]
        for (language,), part in outcomes.frame.group_by("language")
    }


def one(folder, pattern="*"):
    (path,) = folder.glob(pattern)
    return path


def unpacked(path):
    """Members of a log by name, unpacked."""
    with Archive(path.open("rb"), str(path)) as archive:
        found = {}
        for name in archive.names():
            with archive.open(name) as stream:
                found[name] = stream.read()
        return found


def packed(members, method=0):
    """A zip archive of members, packed by `method`; written without the code under test."""
    file = io.BytesIO()
    known = method in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2)
    with zipfile.ZipFile(file, "w", method if known else zipfile.ZIP_STORED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    if known:
        return file.getvalue()
    local, directory = b"", b""
    for name, data in members.items():
        # two frames, as inspect writes for large members
        half = len(data) // 2
        small = b"".join(zstandard.compress(part) for part in (data[:half], data[half:]))
        sums = (method, 0, 0, zipfile.crc32(data), len(small), len(data), len(name), 0)
        directory += (
            struct.pack(
                "<4sHHHHHHIIIHHHHHII", b"PK\x01\x02", 20, 63, 0, *sums, 0, 0, 0, 0, len(local)
            )
            + name.encode()
        )
        local += struct.pack("<4sHHHHHIIIHH", b"PK\x03\x04", 63, 0, *sums) + name.encode() + small
    end = (0, 0, len(members), len(members), len(directory), len(local), 0)
    return local + directory + struct.pack("<4sHHHHIIH", b"PK\x05\x06", *end)


# what is read


@pytest.mark.parametrize("folder", ["names_eval", "names_json", "args", "metadata"])
def test_reads_every_epoch_wherever_the_language_stands(logs, expected, folder):
    outcomes = read(logs / folder)
    assert counts(outcomes) == expected
    assert set(outcomes.frame["n"]) == {3}
    assert set(outcomes.frame["benchmark"]) == {"sums"}
    assert set(outcomes.frame["input_tokens"]) == {12.0}
    assert set(outcomes.frame["output_tokens"]) == {5.0}
    assert any("scored by match" in note for note in outcomes.notes)
    assert any("says that model-v2 answered" in note for note in outcomes.notes)


def test_both_formats_of_one_run_give_the_same_table(logs):
    for name in ("names", "odd"):
        packed_one, plain = (read(logs / f"{name}_{form}").frame for form in ("eval", "json"))
        order = ["language", "item"]
        assert packed_one.sort(order).equals(plain.sort(order))


def test_agrees_with_what_inspect_counts_in_its_own_log(logs):
    frame = read(logs / "metadata").frame
    mine = frame.group_by("language").agg(pl.col("k").sum()).iter_rows()
    assert dict(mine) == json.loads((logs / "own.json").read_text())


def test_one_file_several_paths_and_a_url(logs, expected):
    files = sorted((logs / "names_eval").iterdir())
    assert counts(read(files)) == expected
    assert counts(read(f"file://{logs / 'names_json'}")) == expected
    memory = fsspec.filesystem("memory")
    for file in files:
        memory.pipe(f"/logs/deep/{file.name}", file.read_bytes())
    assert counts(read("memory://logs")) == expected
    single = read(
        "memory://logs/deep/" + files[0].name, map={"language": "task~_(..)$"}, source="de"
    )
    assert single.frame.height == 6


def test_errors_limits_and_empty_replies_keep_their_names(logs, expected):
    frame = read(logs / "odd_eval").frame.filter(pl.col("language") == "de").sort("item")
    assert frame["error"].to_list() == [0, 3, 0, 0, 0, 0]
    assert frame["n"].to_list() == [3, 0, 3, 3, 3, 3]
    assert frame["empty"].to_list() == [0, 0, 0, 0, 3, 0]
    assert frame["truncated"].to_list() == [0, 0, 0, 0, 0, 3]
    assert frame["k"].to_list() == [expected["de"][0], 0, *expected["de"][2:4], 0, 0]


def test_letters_are_credit_and_what_was_not_graded_does_not_count(logs):
    outcomes = read(logs / "letters")
    english = outcomes.frame.filter(pl.col("language") == "en").sort("item")
    assert english["k"].to_list() == [3, 1.5, 0, 0]
    assert english["refused"].to_list() == [0, 0, 0, 3]
    assert outcomes.excluded["judge_unparsed"].to_list() == [3] * 6
    assert outcomes.excluded["n"].to_list() == [0] * 6
    assert any("partial credit" in note for note in outcomes.notes)


def test_newest_complete_run_counts_and_pooling_counts_no_sample_twice(logs, expected):
    outcomes = read(logs / "retried")
    assert counts(outcomes) == expected
    assert any("retried" in note for note in outcomes.notes)
    pooled = read(logs / "retried", pool=True)
    assert counts(pooled) == expected
    errors = pooled.frame.group_by("item").agg(pl.col("error").sum()).sort("item")["error"]
    assert errors[4] > 0
    assert errors.sum() == errors[4]


def test_same_model_and_task_twice_is_refused_unless_pooled(logs, expected):
    with pytest.raises(InputError, match=r"both hold mockllm/model on sums in .*pool=True"):
        read(logs / "twice")
    pooled = read(logs / "twice", pool=True)
    assert counts(pooled) == {one: [2 * k for k in ks] for one, ks in expected.items()}
    assert set(pooled.frame["n"]) == {6}


def test_a_copy_of_a_log_is_read_once(logs, expected, tmp_path):
    for file in (logs / "names_eval").iterdir():
        shutil.copy(file, tmp_path)
        shutil.copy(file, tmp_path / f"copy-{file.name}")
    for pool in (False, True):
        outcomes = read(tmp_path, pool=pool)
        assert counts(outcomes) == expected
        assert any("the same run as" in note for note in outcomes.notes)


def test_two_models_in_one_folder_are_two_models(logs, expected, tmp_path):
    for file in (logs / "names_json").iterdir():
        shutil.copy(file, tmp_path)
        other = json.loads(file.read_text())
        other["eval"] |= {"model": "other/one", "eval_id": file.name, "task_id": file.name}
        (tmp_path / f"other-{file.name}").write_text(json.dumps(other))
    outcomes = read(tmp_path)
    assert sorted(set(outcomes.frame["model"])) == ["mockllm/model", "other/one"]
    assert outcomes.frame.height == 36
    assert sum(outcomes.frame["k"]) == 2 * sum(map(sum, expected.values()))


def test_killed_run_is_read_and_called_incomplete(logs, expected):
    outcomes = read(logs / "killed")
    german = outcomes.frame.filter(pl.col("language") == "de")
    assert german["n"].sum() == 4
    assert sum(german["k"]) <= sum(expected["de"])
    assert any("incomplete (status started), 4 of 18" in note for note in outcomes.notes)
    assert any("de lacks 2 of 6 items" in note for note in outcomes.notes)


def test_of_a_sample_written_twice_the_later_counts(logs, expected, tmp_path):
    source = one(logs / "metadata")
    members = unpacked(source)
    rows = json.loads(members.pop("summaries.json"))
    first = next(r for r in rows if r["scores"]["match"]["value"] == "C")
    wrong = json.loads(json.dumps(first))
    wrong["scores"]["match"]["value"] = "I"
    del members["header.json"]
    for name in list(members):
        if name.startswith("_journal/summaries"):
            del members[name]
    members["_journal/summaries/2.json"] = json.dumps(rows).encode()
    members["_journal/summaries/10.json"] = json.dumps([first]).encode()
    members["_journal/summaries/1.json"] = json.dumps([wrong]).encode()
    (tmp_path / "log.eval").write_bytes(packed(members))
    assert counts(read(tmp_path)) == expected
    members["_journal/summaries/11.json"] = json.dumps([wrong]).encode()
    (tmp_path / "log.eval").write_bytes(packed(members))
    total = sum(sum(ks) for ks in counts(read(tmp_path)).values())
    assert total == sum(map(sum, expected.values())) - 1


def test_a_log_that_lost_samples_is_told(logs, tmp_path):
    log = json.loads(one(logs / "names_json", "*de*").read_text())
    shutil.copy(one(logs / "names_json", "*en*"), tmp_path)
    del log["samples"][3]
    del log["samples"][5]["scores"]
    (tmp_path / "de.json").write_text(json.dumps(log))
    notes = read(tmp_path).notes
    assert any("results tell of 18 samples, 17 are there" in note for note in notes)
    assert any("0 samples ended in an error and 1 have no score" in note for note in notes)
    members = unpacked(one(logs / "metadata"))
    del members["samples/de-0_epoch_2.json"]
    (tmp_path / "log.eval").write_bytes(packed(members))
    notes = read(tmp_path / "log.eval").notes
    assert any("tell of 54 samples, the archive has 53" in note for note in notes)
    assert not any("changed the log" in note for note in read(logs / "metadata").notes)


def test_invalidated_samples_are_left_out(logs, tmp_path):
    members = unpacked(one(logs / "metadata"))
    header = json.loads(members["header.json"]) | {"invalidated": True}
    members["header.json"] = json.dumps(header).encode()
    name = next(name for name in members if name.startswith("samples/de-0_epoch_2"))
    sample = json.loads(members[name]) | {"invalidation": {"author": "somebody"}}
    members[name] = json.dumps(sample).encode()
    (tmp_path / "log.eval").write_bytes(packed(members))
    outcomes = read(tmp_path)
    frame = outcomes.frame.filter(pl.col("error") > 0)
    assert frame.select("language", "item", "n", "error").rows() == [("de", "0", 2, 1)]
    assert any("invalidated" in note for note in outcomes.notes)


def test_log_without_summaries_is_read_from_its_samples(logs, expected, tmp_path):
    members = unpacked(one(logs / "metadata"))
    kept = {name: data for name, data in members.items() if "summaries" not in name}
    (tmp_path / "log.eval").write_bytes(packed(kept))
    assert counts(read(tmp_path)) == expected


# which score, item and language


def test_scorer_must_be_chosen_among_several(logs):
    with pytest.raises(ReaderError, match="match, includes; say which counts"):
        read(logs / "two_scorers")
    with pytest.raises(UnknownNameError, match="did you mean match"):
        read(logs / "two_scorers", scorer="mach")
    assert read(logs / "two_scorers", scorer="includes").frame.height == 18
    with pytest.raises(ReaderError, match=r"parts\.right, parts\.style"):
        read(logs / "parts")
    assert set(read(logs / "parts", scorer="parts.style").frame["k"]) == {0.75}


def test_log_without_scores_says_what_to_do(logs):
    with pytest.raises(ReaderError, match="no sample has a score"):
        read(logs / "unscored")


def test_ids_that_differ_between_languages_are_explained_and_joined_by_row(logs, expected):
    with pytest.raises(AlignmentError, match=r"de, sw share no item .*map=\{'item': 'row'\}"):
        read(logs / "hashed")
    outcomes = read(logs / "hashed", map={"item": "row"})
    assert counts(outcomes) == expected
    assert any("joined by row order" in note for note in outcomes.notes)


def test_row_order_with_shifted_golds_or_a_lost_sample_is_refused(logs, tmp_path):
    members = unpacked(one(logs / "hashed"))
    header = json.loads(members["header.json"])
    ids = header["eval"]["dataset"]["sample_ids"]
    header["eval"]["dataset"]["sample_ids"] = [*ids[:6], ids[7], *ids[8:12], ids[6], *ids[12:]]
    changed = members | {"header.json": json.dumps(header).encode()}
    (tmp_path / "log.eval").write_bytes(packed(changed))
    with pytest.raises(AlignmentError, match="golds differ from those of en in de"):
        read(tmp_path, map={"item": "row"})
    rows = [r for r in json.loads(members["summaries.json"]) if r["id"] != ids[8]]
    changed = members | {"summaries.json": json.dumps(rows).encode()}
    (tmp_path / "log.eval").write_bytes(packed(changed))
    with pytest.raises(ReaderError, match="1 samples of the data set are not in the log"):
        read(tmp_path, map={"item": "row"})


def test_golds_that_differ_are_refused(logs, tmp_path):
    log = json.loads(one(logs / "names_json", "*de*").read_text())
    for sample in log["samples"]:
        sample["target"] = str(int(sample["target"]) + 1)
    shutil.copy(one(logs / "names_json", "*en*"), tmp_path)
    (tmp_path / "de.json").write_text(json.dumps(log))
    with pytest.raises(AlignmentError, match="golds differ"):
        read(tmp_path)
    assert read(tmp_path, map={"gold": "none"}).frame.height == 12
    assert read(tmp_path, allow_golds=True).frame.height == 12


def test_map_takes_columns_from_anywhere(logs, expected):
    mapped = {
        "item": r"id~(\d+)$",
        "language": "metadata.language",
        "group": "sample.target",
        "benchmark": r"task~(?P<benchmark>\w)",
    }
    outcomes = read(logs / "metadata", map=mapped)
    assert counts(outcomes) == expected
    assert set(outcomes.frame["benchmark"]) == {"s"}
    assert outcomes.frame["group"].equals(outcomes.frame["item"].alias("group"))
    pattern = r"^(?P<benchmark>.+)_(?P<language>..)$"
    assert counts(read(logs / "names_eval", map=pattern)) == expected


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"itm": "id"}, "did you mean item"),
        ({"item": "metadata"}, "expected metadata.KEY"),
        ({"language": "row"}, "cannot come from 'row'"),
        ({"item": "id~("}, "no regular expression"),
        ({"item": "id~."}, r"no group named item"),
        ({"item": "metadata.no"}, r"no metadata\.no; there is language, item_id"),
        ({"item": "id~(x+)"}, "misses"),
        ({"item": "sample.scores"}, "expected a text or a whole number"),
        ("sums", "names no column"),
        (7, "must map columns to places"),
    ],
)
def test_unusable_maps_say_what_is_wrong(logs, given, message):
    with pytest.raises(InputError, match=message):
        inspect_log.read(logs / "metadata", source="en", map=given)


def test_source_language_must_be_known_and_there(logs):
    with pytest.raises(ReaderError, match="nothing says the source language"):
        hatscore.read(logs / "names_eval")
    with pytest.raises(UnknownNameError, match="did you mean en"):
        read(logs / "names_eval", source="English")
    with pytest.raises(ReaderError, match="nothing says the language"):
        read(one(logs / "names_eval", "*de*"))


def test_arguments_that_tell_tasks_apart_are_in_the_benchmarks_name(logs, tmp_path):
    for file in (logs / "args").iterdir():
        members = unpacked(file)
        for shots in (0, 8):
            header = json.loads(members["header.json"])
            header["eval"]["task_args"]["shots"] = shots
            header["eval"] |= {"task_id": f"{shots}{file.name}", "eval_id": f"{shots}{file.name}"}
            changed = members | {"header.json": json.dumps(header).encode()}
            (tmp_path / f"{shots}-{file.name}").write_bytes(packed(changed))
    assert set(read(tmp_path).frame["benchmark"]) == {"sums(shots=0)", "sums(shots=8)"}


def test_cold_epochs_and_equal_replies_are_noted(logs, tmp_path):
    assert any("temperature 0 with 3 epochs" in note for note in read(logs / "args").notes)
    members = unpacked(one(logs / "metadata"))
    rows = json.loads(members["summaries.json"])
    for row in rows:
        row["scores"]["match"] |= {"explanation": "same", "answer": "same"}
    changed = members | {"summaries.json": json.dumps(rows).encode()}
    (tmp_path / "log.eval").write_bytes(packed(changed))
    notes = read(tmp_path).notes
    assert not any("all epochs have the same reply" in note for note in notes)  # too few to say
    wide = []
    for i in range(3):
        for row in rows:
            metadata = row["metadata"] | {"item_id": f"{i}-{row['metadata']['item_id']}"}
            wide.append(row | {"id": f"{i}-{row['id']}", "metadata": metadata})
    changed["summaries.json"] = json.dumps(wide).encode()
    (tmp_path / "log.eval").write_bytes(packed(changed))
    assert any("in 54 of 54 cells all epochs" in note for note in read(tmp_path).notes)


# how it is packed


@pytest.mark.parametrize("method", [0, 8, 93, 20])
def test_every_compression_reads_the_same(logs, expected, tmp_path, method):
    members = unpacked(one(logs / "metadata"))
    (tmp_path / "log.eval").write_bytes(packed(members, method))
    assert counts(read(tmp_path / "log.eval")) == expected


def test_members_that_cannot_be_unpacked_are_named(logs, tmp_path):
    members = unpacked(one(logs / "metadata"))
    path = tmp_path / "log.eval"
    path.write_bytes(packed(members, zipfile.ZIP_BZIP2))
    with pytest.raises(
        ReaderError, match=r"log\.eval, member header\.json: compressed by method 12"
    ):
        read(path)
    data = bytearray(packed(members))
    at = 0
    while (at := data.find(b"PK\x01\x02", at)) >= 0:
        data[at + 8] |= 1
        at += 4
    path.write_bytes(data)
    with pytest.raises(ReaderError, match=r"member header\.json: encrypted"):
        read(path)
    data = packed(members)
    path.write_bytes(data.replace(b'"C"', b'"I"'))
    with pytest.raises(ReaderError, match=r"member summaries\.json: length or checksum differ"):
        read(path)
    path.write_bytes(data[: len(data) // 2])
    with pytest.raises(ReaderError, match="broken or cut off zip archive"):
        read(path)


def test_a_bomb_is_refused_before_it_fills_memory(logs, tmp_path, monkeypatch):
    monkeypatch.setattr(inspect_files, "_SUMMARY_LIMIT", 1 << 20)
    members = unpacked(one(logs / "metadata"))
    members["summaries.json"] = b'["' + b"a" * (1 << 24)
    path = tmp_path / "log.eval"
    path.write_bytes(packed(members, 93))
    with pytest.raises(ReaderError, match=r"member summaries\.json: a value of more than"):
        read(path)


def test_what_is_no_log_is_refused_or_passed_over(logs, expected, tmp_path):
    with pytest.raises(ReaderError, match="an empty directory"):
        read(tmp_path)
    with pytest.raises(ReaderError, match="no inspect log, there is nothing"):
        inspect_log.read(tmp_path)
    with pytest.raises(ReaderError, match="no such file"):
        read("memory://nowhere")
    with pytest.raises(ReaderError, match="cannot open this address"):
        read("nosuchscheme://x")
    for file in (logs / "names_eval").iterdir():
        shutil.copy(file, tmp_path)
    (tmp_path / "logs.json").write_text("{}")
    (tmp_path / ".hidden.eval").write_text("no")
    (tmp_path / "sums.shards" / "1").mkdir(parents=True)
    (tmp_path / "sums.shards" / "1" / "x.eval").write_text("no")
    outcomes = read(tmp_path)
    assert counts(outcomes) == expected
    assert any("sharded" in note for note in outcomes.notes)
    (tmp_path / "late.eval").write_bytes(b"")
    with pytest.raises(ReaderError, match=r"late\.eval: no zip archive"):
        read(tmp_path)


def mutations(rng, data):
    """Yield broken forms of a file."""
    while True:
        kind = rng.randrange(5)
        at = rng.randrange(len(data))
        if kind == 0:
            yield data[:at]
        elif kind == 1:
            yield data[:at] + bytes(rng.randrange(256) for _ in range(4)) + data[at + 4 :]
        elif kind == 2:
            yield data[:at] + data[at + rng.randrange(1, 200) :]
        elif kind == 3:
            yield data[:at] + data[at : at + 100] + data[at:]
        else:
            start, end = sorted((at, rng.randrange(len(data))))
            old, new = rng.choice(
                [(b'"', b""), (b":", b","), (b"1", b"-1e999"), (b"{", b"["), (b"null", b"{}"),
                 (b'"C"', b"[]"), (b'"epoch"', b'"id"'), (b"en", b"\xff"), (b"true", b"\\ud800")]
            )  # fmt: skip
            yield data[:start] + data[start:end].replace(old, new) + data[end:]


@pytest.mark.parametrize("folder", ["metadata", "names_json", "killed"])
def test_broken_bytes_end_in_an_error_that_names_the_file(logs, tmp_path, folder):
    rng = random.Random(7)
    source = max((logs / folder).iterdir())
    raw = source.read_bytes()
    forms = [raw]
    if source.suffix == ".eval":
        forms.append(packed(unpacked(source)))
    path = tmp_path / f"broken{source.suffix}"
    mapped = (
        {"language": "metadata.language"} if folder == "metadata" else {"language": "task~_(.+)"}
    )
    refused = []
    for form in forms:
        for data, _ in zip(mutations(rng, form), range(60), strict=False):
            path.write_bytes(data)
            try:
                inspect_log.read(path, source="de", map=mapped)
            except HatscoreError as err:
                refused.append(err)
    assert len(refused) > 20
    # what contradicts itself is named by item or language, what is broken by file
    assert all("broken" in str(err) for err in refused if isinstance(err, ReaderError))


# statuses, without a log


def sample(value, **more):
    score = {"value": value, **more.pop("score", {})}
    return {"id": 1, "epoch": 1, "scores": {"s": score}, **more}


@pytest.mark.parametrize(
    ("given", "status", "credit"),
    [
        (sample("C"), "correct", 1),
        (sample(1), "correct", 1),
        (sample(value=True), "correct", 1),
        (sample("yes"), "correct", 1),
        (sample("1.0"), "correct", 1),
        (sample("P"), "wrong", 0.5),
        (sample(0.25), "wrong", 0.25),
        (sample("I"), "wrong", 0),
        (sample("I", score={"answer": "7"}), "wrong", 0),
        (sample("N"), "refused", 0),
        (sample("I", score={"reason": "refusal"}), "refused", 0),
        (sample("I", score={"reason": "invalid_response_format"}), "unparsed", 0),
        (sample("I", score={"answer": "", "explanation": ""}), "empty", 0),
        (sample("I", score={"answer": "", "explanation": "I think so"}), "unparsed", 0),
        (sample("I", score={"answer": "", "explanation": "no", "metadata": {"grading": []}}),
         "empty", 0),
        (sample("I", limit="token"), "truncated", 0),
        (sample("C", limit="token"), "correct", 1),
        ({"id": 1, "epoch": 1, "limit": "time"}, "truncated", 0),
        (sample("C", error="boom"), "error", 0),
        ({"id": 1, "epoch": 1}, "judge_unparsed", 0),
        (sample(float("nan")), "judge_unparsed", 0),
        (sample("I", score={"reason": "grader_failed"}), "judge_unparsed", 0),
        (sample(float("nan"), score={"metadata": {"unscored_reason": "no_response"}}), "empty", 0),
        (sample("I", model_usage={"m": {"output_tokens": 64}}), "truncated", 0),
        (sample("I", turn_count=3, model_usage={"m": {"output_tokens": 64}}), "wrong", 0),
        (sample("I", output={"choices": [{"stop_reason": "max_tokens"}]}), "truncated", 0),
        (sample("I", output={"choices": [{"stop_reason": "content_filter"}]}), "refused", 0),
        (sample("I", output={"choices": [{"message": {"content": " "}}]}), "empty", 0),
    ],
)  # fmt: skip
def test_status_of_a_reply(given, status, credit):
    reply = judge(given, "s", model="m", max_tokens=64, where="here")
    assert (reply.status, reply.credit) == (status, credit)


@pytest.mark.parametrize("value", [7, -0.5, "B", [1, 0], float("inf"), 10**400])
def test_a_score_that_is_no_credit_is_refused(value):
    with pytest.raises(ReaderError, match="here: the score s is"):
        judge(sample(value), "s", model="m", max_tokens=None, where="here")


# the JSON reader against the standard one

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=6,
)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.lists(JSON), st.integers(1, 9), st.sampled_from([None, 1]), st.booleans())
def test_elements_are_those_of_the_standard_parser(values, chunk, indent, plain):
    text = json.dumps(values, indent=indent, ensure_ascii=plain).encode(errors="surrogatepass")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(inspect_json, "_CHUNK", chunk)
        try:
            text.decode()
        except UnicodeDecodeError:
            with pytest.raises(ReaderError, match="no UTF-8"):
                list(elements(Document(io.BytesIO(text), "x", limit=1 << 20)))
        else:
            assert list(elements(Document(io.BytesIO(text), "x", limit=1 << 20))) == values


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.dictionaries(st.text(), JSON), st.integers(1, 9), st.data())
def test_a_cut_document_is_an_error_and_never_a_shorter_one(values, chunk, data):
    text = json.dumps(values).encode()
    cut = text[: data.draw(st.integers(0, len(text) - 1))]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(inspect_json, "_CHUNK", chunk)
        whole = Document(io.BytesIO(text), "x", limit=1 << 20)
        assert {key: whole.value() for key in fields(whole)} == values
        part = Document(io.BytesIO(cut), "x", limit=1 << 20)
        with pytest.raises(ReaderError, match="x: no valid JSON at character"):
            _ = {key: part.value() for key in fields(part)}
