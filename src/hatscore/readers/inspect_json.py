"""JSON documents larger than memory, element by element.

The standard parser does the parsing; here only the ends of values are found. A value that the
text at hand cuts off is tried again when there is twice as much, so the work stays linear.
"""

from __future__ import annotations

import codecs
import json
import re
from typing import TYPE_CHECKING, Any

from hatscore.errors import ReaderError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hatscore.readers.inspect_zip import Readable

__all__ = ["Document", "elements", "fields", "load"]

_CHUNK = 1 << 17
_NEAR_END = 16  # a literal, number or escape that the chunk cuts is reported where it begins
_NUMBER_TAIL = 2
_SPACE = re.compile(r"[ \t\n\r]*")
_DECODER = json.JSONDecoder()


class Document:
    """Reads one JSON text from a binary stream, value by value.

    Parameters
    ----------
    stream
        UTF-8 bytes; a byte order mark is passed over.
    name
        File and member, for messages.
    limit
        Most characters a single value may have.
    """

    def __init__(self, stream: Readable, name: str, *, limit: int) -> None:
        self.name = name
        self._stream = stream
        self._limit = limit
        self._decode = codecs.getincrementaldecoder("utf-8-sig")().decode
        self._text = ""
        self._at = 0
        self._dropped = 0
        self._ended = False

    def peek(self) -> str:
        """Return the next character that is no space, empty at the end."""
        while True:
            found = _SPACE.match(self._text, self._at)
            self._at = found.end() if found else self._at
            if self._at < len(self._text):
                return self._text[self._at]
            if self._ended:
                return ""
            self._more()

    def take(self, expected: str) -> str:
        """Return the next character, which must be among `expected`, and step over it."""
        found = self.peek()
        if not found or found not in expected:
            raise self.broken(f"expected {' or '.join(expected)}, found {found or 'the end'}")
        self._at += 1
        return found

    def value(self) -> Any:
        """Return the next value."""
        if not self.peek():
            raise self.broken("expected a value, found the end")
        while True:
            try:
                value, end = _DECODER.raw_decode(self._text, self._at)
            except json.JSONDecodeError as err:
                cut = err.msg.startswith("Unterminated") or err.pos >= len(self._text) - _NEAR_END
                if self._ended or not cut:
                    self._at = min(err.pos, len(self._text))
                    raise self.broken(err.msg) from err
            except RecursionError as err:
                raise self.broken("nested too deeply") from err
            else:
                # of 0.5 or 1e+5 the standard parser takes 0 and 1 where the rest is not there yet
                if end + _NUMBER_TAIL < len(self._text) or self._ended:
                    self._at = end
                    return value
            self._more()

    def end(self) -> None:
        """Refuse anything but space that follows."""
        if self.peek():
            raise self.broken("expected the end")

    def broken(self, what: str) -> ReaderError:
        """Return the error for a text that is no JSON at this place."""
        cut = "; the file is cut off" if self._ended and self._at >= len(self._text) else ""
        return ReaderError(
            f"{self.name}: no valid JSON at character {self._dropped + self._at}: {what}{cut}"
        )

    def _more(self) -> None:
        pending = len(self._text) - self._at
        if pending > self._limit:
            raise ReaderError(
                f"{self.name}: a value of more than {self._limit} characters at character "
                f"{self._dropped + self._at}; no log has such"
            )
        data = self._stream.read(max(_CHUNK, pending))
        self._ended = not data
        try:
            text = self._decode(data, self._ended)
        except UnicodeDecodeError as err:
            raise ReaderError(f"{self.name}: no UTF-8 text: {err}") from err
        self._dropped += self._at
        self._text = self._text[self._at :] + text
        self._at = 0


def load(stream: Readable, name: str, *, limit: int) -> Any:
    """Return the whole of a document."""
    document = Document(stream, name, limit=limit)
    value = document.value()
    document.end()
    return value


def elements(document: Document) -> Iterator[Any]:
    """Yield the elements of the array that comes next."""
    document.take("[")
    if document.peek() == "]":
        document.take("]")
        return
    while True:
        yield document.value()
        if document.take(",]") == "]":
            return


def fields(document: Document) -> Iterator[str]:
    """Yield the keys of the object that comes next; the caller must take the value after each."""
    document.take("{")
    if document.peek() == "}":
        document.take("}")
        return
    while True:
        if document.peek() != '"':
            raise document.broken(f"expected a key, found {document.peek() or 'the end'}")
        key = str(document.value())
        document.take(":")
        yield key
        if document.take(",}") == "}":
            document.end()
            return
