"""``hatscore plan``: what a run will cost and how sharp it will be, before anything is spent."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
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

    def cost(self, outlook: Outlook, per_request: int = 1) -> float | None:
        """Return the cost of a plan, None where a price or a number of tokens is not known.

        Parameters
        ----------
        outlook
            Of the plan.
        per_request
            Most replies that one request asks for, one of those that `outlook` foretells.
        """
        if self.input is None or self.output is None or outlook.output_tokens is None:
            return None
        asked = outlook.input_tokens[per_request]
        return (self.input * asked + self.output * outlook.output_tokens) / _MILLION


def _finite(_context: click.Context, option: click.Parameter, value: float | None) -> float | None:
    """Refuse numbers of tokens and prices that no run can have."""
    if value is not None and not (value >= 0 and math.isfinite(value)):
        raise click.BadParameter(f"{value:g}: expected a number, 0 or more", param=option)
    return value


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
    "--output-tokens",
    type=float,
    callback=_finite,
    help="Of one reply, reasoning included; default the pilot's.",
)
@click.option(
    "--n-per-request",
    type=click.IntRange(min=1),
    help="Replies that the server gives to one prompt, which it bills once; default as the pilot "
    "shows, 1 for vendors who take no number, and both figures where it is not known.",
)
@click.option(
    "--price-in",
    type=float,
    callback=_finite,
    help="USD per million input tokens; default the registry's.",
)
@click.option("--price-out", type=float, callback=_finite, help="USD per million output tokens.")
@click.option(
    "--format", "style", type=click.Choice(["table", "json"]), default="table", show_default=True
)
@registry_option
def command(benchmarks: tuple[str, ...], style: str, **given: Any) -> None:
    """Say what a run of MODEL would ask, cost and show, under several plans; asks nothing.

    Without --pilot the widths hold for a model as the --assume options say. Costs need prices:
    --price-in and --price-out, or those that the registry of models holds, with their date.
    """
    from hatscore.cli.per_request import per_request, replies_seen
    from hatscore.cli.plan_show import document, text
    from hatscore.cli.prepared import load_tasks
    from hatscore.models import load_models

    prices = [_price(m, given, load_models(given["model_files"])) for m in given["models"]]
    request = _request(benchmarks, given)
    pilots = _read_pilot(given["pilot"])
    seen = None if given["pilot"] is None else replies_seen(given["pilot"])
    assumed = [
        per_request(m, repeats=given["repeats"], given=given["n_per_request"], seen=seen)
        for m in given["models"] or ("",)
    ]
    numbers = sorted({n for one in assumed for n in one.numbers})
    found = [
        _look(plan, tasks, pilots, given, numbers)
        for plan, tasks in load_tasks(request, given["mode"])
    ]
    if style == "json":
        click.echo(document(found, prices, assumed))
        return
    click.echo(text(found, prices, assumed))


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
    numbers: Sequence[int],
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
            per_request=numbers,
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
