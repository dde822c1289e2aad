"""Tables for ``fuzz_readers.py``: how they are damaged, and CSV of several makes."""

# ruff: noqa: RUF001 - other scripts look alike on purpose
from __future__ import annotations

import csv
import io
import math
from typing import ClassVar

LANGUAGES = ("en", "de", "sw", "zh")
ITEMS = 7
TEXTS = ("Wie groß?", "Höhe, „in“ Metern; ungefähr", 'says "yes"', "多少？", "line one\nline two")
ODD = ("\u2028", "\u2029", "\u0085", "\u000b", "\u001c", "\u200b", "\ufeff", "\u202e")
NONSENSE = (
    "", "N/A", "nan", "null", "[]", "{}", "{'a': 1}", "yes", "12;3", "1,2,3", "--1", "1e999",
    "0x1", "١", "1_0", "½", "9" * 5000, "-1", "2", "inf", "\u2028", "=1+1", "#REF!", "1/0", "3/2",
)  # fmt: skip
NESTED = (
    None, [], {}, [[]], {"a": {"b": [1]}}, [1], float("nan"), float("inf"), -1, 10**400, 10**18,
    1e300, 2, "x", "\ud800", "\x00", [None] * 3, {"": ""}, -0.5,
)  # fmt: skip


def rows():
    """Return one row per item and language; golds tell the items apart."""
    return [
        {
            "q_id": item,
            "lang": language,
            "gold": f"g{100 + 7 * item}",
            "text": TEXTS[(item + at) % len(TEXTS)],
            "right": int((item * 3 + at * item) % 4 != 0),
        }
        for at, language in enumerate(LANGUAGES)
        for item in range(1, ITEMS + 1)
    ]


class Table:
    """A table in one file; subclasses say how rows become bytes and back."""

    name = ""
    file = "table.csv"
    columns = "item=q_id,language=lang,score=right,gold=gold"
    used = ("q_id", "lang", "right")
    by_row = False
    mutators = (
        "cut", "lose_rows", "repeat_rows", "shuffle", "reorder_columns", "swap_names", "odd_text",
        "nonsense", "lose_column", "rename_column", "floats", "missing", "missing_allowed",
        "join", "encoding", "junk_bytes", "cut_span", "blank", "line_ends",
    )  # fmt: skip
    expected: ClassVar = {
        "lose_rows": ("refused",),
        "repeat_rows": ("refused",),
        "shuffle": ("same",),
        "reorder_columns": ("same",),
        "odd_text": ("same",),
        "floats": ("same",),
        "missing": ("refused",),
        "missing_allowed": ("told",),
        "join": ("refused",),
        "blank": ("same",),
    }

    def __init__(self):
        self.options = {
            "columns": self.columns,
            "source": "en",
            "model": "m",
            "benchmark": "b",
        }

    def where(self, folder):
        return folder / self.file

    def write(self, folder):
        self.save(folder, self.rows())

    def rows(self):
        return rows()

    def save(self, folder, made):
        self.where(folder).write_bytes(self.to_bytes(made))

    def to_bytes(self, made):
        raise NotImplementedError

    def raw(self, folder, change):
        path = self.where(folder)
        path.write_bytes(change(path.read_bytes()))

    # -- rows ------------------------------------------------------------------------------

    def lose_rows(self, folder, rng):
        made = self.rows()
        del made[rng.randrange(len(made))]
        self.save(folder, made)

    def repeat_rows(self, folder, rng):
        made = self.rows()
        for _ in range(rng.randint(1, 3)):
            made.insert(rng.randrange(len(made) + 1), dict(rng.choice(made)))
        self.save(folder, made)

    def shuffle(self, folder, rng):
        made = self.rows()
        rng.shuffle(made)
        self.save(folder, made)

    def reorder_columns(self, folder, rng):
        made = self.rows()
        names = list(made[0])
        rng.shuffle(names)
        self.save(folder, [{name: row[name] for name in names} for row in made])

    def swap_names(self, folder, rng):
        """Exchange the names of two columns and not their cells."""
        made = self.rows()
        one, two = rng.sample(list(made[0]), 2)
        other = {one: two, two: one}
        self.save(folder, [{other.get(k, k): v for k, v in row.items()} for row in made])

    def odd_text(self, folder, rng):
        made = self.rows()
        for row in rng.sample(made, 3):
            text = row["text"]
            at = rng.randrange(len(text) + 1)
            row["text"] = text[:at] + rng.choice(ODD) + text[at:]
        self.save(folder, made)

    def nonsense(self, folder, rng):
        made = self.rows()
        name = rng.choice(list(made[0]))
        rng.choice(made)[name] = self.garbage(name, rng)
        self.save(folder, made)

    def garbage(self, _name, rng):
        return rng.choice(NONSENSE)

    def lose_column(self, folder, rng):
        made = self.rows()
        name = rng.choice(list(made[0]))
        self.save(folder, [{k: v for k, v in row.items() if k != name} for row in made])

    def rename_column(self, folder, rng):
        made = self.rows()
        name = rng.choice(list(made[0]))
        new = rng.choice([name.upper(), f" {name}x", "", "\u2028", name[:-1], "score"])
        self.save(folder, [{(new if k == name else k): v for k, v in row.items()} for row in made])

    def floats(self, folder, rng):
        """Write whole numbers as a table with a gap in it comes back from pandas."""
        made = self.rows()
        languages = rng.sample(LANGUAGES, rng.randint(1, len(LANGUAGES)))
        for row in made:
            if row["lang"] in languages:
                row["q_id"] = float(row["q_id"])
                row["right"] = float(row["right"])
        self.save(folder, made)

    def missing(self, folder, rng):
        made = self.rows()
        rng.choice(made)["right"] = rng.choice(("", "N/A", "NaN", "null", "#N/A"))
        self.save(folder, made)

    def missing_allowed(self, folder, rng):
        self.missing(folder, rng)
        return {"allow_missing": True}

    # -- bytes -----------------------------------------------------------------------------

    def cut(self, folder, rng):
        self.raw(folder, lambda data: data[: rng.randrange(len(data))])

    def cut_span(self, folder, rng):
        """Take out what lies around the end of a line."""

        def change(data):
            ends = [i for i, byte in enumerate(data) if byte == 10][:-1]
            end = rng.choice(ends) if ends else rng.randrange(len(data))
            return data[: max(0, end - rng.randint(1, 40))] + data[end + rng.randint(1, 40) :]

        self.raw(folder, change)

    def junk_bytes(self, folder, rng):
        """Insert bytes that no sound table has."""
        junk = rng.choice((b"\xff", b"\x00", b"\xc3", b"\xed\xa0\x80", b"\xfe\xff", b"\x80\x80"))

        def change(data):
            at = rng.randrange(len(data) + 1)
            return data[:at] + junk + data[at:]

        self.raw(folder, change)

    def encoding(self, folder, rng):
        name = rng.choice(
            ("utf-8-sig", "utf-16", "utf-16-le", "utf-32", "cp1252", "latin-1", "gb18030", "cp1251")
        )
        self.raw(folder, lambda data: data.decode("utf-8").encode(name, errors="backslashreplace"))

    def join(self, folder, rng):
        self.raw(folder, lambda data: data * rng.randint(2, 3))

    def blank(self, folder, rng):
        """Put empty lines behind the last row."""
        self.raw(folder, lambda data: data + b"\n" * rng.randint(1, 3))

    def line_ends(self, folder, rng):
        end = rng.choice((b"\r\n", b"\r"))
        self.raw(folder, lambda data: data.replace(b"\n", end))


class Csv(Table):
    name = "csv"
    separator = ","
    mark = ""
    mutators = (*Table.mutators, "quote_all", "stray_mark", "pad")
    expected: ClassVar = {**Table.expected, "quote_all": ("same",), "pad": ("same",)}

    def to_bytes(self, made, quoting=csv.QUOTE_MINIMAL):
        out = io.StringIO(newline="")
        names = list(dict.fromkeys(name for row in made for name in row))
        writer = csv.writer(out, delimiter=self.separator, lineterminator="\n", quoting=quoting)
        writer.writerow(names)
        for row in made:
            writer.writerow([self.cell(row.get(name, "")) for name in names])
        return (self.mark + out.getvalue()).encode("utf-8", "surrogatepass")

    def cell(self, value):
        return value

    def line_ends(self, folder, rng):
        # only the ends of rows: an end of line inside a text is part of the text
        made = [{**row, "text": "plain"} for row in self.rows()]
        self.save(folder, made)
        super().line_ends(folder, rng)

    def quote_all(self, folder, _rng):
        self.where(folder).write_bytes(self.to_bytes(self.rows(), csv.QUOTE_ALL))

    def stray_mark(self, folder, rng):
        mark = rng.choice((b'"', b"'", self.separator.encode(), b"\n", b"\t", b" ", b'""'))

        def change(data):
            at = rng.randrange(len(data) + 1)
            return data[:at] + mark + data[at:]

        self.raw(folder, change)

    def pad(self, folder, rng):
        made = self.rows()
        for row in made:
            row["right"] = f"{' ' * rng.randint(0, 2)}{row['right']} "
            row["lang"] = f" {row['lang']}"
            row["q_id"] = f"{row['q_id']}\u00a0"
        self.save(folder, made)


class Tsv(Csv):
    name = "tsv"
    separator = "\t"
    file = "table.tsv"


class Excel(Csv):
    """What Excel writes in German: a mark, semicolons, decimal commas, WAHR and FALSCH."""

    name = "excel"
    separator = ";"
    mark = "\ufeff"

    def rows(self):
        return [
            {**row, "right": row["right"] if row["q_id"] % 2 else row["right"] * 0.5}
            for row in rows()
        ]

    def cell(self, value):
        if isinstance(value, float):
            return (
                "WAHR"
                if value == 1.0 and math.copysign(1, value) < 0
                else str(value).replace(".", ",")
            )
        return value

    def floats(self, folder, rng):
        made = self.rows()
        for row in made:
            if row["right"] in (0, 1):
                row["right"] = rng.choice(("WAHR", "1", "1,0")) if row["right"] else "FALSCH"
        self.save(folder, made)


class Counts(Csv):
    """k of n replies."""

    name = "counts"
    columns = "item=q_id,language=lang,k=k,n=n,gold=gold"
    mutators = tuple(
        m for m in Csv.mutators if m not in ("floats", "missing", "missing_allowed", "pad")
    )

    def garbage(self, _name, rng):
        # 2 is a count like any other
        return rng.choice([one for one in NONSENSE if one != "2"])

    def rows(self):
        made = []
        for row in rows():
            right = row.pop("right")
            made.append({"k": right * (row["q_id"] + 2), "n": 10, **row})
        return made


class ByRow(Csv):
    """No item ids: rows are joined by their order."""

    name = "by-row"
    columns = "item=@row,language=lang,score=right,gold=gold"
    mutators = (*(m for m in Csv.mutators if m != "pad"), "swap_rows", "shift")
    expected: ClassVar = {
        **Csv.expected,
        "shuffle": ("same", "refused"),
        "swap_rows": ("refused",),
        "shift": ("refused",),
        "missing_allowed": ("refused",),
    }

    def rows(self):
        return [{k: v for k, v in row.items() if k != "q_id"} for row in rows()]

    def floats(self, folder, rng):
        made = self.rows()
        for row in made:
            gold = row["gold"].removeprefix("g")
            row["gold"] = float(gold) if row["lang"] == "de" and rng.random() < 1 else gold
        self.save(folder, made)

    def swap_rows(self, folder, rng):
        """Exchange two rows of one language."""
        made = self.rows()
        start = rng.randrange(len(LANGUAGES)) * ITEMS
        one, two = rng.sample(range(start, start + ITEMS), 2)
        made[one], made[two] = made[two], made[one]
        self.save(folder, made)

    def shift(self, folder, rng):
        """Lose the first row of a language and repeat its last."""
        made = self.rows()
        start = rng.randrange(len(LANGUAGES)) * ITEMS
        part = made[start + 1 : start + ITEMS]
        made[start : start + ITEMS] = [*part, dict(part[-1])]
        self.save(folder, made)


class Wide(Csv):
    """One column per language."""

    name = "wide"
    columns = "item=q_id,score=*_right"
    # names of languages exchanged, or a row lost in all of them: nobody can notice
    mutators = tuple(
        m
        for m in Csv.mutators
        if m not in ("floats", "missing", "missing_allowed", "pad", "swap_names", "cut_span")
    )

    def rows(self):
        made = {}
        for row in rows():
            wide = made.setdefault(row["q_id"], {"q_id": row["q_id"], "text": row["text"]})
            wide[f"{row['lang']}_right"] = row["right"]
        return list(made.values())

    def cut(self, folder, rng):
        """Cut anywhere but between two rows, which leaves a smaller sound table."""

        def change(data):
            ends = {i for i in range(len(data)) if data[i - 1 : i] == b"\n"}
            return data[: rng.choice([i for i in range(1, len(data)) if i not in ends])]

        self.raw(folder, change)

    def lose_rows(self, folder, rng):
        # a lost row is lost in all languages and leaves a smaller sound table; lose a cell
        made = self.rows()
        rng.choice(made)[f"{rng.choice(LANGUAGES)}_right"] = ""
        self.save(folder, made)


TEXT_FORMATS = [kind() for kind in (Csv, Tsv, Excel, Counts, ByRow, Wide)]
