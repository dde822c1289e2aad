"""What languages are like: script, family, speakers, resources.

Scripts are those of Unicode CLDR (see `hatscore.languages`). Family, speakers and the size of the
Wikipedia come from ``languages.toml``, made from Glottolog and LinguaMeta by
``benchmarks/language_table.py``.
"""

from __future__ import annotations

import math
import tomllib
from functools import cache
from importlib.resources import files
from typing import Any

from hatscore.errors import InputError
from hatscore.languages import script

__all__ = ["articles", "family_of", "script_of", "speakers"]


@cache
def script_of(tag: str) -> str:
    """Return the script as ISO 15924 code; empty where CLDR does not know the language.

    Simplified and traditional Chinese, and Japanese, whose text is partly in Chinese characters,
    are scripts of their own.
    """
    try:
        found = script(tag)
    except InputError:
        return ""
    return "" if found == "Zzzz" else found


def family_of(tag: str) -> str:
    """Return the top family by Glottolog; empty where the table lacks the language."""
    return str(_row(tag).get("family", ""))


def speakers(tag: str) -> float:
    """Return the number of speakers, NaN where it is not known."""
    return float(_row(tag).get("speakers", math.nan))


def articles(tag: str) -> float:
    """Return the number of Wikipedia articles, NaN where it is not known."""
    return float(_row(tag).get("articles", math.nan))


@cache
def _row(tag: str) -> dict[str, Any]:
    row: dict[str, Any] = _table().get(tag.replace("_", "-").split("-")[0].lower(), {})
    return row


@cache
def _table() -> dict[str, Any]:
    text = files("hatscore.studies").joinpath("languages.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)
