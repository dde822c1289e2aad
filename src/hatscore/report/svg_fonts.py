"""Puts the letters of an SVG inside it: the file looks alike everywhere and stays text.

A figure uses some seventy letters of one typeface in two weights, a few kilobytes. They become
``@font-face`` rules (CSS Fonts, level 4, section 4) with the font as a ``data:`` address, which
browsers read.

A text with other letters gets a font of the user's or of the system's, cut to these letters and
joined with those of the typeface, for all formats: left to itself vl-convert takes any font that
has a letter, a bold one for a regular text. It shapes a whole line by the script of its first
letter, so in PNG and PDF Devanagari behind a code in Latin letters stays unjoined; browsers do it
right.
"""

from __future__ import annotations

import base64
import hashlib
import io
import re
import unicodedata
from dataclasses import dataclass
from functools import cache
from html import unescape
from typing import TYPE_CHECKING

from fontTools import subset
from fontTools.merge import Merger
from fontTools.ttLib import TTFont, getTableClass
from fontTools.ttLib.scaleUpem import scale_upem
from fontTools.varLib.instancer import instantiateVariableFont

from hatscore.report import typeface
from hatscore.report.fonts import Face, face_with
from hatscore.report.typeface import BOLD, FAMILY, REGULAR

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

__all__ = ["Cut", "dressed", "embedded"]

_TEXT = re.compile(r"(<text\b[^>]*>)(.*?)(?=</text>)", re.DOTALL)
_TAG = re.compile(r"<[^>]*>")
_OURS = re.compile(rf'\bfont-family="[^"]*\b{FAMILY}\b')
_WEIGHT = re.compile(r'\bfont-weight="(\w+)"')
# copyright, family, style, full name, PostScript name, licence
_NAMES = (0, 1, 2, 4, 6, 13)


@dataclass(frozen=True, slots=True)
class Cut:
    """A font with few letters, in a weight that texts ask for; `data` is a file of it."""

    family: str
    weight: int
    data: bytes


def dressed(svg: str, own: Sequence[Path] = ()) -> tuple[str, list[Cut], str]:
    """Give texts with letters that the typeface lacks to fonts that have them.

    Parameters
    ----------
    svg
        Drawn by vl-convert, its texts in the family `typeface.FAMILY`. Texts in another family
        stay as they are.
    own
        Directories of fonts that are asked before those of the system.

    Returns
    -------
    str
        The SVG; such texts name families of their own before ours.
    list of Cut
        These families, known to vl-convert from here on.
    str
        Letters that no font has which may be embedded.
    """
    faces = {
        (weight, text): _faces_for(text, weight, own)
        for weight, text in sorted(set(_texts(svg)))
        if not typeface.letters().issuperset(_codes(text))
    }
    letters: dict[tuple[Face, int], set[int]] = {}
    missing: set[int] = set()
    for (weight, text), found in faces.items():
        for face, codes in found.items():
            if face is None:
                missing |= codes
            else:
                letters.setdefault((face, weight), set()).update(map(ord, text))
    cuts = {which: _cut_of(*which, frozenset(codes)) for which, codes in letters.items()}

    def dress(found: re.Match[str]) -> str:
        start, inside = found.groups()
        weight = _weight(start)
        named = [
            cuts[face, weight].family
            for face in faces.get((weight, _words(inside)), ())
            if face is not None
        ]
        return start.replace(FAMILY, ", ".join([*named, FAMILY]), 1) + inside

    each = sorted(set(cuts.values()), key=lambda cut: (cut.family, cut.weight))
    return _TEXT.sub(dress, svg) if cuts else svg, each, "".join(map(chr, sorted(missing)))


def embedded(svg: str, cuts: Iterable[Cut] = ()) -> str:
    """Return an SVG with its fonts inside: the letters of the typeface that it uses, and `cuts`."""
    letters: dict[int, set[int]] = {}
    for weight, text in _texts(svg):
        letters.setdefault(weight, set()).update(map(ord, text))
    # to cut from the whole typeface is what takes time, so it is done once
    small = _file(_cut(typeface.source(), set().union(*letters.values())))
    own = [
        Cut(FAMILY, weight, _file(_at_weight(_cut(_font(small), codes), weight)))
        for weight, codes in sorted(letters.items())
    ]
    rules = "".join(map(_rule, [*own, *cuts]))
    start = svg.index(">") + 1
    return f"{svg[:start]}<style>{rules}</style>{svg[start:]}" if rules else svg


def _texts(svg: str) -> Iterator[tuple[int, str]]:
    """Give the texts in our family, each with the weight that it is drawn in."""
    for start, inside in _TEXT.findall(svg):
        if _OURS.search(start):
            yield _weight(start), _words(inside)


def _words(inside: str) -> str:
    return unescape(_TAG.sub("", inside))


def _weight(start: str) -> int:
    found = _WEIGHT.search(start)
    given = found[1] if found else "normal"
    # CSS takes the heavier of the two from 501 on
    bold = given == "bold" or (given.isdigit() and int(given) > (REGULAR + 100))
    return BOLD if bold else REGULAR


def _codes(text: str) -> frozenset[int]:
    """Return what fonts must have: not the signs that only join or part letters."""
    return frozenset(ord(c) for c in text if unicodedata.category(c) != "Cf")


def _faces_for(text: str, weight: int, own: Sequence[Path]) -> dict[Face | None, set[int]]:
    """Return fonts for the letters that the typeface lacks, one for all if there is one."""
    lacking = _codes(text) - typeface.letters()
    if face := face_with(lacking, weight, own):
        return {face: set(lacking)}
    found: dict[Face | None, set[int]] = {}
    for code in sorted(lacking):
        found.setdefault(face_with([code], weight, own), set()).add(code)
    return found


@cache
def _cut_of(face: Face, weight: int, letters: frozenset[int]) -> Cut:
    """Cut a font, and hand the piece to vl-convert under a name that tells it from all others."""
    font = TTFont(face.path, fontNumber=face.number, recalcTimestamp=False)
    if "glyf" in font:
        font = _at_weight(_cut(font, letters - typeface.letters()), weight)
        ours = _at_weight(_cut(typeface.source(), letters), weight)
        scale_upem(font, ours["head"].unitsPerEm)
        name = font["name"].getDebugName(6)
        font = Merger().merge([io.BytesIO(_file(f)) for f in (ours, font)])
        # equal charts give equal files
        font.recalcTimestamp = False
        font["head"].created = font["head"].modified = ours["head"].modified
    else:  # outlines of another kind: they cannot be joined
        font = _at_weight(_cut(font, letters), weight)
        name = font["name"].getDebugName(6)
    digest = hashlib.sha256(_file(font)).hexdigest()[:8]
    family = f"hatscore-{re.sub(r'[^A-Za-z0-9-]', '', name or face.path.stem)}-{digest}"
    typeface.rename(font, family, "Regular")
    cut = Cut(family, weight, _file(font))
    typeface.hand_over(cut.data, family)
    return cut


def _cut(font: TTFont, letters: Iterable[int]) -> TTFont:
    """Return the font with these letters alone, and the forms they take beside each other."""
    options = subset.Options()
    options.hinting = False
    options.notdef_outline = True
    options.name_IDs = list(_NAMES)
    # tables that it cannot cut are of no use here, and would be dropped with a warning
    options.drop_tables += [
        tag.strip()
        for tag in font.keys()  # noqa: SIM118 - iterating a font gives something else
        if tag.strip() not in options.no_subset_tables
        and not hasattr(getTableClass(tag), "subset_glyphs")
    ]
    cutter = subset.Subsetter(options)
    cutter.populate(unicodes=letters)
    cutter.subset(font)
    return font


def _at_weight(font: TTFont, weight: int) -> TTFont:
    if "fvar" in font:
        places = {a.axisTag: a.defaultValue for a in font["fvar"].axes}
        for axis in font["fvar"].axes:
            if axis.axisTag == "wght":
                places["wght"] = min(max(weight, axis.minValue), axis.maxValue)
        instantiateVariableFont(font, places, inplace=True)
    return font


def _font(data: bytes) -> TTFont:
    return TTFont(io.BytesIO(data), recalcTimestamp=False)


def _file(font: TTFont, flavour: str | None = None) -> bytes:
    font.flavor = flavour
    file = io.BytesIO()
    font.save(file)
    return file.getvalue()


def _rule(cut: Cut) -> str:
    data = base64.b64encode(_file(_font(cut.data), "woff")).decode()
    return (
        f'@font-face{{font-family:"{cut.family}";font-weight:{cut.weight};'
        f"src:url(data:font/woff;base64,{data})format('woff')}}"
    )
