"""Our benchmarks as tasks of inspect_ai: the prompts of `hatscore run`, one sample per language.

Every task takes, as ``-T NAME=VALUE``:

``languages``
    Targets, comma-separated; all without it. The source language comes along by itself.
``source_language``
    The benchmark's own without it.
``limit``
    Items, each in all languages; inspect's ``--limit`` counts samples.
``seed``
    Of the sample of items.
``prompts``
    ``native`` (default) or ``english``.
``mode``
    ``chat`` (default), or ``completion``: the prompt with examples that a base model continues,
    as one user turn. That needs a provider whose chat template is the bare text.
``temperature``
    1 as in `hatscore run`; ``null`` sends none. ``--temperature`` wins.

and the options of its benchmark (`hatscore benchmarks NAME` lists them); benchmarks with names
for answers take ``names=strict``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, get_args

from inspect_ai import Task, task
from inspect_ai._util.error import PrerequisiteError
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.log import HeadlineMetric
from inspect_ai.model import GenerateConfig

from hatscore._version import __version__
from hatscore.benchmarks.base import Mode, PromptLanguage
from hatscore.errors import InputError, UnknownNameError
from hatscore.inspect.recipe import Recipe
from hatscore.inspect.scorer import graded
from hatscore.inspect.solver import ask

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hatscore.benchmarks import Item, Prompt

__all__ = [
    "TaskError",
    "chain",
    "custom",
    "eclektic",
    "mgsm",
    "mgsm_v2",
    "mmlu_prox_lite",
    "wordmath",
    "worldfacts",
]

Languages = str | list[str] | None


class TaskError(InputError, PrerequisiteError):
    """An argument that a task cannot use: inspect shows its message without a traceback."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message  # what inspect prints


def _task(benchmark: str, arguments: Mapping[str, Any]) -> Task:
    try:
        return _made(benchmark, arguments)
    except InputError as error:
        raise TaskError(str(error)) from error


def _made(benchmark: str, arguments: Mapping[str, Any]) -> Task:
    """Make a task of its arguments; those that are not common to all are the benchmark's own."""
    own = dict(arguments)
    prompts, mode = own.pop("prompts"), own.pop("mode")
    temperature = own.pop("temperature")
    names, judge = own.pop("names", "lenient"), own.pop("judge", None)
    chosen = {name: own.pop(name) for name in ("languages", "source_language", "limit", "seed")}
    recipe = Recipe.of(benchmark, **chosen, options=own)
    if prompts not in get_args(PromptLanguage):
        raise UnknownNameError("language of prompts", str(prompts), get_args(PromptLanguage))
    if mode not in get_args(Mode):
        raise UnknownNameError("mode", str(mode), get_args(Mode))
    material = recipe.load()
    samples = [
        _sample(
            name,
            item,
            material.benchmark.prompt(item, mode=mode, prompt_language=prompts),
            {
                "benchmark": benchmark,
                "benchmark_version": material.benchmark.version,
                "recipe": recipe.arguments(),
            },
        )
        for name, item in material.items.items()
    ]
    return Task(
        dataset=MemoryDataset(samples, name=recipe.label()),
        solver=ask(judge, judged=material.is_judged),
        scorer=graded(names=names, judge=judge),
        config=GenerateConfig(temperature=temperature),
        name=recipe.label(),
        version=material.benchmark.version,
        headline_metric=HeadlineMetric(metric="hat"),
        metadata={"hatscore": __version__, "licence": material.benchmark.licence},
    )


def _sample(name: str, item: Item, prompt: Prompt, common: Mapping[str, Any]) -> Sample:
    metadata: dict[str, Any] = {
        "item": item.id,
        "language": item.language,
        "source_language": item.source_language,
        "group": item.group or item.id,
        "chance": item.chance,
        **common,
        "max_tokens": prompt.max_tokens,
    }
    if prompt.stop:
        metadata["stop"] = list(prompt.stop)
    return Sample(input=prompt.text, target=item.gold.value, id=name, metadata=metadata)


@task
def mgsm_v2(
    *,
    languages: Languages = None,
    source_language: str | None = None,
    limit: int | None = None,
    seed: int = 0,
    prompts: str = "native",
    mode: str = "chat",
    temperature: float | None = 1.0,
    data: str | None = None,
) -> Task:
    """Ask school problems in eleven languages, in the corrected edition."""
    return _task("mgsm_v2", locals())


@task
def mgsm(
    *,
    languages: Languages = None,
    source_language: str | None = None,
    limit: int | None = None,
    seed: int = 0,
    prompts: str = "native",
    mode: str = "chat",
    temperature: float | None = 1.0,
    data: str | None = None,
) -> Task:
    """Ask school problems in eleven languages, in the first edition."""
    return _task("mgsm", locals())


@task
def mmlu_prox_lite(
    *,
    languages: Languages = None,
    source_language: str | None = None,
    limit: int | None = None,
    seed: int = 0,
    prompts: str = "native",
    mode: str = "chat",
    temperature: float | None = 1.0,
    data: str | None = None,
) -> Task:
    """Ask expert questions with up to ten options in 29 languages."""
    return _task("mmlu_prox_lite", locals())


@task
def eclektic(
    *,
    languages: Languages = None,
    source_language: str | None = None,
    limit: int | None = None,
    seed: int = 0,
    prompts: str = "native",
    mode: str = "chat",
    temperature: float | None = 1.0,
    data: str | None = None,
    grading: str | None = None,
    judge: str | list[str] | None = None,
    names: str = "lenient",
) -> Task:
    """Ask facts known to one language's Wikipedia; a judge grades unless ``grading=names``."""
    return _task("eclektic", locals())


@task
def wordmath(
    *,
    languages: Languages = None,
    source_language: str | None = None,
    limit: int | None = None,
    seed: int = 0,
    prompts: str = "native",
    mode: str = "chat",
    temperature: float | None = 1.0,
    difficulty: int | None = None,
) -> Task:
    """Ask small arithmetic tasks written in words."""
    return _task("wordmath", locals())


@task
def worldfacts(
    *,
    languages: Languages = None,
    source_language: str | None = None,
    limit: int | None = None,
    seed: int = 0,
    prompts: str = "native",
    mode: str = "chat",
    temperature: float | None = 1.0,
    kind: str | None = None,
    names: str = "lenient",
) -> Task:
    """Ask for capitals, currencies and the like."""
    return _task("worldfacts", locals())


@task
def chain(
    *,
    languages: Languages = None,
    source_language: str | None = None,
    limit: int | None = None,
    seed: int = 0,
    prompts: str = "native",
    mode: str = "chat",
    temperature: float | None = 1.0,
    steps: int | None = None,
) -> Task:
    """Ask questions that join several facts in one calculation."""
    return _task("chain", locals())


@task
def custom(
    *,
    languages: Languages = None,
    source_language: str | None = None,
    limit: int | None = None,
    seed: int = 0,
    prompts: str = "native",
    mode: str = "chat",
    temperature: float | None = 1.0,
    data: str | None = None,
    kind: str | None = None,
    missing: str | None = None,
    names: str = "lenient",
) -> Task:
    """Ask the questions of a table of your own."""
    return _task("custom", locals())
