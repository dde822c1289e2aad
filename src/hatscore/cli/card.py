"""``hatscore card``: a section for a model's card."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from hatscore.cli.complete import complete_paths
from hatscore.cli.options import grading_options, interval_options, reader_options

if TYPE_CHECKING:
    from hatscore.cli.sampled import Sampled
    from hatscore.report.card import Facts

__all__ = ["command"]


@click.command("card")
@click.argument("paths", nargs=-1, required=True, metavar="PATH...", shell_complete=complete_paths)
@click.option(
    "--format",
    "style",
    type=click.Choice(["both", "md", "yaml"]),
    default="both",
    show_default=True,
    help="md: the section; yaml: the model-index that model hubs read; both: the section below a "
    "head with the index, as the file of a card has it.",
)
@grading_options
@interval_options
@reader_options
def command(paths: tuple[str, ...], style: str, **given: Any) -> None:
    """Print a section for a model's card: scores with intervals, method, limits, citation.

    PATH is a directory written by `hatscore run`, or anything else that `hatscore score` reads;
    what logs of others do not say of the sampling is called not recorded.
    """
    from hatscore.cli.reading import read_graded
    from hatscore.cli.sampled import sampled_benchmarks
    from hatscore.report.card import card_markdown, card_yaml
    from hatscore.scoring import measurements

    outcomes = read_graded(paths, names=given["names"], count=given["count"], given=given)
    found = measurements(outcomes, confidence=given["confidence"])
    facts = {key: _facts(one) for key, one in sampled_benchmarks(paths).items()}
    parts = []
    if style != "md":
        head = card_yaml(found, outcomes, facts)
        parts.append(head if style == "yaml" else f"---\n{head}---\n")
    if style != "yaml":
        parts.append(card_markdown(found, outcomes, facts))
    click.echo("\n".join(parts), nl=False)


def _facts(sampled: Sampled) -> Facts:
    from contextlib import suppress

    from hatscore.benchmarks import get_benchmark
    from hatscore.errors import InputError
    from hatscore.judging import read_verdicts
    from hatscore.report.card import Facts

    config, plan, params = sampled.config, sampled.plan, sampled.config.params
    sent = {
        "temperature": params.temperature,
        "top_p": params.top_p,
        "max_tokens": params.max_tokens,
        "seed": params.seed,
        **params.extra,
    }
    data = ""
    with suppress(InputError):  # a plug-in that is not installed here
        benchmark = get_benchmark(plan.name)
        data = f"{benchmark.source.rstrip('.')}. Licence: {benchmark.licence.rstrip('.')}."
    items = "all items" if plan.items is None else f"{plan.items} items by seed {plan.seed}"
    how = "per item and language" if plan.plan.kind == "paper" else "per item in the source"
    return Facts(
        version=plan.version,
        plan=f"{plan.plan}, {items}, {plan.repeats} replies {how}",
        prompts=f"{config.mode} mode, {config.prompt_language} language",
        sampling=", ".join(f"{k} {v}" for k, v in sent.items() if v is not None),
        judges=", ".join(read_verdicts(sampled.path).judges),
        date=config.created_at[:10],
        sampled_with=f"hatscore {config.version}",
        data=data,
    )
