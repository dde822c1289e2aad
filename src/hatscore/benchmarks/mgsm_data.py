"""The files of MGSM: two editions, told apart by hashes of the rows that changed.

``mgsm_editions.json`` has, for every row that differs between the editions, a hash of both
texts; no problem is part of this package.
"""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass
from importlib import resources
from typing import TYPE_CHECKING, Any, Final

from hatscore.benchmarks.official import Hub, OfficialData, read_hub_layout, read_tsv
from hatscore.benchmarks.official_checks import folded, listed

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["EDITIONS", "ITEMS", "Edition", "Fault", "MgsmFile", "question_hash"]

ITEMS: Final = 250
_COLUMNS: Final = 2
_GOLD: Final = re.compile(r"-?(?:[0-9]{1,3}(?:,[0-9]{3})+|[0-9]+)(?:\.[0-9]+)?")
_HASH_DIGITS: Final = 12


@dataclass(frozen=True, slots=True)
class Fault:
    """Something wrong with a file; `row` is its first row, "" for the file as a whole."""

    text: str
    row: str = ""


def question_hash(question: str) -> str:
    """Return twelve hexadecimal digits that tell one wording of a problem from another.

    Unicode form, case and blanks do not count: copies of the files differ in them.
    """
    return hashlib.sha256(folded(question).encode()).hexdigest()[:_HASH_DIGITS]


@dataclass(frozen=True, slots=True)
class Edition:
    """One edition of the data.

    Parameters
    ----------
    name, title, licence
        Of the benchmark.
    data
        Where its files are.
    index
        Which of the two hashes of a row is this edition's.
    other
        The benchmark of the other edition.
    rows
        Language to row number to the hashes of both editions, for the rows that differ.
    """

    name: str
    title: str
    licence: str
    data: OfficialData
    index: int
    other: str
    rows: Mapping[str, Mapping[str, tuple[str, str]]]

    def read(self, path: str | None, language: str) -> MgsmFile:
        """Return the rows of one language as they are.

        Parameters
        ----------
        path
            The user's directory, None for the hub.
        language
            One of the eleven.

        Raises
        ------
        InputError
            No such directory or file, or a hub that cannot be reached.
        """
        marks = ("mgsm_*.tsv", "README.md", "en/*")
        directory = self.data.directory(path, marks=marks)
        if next(directory.glob("mgsm_*.tsv"), None):
            file = directory / f"mgsm_{language}.tsv"
            return MgsmFile(self, language, file.name, read_tsv(file))
        rows = [_hub_row(row) for row in read_hub_layout(directory, language, "test")]
        return MgsmFile(self, language, f"the configuration {language}", rows)


@dataclass(frozen=True, slots=True)
class MgsmFile:
    """The rows of one language as they came.

    Parameters
    ----------
    edition
        The one that was asked for.
    language
        Its tag.
    place
        Name of the file, for messages.
    rows
        Columns of each row; row ``n`` of the messages is ``rows[n - 1]``.
    """

    edition: Edition
    language: str
    place: str
    rows: list[tuple[str, ...]]

    @property
    def questions(self) -> list[str]:
        """The problems, as they are sent."""
        return [row[0] for row in self.rows]

    @property
    def golds(self) -> list[str]:
        """The answers as numbers: thousands commas are gone."""
        return [row[1].strip().replace(",", "") for row in self.rows]

    def faults(self) -> Iterator[Fault]:
        """Yield what makes the file unusable: rows, columns, answers, the other edition."""
        if len(self.rows) != ITEMS:
            yield Fault(f"{self.place} has {len(self.rows)} rows, expected {ITEMS}")
        for number, row in enumerate(self.rows, 1):
            if text := _row_fault(row):
                yield Fault(f"{self.place}, row {number}: {text}", str(number))
        own, other, _ = self._told_apart()
        edition = self.edition
        if other:
            mixed = (
                f" and rows {listed(own)} that of {edition.name}: it mixes the two" if own else ""
            )
            yield Fault(
                f"{self.place}: rows {listed(other)} have the text of {edition.other}{mixed}. "
                f"{edition.name} and {edition.other} are different benchmarks: run "
                f"{edition.other} with this file, or get that of {edition.name} from "
                f"{edition.data.home}",
                other[0],
            )
        elif not own and edition.rows.get(self.language):
            yield Fault(
                f"{self.place}: no row has the text of {edition.name} where it differs from "
                f"{edition.other}: get the official file from {edition.data.home}"
            )

    def unknown_rows(self) -> list[str]:
        """Return the rows that should tell the editions apart and have the text of neither."""
        return self._told_apart()[2]

    def _told_apart(self) -> tuple[list[str], list[str], list[str]]:
        own: list[str] = []
        other: list[str] = []
        unknown: list[str] = []
        for row, hashes in self.edition.rows.get(self.language, {}).items():
            if int(row) <= len(self.rows):
                found = question_hash(self.rows[int(row) - 1][0])
                if found == hashes[self.edition.index]:
                    own.append(row)
                else:
                    (other if found in hashes else unknown).append(row)
        return own, other, unknown


def _row_fault(row: tuple[str, ...]) -> str:
    """Return what is wrong with a row, "" for nothing."""
    if len(row) != _COLUMNS:
        came = " | ".join(part[:40] for part in row)
        return f"{len(row)} columns ({came}), expected 2: the problem, a tab, the answer"
    if not row[0].strip():
        return "the problem is empty"
    if not _GOLD.fullmatch(row[1].strip()):
        return f"the answer {row[1]!r} is not a number in the digits 0 to 9"
    return ""


def _hub_row(row: Mapping[str, Any]) -> tuple[str, ...]:
    """Return problem and answer; the field `answer` of the hub is for worked solutions."""
    values = (row.get("question"), row.get("answer_number"))
    return tuple("" if value is None else str(value) for value in values)


def _edition_rows() -> Mapping[str, Mapping[str, tuple[str, str]]]:
    path = resources.files("hatscore.benchmarks").joinpath("mgsm_editions.json")
    tables = json.loads(path.read_text(encoding="utf-8"))
    return {
        language: {row: (hashes[0], hashes[1]) for row, hashes in rows.items()}
        for language, rows in tables.items()
    }


_ROWS: Final = _edition_rows()

EDITIONS: Final = {
    "mgsm": Edition(
        name="mgsm",
        title="Multilingual grade school maths, first edition",
        licence="CC BY 4.0",
        data=OfficialData(
            benchmark="mgsm",
            # A copy without a script: `datasets` no longer runs that of juletxara/mgsm.
            hub=Hub("jbross-ibm-research/mgsm", "ab4e0c6800d0c026d686f4647318aaa0ae9f3c79"),
            home=(
                "GitHub google-research/url-nlp, directory mgsm (on the Hugging Face hub: "
                "jbross-ibm-research/mgsm)"
            ),
            inside=("url-nlp/mgsm",),
        ),
        index=0,
        other="mgsm_v2",
        rows=_ROWS,
    ),
    "mgsm_v2": Edition(
        name="mgsm_v2",
        title="Multilingual grade school maths, MGSM-Rev2",
        licence="CC BY-SA 4.0",
        data=OfficialData(
            benchmark="mgsm_v2",
            hub=Hub("lightonai/mgsm-rev2", "1463c6dc7991a8751b8e28e76f6c561b9201eb55"),
            home=(
                "GitHub google-research-datasets/MGSM-Rev2 (on the Hugging Face hub: "
                "lightonai/mgsm-rev2)"
            ),
            inside=("MGSM-Rev2",),
        ),
        index=1,
        other="mgsm",
        rows=_ROWS,
    ),
}
