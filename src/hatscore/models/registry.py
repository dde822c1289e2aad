"""The registry: our data file, the user's on top, and names into what a run needs."""

from __future__ import annotations

import datetime as dt
import tomllib
from dataclasses import dataclass, field, replace
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hatscore.errors import InputError, ReaderError, UnknownNameError
from hatscore.models.entry import Model, model_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["AMBIGUOUS", "PREFIX", "Registry", "Resolved", "load_models", "resolve"]

PREFIX = "paper/"
AMBIGUOUS = "unknown"
"""The setting of a model whose name in a run is that of several settings."""


@dataclass(frozen=True, slots=True)
class Resolved:
    """How to ask for a model of the registry.

    Attributes
    ----------
    model
        Its entry.
    spec
        What `hatscore run` takes as a model.
    parameters
        Further fields of the request that make this model this setting (thinking, mostly).
    refused
        Names of sampling parameters that must not be sent.
    warnings
        What the user should hear before anything is sampled.
    """

    model: Model
    spec: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    refused: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Registry:
    """Models by name.

    Attributes
    ----------
    models
        Entries in the order of the files.
    """

    models: Mapping[str, Model]

    def get(self, name: str) -> Model:
        """Return the entry of `name` or ``paper/name``.

        Raises
        ------
        UnknownNameError
            There is none; names the nearest.
        """
        key = name.removeprefix(PREFIX)
        if key not in self.models:
            raise UnknownNameError("model", key, self.models)
        return self.models[key]

    def find(self, name: str) -> Model | None:
        """Return the entry that the model of a run must be, or None.

        Only whole names are compared: an entry's name, aliases, ids, weights, and its name in a
        run's words (``openai-api/ID``). Where several thinking settings share an id, the entry
        without a setting of its own comes back with ``thinking`` unknown.
        """
        several = self.named(name)
        if not several:
            return None
        bases = [m for m in several if not m.variant_of]
        model = (bases or several)[0]
        return model if len(several) == 1 else replace(model, thinking=AMBIGUOUS)

    def named(self, name: str) -> list[Model]:
        """Return every entry that `name` may mean, as `find` compares names: settings share ids."""
        wanted = {name, name.removeprefix(PREFIX), name.removeprefix("openai-api/")}
        for model in self.models.values():
            if wanted & {model.name, *model.aliases}:
                return [model]
        return [m for m in self.models.values() if wanted & _names(m)]


def load_models(paths: Sequence[str | Path] = ()) -> Registry:
    """Return our registry with the user's files on top, in order.

    A ``[[model]]`` of a name that exists changes the fields it gives, and what the user states is
    no longer unsure; another name adds a model.

    Raises
    ------
    ReaderError
        A file is missing or no TOML.
    InputError
        An entry that does not fit; says which file, model and field.
    """
    ours = files("hatscore").joinpath("models.toml").read_text(encoding="utf-8")
    tables = {t["name"]: t for t in tomllib.loads(ours)["model"]}
    models = {name: model_of(t, where="models.toml") for name, t in tables.items()}
    for path in map(Path, paths):
        for given in _tables(path):
            old = tables.get(given.get("name", ""), {})
            merged = {**old, **given}
            if "unsure" not in given:
                merged["unsure"] = [
                    u for u in old.get("unsure", []) if u.partition(".")[0] not in given
                ]
            model = model_of(merged, where=str(path))
            tables[model.name], models[model.name] = merged, model
    for model in models.values():
        if model.variant_of and model.variant_of not in models:
            raise InputError(
                f"model {model.name!r} is a setting of {model.variant_of!r}, which is not known"
            )
    return Registry(models)


def resolve(
    name: str,
    *,
    server: bool | None = False,
    registry: Registry | None = None,
    today: dt.date | None = None,
) -> Resolved | None:
    """Return how to ask for ``paper/NAME`` or a bare name of the registry.

    Parameters
    ----------
    name
        What the user typed as a model.
    server
        Whether an OpenAI-compatible server was named: then the model is asked for there. None
        where one is at hand but not named for this model: it is used for models known at one.
    registry
        Default: ours.
    today
        Default: this day, in UTC; decides which ids are retired.

    Returns
    -------
    Resolved or None
        None when `name` neither begins with ``paper/`` nor is in the registry: it is then a
        model as `hatscore run` takes it.

    Raises
    ------
    UnknownNameError
        ``paper/`` with a name that is not in the registry.
    InputError
        The model cannot be asked for in this way; says in which it can.

    Examples
    --------
    >>> resolve("paper/gemma-3-4b-it", server=True).spec
    'openai-api/google/gemma-3-4b-it'
    >>> resolve("openai-api/some-model") is None
    True
    """
    known = load_models() if registry is None else registry
    if not name.startswith(PREFIX) and name not in known.models:
        return None
    model = known.get(name)
    spec, parameters = _way(model, server=server)
    day = dt.datetime.now(dt.UTC).date() if today is None else today
    return Resolved(model, spec, parameters, model.refused, tuple(_warnings(model, day)))


def _way(model: Model, *, server: bool | None) -> tuple[str, Mapping[str, Any]]:
    if server or (server is None and "name" in model.server):
        if "name" not in model.server:
            raise InputError(
                f"{model.name} is not known at an OpenAI-compatible server"
                + (f"; without a server address it is {model.inspect['model']}"
                   if "model" in model.inspect else "")
                + ". A file given with --models can say server = { name = ... }."
            )  # fmt: skip
        return f"openai-api/{model.server['name']}", dict(model.server.get("body", {}))
    if model.spec:
        return model.spec, {}
    if "model" in model.inspect:
        return str(model.inspect["model"]), dict(model.inspect.get("config", {}))
    if "name" in model.server:
        raise InputError(f"{model.name} needs the address of its server: --base-url")
    raise InputError(
        f"the registry does not say how to ask for {model.name}: "
        "give its entry spec, server or inspect in a file for --models"
    )


def _warnings(model: Model, today: dt.date) -> list[str]:
    said = [r.describe(today) for r in model.retired]
    said += [
        f"{model.name} takes {name} {condition}"
        for name, condition in model.accepts.items()
        if name in ("temperature", "top_p") and isinstance(condition, str)
    ]
    if not model.is_sure("thinking"):
        said.append(f"{model.name}: it is not known which thinking setting the paper used")
    return said


def _names(model: Model) -> set[str]:
    found = {*model.ids, model.weights, model.spec}
    found |= {str(model.inspect.get("model", "")), str(model.server.get("name", ""))}
    return found - {""}


def _tables(path: Path) -> list[dict[str, Any]]:
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ReaderError(f"{path}: no readable file: {error.strerror or error}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ReaderError(f"{path}: no TOML: {error}") from error
    extra = set(document) - {"model", "collected"}
    found = document.get("model", [])
    if extra or not isinstance(found, list):
        raise ReaderError(f"{path}: expected [[model]] tables, found {', '.join(sorted(document))}")
    return found
