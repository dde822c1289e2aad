"""One model of the registry: fields that are known, and those that are unsure."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from hatscore.errors import InputError, UnknownNameError

__all__ = ["Model", "Retirement", "model_of"]

_PRICE = ("input", "output", "date", "of", "batch_discount")


@dataclass(frozen=True, slots=True)
class Retirement:
    """An id that stopped or will stop answering.

    Attributes
    ----------
    id, where
        Which id, at which service.
    on
        The day.
    then
        What happens afterwards where it is not silence: another model may answer.
    """

    id: str
    where: str
    on: dt.date
    then: str = ""

    def describe(self, today: dt.date) -> str:
        """Say it as of a day."""
        verb = "was retired" if self.on <= today else "will be retired"
        after = f"; then {self.then}" if self.then else ""
        return f"{self.id} at {self.where} {verb} on {self.on.isoformat()}{after}"


@dataclass(frozen=True, slots=True)
class Model:
    """What is known of one model in one setting. None and empty mean: not known.

    Attributes
    ----------
    name
        Name in the registry; ``paper/NAME`` asks for it.
    paper_name
        Name in arXiv 2606.21954, empty for models that are not in it.
    aliases
        Further names under which runs may hold it.
    vendor, family
        Who made it, and with which others it is compared by size alone.
    variant_of
        Name of the entry of which this is another thinking setting; empty for none.
    thinking
        The setting: ``none`` (it cannot), ``off``, ``on``, or a level.
    released
        First day on which anybody could use it.
    parameters_total, parameters_active
        Billions of parameters, and of those used per token.
    open_weights, weights
        Whether the weights can be had, and their repository.
    ids
        Names at servers.
    licence, languages
        In words.
    context, max_output
        Tokens.
    accepts
        ``temperature``, ``top_p``, ``top_k``, ``n``: true, false, or under which condition.
    recommended
        Sampling parameters that the vendor advises.
    price
        Empty, or ``input`` and ``output`` in US dollars per million tokens, and where known the
        ``date``, ``of`` whom it is, and ``batch_discount``, a share.
    retired
        Ids that stopped or will stop answering.
    spec
        The model as `hatscore run` takes it, where that is neither of the next two.
    inspect
        ``model`` and ``config`` for inspect_ai's model layer.
    server
        ``name`` and ``body`` for an OpenAI-compatible server.
    unsure
        Fields on which sources disagree or that only third parties confirm.
    notes
        What else one should know.
    """

    name: str
    paper_name: str = ""
    aliases: tuple[str, ...] = ()
    vendor: str = ""
    family: str = ""
    variant_of: str = ""
    thinking: str = ""
    released: dt.date | None = None
    parameters_total: float | None = None
    parameters_active: float | None = None
    open_weights: bool | None = None
    weights: str = ""
    ids: tuple[str, ...] = ()
    licence: str = ""
    languages: str = ""
    context: int | None = None
    max_output: int | None = None
    accepts: Mapping[str, Any] = field(default_factory=dict)
    recommended: Mapping[str, Any] = field(default_factory=dict)
    price: Mapping[str, Any] = field(default_factory=dict)
    retired: tuple[Retirement, ...] = ()
    spec: str = ""
    inspect: Mapping[str, Any] = field(default_factory=dict)
    server: Mapping[str, Any] = field(default_factory=dict)
    unsure: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def is_sure(self, name: str) -> bool:
        """Whether field `name` (``accepts.n`` for a part) is not among the unsure ones."""
        return name not in self.unsure and name.partition(".")[0] not in self.unsure

    @property
    def refused(self) -> tuple[str, ...]:
        """Sampling parameters that the model does not take, whatever the condition."""
        return tuple(k for k in ("temperature", "top_p") if self.accepts.get(k) is False)


def model_of(plain: Mapping[str, Any], *, where: str) -> Model:
    """Return the entry that a table of a TOML file describes.

    Raises
    ------
    InputError
        A name is missing, a field unknown or of the wrong kind; says which, of which model.
    """
    name = plain.get("name")
    if not isinstance(name, str) or not name:
        raise InputError(f"{where}: a [[model]] has no name")
    known = {f.name for f in fields(Model)}
    for key in plain:
        if key not in known:
            error = UnknownNameError(f"field of model {name!r}", key, known)
            raise InputError(f"{where}: {error}")
    values: dict[str, Any] = {}
    for key, value in plain.items():
        try:
            values[key] = _typed(key, value)
        except (TypeError, ValueError, KeyError) as error:
            raise InputError(
                f"{where}: model {name!r}, field {key}: {value!r} does not fit: {error}"
            ) from error
    for key in values.get("unsure", ()):
        if key.partition(".")[0] not in known:
            raise InputError(f"{where}: model {name!r}: unsure names no field: {key!r}")
    return Model(**values)


def _typed(key: str, value: Any) -> Any:
    kind: Callable[[Any], Any] = _KINDS.get(key, _text)
    return kind(value)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError("expected a text")
    return value


def _texts(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise TypeError("expected a list of texts")
    return tuple(map(_text, value))


def _size(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not value > 0:
        raise ValueError("expected a number of billions above 0")
    return float(value)


def _tokens(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ValueError("expected a whole number of tokens")
    return value


def _table(value: Any) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise TypeError("expected a table")
    return dict(value)


def _price(value: Any) -> dict[str, Any]:
    price = _table(value)
    for key in price:
        if key not in _PRICE:
            raise UnknownNameError("part of a price", key, _PRICE)
    for key in ("input", "output"):
        _usd(key, price.get(key))
    if "batch_discount" in price:
        share = price["batch_discount"]
        if isinstance(share, bool) or not isinstance(share, int | float) or not 0 <= share <= 1:
            raise ValueError("expected batch_discount as a share from 0 to 1")
    return price


def _usd(key: str, value: Any) -> None:
    if value is None:
        raise ValueError("expected both input and output, in USD per million tokens")
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < math.inf:
        raise ValueError(f"expected {key} in USD per million tokens, 0 or more")


def _yes_or_no(value: Any) -> bool:
    if not isinstance(value, bool):
        raise TypeError("expected true or false")
    return value


def _retirements(value: Any) -> tuple[Retirement, ...]:
    return tuple(Retirement(**{**entry, "on": _day(entry["on"])}) for entry in value)


def _day(value: Any) -> dt.date:
    if isinstance(value, dt.datetime):
        return value.date()
    return value if isinstance(value, dt.date) else dt.date.fromisoformat(value)


_KINDS: Mapping[str, Callable[[Any], Any]] = {
    "released": _day,
    "retired": _retirements,
    "open_weights": _yes_or_no,
    **dict.fromkeys(("parameters_total", "parameters_active"), _size),
    **dict.fromkeys(("context", "max_output"), _tokens),
    **dict.fromkeys(("aliases", "ids", "unsure", "notes"), _texts),
    "price": _price,
    **dict.fromkeys(("accepts", "recommended", "inspect", "server"), _table),
}
