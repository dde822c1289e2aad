"""Golds and prompts as JSON text, with large mappings kept once.

The wrong names of one benchmark (every capital in three languages) belong to hundreds of golds.
Written out in each they would outweigh the replies a hundred times, so a mapping above
:data:`SHARE_FROM` characters is replaced by the hash of its JSON, and the JSON is stored once.
"""

from __future__ import annotations

import json
from dataclasses import fields
from hashlib import sha256
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from hatscore.benchmarks.base import Prompt
from hatscore.grading.answer import Gold
from hatscore.sampling.fast_json import to_json

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

__all__ = [
    "SHARE_FROM",
    "GoldReader",
    "GoldWriter",
    "clean",
    "clean_all",
    "prompt_from_json",
    "prompt_to_json",
]

SHARE_FROM = 400
_REFERENCE = "shared:"
_MAPPINGS = ("names", "others")
_TUPLES = ("options", "labels", "also")
_GOLD = tuple(field.name for field in fields(Gold))
_gold_values = attrgetter(*_GOLD)  # asdict copies
_USUAL = (None, None, *_gold_values(Gold("number", ""))[2:])  # the first two have no default

Names = dict[str, tuple[str, ...]]


def clean(text: str) -> str:
    r"""Return `text` as valid Unicode: a lone surrogate becomes U+FFFD.

    Servers that cut a reply inside an emoji send half of it as ``\ud83d``; no file takes that.

    Examples
    --------
    >>> clean("ok \ud83d") == "ok \ufffd"
    True
    """
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def clean_all(texts: Sequence[str]) -> Sequence[str]:
    """Return `texts` with each as :func:`clean` leaves it; those that are valid are not copied."""
    try:
        "".join(texts).encode()  # one look at all of them: hardly any server sends halves
    except UnicodeEncodeError:
        return [clean(text) for text in texts]
    return texts


def _dump(value: object) -> str:
    return clean(to_json(value))


def prompt_to_json(prompt: Prompt) -> str:
    """Return `prompt` as JSON text."""
    mode, text, stop, most = prompt.mode, prompt.text, prompt.stop, prompt.max_tokens
    return _dump({"mode": mode, "text": text, "stop": stop, "max_tokens": most})


def prompt_from_json(text: str) -> Prompt:
    """Return the prompt that :func:`prompt_to_json` wrote."""
    data = json.loads(text)
    return Prompt(data["mode"], data["text"], tuple(data["stop"]), data["max_tokens"])


class GoldWriter:
    """Golds to JSON; collects the shared mappings that the store does not have yet.

    Attributes
    ----------
    pending
        JSON by hash of the mappings met since :meth:`taken` was last called.
    """

    def __init__(self) -> None:
        self.pending: dict[str, str] = {}
        self._written: set[str] = set()
        # The mapping itself is kept beside its encoding: a freed one could hand its id() on.
        self._by_identity: dict[int, tuple[object, Any]] = {}

    def to_json(self, gold: Gold) -> str:
        """Return `gold` as JSON text in which large mappings are references.

        Fields that have their default value are left out.
        """
        values = zip(_GOLD, _gold_values(gold), _USUAL, strict=True)
        data: dict[str, Any] = {name: value for name, value, usual in values if value != usual}
        for name in _MAPPINGS:
            if name in data:
                data[name] = self._encode(data[name])
        return _dump(data)

    def taken(self) -> None:
        """Say that everything in :attr:`pending` is stored."""
        self._written.update(self.pending)
        self.pending = {}

    def _encode(self, mapping: Mapping[str, tuple[str, ...]]) -> Any:
        known = self._by_identity.get(id(mapping))
        if known is not None:
            return known[1]
        plain = {language: list(names) for language, names in mapping.items()}
        text = _dump(plain)
        if len(text) < SHARE_FROM:
            return plain
        key = sha256(text.encode()).hexdigest()
        if key not in self._written:
            self.pending[key] = text
        reference = _REFERENCE + key
        self._by_identity[id(mapping)] = (mapping, reference)
        return reference


class GoldReader:
    """JSON to golds; equal shared mappings become one object.

    Parameters
    ----------
    look_up
        Returns the stored JSON of a hash, and raises when there is none.
    """

    def __init__(self, look_up: Callable[[str], str]) -> None:
        self._look_up = look_up
        self._shared: dict[str, Names] = {}

    def from_json(self, text: str) -> Gold:
        """Return the gold that :class:`GoldWriter` wrote."""
        data = json.loads(text)
        for name in data.keys() & _MAPPINGS:
            data[name] = self._decode(data[name])
        for name in data.keys() & _TUPLES:
            data[name] = tuple(data[name])
        return Gold(**data)

    def _decode(self, value: Any) -> Names:
        if not isinstance(value, str):
            return _names(value)
        key = value.removeprefix(_REFERENCE)
        if key not in self._shared:
            self._shared[key] = _names(json.loads(self._look_up(key)))
        return self._shared[key]


def _names(data: Mapping[str, list[str]]) -> Names:
    return {language: tuple(names) for language, names in data.items()}
