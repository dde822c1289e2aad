"""Raw replies in a table, graded as those of our own runs are."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

from hatscore.errors import InputError, UnknownNameError
from hatscore.grading import Gold, Reply, grade
from hatscore.grading.number import parse_number
from hatscore.readers.table_values import BadCellError, to_text

if TYPE_CHECKING:
    from hatscore.grading.answer import AnswerKind

__all__ = ["GRADES", "Grader", "Verdict", "reply_text"]

GRADES: tuple[AnswerKind, ...] = ("number", "choice", "name")
_LABELS = tuple("ABCDEFGHIJKLMNOPQRSTUVWXYZ")
_FEWEST = 4


class Verdict(NamedTuple):
    """The status of a reply, and its gold in a form that languages share, or None."""

    status: str
    gold: str | None


class Grader:
    """Grade cells.

    Parameters
    ----------
    kind
        ``number``, ``choice`` or ``name``. Of names those in the row's gold are right, whatever
        language they are in: the table alone says which count.

    Raises
    ------
    UnknownNameError
        Another kind.
    """

    def __init__(self, kind: str) -> None:
        known = {name: name for name in GRADES}
        if kind not in known:
            raise UnknownNameError("way to grade", str(kind), GRADES)
        self._kind = known[kind]

    def __call__(
        self,
        reply: Any,
        gold: Any,
        *,
        options: Any,
        language: str,
        source: str,
        finish: str | None,
        error: str | None,
    ) -> Verdict:
        """Return the status of a reply.

        Raises
        ------
        BadCellError
            A gold or options that cannot be used, or a reply that is no text.
        """
        expected = self.gold(gold, options, language=language, source=source)
        text = reply_text(reply) if error is None else ""
        try:
            found = grade(Reply(text, finish, error), expected, names="strict")
        except InputError as err:
            raise BadCellError(str(err)) from err
        shared = None
        if self._kind != "name":
            number = parse_number(expected.value) if self._kind == "number" else None
            shared = expected.value if number is None else str(number)
        return Verdict(found.status, shared)

    def gold(self, cell: Any, options: Any, *, language: str, source: str) -> Gold:
        """Return the gold that a row's cells say.

        Raises
        ------
        BadCellError
            A gold or options that cannot be used.
        """
        if self._kind == "name":
            names = tuple(_list(cell, "gold"))
            if not names:
                raise BadCellError("the gold is empty")
            by_language = {language: names}
            return Gold("name", names[0], language, source, names=by_language)
        value = to_text(cell, name="gold")
        if value is None:
            raise BadCellError("the gold is missing")
        if self._kind == "number":
            if parse_number(value) is None:
                raise BadCellError(f"the gold {value[:40]!r} is no number")
            return Gold("number", value, language, source)
        texts = tuple(_list(options, "options"))
        labels = _LABELS[: len(texts) or _FEWEST]
        if value.upper() not in labels:
            raise BadCellError(
                f"the gold {value[:40]!r} is none of the labels {', '.join(labels)}; golds are "
                "letters, and items of more than four options need options=COLUMN"
            )
        return Gold("choice", value.upper(), language, source, options=texts, labels=labels)


def _list(cell: Any, name: str) -> list[str]:
    """Return the texts of a list, of a JSON list in a text, or of one text."""
    if cell is None:
        return []
    if isinstance(cell, str) and cell.lstrip().startswith("["):
        try:
            cell = json.loads(cell)
        except (ValueError, RecursionError) as err:
            raise BadCellError(f"the {name} look like a JSON list but are none") from err
    if not isinstance(cell, list | tuple):
        cell = [cell]
    found = (to_text(one, name=name) for one in cell)
    return [text for text in found if text is not None]


def reply_text(cell: Any) -> str:
    """Return the text of a reply's cell.

    Raises
    ------
    BadCellError
        A nested value.
    """
    if isinstance(cell, bool | dict | list | tuple):
        raise BadCellError("a nested value is no reply; name the part that is its text")
    text = str(cell) if isinstance(cell, str) else to_text(cell, name="reply") or ""
    return text.encode("utf-8", "replace").decode("utf-8")
