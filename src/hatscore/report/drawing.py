"""Charts as files for papers and slides: PNG, SVG and PDF, without a browser and without a network.

Vega is inside vl-convert and the letters come along (`typeface`), so a chart looks the same on
every machine. A PDF carries the letters it uses, and so does an SVG (`svg_fonts`).
"""

from __future__ import annotations

import os
import re
import tempfile
import warnings
from collections.abc import Mapping
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import vl_convert

from hatscore.errors import InputError, UnknownNameError
from hatscore.report import typeface
from hatscore.report.charts_theme import FONT, theme
from hatscore.report.fonts import SUFFIXES, letters_of
from hatscore.report.svg_fonts import dressed, embedded

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import altair as alt

__all__ = [
    "DPI",
    "FORMATS",
    "drawable",
    "draws",
    "file_name",
    "replace_file",
    "save_chart",
    "use_fonts",
]

FORMATS = ("pdf", "png", "svg")
DPI = 150
_VEGA_LITE = "6.4"
_own_fonts: list[Path] = []


def save_chart(
    chart: alt.TopLevelMixin | Mapping[str, Any],
    stem: str | Path,
    formats: Sequence[str] = ("png", "svg", "pdf"),
    *,
    dark: bool = False,
    dpi: int = DPI,
) -> list[Path]:
    """Write a chart, completely or not at all, in one or several formats.

    Parameters
    ----------
    chart
        From `charts`, or its ``to_dict()``; with its records inside.
    stem
        Where to, without the suffix; missing directories are made.
    formats
        Some of `FORMATS`.
    dark
        Whether it is for a dark ground.
    dpi
        Dots per inch of a PNG; a length of 72 is an inch.

    Returns
    -------
    list of Path
        The files, in the order of `formats`. Equal charts give equal files, but for PDF, which
        lists the parts of a page in any order.

    Raises
    ------
    UnknownNameError
        A format that is none of `FORMATS`.
    InputError
        `dpi` below 1, or a chart that cannot be drawn; says why.

    Warns
    -----
    UserWarning
        An SVG with letters that no font has.
    """
    for name in formats:
        if name not in FORMATS:
            raise UnknownNameError("format", name, FORMATS)
    if dpi < 1:
        raise InputError(f"a picture needs at least one dot per inch, got {dpi}")
    plain: dict[str, Any] = dict(chart) if isinstance(chart, Mapping) else chart.to_dict()
    config = theme(dark=True) if dark else plain.get("config", {})
    if config.get("font", FONT) == FONT:
        plain["config"] = {**config, "font": f"{typeface.FAMILY}, {FONT}"}
    typeface.register()
    svg, cuts, missing = dressed(_drawn(plain), _own_fonts)
    if missing and "svg" in formats:
        warnings.warn(
            f"no font for {missing!r}: in the SVG they are text alone, seen where there is a font "
            "for them; install one here, or give its directory (--fonts)",
            stacklevel=2,
        )
    spoken = escape(str(plain.get("description", "chart")))
    stem = Path(stem)
    stem.parent.mkdir(parents=True, exist_ok=True)
    written = []
    for name in formats:
        # not with_suffix: the dot in "gemma-3.5" starts no suffix
        target = stem.with_name(f"{stem.name}.{name}")
        if name == "svg":
            whole = embedded(svg, cuts)
            whole = whole.replace("<svg ", f'<svg role="img" aria-label="{spoken}" ', 1)
            content = whole.encode()
        elif name == "png":
            content = bytes(vl_convert.svg_to_png(svg, ppi=dpi))
        else:
            content = bytes(vl_convert.svg_to_pdf(svg))
        replace_file(target, content)
        written.append(target)
    return written


def file_name(name: str, taken: set[str]) -> str:
    """Return a name that every file system takes, unlike all in `taken`, and add it there."""
    base = re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-.")[:80] or "figure"
    candidate, i = base, 1
    # some file systems hold A and a for the same
    while candidate.lower() in taken:
        i += 1
        candidate = f"{base}-{i}"
    taken.add(candidate.lower())
    return candidate


def use_fonts(directory: str | Path) -> frozenset[int]:
    """Let charts use the fonts of a directory for letters that theirs lacks.

    They go before the fonts of the system.

    Returns
    -------
    frozenset of int
        Code points of the letters that these fonts have, for `drawable`.

    Raises
    ------
    InputError
        No such directory, no font in it, or a file that is no font.
    """
    directory = Path(directory)
    files = sorted(directory.iterdir()) if directory.is_dir() else []
    fonts = [p for p in files if p.suffix.lower() in SUFFIXES]
    if not fonts:
        raise InputError(
            f"{directory} holds no fonts: expected a directory with .ttf or .otf files"
        )
    letters = frozenset[int]().union(*map(letters_of, fonts))
    vl_convert.register_font_directory(str(directory))
    _own_fonts.append(directory)
    return letters


def draws(text: str, letters: frozenset[int] = frozenset()) -> bool:
    """Whether the typeface of figures, or a font with `letters`, has every letter of a text.

    Examples
    --------
    >>> draws("ru · русский"), draws("zh · 中文")
    (True, False)
    """
    return typeface.letters() | letters >= set(map(ord, text))


def drawable(
    rows: Iterable[Mapping[str, Any]], letters: frozenset[int] = frozenset()
) -> list[dict[str, Any]]:
    """Return records whose native labels are English where no font has letters for them.

    A page leaves this to the browser, which has more fonts; a file would show empty boxes.

    Parameters
    ----------
    rows
        Records with ``label`` and ``native_label``.
    letters
        Code points that fonts of the user's own have, from `use_fonts`.
    """
    return [
        {
            **r,
            "native_label": r["native_label"] if draws(r["native_label"], letters) else r["label"],
        }
        for r in rows
    ]


def _drawn(plain: dict[str, Any]) -> str:
    nothing: list[str] = []  # of the network
    try:
        svg: str = vl_convert.vegalite_to_svg(
            plain, vl_version=_VEGA_LITE, allowed_base_urls=nothing
        )
    except ValueError as error:
        raise InputError(f"the chart cannot be drawn: {error}") from error
    if "<image" in svg:  # what makes PNG and PDF of the SVG would load it
        raise InputError("the chart cannot be drawn: it loads a picture")
    return svg


def replace_file(target: Path, content: bytes) -> None:
    """Write a file beside its place and move it there: readers find the old one or the new one."""
    handle, draft = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=".part")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        Path(draft).chmod(0o644)
        Path(draft).replace(target)
    finally:
        Path(draft).unlink(missing_ok=True)
