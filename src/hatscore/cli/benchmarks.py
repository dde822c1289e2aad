"""``hatscore benchmarks``: what can be asked."""

from __future__ import annotations

import click

__all__ = ["command"]


@click.command("benchmarks")
def command() -> None:
    """List the benchmarks with version, languages, options, source and licence."""
    from hatscore.benchmarks import get_benchmark, list_benchmarks

    for name in list_benchmarks():
        benchmark = get_benchmark(name)
        click.echo(f"{name} {benchmark.version}: {benchmark.title}")
        click.echo(f"  languages ({len(benchmark.languages)}): {' '.join(benchmark.languages)}")
        sources = benchmark.source_languages
        click.echo(f"  source language: {sources[0]} by default, {len(sources)} possible")
        for option, meaning in benchmark.options.items():
            click.echo(f"  --set {option}=...: {meaning}")
        click.echo(f"  source: {benchmark.source}")
        click.echo(f"  licence: {benchmark.licence}")
