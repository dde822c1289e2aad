"""``hatscore demo``: a real model, a built-in benchmark, a page; no key, no network."""

from __future__ import annotations

from pathlib import Path

import click

from hatscore.cli import EXIT_INCOMPLETE

__all__ = ["command"]

LANGUAGES = ("de", "es", "fr", "pt", "sw", "ru", "hi", "ja")
ITEMS = 60
REPEATS = 10


@click.command("demo")
@click.option(
    "-o",
    "--output",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("runs/demo"),
    show_default=True,
    help="Run directory.",
)
@click.option("--items", type=click.IntRange(min=1), default=ITEMS, show_default=True)
@click.option("--repeats", type=click.IntRange(min=1), default=REPEATS, show_default=True)
@click.option("-l", "--languages", default=",".join(LANGUAGES), show_default=True)
def command(output: Path, items: int, repeats: int, languages: str) -> int:
    """Measure Gemma 3 270M on capitals of the world, on this machine, in a few minutes.

    Needs the extra `local`. A second call goes on where the first stopped, or shows the result.
    """
    from hatscore.cli.options import split_list
    from hatscore.cli.request import Request
    from hatscore.cli.run import show_results
    from hatscore.cli.running import sample_into
    from hatscore.sampling import SamplingParams

    click.echo(
        "Gemma 3 270M (base weights, 4-bit) names the capitals of countries, "
        f"{repeats} times each, in English and in {len(split_list((languages,)))} languages.\n"
        "The weights come from a package of their own, under the Gemma Terms of Use.",
        err=True,
    )
    summary = sample_into(
        Request(
            model="local",
            benchmarks=("worldfacts",),
            languages=split_list((languages,)),
            items=items,
            repeats=repeats,
            params=SamplingParams(temperature=1.0, seed=0),
            options={"kind": "capital"},
        ),
        output,
    )
    show_results([output], names="lenient", count="unparsed,empty,truncated,refused")
    return 0 if summary.complete else EXIT_INCOMPLETE
