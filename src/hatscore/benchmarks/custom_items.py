"""From the rows of the user's table to items: their kind, their golds, and what is wrong."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Final, Literal

from hatscore.benchmarks.custom_table import Fault
from hatscore.errors import InputError
from hatscore.grading.answer import Gold
from hatscore.grading.number import parse_number
from hatscore.languages import name as language_name

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from hatscore.benchmarks.custom_table import Row

__all__ = ["LABELS", "Kind", "Questions", "arrange"]

Kind = Literal["choice", "name", "number"]

LABELS: Final = tuple("ABCDEFGHIJKLMNOPQRSTUVWXYZ")
_FEWEST_OPTIONS: Final = 2
_MOST_PLACES: Final = 13  # beyond, and for a third, a fraction says it better
_NUMBER = re.compile(r"[+-]?[0-9]+(?:\.[0-9]+|/0*[1-9][0-9]*)?")
# Digits with marks between them: meant as a number, however it is written.
_LIKE_A_NUMBER = re.compile(r"[+-]?[0-9][0-9.,'’ /\u00a0\u202f\u066b\u066c]*")  # noqa: RUF001 - separators


@dataclass(frozen=True, slots=True)
class Questions:
    """A checked table.

    Parameters
    ----------
    kind
        Of every answer.
    rows
        By item, in the order of the file, then by language.
    sources
        Source language by item; empty where the file does not say.
    languages
        Every language, sorted.
    faults
        What is wrong; the rest can be relied on only where there are none.
    """

    kind: Kind
    rows: dict[str, dict[str, Row]]
    sources: dict[str, str]
    languages: tuple[str, ...]
    faults: list[Fault]

    def gold(self, item: str, language: str, source_language: str) -> Gold:
        """Return the gold of an item in a language."""
        rows = self.rows[item]
        row = rows[language]
        if self.kind == "number":
            # one text in every language, so that 12.50 and 12.5 are seen to be equal
            return Gold("number", _plain(rows[source_language].answer), language, source_language)
        if self.kind == "choice":
            labels = LABELS[: len(row.options)]
            right = _label(row)
            text = row.options[labels.index(right)] if right else ""
            same = (a for a, o in zip(labels, row.options, strict=True) if o == text and a != right)
            return Gold(
                "choice",
                right or "",
                language,
                source_language,
                options=row.options,
                labels=labels,
                also=tuple(same),
            )
        return Gold(
            "name",
            row.answer,
            language,
            source_language,
            names={tag: tuple(dict.fromkeys((r.answer, *r.aliases))) for tag, r in rows.items()},
        )

    def group(self, item: str) -> str:
        """Return the cluster of an item, the item itself where the file names none."""
        return next((row.group for row in self.rows[item].values() if row.group), item)


def arrange(rows: Sequence[Row], *, kind: Kind | None, has_sources: bool) -> Questions:
    """Put rows together by item and look for everything that is wrong with them.

    Parameters
    ----------
    rows
        As read.
    kind
        What the user says the answers are; None decides by content: ``choice`` with options,
        ``number`` when every answer is one, else ``name``.
    has_sources
        Whether the file has a column ``source_language``.
    """
    decided = kind or _kind(rows)
    faults: list[Fault] = []
    by_item: dict[str, dict[str, Row]] = {}
    for row in rows:
        same = by_item.setdefault(row.item, {})
        if row.language in same:
            faults.append(
                Fault(
                    row.where,
                    f"item {row.item} in {row.language} is on {same[row.language].where} too",
                    row.language,
                )
            )
        else:
            same[row.language] = row
        faults.extend(_faults_of(row, decided))
    faults.extend(_unknown_languages(rows))
    sources: dict[str, str] = {}
    for item, same in by_item.items():
        if has_sources:
            faults.extend(_find_source(item, same, sources))
        faults.extend(_differences(item, list(same.values()), decided))
    languages = tuple(sorted({row.language for row in rows}))
    return Questions(decided, by_item, sources, languages, faults)


def _kind(rows: Sequence[Row]) -> Kind:
    if any(row.options for row in rows):
        return "choice"
    if rows and all(_LIKE_A_NUMBER.fullmatch(_folded(row.answer)) for row in rows):
        return "number"
    return "name"


def _folded(text: str) -> str:
    """Return `text` with ASCII digits, minus and plus signs."""
    digits = (str(unicodedata.digit(c)) if unicodedata.category(c) == "Nd" else c for c in text)
    return "".join(digits).replace("\u2212", "-").strip()


def _plain(answer: str) -> str:
    """Return a number as grading reads it, the same text for equal numbers."""
    value = Fraction(_folded(answer))
    if value.denominator == 1:
        return str(value.numerator)
    for places in range(1, _MOST_PLACES):
        scaled = value * 10**places
        if scaled.denominator == 1:
            digits = str(abs(scaled.numerator)).rjust(places + 1, "0")
            return f"{'-' * (value < 0)}{digits[:-places]}.{digits[-places:]}"
    return str(value)


def _faults_of(row: Row, kind: Kind) -> Iterator[Fault]:
    if kind == "number" and not _NUMBER.fullmatch(_folded(row.answer)):
        like = _LIKE_A_NUMBER.fullmatch(_folded(row.answer))
        what = "can be read in several ways" if like else "is no number"
        yield Fault(
            row.where,
            f"answer {row.answer!r} {what}: write 1234, -1.5 or 3/4, or say --set kind=name",
            row.language,
        )
    elif kind == "number" and parse_number(_folded(row.answer)) != Fraction(_folded(row.answer)):
        yield Fault(
            row.where,
            f"answer {row.answer!r}: in a reply, three places behind a mark are taken for "
            "thousands; round it to two, or say --set kind=name",
            row.language,
        )
    if kind != "choice":
        if row.options and kind == "number":
            yield Fault(row.where, "options beside a number", row.language)
        return
    if not _FEWEST_OPTIONS <= len(row.options) <= len(LABELS):
        yield Fault(
            row.where,
            f"{len(row.options)} options, expected {_FEWEST_OPTIONS} to {len(LABELS)}",
            row.language,
        )
    elif _label(row) is None:
        last = LABELS[len(row.options) - 1]
        yield Fault(
            row.where,
            f"answer {row.answer!r} is neither a letter from A to {last} nor one of the options, "
            f"or it is both: {' | '.join(row.options)}",
            row.language,
        )


def _label(row: Row) -> str | None:
    """Return the label that the answer names, by letter or by text; None when that is unclear."""
    labels = LABELS[: len(row.options)]
    by_text = [a for a, o in zip(labels, row.options, strict=True) if o == row.answer]
    by_letter = [a for a in labels if a == row.answer]
    found = dict.fromkeys((*by_text[:1], *by_letter))
    return next(iter(found)) if len(found) == 1 else None


def _unknown_languages(rows: Sequence[Row]) -> Iterator[Fault]:
    unknown: dict[str, str] = {}
    for tag in dict.fromkeys(row.language for row in rows):
        try:
            language_name(tag)
        except InputError as error:
            unknown[tag] = str(error)
    for row in rows:
        if row.language in unknown:
            yield Fault(row.where, unknown[row.language], row.language)


def _find_source(item: str, rows: dict[str, Row], sources: dict[str, str]) -> Iterator[Fault]:
    """Enter the source of an item into `sources`, or yield why there is none."""
    named = {row.source_language: row for row in rows.values() if row.source_language}
    first = next(iter(rows.values()))
    if not named:
        yield Fault(first.where, f"item {item}: source_language is empty")
    elif len(named) > 1:
        said = ", ".join(f"{tag} on {row.where}" for tag, row in named.items())
        yield Fault(first.where, f"item {item} has several source languages: {said}")
    else:
        (tag,) = named
        if tag in rows:
            sources[item] = tag
        else:
            yield Fault(first.where, f"item {item} has no row in its source language {tag}", tag)


def _differences(item: str, rows: Sequence[Row], kind: Kind) -> Iterator[Fault]:
    """Yield where the languages of one item do not fit together."""
    first = rows[0]
    for row in rows[1:]:
        if row.group != first.group and row.group and first.group:
            yield Fault(
                row.where,
                f"item {item}: group {row.group!r}, but {first.group!r} on {first.where}",
                row.language,
            )
        here = there = ""
        if kind == "number":
            if all(_NUMBER.fullmatch(_folded(r.answer)) for r in (first, row)):
                here, there = _plain(row.answer), _plain(first.answer)
        elif kind == "choice" and _label(row) and _label(first):
            here, there = (f"{_label(r)} of {len(r.options)} options" for r in (row, first))
        if here != there:
            yield Fault(
                row.where,
                f"item {item}: the answer is {here} in {row.language}, but {there} in "
                f"{first.language} on {first.where}",
                row.language,
            )
