"""Tables of typed records for ``fuzz_readers.py``: JSON, JSON lines, Parquet, raw replies."""

from __future__ import annotations

import io
import json
from typing import ClassVar

import polars as pl

from fuzz_tables import NESTED, NONSENSE, ODD, Table, rows


class JsonLines(Table):
    name = "jsonl"
    file = "table.jsonl"
    mutators = (*Table.mutators, "deep", "twice", "huge", "key_lost")
    expected: ClassVar = {
        **Table.expected,
        "deep": ("refused",),
        "twice": ("refused",),
        "huge": ("refused",),
        "key_lost": ("refused",),
    }

    def to_bytes(self, made):
        lines = [json.dumps(row, ensure_ascii=False) for row in made]
        return ("\n".join(lines) + "\n").encode("utf-8", "surrogatepass")

    def garbage(self, _name, rng):
        return rng.choice((*NONSENSE, *NESTED))

    def line_ends(self, folder, rng):
        end = rng.choice((b"\r\n", b"\n\n", b"\n \n"))
        self.raw(folder, lambda data: data.replace(b"\n", end))

    def _in_line(self, folder, rng, change):
        lines = self.where(folder).read_text(encoding="utf-8").split("\n")
        at = rng.randrange(len(lines) - 1)
        lines[at] = change(lines[at])
        self.where(folder).write_text("\n".join(lines), encoding="utf-8")

    def deep(self, folder, rng):
        depth = rng.choice((2000, 100_000))
        garbage = rng.choice(("[" * depth, "[" * depth + "]" * depth, '{"a":' * depth))
        self._in_line(folder, rng, lambda line: line[:-1] + f', "more": {garbage}}}')

    def twice(self, folder, rng):
        name = rng.choice(self.used)
        self._in_line(folder, rng, lambda line: line[:-1] + f', "{name}": 0}}')

    def huge(self, folder, rng):
        digits = "9" * rng.choice((30, 400, 5000))
        self._in_line(folder, rng, lambda line: line.replace('"right": ', f'"right": {digits}'))

    def key_lost(self, folder, rng):
        made = self.rows()
        del rng.choice(made)[rng.choice(self.used)]
        self.save(folder, made)


class JsonArray(JsonLines):
    name = "json"
    file = "table.json"
    mutators = tuple(m for m in JsonLines.mutators if m != "line_ends")

    def to_bytes(self, made):
        text = json.dumps(made, ensure_ascii=False, indent=rng_indent(made))
        return text.encode("utf-8", "surrogatepass")

    def _in_line(self, folder, rng, change):
        path = self.where(folder)
        parts = path.read_text(encoding="utf-8").split("}")
        at = rng.randrange(len(parts) - 1)
        parts[at] = change(parts[at] + "}").removesuffix("}")
        path.write_text("}".join(parts), encoding="utf-8")


def rng_indent(made):
    """Indent every second table, so that cuts fall into both makes."""
    return 1 if len(made) % 2 else None


class Replies(JsonLines):
    """Raw replies graded here, several to an item."""

    name = "replies"
    columns = "item=q_id,language=lang,reply=answer.0.text,gold=gold,repeat=sample"
    used = ("q_id", "lang", "gold", "answer")
    mutators = (
        *(
            m
            for m in JsonLines.mutators
            if m not in ("floats", "missing", "missing_allowed", "huge")
        ),
        "bad_gold",
    )
    expected: ClassVar = {
        **JsonLines.expected,
        "bad_gold": ("refused",),
    }

    def __init__(self):
        super().__init__()
        self.options["grade"] = "number"

    def rows(self):
        made = []
        for row in rows():
            right = row.pop("right")
            for sample in (1, 2):
                row["gold"] = row["gold"].removeprefix("g")
                said = row["gold"] if right or sample == 1 else "5"
                made.append(
                    {
                        **row,
                        "sample": sample,
                        "answer": [{"role": "assistant", "text": f"{row['text']} Answer: {said}"}],
                    }
                )
        return made

    def odd_text(self, folder, rng):
        made = self.rows()
        for row in rng.sample(made, 3):
            answer = row["answer"][0]
            answer["text"] = rng.choice(ODD) + " " + answer["text"]
        self.save(folder, made)

    def garbage(self, name, rng):
        # any text is a reply, so only what is no text must be refused there
        return rng.choice(NESTED[1:-2] if name == "answer" else (*NONSENSE, *NESTED))

    def bad_gold(self, folder, rng):
        made = self.rows()
        rng.choice(made)["gold"] = rng.choice(("", "none", "A", "77", None, [1], "12 or 13", "1e9"))
        self.save(folder, made)

    def rename_column(self, folder, rng):
        made = self.rows()
        name = rng.choice(self.used)
        self.save(
            folder, [{(f"{name}x" if k == name else k): v for k, v in r.items()} for r in made]
        )


class Parquet(Table):
    name = "parquet"
    file = "table.parquet"
    mutators = (
        *(
            m
            for m in Table.mutators
            if m not in ("encoding", "junk_bytes", "cut_span", "line_ends", "blank", "join")
        ),
        "footer",
        "no_tail",
    )
    expected: ClassVar = {
        **Table.expected,
        "cut": ("refused",),
        "no_tail": ("refused",),
    }

    def to_bytes(self, made):
        out = io.BytesIO()
        names = list(dict.fromkeys(name for row in made for name in row))
        series = []
        for name in names:
            values = [row.get(name) for row in made]
            if len({type(value) for value in values if value is not None}) > 1:
                values = [value if isinstance(value, str) else str(value) for value in values]
            series.append(pl.Series(name, values, strict=False))
        pl.DataFrame(series).write_parquet(out)
        return out.getvalue()

    def odd_text(self, folder, rng):
        super().odd_text(folder, rng)

    def footer(self, folder, rng):
        """Change the length of the footer or its mark."""

        def change(data):
            end = len(data) - rng.randint(1, 8)
            return data[:end] + bytes([data[end] ^ rng.randint(1, 255)]) + data[end + 1 :]

        self.raw(folder, change)

    def no_tail(self, folder, rng):
        self.raw(folder, lambda data: data[: -rng.randint(1, 200)])


class Canonical(Parquet):
    """The table of outcomes itself."""

    name = "outcomes"
    mutators = tuple(
        m
        for m in Parquet.mutators
        if m not in ("lose_rows", "missing", "missing_allowed", "floats", "swap_names", "odd_text")
    )

    def __init__(self):
        super().__init__()
        self.options = {}

    def garbage(self, _name, rng):
        # 2 is a count like any other
        return rng.choice([one for one in NONSENSE if one != "2"])

    def rows(self):
        return [
            {
                "model": "m",
                "benchmark": "b",
                "item": str(row["q_id"]),
                "language": row["lang"],
                "source_language": "en",
                "n": 1,
                "k": float(row["right"]),
            }
            for row in rows()
        ]


class EveryEvalEver(JsonLines):
    name = "every_eval_ever"
    file = "run_samples.jsonl"
    used = ("model_id", "evaluation_name", "sample_id", "evaluation")
    mutators = (
        "cut", "lose_rows", "repeat_rows", "shuffle", "reorder_columns", "nonsense", "encoding",
        "junk_bytes", "cut_span", "blank", "join", "deep", "twice", "key_lost", "line_ends",
    )  # fmt: skip

    def __init__(self):
        super().__init__()
        self.options = {
            "source": "en",
            "map": {"language": "re:_([a-z]{2})$", "benchmark": "re:^(.*)_"},
        }

    def rows(self):
        return [
            {
                "schema_version": "0.2.1",
                "evaluation_id": f"b_{row['lang']}/m/1",
                "model_id": "lab/m",
                "evaluation_name": f"b_{row['lang']}",
                "sample_id": f"q{row['q_id']}",
                "interaction_type": "single_turn",
                "input": {"raw": row["text"], "reference": [row["gold"]]},
                "output": {"raw": ["so"]},
                "answer_attribution": [],
                "evaluation": {"score": float(row["right"]), "is_correct": bool(row["right"])},
            }
            for row in rows()
        ]


RECORD_FORMATS = [
    kind() for kind in (JsonLines, JsonArray, Replies, Parquet, Canonical, EveryEvalEver)
]
