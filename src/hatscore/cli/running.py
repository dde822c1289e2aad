"""From the words of a command to a sampled run directory."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hatscore.benchmarks import get_benchmark
from hatscore.benchmarks.base import Bindable
from hatscore.cli.progress import show_progress
from hatscore.errors import InputError, UnknownNameError
from hatscore.languages import check_language
from hatscore.sampling import (
    BenchmarkPlan,
    Run,
    RunConfig,
    SamplingParams,
    make_client,
    make_tasks,
    run_sampling,
    warn_before,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hatscore.benchmarks.base import Benchmark, Item, Mode, PromptLanguage
    from hatscore.sampling import Summary

__all__ = ["Request", "default_directory", "parse_pairs", "sample_into"]

LOCAL_CONCURRENCY = 1  # one request of n replies fills the slots of a local server
SERVER_CONCURRENCY = 16


@dataclass(frozen=True, slots=True)
class Request:
    """What the user asked to sample, of one model.

    Attributes
    ----------
    languages
        None for all of a benchmark; the source language comes along by itself.
    options
        Options of the benchmarks; each must be known to one of them.
    """

    model: str
    benchmarks: tuple[str, ...]
    languages: Sequence[str] | None
    source_language: str | None = None
    items: int | None = None
    repeats: int = 10
    seed: int = 0
    mode: Mode | None = None
    prompt_language: PromptLanguage = "native"
    params: SamplingParams = field(default_factory=SamplingParams)
    options: Mapping[str, str] = field(default_factory=dict)
    base_url: str | None = None
    concurrency: int | None = None
    timeout_s: float = 600.0
    tries: int = 8


def sample_into(request: Request, directory: Path, *, quiet: bool = False) -> Summary:
    """Sample what `directory` lacks of `request`, with progress on stderr.

    Raises
    ------
    InputError, ModelError, RunError
        Before anything is sampled where the request cannot work, and as `run_sampling`.
    """
    benchmarks = [get_benchmark(name) for name in request.benchmarks]
    _check_options(benchmarks, request.options)
    loaded = [_load(benchmark, request) for benchmark in benchmarks]
    client = make_client(
        request.model,
        base_url=request.base_url,
        mode=request.mode,
        timeout_s=request.timeout_s,
        tries=request.tries,
    )
    config = RunConfig(
        model=request.model,
        client=client.kind,
        served_model=client.name,
        mode=client.mode,
        prompt_language=request.prompt_language,
        params=request.params,
        benchmarks=tuple(plan for plan, _ in loaded),
        base_url=client.base_url,
    )
    with Run.create_or_resume(directory, config) as run:
        for warning in warn_before(request.params, request.repeats):
            click.echo(f"Warning: {warning}", err=True)
        tasks = [
            task
            for benchmark, (plan, items) in zip(benchmarks, loaded, strict=True)
            # one language after the other: servers keep what equal prompts begin with
            for task in make_tasks(
                benchmark,
                sorted(
                    items, key=lambda item: (item.language != item.source_language, item.language)
                ),
                mode=client.mode,
                prompt_language=request.prompt_language,
                repeats=plan.repeats,
            )
        ]
        with show_progress(f"{request.model}", quiet=quiet) as progress:
            summary = run_sampling(
                run,
                tasks,
                client,
                concurrency=request.concurrency
                or (LOCAL_CONCURRENCY if client.kind == "local" else SERVER_CONCURRENCY),
                progress=progress,
            )
    if not quiet:
        _say(summary, directory)
    for warning in summary.warnings:
        click.echo(f"Warning: {warning}", err=True)
    return summary


def default_directory(model: str, benchmarks: Sequence[str], options: Mapping[str, str]) -> Path:
    """Return ``runs/`` and a name made of the model, the benchmarks and their options."""
    named = {k: Path(v).name if k == "data" else v for k, v in sorted(options.items())}
    parts = [model, *benchmarks, *(f"{k}-{v}" for k, v in named.items())]
    slug = "_".join(re.sub(r"[^A-Za-z0-9.-]+", "-", part).strip("-.") for part in parts)
    return Path("runs") / slug


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


def _check_options(benchmarks: Sequence[Benchmark], options: Mapping[str, str]) -> None:
    known = {name for benchmark in benchmarks for name in benchmark.options}
    for name in options:
        if name not in known:
            names = ", ".join(b.name for b in benchmarks)
            raise UnknownNameError(f"option of {names}", name, known or {"(it has none)"})


def _load(benchmark: Benchmark, request: Request) -> tuple[BenchmarkPlan, list[Item]]:
    options = {k: v for k, v in request.options.items() if k in benchmark.options}
    if isinstance(benchmark, Bindable):
        benchmark = benchmark.bind(options)
    asked = request.languages or benchmark.languages
    languages = [check_language(tag, benchmark.languages) for tag in asked]
    source = check_language(
        request.source_language or benchmark.source_languages[0], benchmark.source_languages
    )
    everything = tuple(dict.fromkeys([source, *languages]))
    if len(everything) == 1:
        raise InputError(
            f"{benchmark.name}: the only language asked for is the source ({source}); "
            "name at least one other with -l"
        )
    items = benchmark.load(
        languages=everything,
        source_language=source,
        items=request.items,
        seed=request.seed,
        options=options,
    )
    plan = BenchmarkPlan(
        name=benchmark.name,
        version=benchmark.version,
        languages=everything,
        source_language=source,
        repeats=request.repeats,
        items=request.items,
        seed=request.seed,
        options=options,
    )
    return plan, items


def _say(summary: Summary, directory: Path) -> None:
    if summary.new == 0 and summary.complete:
        click.echo(f"{directory}: all {summary.total} replies are there already", err=True)
        return
    tokens = f", {summary.output_tokens:,} tokens generated" if summary.output_tokens else ""
    click.echo(
        f"{directory}: {summary.new:,} new replies in {summary.wall_s:.0f} s "
        f"({summary.already:,} were there){tokens}",
        err=True,
    )
    if not summary.complete:
        missing = summary.total - summary.already - summary.new
        last = f"; the last failure: {summary.last_error}" if summary.last_error else ""
        click.echo(
            f"Incomplete: {missing:,} of {summary.total:,} replies are missing{last}. "
            "The same command asks for them again.",
            err=True,
        )
