"""``hatscore benchmarks``: what can be asked, one item exactly, and the state of the data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import click

from hatscore.cli.complete import complete_benchmarks
from hatscore.errors import HatscoreError, InputError

if TYPE_CHECKING:
    from hatscore.benchmarks.base import Benchmark, Item, Mode, PromptLanguage
    from hatscore.grading.answer import Gold

__all__ = ["command"]

EXIT_FAULTS = 1
_NAMES_SHOWN = 12


def _data_options(function: Any) -> Any:
    function = click.option("--data", help="Short for --set data=PATH.")(function)
    return click.option("--set", "pairs", multiple=True, metavar="NAME=VALUE")(function)


@click.group("benchmarks", invoke_without_command=True)
@click.pass_context
def command(context: click.Context) -> None:
    """List the benchmarks; `show` prints one item exactly, `check` looks the data over."""
    if context.invoked_subcommand is None:
        list_all()


@command.command("list")
def listing() -> None:
    """List the benchmarks with version, languages, items, options, source and licence."""
    list_all()


def list_all() -> None:
    """Print every benchmark; a plug-in that cannot be loaded is named and passed over."""
    from hatscore.benchmarks import get_benchmark, list_benchmarks

    for name in list_benchmarks():
        try:
            benchmark = get_benchmark(name)
        except HatscoreError as error:
            click.echo(f"{name}: cannot be loaded: {error}")
            continue
        click.echo(f"{name} {benchmark.version}: {benchmark.title}")
        languages = benchmark.languages
        click.echo(
            f"  languages ({len(languages)}): {' '.join(languages)}"
            if languages
            else "  languages: those of your data"
        )
        sources = benchmark.source_languages
        click.echo(
            f"  source language: {sources[0]} by default"
            + (f", {len(sources)} possible" if len(sources) > 1 else "")
        )
        click.echo(f"  items: {_size(benchmark)}")
        for option, meaning in benchmark.options.items():
            click.echo(f"  --set {option}=...: {meaning}")
        click.echo(f"  source: {benchmark.source}")
        click.echo(f"  licence: {benchmark.licence}")


def _size(benchmark: Benchmark) -> str:
    """Say how many items a default run has, or that the data must be given."""
    from hatscore.benchmarks.registry import BUILT_IN

    published: int | None = getattr(benchmark, "n_items", None)
    if published is not None:
        return f"{published} as published"
    if "data" in benchmark.options or benchmark.name not in BUILT_IN:
        return "as many as the data holds (see `hatscore benchmarks check`)"
    source = benchmark.source_languages[0]
    other = next(tag for tag in benchmark.languages if tag != source)
    items = benchmark.load(
        languages=[source, other], source_language=source, items=None, seed=0, options={}
    )
    return f"{sum(item.language == source for item in items)} by default"


@command.command("show")
@click.argument("name", shell_complete=complete_benchmarks)
@click.option("-l", "--language", help="Language of the item; default a target language.")
@click.option("--item", "item_id", help="Id of the item; default the first.")
@click.option("--source", help="Source language; default that of the benchmark.")
@click.option(
    "--mode", type=click.Choice(["chat", "completion"]), default="chat", show_default=True
)
@click.option(
    "--prompt-language",
    type=click.Choice(["native", "english"]),
    default="native",
    show_default=True,
)
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of generated items.")
@click.option("--reply", help="Also grade this reply and say how it was read.")
@_data_options
def show(name: str, **given: Any) -> None:
    """Print the exact prompt, the gold and the grading of one item."""
    benchmark, item = _find_item(name, given)
    prompt = benchmark.prompt(
        item,
        mode=cast("Mode", given["mode"]),
        prompt_language=cast("PromptLanguage", given["prompt_language"]),
    )
    click.echo(f"{benchmark.name} {benchmark.version}")
    click.echo(f"item {item.id}, language {item.language}, source {item.source_language}")
    click.echo(f"group {item.group or item.id}, chance {item.chance:.4g}")
    click.echo(f"\nprompt ({prompt.mode}, at most {prompt.max_tokens} tokens):")
    click.echo("-" * 60)
    click.echo(prompt.text)
    click.echo("-" * 60)
    if prompt.stop:
        click.echo(f"stop at: {', '.join(repr(stop) for stop in prompt.stop)}")
    for line in _describe(item.gold):
        click.echo(line)
    if given["reply"] is not None:
        from hatscore.grading import Reply, grade

        graded = grade(Reply(given["reply"], "stop"), item.gold)
        read = "nothing" if graded.answer is None else repr(graded.answer)
        click.echo(f"reply {given['reply']!r}: {graded.status}, read {read}")


def _find_item(name: str, given: dict[str, Any]) -> tuple[Benchmark, Item]:
    from hatscore.benchmarks import get_benchmark
    from hatscore.benchmarks.base import Bindable
    from hatscore.languages import check_language

    options = _options(given)
    benchmark = get_benchmark(name)
    if isinstance(benchmark, Bindable):
        benchmark = benchmark.bind(options)
    source = check_language(
        given["source"] or benchmark.source_languages[0],
        benchmark.source_languages,
        of=f"the source of {name}",
    )
    asked = given["language"] or next((tag for tag in benchmark.languages if tag != source), source)
    language = check_language(asked, benchmark.languages, of=name)
    items = benchmark.load(
        languages=list(dict.fromkeys([source, language])),
        source_language=source,
        items=None,
        seed=given["seed"],
        options=options,
    )
    rows = [item for item in items if item.language == language]
    wanted = given["item_id"]
    if wanted is None and rows:
        return benchmark, rows[0]
    for item in rows:
        if item.id == wanted:
            return benchmark, item
    ids = [item.id for item in rows]
    raise InputError(
        f"{name} has no item {wanted!r} in {language}; its {len(ids)} items are "
        f"{', '.join(ids[:5])} ..."
    )


def _options(given: dict[str, Any]) -> dict[str, str]:
    from hatscore.cli.request import parse_pairs

    options = parse_pairs(given["pairs"], what="--set")
    if given["data"] is not None:
        options["data"] = given["data"]
    return options


def _describe(gold: Gold) -> list[str]:
    lines = [f"gold ({gold.kind}): {gold.value}"]
    if gold.labels:
        lines += [
            f"  {label}. {text}" for label, text in zip(gold.labels, gold.options, strict=True)
        ]
    if gold.also:
        lines.append(f"  right as well, being the same text: {', '.join(gold.also)}")
    lines += [
        f"  accepted in {tag}: {', '.join(names[:_NAMES_SHOWN])}"
        for tag, names in gold.names.items()
    ]
    if gold.context:
        lines.append(f"  judged against a text of {len(gold.context):,} characters")
    return lines


@command.command("check")
@click.argument("name", shell_complete=complete_benchmarks)
@_data_options
def check(name: str, **given: Any) -> int:
    """Look the data of a benchmark over and print what was found; exit code 1 for faults."""
    from hatscore.benchmarks import get_benchmark
    from hatscore.benchmarks.base import Checkable

    benchmark = get_benchmark(name)
    if not isinstance(benchmark, Checkable):
        raise InputError(f"{name} is generated: there is no data to check")
    findings = benchmark.check(options=_options(given))
    for finding in findings:
        click.echo(f"{finding.level}: {finding.text}")
    faults = sum(finding.level == "fault" for finding in findings)
    click.echo(f"{name}: {faults} faults, {len(findings) - faults} notes")
    return EXIT_FAULTS if faults else 0
