"""Records of a table into the rows that the alignment guard checks."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from hatscore.errors import InputError, ReaderError
from hatscore.outcomes import STATUS_COLUMNS, TOKEN_COLUMNS
from hatscore.readers.hatscore_run import check_count
from hatscore.readers.table_columns import DROP, ROW_NUMBER, expand_languages, get
from hatscore.readers.table_grade import Grader
from hatscore.readers.table_values import (
    BadCellError,
    plain_integers,
    to_count,
    to_number,
    to_score,
    to_text,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from hatscore.readers.table_columns import ValueMap
    from hatscore.readers.table_files import Records

    Listener = Callable[[Mapping[str, Any], Callable[[str], Any], Mapping[str, Any]], None]
    Completion = Callable[[dict[str, Any], Mapping[str, Any]], Iterator[dict[str, Any]]]

__all__ = ["Plan", "Rows"]

_RESULTS = ("score", "k", "reply")
_SHOWN = 5


@dataclass(frozen=True, slots=True)
class Plan:
    """What of a table is read, and how.

    Attributes
    ----------
    fields
        Field to column.
    maps
        Changes of values by field.
    source, model, benchmark
        Values for all rows, None where a column or a map says them.
    grade
        How replies are graded, None where the table has results.
    count
        Which statuses count in n beside correct and wrong, as for run directories.
    """

    fields: Mapping[str, str]
    maps: Mapping[str, ValueMap]
    source: str | None
    model: str | None
    benchmark: str | None
    grade: str | None
    count: str


@dataclass(slots=True)
class Rows:
    """Rows as they are read, with what was left out.

    Parameters
    ----------
    plan
        What is read.
    roots
        Directories that were given: files below are named by their way from there.
    listen
        Is told of every row that is kept, with a function that returns the cell of a field, and
        the record as the file has it.
    complete
        Given a row and its record, yields the rows to count in its place; for formats whose
        records say more than the fields of a table hold. The row that `listen` is told of is the
        first.

    Attributes
    ----------
    missing
        Rows without a result, in words.

    Raises
    ------
    InputError
        Fields that do not make a result.
    """

    plan: Plan
    roots: Sequence[Path]
    listen: Listener | None = None
    complete: Completion | None = None
    missing: list[str] = field(default_factory=list)
    _rows: list[dict[str, Any]] = field(default_factory=list)
    _dropped: dict[str, int] = field(default_factory=dict)
    _result: str = ""
    _grader: Grader | None = None
    _counted: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        plan = self.plan
        self._result = _result_of(plan)
        if plan.grade is not None:
            self._grader = Grader(plan.grade)
            self._counted = check_count(plan.count) | {"correct", "wrong"}

    def add(self, part: Records) -> None:
        """Read the records of one file.

        Raises
        ------
        ReaderError
            A cell that is not what its column says.
        InputError
            Columns of a wide table that do not fit.
        """
        shown = _shown_path(part.path, self.roots)
        for language, columns in self._languages(part):
            for line, record in zip(part.lines, part.rows, strict=True):
                cells = _Cells(record, columns, part.path, shown, line, part.unit)
                row = self._row(cells, language)
                if row is None:
                    continue
                rows = [row] if self.complete is None else list(self.complete(row, record))
                self._rows += rows
                if self.listen is not None:
                    self.listen(rows[0], cells.raw, record)

    def finish(self) -> list[dict[str, Any]]:
        """Return all rows, ``12.0`` in columns of whole numbers made ``12``.

        Raises
        ------
        InputError
            The source language is none of the table.
        """
        for name in ("item", "group", "repeat", "gold"):
            if plain_integers(row[name] for row in self._rows):
                for row in self._rows:
                    if row[name] is not None:
                        row[name] = row[name].partition(".")[0]
        languages = list(dict.fromkeys(row["language"] for row in self._rows))
        source = self.plan.source
        if source is not None and self._rows and source not in languages:
            raise InputError(
                f"the source language {source!r} is none of the table's: "
                f"{', '.join(languages[:20])}; map them to tags (--map language=English:en,...) "
                "or name another source"
            )
        return self._rows

    def notes(self) -> list[str]:
        """Say how the table was read where it could have been read in another way."""
        plan, notes = self.plan, []
        if any("*" in column for column in plan.fields.values()):
            languages = dict.fromkeys(row["language"] for row in self._rows)
            notes.append(f"languages of the columns: {', '.join(languages)}")
        for what, count in self._dropped.items():
            notes.append(f"{count} rows are left out by map: {what}")
        if self.missing:
            notes.append(
                f"{len(self.missing)} rows have no result and are left out (allow_missing), "
                f"first {self.missing[0]}"
            )
        if plan.grade is not None:
            notes.append(f"replies of the table are graded here, as {plan.grade}")
            sources = [r for r in self._rows if r["language"] == r["source_language"]]
            if sources and not any(row["k"] for row in sources):
                notes.append(
                    "no reply in the source language is right: do the columns hold the replies "
                    f"({plan.fields['reply']}) and the golds ({plan.fields['gold']})?"
                )
        elif any(row["k"] != int(row["k"]) for row in self._rows):
            notes.append("scores between 0 and 1 count as partly right")
        for name, value in (("model", plan.model), ("benchmark", plan.benchmark)):
            if value is None and name not in plan.fields and name not in plan.maps:
                notes.append(f"nothing names the {name}: it is called {name!r} here (--{name})")
        return notes

    def _languages(self, part: Records) -> Iterator[tuple[str | None, Mapping[str, str]]]:
        fields = self.plan.fields
        if not any("*" in column for column in fields.values()):
            yield None, fields
            return
        mapped = self.plan.maps.get("language")
        known = mapped.values or () if mapped else ()
        for language, columns in expand_languages(part.rows, fields, known).items():
            yield language, {**fields, **columns}

    def _row(self, cells: _Cells, column_language: str | None) -> dict[str, Any] | None:
        named = self._names(cells, column_language)
        if named is None:
            return None
        result = self._outcome(cells, named["language"], named["source_language"])
        if result is None:
            return None
        chance = cells.read("chance", to_number)
        return {
            **named,
            **result,
            "chance": 0.0 if chance is None else chance,
            "question": cells.read("question", _to_question),
            "where": cells.where,
            **{name: cells.read(name, to_number) for name in TOKEN_COLUMNS},
        }

    def _names(self, cells: _Cells, column_language: str | None) -> dict[str, Any] | None:
        """Return who and what the row is about, None if a map drops it."""
        plan = self.plan
        found: dict[str, str | None] = {}
        for name in ("language", "model", "benchmark", "source", "repeat", "group", "item"):
            value = self._item(cells) if name == "item" else cells.read(name, to_text)
            if name == "language" and column_language is not None:
                value = column_language
            rule = plan.maps.get(name)
            if rule is None and name == "source" and name in plan.fields:
                # the source column writes languages as the language column does
                rule = plan.maps.get("language")
                rule = rule if rule is not None and not rule.on_path else None
            if rule is not None:
                before = value
                try:
                    value = rule.apply(value, cells.path)
                except InputError as err:
                    raise ReaderError(f"{cells.place(name)}: {err}") from err
                if value == DROP and before is not None:
                    what = f"{name} {before}"
                    self._dropped[what] = self._dropped.get(what, 0) + 1
                    return None
            found[name] = value
        found["model"] = found["model"] or plan.model or _default(plan, "model")
        found["benchmark"] = found["benchmark"] or plan.benchmark or _default(plan, "benchmark")
        found["source"] = found["source"] or plan.source
        for name, value in found.items():
            optional = name in ("repeat", "group") and name not in plan.fields
            if value is None and not optional and not (name == "item" and self._is_by_row()):
                raise ReaderError(f"{cells.place(name)}: the {name} is missing")
        found["source_language"] = found.pop("source")
        return found

    def _is_by_row(self) -> bool:
        return self.plan.fields["item"] == ROW_NUMBER

    def _item(self, cells: _Cells) -> str | None:
        column = self.plan.fields["item"]
        if column == ROW_NUMBER:
            return None
        if "+" not in column or column in cells.record:
            whole: str | None = cells.read("item", to_text)
            return whole
        parts = [cells.read("item", to_text, column=part) for part in column.split("+")]
        return None if None in parts else "/".join(part or "" for part in parts)

    def _outcome(self, cells: _Cells, language: str, source: str) -> dict[str, Any] | None:
        """Return n, k, the statuses and the gold, None where the row has no result."""
        if self._grader is not None:
            return self._graded(cells, self._grader, language, source)
        return self._counts(cells) if self._result == "k" else self._score(cells)

    def _counts(self, cells: _Cells) -> dict[str, Any] | None:
        k, n = cells.read("k", to_number), cells.read("n", to_count)
        if k is None or n is None:
            self._miss(cells, "k" if k is None else "n")
            return None
        if not 0 <= k <= n:
            raise ReaderError(f"{cells.place('k')}: {k:g} of {n} replies cannot be right")
        statuses = {name: cells.read(name, to_count) or 0 for name in STATUS_COLUMNS}
        return {"n": n, "k": k, "gold": cells.read("gold", to_text), **statuses}

    def _score(self, cells: _Cells) -> dict[str, Any] | None:
        gold = cells.read("gold", to_text)
        if cells.read("error", _to_error) is not None:
            return {"n": 0, "k": 0.0, "gold": gold, "error": 1}
        pair = cells.read("score", to_score)
        if pair is None:
            self._miss(cells, "score")
            return None
        return {"n": pair[1], "k": pair[0], "gold": gold}

    def _graded(
        self, cells: _Cells, grader: Grader, language: str, source: str
    ) -> dict[str, Any] | None:
        error = cells.read("error", _to_error)
        if cells.raw("reply") is None and error is None:
            self._miss(cells, "reply")
            return None
        try:
            found = grader(
                cells.raw("reply"),
                cells.raw("gold"),
                options=cells.raw("options"),
                language=language,
                source=source,
                finish=cells.read("finish", to_text),
                error=error,
            )
        except BadCellError as err:
            raise ReaderError(f"{cells.place('reply')}: {err}") from err
        return {
            "n": int(found.status in self._counted),
            "k": float(found.status == "correct"),
            "gold": found.gold,
            **({found.status: 1} if found.status in STATUS_COLUMNS else {}),
        }

    def _miss(self, cells: _Cells, name: str) -> None:
        self.missing.append(f"{cells.place(name)}: {cells.raw(name)!r} is no result")


@dataclass(frozen=True, slots=True)
class _Cells:
    """One record and the place it came from."""

    record: Mapping[str, Any]
    columns: Mapping[str, str]
    path: Path
    shown: str
    line: int
    unit: str

    @property
    def where(self) -> str:
        return f"{self.shown}:{self.line}"

    def place(self, name: str) -> str:
        column = self.columns.get(name)
        at = f", column {column}" if column else ""
        return f"{self.shown}, {self.unit} {self.line}{at}"

    def raw(self, name: str) -> Any:
        column = self.columns.get(name)
        return None if column is None else get(self.record, column)

    def read(self, name: str, parse: Callable[[Any], Any], *, column: str | None = None) -> Any:
        value = self.raw(name) if column is None else get(self.record, column)
        if value is None:
            return None
        try:
            return parse(value)
        except BadCellError as err:
            raise ReaderError(f"{self.place(name)}: {err}") from err


def _result_of(plan: Plan) -> str:
    """Return which field holds the result.

    Raises
    ------
    InputError
        None does, or several do.
    """
    fields = plan.fields
    if plan.grade is not None:
        for name in ("reply", "gold"):
            if name not in fields:
                raise InputError(f"grade {plan.grade} needs columns reply=COLUMN,gold=COLUMN")
        return "reply"
    found = [name for name in _RESULTS if name in fields]
    if found in (["reply"], []):
        hint = "; to grade replies here say how: --grade number" if found else ""
        raise InputError(
            f"which column holds the result? columns score=COLUMN, or k=COLUMN,n=COLUMN{hint}"
        )
    if "score" in found and "k" in found:
        raise InputError("columns name both score and k; a row has one result, leave out one")
    if "k" in found and "n" not in fields:
        raise InputError("k counts right replies: say of how many, columns n=COLUMN")
    if "score" in found and "n" in fields:
        raise InputError(
            "columns name score and n: if the score counts right replies, name it k; if it is a "
            "mean, multiply it by n first"
        )
    return found[0]


def _default(plan: Plan, name: str) -> str | None:
    return None if name in plan.fields or name in plan.maps else name


def _shown_path(path: Path, roots: Sequence[Path]) -> str:
    for root in roots:
        if path.is_relative_to(root):
            return path.relative_to(root).as_posix()
    return path.name


def _to_question(value: Any) -> str | None:
    return value.strip() if isinstance(value, str) else to_text(value, name="question")


def _to_error(value: Any) -> str | None:
    if value is False or (isinstance(value, str) and value.strip().lower() == "false"):
        return None
    if isinstance(value, dict | list):
        return "error" if value else None
    return to_text(value, name="error")
