"""What a run is: the settings that decide its replies, and those that are only recorded."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any, get_args
from urllib.parse import urlsplit, urlunsplit

from hatscore._version import __version__
from hatscore.benchmarks.base import Mode, PromptLanguage
from hatscore.errors import InputError
from hatscore.sampling.client import SamplingParams
from hatscore.sampling.plan import SamplingPlan
from hatscore.sampling.store import now

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["BenchmarkPlan", "RunConfig", "differences"]

FORMAT = 1
_RECORDED = ("base_url", "version", "created_at")
_SECRETS = frozenset({"apikey", "authorization", "password", "secret"})


@dataclass(frozen=True, slots=True)
class BenchmarkPlan:
    """What is sampled of one benchmark.

    Parameters
    ----------
    name, version
        Identity of the benchmark.
    languages
        All languages, the source included.
    source_language
        BCP 47 tag of the source.
    repeats
        Replies per item and language, at least 1; under another plan than ``paper`` those of the
        source, and the most that a target cell gets.
    items
        Number of items; None for all.
    seed
        Seed that chose the items.
    options
        The benchmark's own options.
    plan
        How the replies are spread over the cells.
    """

    name: str
    version: str
    languages: tuple[str, ...]
    source_language: str
    repeats: int
    items: int | None = None
    seed: int = 0
    options: Mapping[str, str] = field(default_factory=dict)
    plan: SamplingPlan = field(default_factory=SamplingPlan)

    def __post_init__(self) -> None:
        object.__setattr__(self, "languages", tuple(self.languages))
        object.__setattr__(self, "options", dict(self.options))


@dataclass(frozen=True, slots=True)
class RunConfig:
    """Everything that decides the replies of a run.

    Two configurations are the same run when all fields but `base_url`, `version` and
    `created_at` are equal.

    Parameters
    ----------
    model
        The model as typed: ``local``, ``openai-api/NAME``.
    client
        Kind of the client: ``local`` or ``openai-api``.
    served_model
        The name that is asked for at the server.
    mode, prompt_language
        How items become prompts.
    params
        Sampling parameters as sent.
    benchmarks
        What is sampled.
    base_url
        Address of the server; recorded without user, password and query.
    version
        Version of this package; recorded.
    created_at
        When the run began, ISO 8601 in UTC; recorded.

    Raises
    ------
    InputError
        ``params.extra`` holds something named like a key or a password: it would be stored.
    """

    model: str
    client: str
    served_model: str
    mode: Mode
    prompt_language: PromptLanguage
    params: SamplingParams
    benchmarks: tuple[BenchmarkPlan, ...]
    base_url: str | None = None
    version: str = __version__
    created_at: str = field(default_factory=now)

    def __post_init__(self) -> None:
        secret = [
            name
            for name in self.params.extra
            if name.lower().replace("_", "").replace("-", "") in _SECRETS
        ]
        if secret:
            raise InputError(
                f"extra field {secret[0]!r} would be stored in run.json; put the key into the "
                "environment variable HATSCORE_API_KEY instead"
            )
        object.__setattr__(self, "benchmarks", tuple(self.benchmarks))
        object.__setattr__(self, "params", replace(self.params, extra=dict(self.params.extra)))
        if self.base_url is not None:
            object.__setattr__(self, "base_url", _without_credentials(self.base_url))

    def to_json(self) -> str:
        """Return the configuration as a JSON document, one field a line."""
        return json.dumps({"format": FORMAT, **asdict(self)}, ensure_ascii=False, indent=2) + "\n"

    @classmethod
    def from_json(cls, text: str) -> RunConfig:
        """Return the configuration that :meth:`to_json` wrote.

        Raises
        ------
        InputError
            The text is no JSON, of another format, or lacks a field; says which.
        """
        try:
            data = json.loads(text)
        except ValueError as error:
            raise InputError(f"no JSON: {error}") from error
        if not isinstance(data, dict):
            raise InputError(f"expected a JSON object, got {type(data).__name__}")
        if data.pop("format", None) != FORMAT:
            raise InputError(f"written in another format; this hatscore reads format {FORMAT}")
        try:
            data["params"] = SamplingParams(**data["params"])
            data["benchmarks"] = tuple(_benchmark(plan) for plan in data["benchmarks"])
            config = cls(**data)
        except KeyError as error:
            raise InputError(f"field {error.args[0]!r} is missing") from error
        except (TypeError, AttributeError) as error:
            raise InputError(f"fields do not fit: {error}") from error
        if config.mode not in get_args(Mode):
            raise InputError(f"mode {config.mode!r}; expected one of {get_args(Mode)}")
        if config.prompt_language not in get_args(PromptLanguage):
            raise InputError(
                f"prompt_language {config.prompt_language!r}; "
                f"expected one of {get_args(PromptLanguage)}"
            )
        return config


def differences(stored: RunConfig, asked: RunConfig) -> list[str]:
    """Return every difference that makes `asked` another run, as ``field: stored X, asked Y``.

    Examples
    --------
    >>> params = SamplingParams(temperature=1.0)
    >>> one = RunConfig("local", "local", "m", "completion", "native", params, ())
    >>> two = RunConfig("local", "local", "m", "completion", "english", params, ())
    >>> differences(one, two)
    ["prompt_language: stored 'native', asked 'english'"]
    """
    left, right = _flat(stored), _flat(asked)
    return [
        f"{name}: stored {_shown(left, name)}, asked {_shown(right, name)}"
        for name in dict.fromkeys([*left, *right])
        if name not in left or name not in right or left[name] != right[name]
    ]


def _benchmark(data: Mapping[str, Any]) -> BenchmarkPlan:
    # a run of the time before plans is one of the paper's plan
    return BenchmarkPlan(**{**data, "plan": SamplingPlan(**data.get("plan", {}))})


def _shown(flat: Mapping[str, Any], name: str) -> str:
    return repr(flat[name]) if name in flat else "nothing"


def _flat(config: RunConfig) -> dict[str, Any]:
    """Return the identity of `config` by dotted field name; orders that decide nothing are gone."""
    data = json.loads(json.dumps(asdict(config)))  # tuples and mappings as they come from a file
    for name in _RECORDED:
        del data[name]
    for plan in data["benchmarks"]:
        plan["languages"].sort()
    data["benchmarks"] = {plan.pop("name"): plan for plan in data["benchmarks"]}
    flat: dict[str, Any] = {}

    def walk(prefix: str, value: Any) -> None:
        if isinstance(value, dict):
            for key in sorted(value):
                walk(f"{prefix}.{key}" if prefix else key, value[key])
        else:
            flat[prefix] = value

    walk("", data)
    return flat


def _without_credentials(url: str) -> str:
    parts = urlsplit(url)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))
