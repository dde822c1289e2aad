"""How sentences are set on the page: what belongs together stays on one line.

Names of models break at a hyphen or a slash only where a line has no room for them, intervals not
inside their brackets; a minus is no hyphen, and what stands between backticks is code.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from markupsafe import Markup, escape

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

__all__ = ["signed", "typesetter"]

_MINUS = "\N{MINUS SIGN}"
_PATTERNS = (
    r"(?P<code>`[^`\n]+`)",
    r"(?P<flag>(?<![\w-])--[a-z][\w-]*)",
    r"(?P<interval>\[[^\[\]\n]{1,40}, [^\[\]\n]{1,40}\])",
    r"(?P<minus>(?<![\w.\])-])-(?=\.?\d|∞))",
)


def signed(text: str) -> str:
    r"""Return a number as text with a true minus.

    Examples
    --------
    >>> signed("-0.250") == "\N{MINUS SIGN}0.250"
    True
    """
    return text.replace("-", _MINUS)


def typesetter(names: Iterable[str]) -> Callable[[str], Markup]:
    r"""Return a function that sets a sentence as markup.

    Parameters
    ----------
    names
        What stays together: models and benchmarks. They come from outside; nothing of them, or of
        the sentence, becomes markup.

    Examples
    --------
    >>> typesetter(["a/b"])("a/b has <1> [0.1, 0.2], see `x`")
    Markup('<span class="name">a/b</span> has &lt;1&gt; [0.1,\xa00.2], see <code>x</code>')
    """
    breaking = sorted(
        {name for name in names if re.search(r"\W", name.strip())}, key=lambda x: (-len(x), x)
    )
    named = "|".join(map(re.escape, breaking))
    patterns = [rf"(?P<name>(?<!\w)(?:{named})(?!\w))"] * bool(breaking) + list(_PATTERNS)
    pattern = re.compile("|".join(patterns))

    def typeset(text: str) -> Markup:
        parts, at = [], 0
        for found in pattern.finditer(text):
            parts += [escape(text[at : found.start()]), _set(found.lastgroup, found[0])]
            at = found.end()
        return Markup().join([*parts, escape(text[at:])])

    return typeset


def _set(kind: str | None, text: str) -> Markup:
    if kind == "minus":
        return escape(_MINUS)
    if kind == "interval":
        joined = text.replace(", ", ",\N{NO-BREAK SPACE}")
        return escape(re.sub(r"(?<![\w.])-(?=\.?\d|∞)", _MINUS, joined))
    if kind == "code":
        return Markup("<code>{}</code>").format(text[1:-1])
    return Markup('<span class="name">{}</span>').format(text)
