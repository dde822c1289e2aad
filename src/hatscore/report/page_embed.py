"""What makes one file complete and harmless: data that cannot run, a policy that loads nothing."""

from __future__ import annotations

import base64
import hashlib
import json
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any

import vl_convert
from markupsafe import Markup

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["as_data", "policy", "scripts", "style"]

_TEMPLATES = "hatscore.report"
_PARTS = ("page_table.js", "page_filter.js", "page_chart.js", "items.js", "page.js")
# signs that could end a script element or begin another, and the two line ends of JavaScript
# that JSON does not escape
_ESCAPES = {sign: f"\\u{ord(sign):04x}" for sign in "<>&\u2028\u2029"}


def as_data(value: Any) -> Markup:
    r"""Write JSON for a ``<script type="application/json">``.

    Whatever a model was called or has answered, the text holds no ``<``: no reader of HTML can
    find the end of the element in it, or a tag.

    Parameters
    ----------
    value
        What JSON can hold; NaN and infinity it cannot.

    Raises
    ------
    ValueError
        A number that JSON does not have.

    Examples
    --------
    >>> str(as_data(["</script>"]))
    '["\\u003c/script\\u003e"]'
    """
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for sign, escaped in _ESCAPES.items():  # five times as fast as str.translate
        text = text.replace(sign, escaped)
    return Markup(text)  # noqa: S704 - no sign of markup is left in it


def style() -> Markup:
    """Return the style sheet of the page."""
    return Markup("\n").join(map(_own, ("page.css", "items.css")))


@cache
def scripts() -> tuple[Markup, ...]:
    """Return the scripts of the page in their order: the charting library, then ours.

    Vega, Vega-Lite and Vega-Embed come from vl-convert, in the version that also draws the files,
    so the page and the figures of a paper are drawn alike.
    """
    # without a snippet the library puts vegaEmbed, vega and vegaLite on the window
    bundle: str = vl_convert.javascript_bundle()  # type: ignore[call-arg]  # its stub asks for one
    library = Markup(bundle.replace("\r\n", "\n").strip())  # noqa: S704 - a library, not data
    return library, Markup("\n").join(_own(part) for part in _PARTS)


def policy(styles: Iterable[str], code: Iterable[str], *, chunks: bool = False) -> str:
    """Return the content security policy under which exactly these texts may act.

    Everything else is forbidden: other scripts, attributes that run, ``eval``, styles, and every
    request to anywhere. Vega runs under it because its expressions are interpreted instead of
    compiled.

    Parameters
    ----------
    styles, code
        Contents of the style and script elements, to the letter.
    chunks
        Whether `code` may load further scripts: the chunks of items beside the page. A script
        that markup asks for stays forbidden.
    """
    more = " 'strict-dynamic'" if chunks else ""
    return "; ".join(
        [
            "default-src 'none'",
            "base-uri 'none'",
            "form-action 'none'",
            "style-src " + " ".join(map(_hash, styles)),
            "script-src " + " ".join(map(_hash, code)) + more,
            "img-src data:",
        ]
    )


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


def _own(name: str) -> Markup:
    text = resources.files(_TEMPLATES).joinpath("templates", name).read_text(encoding="utf-8")
    return Markup(text.replace("\r\n", "\n"))  # noqa: S704 - a file of this package
