"""The letters of figures: one typeface for PNG, PDF and SVG, whatever a machine has installed.

It is Arimo (SIL Open Font License 1.1; Latin, Greek, Cyrillic and Hebrew letters), as wide as
Liberation Sans, Helvetica and Arial: where a program takes one of these instead, a figure keeps its
shape.

vl-convert takes a font of the system before one that it is handed, if both have the same name, and
applies no variations. So it is handed the two weights as files of their own, under a name that no
system has.
"""

from __future__ import annotations

import atexit
import io
import logging
import shutil
from functools import cache
from importlib import resources
from pathlib import Path
from tempfile import mkdtemp
from typing import TYPE_CHECKING

import vl_convert
from fontTools.ttLib import TTFont
from fontTools.varLib.instancer import OverlapMode, instantiateVariableFont

from hatscore.report.fonts import letters_of

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["BOLD", "FAMILY", "REGULAR", "hand_over", "letters", "register", "rename", "source"]

# what it finds odd in a font of the system concerns whoever asked for its log, not everybody
logging.getLogger("fontTools").addHandler(logging.NullHandler())

FAMILY = "Arimo hatscore"
REGULAR, BOLD = 400, 700
_VARIATIONS = ("HVAR", "STAT", "fvar", "gvar")
# name IDs: families of either kind, styles of either kind, full name, PostScript name
_NAMES = (1, 16, 2, 17, 4, 6, 21, 22, 25)


def source() -> TTFont:
    """Return the typeface with its axis of weights, from 400 to 700."""
    place = resources.files("fontpkg_arimo") / "files" / "Arimo[wght].ttf"
    # lazy: of what puts letters beside each other most is thrown away unread
    return TTFont(io.BytesIO(place.read_bytes()), lazy=True, recalcTimestamp=False)


@cache
def register() -> Mapping[int, Path]:
    """Hand the weights to vl-convert, once in a process; return their files, which end with it."""
    regular, bold = source(), source()
    # the outlines as they are stored are the regular weight: a hundred times as fast as asking
    for tag in _VARIATIONS:
        del regular[tag]
    instantiateVariableFont(
        bold,
        {"wght": BOLD},
        inplace=True,
        optimize=False,
        overlap=OverlapMode.KEEP_AND_DONT_SET_FLAGS,
    )
    files = {}
    for weight, font in ((REGULAR, regular), (BOLD, bold)):
        rename(font, FAMILY, "Bold" if weight == BOLD else "Regular")
        file = io.BytesIO()
        font.save(file, reorderTables=False)
        files[weight] = hand_over(file.getvalue(), f"{FAMILY}-{weight}")
    return files


def hand_over(data: bytes, name: str) -> Path:
    """Let vl-convert draw with a font; return its file, which lives as long as the process."""
    directory = _home() / name
    directory.mkdir(exist_ok=True)
    path = directory / "font.ttf"
    path.write_bytes(data)
    vl_convert.register_font_directory(str(directory))
    return path


@cache
def _home() -> Path:
    directory = Path(mkdtemp(prefix="hatscore-fonts-"))
    atexit.register(shutil.rmtree, directory, ignore_errors=True)
    return directory


@cache
def letters() -> frozenset[int]:
    """Return the code points of the letters that the typeface has."""
    return letters_of(register()[REGULAR])


def rename(font: TTFont, family: str, style: str) -> None:
    """Give a font a name that no other has, so that programs cannot take another for it."""
    names = {1: family, 2: style, 4: f"{family} {style}", 6: f"{family.replace(' ', '')}-{style}"}
    for number in _NAMES:
        font["name"].removeNames(nameID=number)
    for number, name in names.items():
        font["name"].setName(name, number, 3, 1, 0x409)
