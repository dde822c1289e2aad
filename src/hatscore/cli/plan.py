"""``hatscore plan``: what a run will cost and how sharp it will be, before anything is spent."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, cast

import click

from hatscore.cli.complete import complete_models
from hatscore.cli.models import registry_option
from hatscore.cli.options import asked_options, split_list
from hatscore.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hatscore.benchmarks.base import Mode, PromptLanguage
    from hatscore.cli.outlook import Assumed, Outlook
    from hatscore.models import Registry
    from hatscore.outcomes import Aligned
    from hatscore.sampling import BenchmarkPlan, Task

__all__ = ["Price", "command", "registry_price"]

BYTES_PER_TOKEN = 3.5  # of prompts in many languages, where no pilot has counted
_MILLION = 1e6


@dataclass(frozen=True, slots=True)
class Price:
    """USD per million tokens, and who says so."""

    model: str
    input: float | None
    output: float | None
    said: str

    def cost(self, outlook: Outlook) -> float | None:
        """Return the cost of a plan, None where a price or a number of tokens is not known."""
        if self.input is None or self.output is None or outlook.output_tokens is None:
            return None
        return (self.input * outlook.input_tokens + self.output * outlook.output_tokens) / _MILLION


@click.command("plan")
@click.argument("models", nargs=-1, metavar="[MODEL...]", shell_complete=complete_models)
@asked_options
@click.option(
    "--repeats",
    type=click.IntRange(min=4),
    default=10,
    show_default=True,
    help="Replies per item and language of the full plan.",
)
@click.option("--seed", type=int, default=0, show_default=True)
@click.option("--mode", type=click.Choice(["chat", "completion"]), default="chat")
@click.option("--prompt-language", type=click.Choice(["native", "english"]), default="native")
@click.option(
    "--set", "pairs", multiple=True, metavar="NAME=VALUE", help="Option of a benchmark; repeatable."
)
@click.option("--difficulty", help="Short for --set difficulty=...")
@click.option("--kind", help="Short for --set kind=...")
@click.option("--data", help="Short for --set data=PATH.")
@click.option("--width", "widths", type=float, multiple=True, help="Also plan for this width.")
@click.option(
    "--pilot",
    metavar="PATH",
    help="A run (or any results) of the same benchmark to learn rates and tokens from.",
)
@click.option(
    "--assume-accuracy", type=float, default=0.5, show_default=True, help="Of the source."
)
@click.option("--assume-hat", type=float, default=0.8, show_default=True)
@click.option(
    "--assume-heterogeneity",
    type=float,
    default=3.0,
    show_default=True,
    help="Concentration of target rates; small where items of one hardness differ much.",
)
@click.option(
    "--output-tokens", type=float, help="Of one reply, reasoning included; default the pilot's."
)
@click.option(
    "--price-in", type=float, help="USD per million input tokens; default the registry's."
)
@click.option("--price-out", type=float, help="USD per million output tokens.")
@click.option(
    "--format", "style", type=click.Choice(["table", "json"]), default="table", show_default=True
)
@registry_option
def command(benchmarks: tuple[str, ...], style: str, **given: Any) -> None:
    """Say what a run of MODEL would ask, cost and show, under several plans; asks nothing.

    Without --pilot the widths hold for a model as the --assume options say. Costs need prices:
    --price-in and --price-out, or those that the registry of models holds, with their date.
    """
    from hatscore.cli.prepared import load_tasks
    from hatscore.models import load_models

    prices = [_price(m, given, load_models(given["model_files"])) for m in given["models"]]
    request = _request(benchmarks, given)
    pilots = _read_pilot(given["pilot"])
    found = [
        _look(plan, tasks, pilots, given) for plan, tasks in load_tasks(request, given["mode"])
    ]
    if style == "json":
        parts = [
            {
                "benchmark": name,
                "basis": basis,
                "plans": [
                    {**asdict(o), "cost": {p.model: p.cost(o) for p in prices}} for o in outlooks
                ],
            }
            for name, basis, outlooks in found
        ]
        said = [asdict(p) for p in prices]
        click.echo(json.dumps({"benchmarks": parts, "prices": said}, indent=2, ensure_ascii=False))
        return
    click.echo("\n\n".join(_table(*part, prices) for part in found))
    for price in prices:
        click.echo(f"* {price.model}: {price.said}")


def _request(benchmarks: tuple[str, ...], given: Mapping[str, Any]) -> Any:
    from hatscore.cli.request import Request, parse_pairs

    options = parse_pairs(given["pairs"], what="--set")
    options |= {n: given[n] for n in ("difficulty", "kind", "data") if given[n] is not None}
    return Request(
        model="",
        benchmarks=tuple(split_list(benchmarks)),
        languages=split_list(given["languages"]) or None,
        source_language=given["source"],
        items=given["items"],
        repeats=given["repeats"],
        seed=given["seed"],
        mode=cast("Mode", given["mode"]),
        prompt_language=cast("PromptLanguage", given["prompt_language"]),
        options=options,
    )


def _read_pilot(path: str | None) -> tuple[list[Aligned], Any]:
    """Return the blocks of a pilot, and its rows."""
    if path is None:
        return [], None
    from hatscore.cli.reading import read_graded

    outcomes = read_graded([path], names="lenient", count="unparsed,empty,truncated,refused")
    return list(outcomes.aligned()), outcomes.frame


def _look(
    benchmark: BenchmarkPlan,
    tasks: Sequence[Task],
    pilots: tuple[list[Aligned], Any],
    given: Mapping[str, Any],
) -> tuple[str, str, list[Outlook]]:
    """Return the benchmark's name, what the outlook rests on, and the outlook of every plan."""
    from hatscore.cli.outlook import Assumed, outlook, spreads_of
    from hatscore.planning import choose_plan
    from hatscore.sampling.plan import SamplingPlan, parse_plan

    blocks, frame = pilots
    own = [b for b in blocks if b.benchmark.partition("(")[0] == benchmark.name]
    if blocks and not own:
        there = ", ".join(sorted({b.benchmark for b in blocks}))
        raise InputError(f"the pilot holds {there}, not {benchmark.name}")
    source: Aligned | Assumed = (
        own[0]
        if own
        else Assumed(given["assume_accuracy"], given["assume_hat"], given["assume_heterogeneity"])
    )
    repeats = benchmark.repeats
    languages = sorted({t.item.language for t in tasks} - {benchmark.source_language})
    pilot = spreads_of(source, languages, repeats=repeats)
    rows = None if frame is None or not own else _tokens(frame, own[0])
    per_input, per_output, tokens = _per_reply(tasks, rows, given["output_tokens"])
    wanted = [SamplingPlan(), parse_plan("efficient")]
    wanted += [parse_plan(f"width={width!r}") for width in given["widths"]]
    items = [t.item for t in tasks]
    _, why = choose_plan(None, items, benchmark=benchmark.name, repeats=repeats, judged=True)
    if why:
        wanted = wanted[:1]
    elif any(item.gold.kind == "judge" for item in items):
        why = "the judge's own tokens come on top, and plans but paper need --judge at the run"
    basis = (
        f"pilot {own[0].model}, {len(own[0].items)} items, {len(pilot.columns)} languages"
        if own
        else f"assumed: source accuracy {given['assume_accuracy']:g}, HAT {given['assume_hat']:g}, "
        f"heterogeneity {given['assume_heterogeneity']:g}"
    )
    found = [
        outlook(
            plan,
            pilot,
            tasks,
            repeats=repeats,
            input_tokens=per_input,
            output_tokens=per_output,
        )
        for plan in wanted
    ]
    return benchmark.name, "; ".join(x for x in (basis, tokens, why) if x), found


def _tokens(frame: Any, block: Aligned) -> dict[str, tuple[float | None, float | None]]:
    """Return mean input and output tokens of a reply by language, from a pilot's rows."""
    import polars as pl

    part = frame.filter(
        (pl.col("model") == block.model)
        & (pl.col("benchmark") == block.benchmark)
        & (pl.col("n") > 0)
    )
    means = part.group_by("language").agg(pl.col("input_tokens", "output_tokens").mean())
    return {language: (a, b) for language, a, b in means.iter_rows()}


def _per_reply(
    tasks: Sequence[Task],
    pilot: Mapping[str, tuple[float | None, float | None]] | None,
    output: float | None,
) -> tuple[dict[str, float], dict[str, float] | None, str]:
    """Return tokens of one reply by language, and where they come from."""
    lengths: dict[str, list[int]] = {}
    bounds: dict[str, int | None] = {}
    for task in tasks:
        size = len(task.prompt.text.encode("utf-8", "replace"))
        lengths.setdefault(task.item.language, []).append(size)
        bounds[task.item.language] = task.prompt.max_tokens
    estimated = {x: sum(n) / len(n) / BYTES_PER_TOKEN for x, n in lengths.items()}
    counted = {x: i for x, (i, _) in (pilot or {}).items() if i is not None and x in lengths}
    said = [
        "input tokens " + ("as the pilot counted" if counted else "by the bytes of the prompts")
    ]
    known = {x: o for x, (_, o) in (pilot or {}).items() if o is not None}
    if output is not None:
        outputs: dict[str, float] | None = dict.fromkeys(lengths, output)
        said.append(f"{output:g} output tokens a reply as given")
    elif known:
        usual = sum(known.values()) / len(known)
        outputs = {x: known.get(x, usual) for x in lengths}
        said.append("output tokens as the pilot counted")
    elif all(bound is not None for bound in bounds.values()):
        outputs = {x: float(bound) for x, bound in bounds.items() if bound is not None}
        said.append("output tokens at most as many as a reply may have (--output-tokens)")
    else:
        outputs = None
        said.append("output tokens not known (--output-tokens)")
    return {**estimated, **counted}, outputs, ", ".join(said)


def _price(model: str, given: Mapping[str, Any], registry: Registry) -> Price:
    prices = (given["price_in"], given["price_out"])
    if None not in prices:
        return Price(model, *prices, f"{prices[0]:g} and {prices[1]:g} USD per million, as given")
    if prices != (None, None):
        raise InputError("a cost needs both prices: give --price-in and --price-out")
    price = registry_price(model, registry)
    entry = registry.find(model)
    if price.input is not None and entry is not None and entry.thinking not in ("", "none", "off"):
        more = "it reasons, and reasoning is billed as output: give --output-tokens"
        return replace(price, said=f"{price.said}; {more}")
    return price


def registry_price(model: str, registry: Registry) -> Price:
    """Return the price that the registry of models holds, with its date in words."""
    entry = registry.find(model)
    if entry is None or not {"input", "output"} <= set(entry.price):
        return Price(model, None, None, "no price known; give --price-in and --price-out")
    price = entry.price
    unsure = "" if entry.is_sure("price") else ", unsure"
    said = (
        f"{price['input']:g} and {price['output']:g} USD per million tokens of input and output, "
        f"price of the {price.get('of', 'vendor')} on {price.get('date', 'an unknown day')}{unsure}"
    )
    return Price(model, float(price["input"]), float(price["output"]), said)


def _table(name: str, basis: str, outlooks: Sequence[Outlook], prices: Sequence[Price]) -> str:
    full = outlooks[0].replies
    head = [
        "plan",
        "replies",
        "% of paper",
        "input tokens",
        "output tokens",
        "width, mean",
        "widest",
    ]
    rows = [[*head, *(f"USD {p.model}" for p in prices)]]
    for o in outlooks:
        costs = [p.cost(o) for p in prices]
        rows.append(
            [
                o.plan,
                f"{o.replies:,.0f}",
                f"{100 * o.replies / full:.0f}",
                f"{o.input_tokens:,.0f}",
                "-" if o.output_tokens is None else f"{o.output_tokens:,.0f}",
                f"{sum(o.widths.values()) / len(o.widths):.3f}",
                f"{max(o.widths.values()):.3f}",
                *("-" if c is None else f"{c:,.2f}" for c in costs),
            ]
        )
    lines = [name, *_columns(rows), f"* {basis}", *(f"* {o.note}" for o in outlooks if o.note)]
    if len({f"{w:.3f}" for w in outlooks[0].widths.values()}) > 1:
        by_language = [["language", *(o.plan for o in outlooks)]]
        by_language += [[x, *(f"{o.widths[x]:.3f}" for o in outlooks)] for x in outlooks[0].widths]
        lines += ["", "Width of the 95 % interval of HAT", *_columns(by_language)]
    return "\n".join(lines)


def _columns(rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            cell.ljust(w) if i == 0 else cell.rjust(w)
            for i, (cell, w) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
