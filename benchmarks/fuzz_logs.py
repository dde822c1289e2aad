"""Logs of other harnesses for ``fuzz_readers.py``.

The logs of inspect_ai and of lm-evaluation-harness are written by these packages themselves,
those of HELM and lighteval in their layout.
"""

from __future__ import annotations

import io
import json
import subprocess
import sys
import tempfile
import zipfile
from functools import cache
from pathlib import Path
from typing import ClassVar

import polars as pl

from hatscore.readers.inspect_zip import Archive

SCRIPTS = Path(__file__).resolve().parents[1] / "tests" / "readers"
LANGUAGES = ("en", "de", "sw")
ITEMS = 6
BROKEN = ([], {}, [[None]], {"a": {"b": [1]}}, -7, 10**30, 1e300, [1, "x"], {"value": {}}, "\u2028")


@cache
def inspect_logs():
    """Let inspect_ai write logs, packed ones and plain ones."""
    with tempfile.TemporaryDirectory() as folder:
        script = str(SCRIPTS / "inspect_logs.py")
        # its last run is killed on purpose, so that its exit code says nothing
        subprocess.run([sys.executable, script, folder], check=False, capture_output=True)  # noqa: S603 - a script of this repository
        return {
            kind: {file.name: file.read_bytes() for file in (Path(folder) / kind).iterdir()}
            for kind in ("names_json", "names_eval")
        }


@cache
def harness_logs():
    """Let lm-evaluation-harness write logs."""
    tasks = [
        {
            "task": f"quiz_{one}",
            "items": [{"question": f"{one} {i}", "answer": str(10 + i)} for i in range(ITEMS)],
            "metric_list": [
                {"metric": "exact_match", "aggregation": "mean", "higher_is_better": True}
            ],
        }
        for one in LANGUAGES
    ]
    replies = {
        f"{one} {i}": [str(10 + i) if right(i, at) else "0"]
        for at, one in enumerate(LANGUAGES)
        for i in range(ITEMS)
    }
    with tempfile.TemporaryDirectory() as folder:
        plan = Path(folder) / "plan.json"
        plan.write_text(json.dumps([{"model": "org/tiny", "tasks": tasks, "replies": replies}]))
        out = Path(folder) / "out"
        script = str(SCRIPTS / "lm_eval_run.py")
        subprocess.run(  # noqa: S603 - a script of this repository
            [sys.executable, script, str(plan), str(out)], check=True, capture_output=True
        )
        return {
            file.relative_to(out).as_posix(): file.read_bytes()
            for file in out.rglob("*")
            if file.is_file()
        }


def right(item, at):
    return (item * 3 + at * item) % 4 != 1


class Log:
    """A folder of files; subclasses say where its records are."""

    name = ""
    options: ClassVar = {}
    mutators = (
        "cut", "cut_span", "junk_bytes", "encoding", "lose_record", "repeat_record", "shuffle",
        "nonsense", "key_lost", "odd_text", "deep", "empty_file", "lose_file", "copy_file",
        "join", "other_records",
    )  # fmt: skip
    expected: ClassVar = {
        "lose_record": ("refused", "told"),
        "repeat_record": ("refused", "same"),
        "shuffle": ("same",),
        "odd_text": ("same",),
    }

    def seed(self):
        """Return the files by their names."""
        raise NotImplementedError

    def where(self, folder):
        return folder

    def write(self, folder):
        for name, raw in self.seed().items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(raw)

    def record_files(self, folder):
        return sorted(path for path in folder.rglob("*") if path.is_file())

    def load(self, path):
        return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line]

    def save(self, path, records):
        lines = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in records)
        path.write_text(lines, encoding="utf-8")

    def _change(self, folder, rng, change):
        path = rng.choice(self.record_files(folder))
        records = self.load(path)
        found = change(records)
        self.save(path, records if found is None else found)

    def _raw(self, folder, rng, change):
        path = rng.choice(sorted(path for path in folder.rglob("*") if path.is_file()))
        path.write_bytes(change(path.read_bytes()))

    def cut(self, folder, rng):
        self._raw(folder, rng, lambda data: data[: rng.randrange(len(data))])

    def cut_span(self, folder, rng):
        def change(data):
            at = rng.randrange(len(data))
            return data[:at] + data[at + rng.randint(1, 200) :]

        self._raw(folder, rng, change)

    def junk_bytes(self, folder, rng):
        junk = rng.choice((b"\xff", b"\x00", b"\xc3", b"\xed\xa0\x80", b"{", b"]", b'"', b"\n"))

        def change(data):
            at = rng.randrange(len(data) + 1)
            return data[:at] + junk + data[at:]

        self._raw(folder, rng, change)

    def encoding(self, folder, rng):
        name = rng.choice(("utf-8-sig", "utf-16", "utf-16-le", "utf-32", "cp500"))
        self._raw(
            folder, rng, lambda data: data.decode("utf-8").encode(name, errors="backslashreplace")
        )

    def join(self, folder, rng):
        self._raw(folder, rng, lambda data: data * 2)

    def empty_file(self, folder, rng):
        self._raw(folder, rng, lambda _: rng.choice((b"", b"\n", b"{}", b"[]", b"null")))

    def lose_file(self, folder, rng):
        rng.choice(sorted(path for path in folder.rglob("*") if path.is_file())).unlink()

    def copy_file(self, folder, rng):
        path = rng.choice(sorted(path for path in folder.rglob("*") if path.is_file()))
        path.with_name(f"copy_{path.name}").write_bytes(path.read_bytes())

    def lose_record(self, folder, rng):
        self._change(folder, rng, lambda rows: rows.pop(rng.randrange(len(rows))) and None)

    def repeat_record(self, folder, rng):
        self._change(
            folder, rng, lambda rows: rows.insert(rng.randrange(len(rows)), rng.choice(rows))
        )

    def shuffle(self, folder, rng):
        self._change(folder, rng, rng.shuffle)

    def other_records(self, folder, rng):
        """Put a record of another kind among the records."""
        other = rng.choice((None, 5, "x", [], {}, {"id": 1}, [[]], True))
        self._change(folder, rng, lambda rows: rows.insert(rng.randrange(len(rows) + 1), other))

    def nonsense(self, folder, rng):
        """Put something of another type in place of a value at any depth."""

        def change(rows):
            parent, key = rng.choice(list(leaves(rng.choice(rows))))
            parent[key] = rng.choice(BROKEN)

        self._change(folder, rng, change)

    def key_lost(self, folder, rng):
        def change(rows):
            row = rng.choice(rows)
            del row[rng.choice(list(row))]

        self._change(folder, rng, change)

    def odd_text(self, folder, rng):
        """Put a separator of lines into a text that is no result."""

        def change(rows):
            mark = rng.choice("\u2028\u2029\u0085\u000b")
            rng.choice(rows)["remark"] = f"a{mark}b"

        self._change(folder, rng, change)

    def deep(self, folder, rng):
        depth = rng.choice((2000, 50_000))

        def change(data):
            at = data.index(b"{") + 1
            nested = b'"more": ' + b"[" * depth + b"]" * rng.choice((0, depth)) + b", "
            return data[:at] + nested + data[at:]

        self._raw(folder, rng, change)


def leaves(value):
    """Yield parent and key of every value inside, at any depth."""
    pairs = value.items() if isinstance(value, dict) else enumerate(value)
    for key, inner in list(pairs):
        yield value, key
        if isinstance(inner, dict | list):
            yield from leaves(inner)


class LmEval(Log):
    name = "lm-eval"

    def seed(self):
        return harness_logs()

    def record_files(self, folder):
        return sorted(folder.rglob("samples_*.jsonl"))


class InspectJson(Log):
    name = "inspect-json"

    def __init__(self):
        self.options = {"source": "en"}

    def seed(self):
        return inspect_logs()["names_json"]

    def load(self, path):
        return json.loads(path.read_text(encoding="utf-8"))["samples"]

    def save(self, path, records):
        log = json.loads(path.read_text(encoding="utf-8")) | {"samples": records}
        path.write_text(json.dumps(log, ensure_ascii=False), encoding="utf-8")


class InspectEval(InspectJson):
    name = "inspect-eval"
    mutators = (
        *(m for m in Log.mutators if m not in ("encoding", "deep")),
        "flip",
        "member_lost",
    )

    def seed(self):
        return inspect_logs()["names_eval"]

    def members(self, path):
        with Archive(path.open("rb"), path.name) as archive:
            found = {}
            for name in archive.names():
                with archive.open(name) as member:
                    parts = iter(lambda: member.read(1 << 16), b"")
                    found[name] = b"".join(parts)
        return found

    def pack(self, path, members):
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, raw in members.items():
                archive.writestr(name, raw)
        path.write_bytes(out.getvalue())

    def load(self, path):
        # the samples themselves are opened only where the summaries do not suffice
        return json.loads(self.members(path)["summaries.json"])

    def save(self, path, records):
        self.pack(path, self.members(path) | {"summaries.json": json.dumps(records).encode()})

    def flip(self, folder, rng):
        def change(data):
            at = rng.randrange(len(data))
            return data[:at] + bytes([data[at] ^ (1 << rng.randrange(8))]) + data[at + 1 :]

        self._raw(folder, rng, change)

    def member_lost(self, folder, rng):
        path = rng.choice(self.record_files(folder))
        members = self.members(path)
        del members[rng.choice(list(members))]
        self.pack(path, members)


class Helm(Log):
    name = "helm"
    options: ClassVar = {"metric": "exact_match"}

    def seed(self):
        files = {}
        for at, one in enumerate(LANGUAGES):
            name = f"quiz:language={one},model=org_tiny"
            spec = {
                "name": name,
                "scenario_spec": {"class_name": "helm.quiz", "args": {"language": one}},
                "adapter_spec": {"method": "multiple_choice_joint", "model": "org/tiny"},
            }
            stats, instances = [], []
            for i in range(ITEMS):
                value = float(right(i, at))
                label = {"name": "exact_match", "split": "test"}
                stat = {"name": label, "count": 1, "sum": value, "mean": value}
                stats.append({"instance_id": f"id{i}", "train_trial_index": 0, "stats": [stat]})
                options = [
                    {"output": {"text": text}, "tags": ["correct"] if k == i % 4 else []}
                    for k, text in enumerate("abcd")
                ]
                instances.append(
                    {
                        "id": f"id{i}",
                        "input": {"text": f"{one} {i}"},
                        "references": options,
                        "split": "test",
                    }
                )
            for file, content in (
                ("run_spec.json", spec),
                ("per_instance_stats.json", stats),
                ("instances.json", instances),
            ):
                files[f"{name}/{file}"] = json.dumps(content).encode()
        return files

    def record_files(self, folder):
        return sorted(folder.rglob("per_instance_stats.json"))

    def load(self, path):
        return json.loads(path.read_text(encoding="utf-8"))

    def save(self, path, records):
        path.write_text(json.dumps(records, ensure_ascii=False), encoding="utf-8")


class Lighteval(Log):
    name = "lighteval"
    mutators = tuple(
        m
        for m in Log.mutators
        if m
        not in ("encoding", "deep", "cut_span", "junk_bytes", "join", "other_records", "shuffle")
    )

    def seed(self):
        stamp = "2025-03-01T10-00-00.123456"
        return {
            f"details/org/tiny/{stamp}/details_quiz:{one}|5_{stamp}.parquet": packed(
                [
                    {
                        "doc": {
                            "id": str(i),
                            "query": f"question {i}",
                            "choices": [str(7 + i)],
                            "gold_index": 0,
                        },
                        "model_response": {"text": ["x"]},
                        "metric": {"extractive_match": float(right(i, at))},
                    }
                    for i in range(ITEMS)
                ]
            )
            for at, one in enumerate(LANGUAGES)
        }

    def load(self, path):
        return pl.read_parquet(path).to_dicts()

    def save(self, path, records):
        path.write_bytes(packed(records))


def packed(records):
    """Return rows as Parquet; a column whose cells are of several types becomes text."""
    names = list(dict.fromkeys(name for row in records for name in row))
    columns = []
    for name in names:
        values = [row.get(name) for row in records]
        try:
            column = pl.Series(name, values)
            column.to_frame().write_parquet(io.BytesIO())
            columns.append(column)
        except (TypeError, ValueError, OverflowError, pl.exceptions.PolarsError):
            columns.append(pl.Series(name, [repr(value) for value in values]))
    out = io.BytesIO()
    pl.DataFrame(columns).write_parquet(out)
    return out.getvalue()


LOG_FORMATS = [LmEval(), InspectJson(), InspectEval(), Helm(), Lighteval()]
