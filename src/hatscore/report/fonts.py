"""Font files: which letters one has (OpenType, table ``cmap``), and which font has some letters."""

from __future__ import annotations

import os
import re
import struct
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from fontTools.ttLib import TTFont

from hatscore.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

__all__ = ["SUFFIXES", "Face", "face_with", "letters_of"]

SUFFIXES = (".ttf", ".otf", ".ttc", ".otc")
# where Linux, macOS and Windows keep fonts
_SYSTEM = (
    "/usr/share/fonts",
    "/usr/local/share/fonts",
    "/usr/share/texmf/fonts",
    "~/.fonts",
    "~/.local/share/fonts",
    "/System/Library/Fonts",
    "/Library/Fonts",
    "~/Library/Fonts",
    "$WINDIR/Fonts",
    "$LOCALAPPDATA/Microsoft/Windows/Fonts",
)
# OS/2 fsType: no embedding, no subset of it, pictures of letters alone
_FORBIDDEN = 0x0002 | 0x0100 | 0x0200
_SANS = re.compile(r"(?i)sans(?!.*mono)")
_ITALIC, _MEDIUM_WIDTH = 0x0001, 5
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


@dataclass(frozen=True, slots=True)
class Face:
    """A font that may be embedded; `number` is its place in a collection."""

    path: Path
    number: int
    weight: int
    upright: bool
    letters: frozenset[int]


def face_with(letters: Iterable[int], weight: int, own: Sequence[Path] = ()) -> Face | None:
    """Return the font that is best for some letters, or None where no font has all of them.

    Fonts of the user's own go before those of the system; then upright letters without serifs,
    the nearest weight, and fonts of few letters, which know their script better.

    Parameters
    ----------
    letters
        Code points.
    weight
        From 1 to 1000; 400 is regular, 700 bold.
    own
        Directories that are searched before those of the system.
    """
    wanted = frozenset(letters)
    system = tuple(Path(os.path.expandvars(p)).expanduser() for p in _SYSTEM)
    for directories in (tuple(own), system):
        able = [f for d in directories for f in _faces(d) if wanted <= f.letters]
        if able:
            return min(
                able,
                key=lambda f: (
                    not f.upright,
                    not _SANS.search(f.path.stem),
                    abs(f.weight - weight),
                    len(f.letters),
                    f.path,
                ),
            )
    return None


@cache
def _faces(directory: Path) -> tuple[Face, ...]:
    files = sorted(p for p in directory.rglob("*") if p.suffix.lower() in SUFFIXES)
    return tuple(face for path in files for face in _in_file(path))


def _in_file(path: Path) -> Iterator[Face]:
    number, count = 0, 1
    while number < count:
        try:
            with path.open("rb") as file, TTFont(file, fontNumber=number, lazy=True) as font:
                count = getattr(font.reader, "numFonts", 1)
                about = font["OS/2"]
                letters = frozenset(font.getBestCmap() or ())
        except Exception:  # noqa: BLE001 - whatever a broken font raises, others may have the letters
            return
        if not about.fsType & _FORBIDDEN:
            upright = not about.fsSelection & _ITALIC and about.usWidthClass == _MEDIUM_WIDTH
            yield Face(path, number, about.usWeightClass, upright, letters)
        number += 1
