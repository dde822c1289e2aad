"""What a command asks for, as one value."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hatscore.errors import InputError
from hatscore.sampling import Budget, SamplingParams, SamplingPlan
from hatscore.sampling.clients.providers import PROVIDERS
from hatscore.sampling.run import CONFIG_NAME

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hatscore.benchmarks.base import Mode, PromptLanguage
    from hatscore.cli.progress import ProgressMode

__all__ = ["Request", "default_directory", "parse_pairs", "reasoning_fields"]

_DIGITS = 6


@dataclass(frozen=True, slots=True)
class Request:
    """What the user asked to sample, of one model.

    Attributes
    ----------
    languages
        None for all of a benchmark; the source language comes along by itself.
    options
        Options of the benchmarks; each must be known to one of them.
    plan
        How replies are spread over cells; None takes that of a run that is there already, else
        the default where it is possible.
    judges, judge_url
        Who grades free answers, and the address of their server; None takes that of the
        environment, or their provider's.
    """

    model: str
    benchmarks: tuple[str, ...]
    languages: Sequence[str] | None
    source_language: str | None = None
    items: int | None = None
    repeats: int = 10
    plan: SamplingPlan | None = field(default_factory=SamplingPlan)
    seed: int = 0
    mode: Mode | None = None
    prompt_language: PromptLanguage = "native"
    params: SamplingParams = field(default_factory=SamplingParams)
    options: Mapping[str, str] = field(default_factory=dict)
    base_url: str | None = None
    concurrency: int | None = None
    model_files: tuple[str, ...] = ()
    timeout_s: float = 600.0
    tries: int = 8
    budget: Budget = field(default_factory=Budget)
    mixed_models: bool = False
    progress: ProgressMode = "auto"
    batch: bool = False
    judges: tuple[str, ...] = ()
    judge_url: str | None = None


def reasoning_fields(model: str, effort: str | None, tokens: int | None) -> dict[str, Any]:
    """Return the reasoning settings as fields of the request.

    Raises
    ------
    InputError
        A budget for a model that is not reached through a provider: servers have no common
        field for it.
    """
    if tokens is not None and model.partition("/")[0] not in PROVIDERS:
        raise InputError(
            f"--reasoning-tokens is for providers like anthropic/NAME; for {model!r} use "
            "--extra with the field that its server knows"
        )
    given = {"reasoning_effort": effort, "reasoning_tokens": tokens}
    return {name: value for name, value in given.items() if value is not None}


def default_directory(
    model: str, benchmarks: Sequence[str], options: Mapping[str, str], *, root: Path = Path("runs")
) -> Path:
    """Return `root` and a name made of the model, the benchmarks and their options.

    Slashes become dashes. A model with several slashes gets a few digits of its hash too, so that
    ``vllm/a/b`` and ``vllm/a-b`` are two runs, unless its run lies under the bare name already.
    """
    named = {k: Path(v).name if k == "data" else v for k, v in sorted(options.items())}
    parts = [model, *benchmarks, *(f"{k}-{v}" for k, v in named.items())]
    first, *others = (re.sub(r"[^A-Za-z0-9.-]+", "-", part).strip("-.") for part in parts)
    bare = root / "_".join([first, *others])
    if model.count("/") <= 1 or _holds(bare, model):
        return bare
    digits = sha256(model.encode("utf-8", "replace")).hexdigest()[:_DIGITS]
    return root / "_".join([f"{first}-{digits}", *others])


def _holds(directory: Path, model: str) -> bool:
    """Whether a run of `model` lies in `directory`."""
    try:
        config = json.loads((directory / CONFIG_NAME).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return isinstance(config, dict) and config.get("model") == model


def parse_pairs(pairs: Sequence[str], *, what: str, as_json: bool = False) -> dict[str, Any]:
    """Return ``NAME=VALUE`` texts as a mapping.

    Raises
    ------
    InputError
        A text without ``=``, or a value that is no JSON where JSON is asked for.
    """
    found: dict[str, Any] = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or not name:
            raise InputError(f"{what} {pair!r}: expected NAME=VALUE")
        if as_json:
            try:
                found[name] = json.loads(value)
            except ValueError as error:
                raise InputError(
                    f'{what} {pair!r}: the value must be JSON (text in "quotes"): {error}'
                ) from error
        else:
            found[name] = value
    return found
