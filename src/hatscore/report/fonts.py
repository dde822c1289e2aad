"""Which letters a font file has, read from its character map (OpenType, table ``cmap``)."""

from __future__ import annotations

import struct
import sys
from typing import TYPE_CHECKING

from hatscore.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["SUFFIXES", "letters_of"]

SUFFIXES = (".ttf", ".otf", ".ttc", ".otc")
_SEGMENTS, _GROUPS = 4, 12
_UNICODE, _WINDOWS = 0, 3
# of Windows' encodings: characters of the basic plane, and of all
_WIDE = (1, 10)


def letters_of(path: Path) -> frozenset[int]:
    """Return the code points that the fonts of a file map to a glyph.

    Parameters
    ----------
    path
        A TrueType or OpenType font, or a collection of them.

    Raises
    ------
    InputError
        The file is no such font.
    """
    data = path.read_bytes()
    try:
        starts = [0]
        if data[:4] == b"ttcf":
            (count,) = struct.unpack_from(">L", data, 8)
            starts = list(struct.unpack_from(f">{count}L", data, 12))
        return frozenset().union(*(_font(data, start) for start in starts))
    except (struct.error, StopIteration) as error:
        raise InputError(f"{path} is no TrueType or OpenType font that can be read") from error


def _font(data: bytes, start: int) -> set[int]:
    (tables,) = struct.unpack_from(">H", data, start + 4)
    records = (struct.unpack_from(">4sLLL", data, start + 12 + 16 * i) for i in range(tables))
    at = next(offset for tag, _, offset, _ in records if tag == b"cmap")
    (count,) = struct.unpack_from(">H", data, at + 2)
    found: set[int] = set()
    for i in range(count):
        platform, encoding, offset = struct.unpack_from(">HHL", data, at + 4 + 8 * i)
        if platform == _UNICODE or (platform == _WINDOWS and encoding in _WIDE):
            (kind,) = struct.unpack_from(">H", data, at + offset)
            if kind == _SEGMENTS:
                found |= _segments(data, at + offset)
            elif kind == _GROUPS:
                found |= _groups(data, at + offset)
    return found


def _segments(data: bytes, at: int) -> set[int]:
    """Read format 4: ranges of 16 bits, each with a shift or with a list of glyphs."""
    (double,) = struct.unpack_from(">H", data, at + 6)
    n = double // 2
    ends = struct.unpack_from(f">{n}H", data, at + 14)
    begins = struct.unpack_from(f">{n}H", data, at + 16 + double)
    shifts = struct.unpack_from(f">{n}H", data, at + 16 + 2 * double)
    lists = at + 16 + 3 * double
    ranges = struct.unpack_from(f">{n}H", data, lists)
    found: set[int] = set()
    for i, (begin, end, shift, inside) in enumerate(zip(begins, ends, shifts, ranges, strict=True)):
        for code in range(begin, end + 1):
            glyph = code
            if inside:
                # an offset counted from the place where it stands itself
                (glyph,) = struct.unpack_from(
                    ">H", data, lists + 2 * i + inside + 2 * (code - begin)
                )
                if not glyph:
                    continue
            if (glyph + shift) & 0xFFFF:
                found.add(code)
    return found


def _groups(data: bytes, at: int) -> set[int]:
    """Read format 12: ranges of 32 bits, glyphs one after the other."""
    (n,) = struct.unpack_from(">L", data, at + 12)
    found: set[int] = set()
    for i in range(n):
        begin, end, glyph = struct.unpack_from(">LLL", data, at + 16 + 12 * i)
        if end >= begin and end <= sys.maxunicode:
            found.update(range(begin if glyph else begin + 1, end + 1))
    return found
