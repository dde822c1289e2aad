"""``hatscore run``: sample, score and report."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

from hatscore.cli import EXIT_INCOMPLETE, EXIT_USAGE
from hatscore.cli.complete import complete_models
from hatscore.cli.models import registry_option
from hatscore.cli.options import asked_options, grading_options, split_list
from hatscore.cli.progress import PROGRESS_MODES
from hatscore.errors import InputError, InsufficientData

if TYPE_CHECKING:
    from hatscore.benchmarks.base import Mode, PromptLanguage

__all__ = ["command", "show_results"]


@click.command("run")
@click.argument(
    "models", nargs=-1, required=True, metavar="MODEL...", shell_complete=complete_models
)
@asked_options
@click.option(
    "--repeats",
    type=click.IntRange(min=1),
    default=10,
    show_default=True,
    help="Replies per item and language.",
)
@click.option(
    "--plan",
    help="paper: --repeats everywhere; efficient: the source --repeats times and few target "
    "replies, where they count, for intervals a quarter wider; width=X: until a language's "
    "interval is at most X wide. Default: efficient, and paper below 4 repeats or 30 items, "
    "and where answers are to be judged later.",
)
@click.option(
    "--keep",
    type=click.FloatRange(0, 1, min_open=True),
    help="Share of the items that the source never solved whose target prompts are sent all the "
    "same, for accuracy and gap; of those seldom solved at least as many. Default 0.15.",
)
@click.option(
    "--seed",
    type=int,
    default=0,
    show_default=True,
    help="Chooses the items and, for local models, the draws.",
)
@click.option("-o", "--output", type=click.Path(path_type=Path), help="Run directory.")
@click.option("--base-url", help="Address of an OpenAI-compatible server: http://HOST:PORT/v1.")
@click.option(
    "--mode",
    type=click.Choice(["chat", "completion"]),
    help="Default: completion for local models, chat for servers.",
)
@click.option(
    "--prompt-language",
    type=click.Choice(["native", "english"]),
    default="native",
    show_default=True,
    help="Language of instructions and labels.",
)
@click.option("--temperature", type=click.FloatRange(min=0), default=1.0, show_default=True)
@click.option("--no-temperature", is_flag=True, help="Send no temperature (some models refuse it).")
@click.option("--top-p", type=click.FloatRange(0, 1, min_open=True), help="Sent only if given.")
@click.option(
    "--max-tokens", type=click.IntRange(min=1), help="Default: the benchmark's own bound."
)
@click.option("--send-seed", is_flag=True, help="Send a seed to servers too, another per request.")
@click.option(
    "--extra",
    multiple=True,
    metavar="NAME=JSON",
    help="Further field of the request, e.g. top_k=64; repeatable.",
)
@click.option(
    "--set",
    "pairs",
    multiple=True,
    metavar="NAME=VALUE",
    help="Option of a benchmark (see `hatscore benchmarks`); repeatable.",
)
@click.option("--difficulty", help="Short for --set difficulty=...")
@registry_option
@click.option("--kind", help="Short for --set kind=...")
@click.option("--data", help="Short for --set data=PATH: official files, or a table of your own.")
@click.option(
    "--reasoning-effort",
    type=click.Choice(["none", "minimal", "low", "medium", "high", "xhigh", "max"]),
    help="How much the model reasons; part of what the run is.",
)
@click.option(
    "--reasoning-tokens",
    type=click.IntRange(min=0),
    help="Budget of reasoning tokens, of providers that have one; 0 for none.",
)
@click.option("--batch", is_flag=True, help="Use the provider's batch interface: cheaper, later.")
@click.option(
    "--concurrency",
    type=click.IntRange(min=1),
    help="Most requests under way at once; the number follows the server.",
)
@click.option(
    "--ray",
    is_flag=False,
    flag_value="",
    metavar="[ADDRESS]",
    help="Sample on the workers of a Ray cluster: --ray=ADDRESS, or alone for RAY_ADDRESS or a "
    "cluster on this machine.",
)
@click.option("--workers", type=click.IntRange(min=1), help="With --ray: default all it has.")
@click.option(
    "--gpus-per-worker", type=click.FloatRange(min=0), default=0.0, help="With --ray: default 0."
)
@click.option(
    "--results",
    metavar="URL",
    help="With --ray: where workers put what they have, and the run goes in the end (fsspec).",
)
@click.option(
    "--timeout",
    type=click.FloatRange(min=0, min_open=True),
    default=600.0,
    show_default=True,
    help="Longest time for one request, in seconds.",
)
@click.option(
    "--tries",
    type=click.IntRange(min=1),
    default=8,
    show_default=True,
    help="Requests in all for one that fails.",
)
@click.option(
    "--judge", "judges", multiple=True, metavar="MODEL", help="Judge of free answers; repeatable."
)
@click.option("--judge-url", help="Address of the judges' server; default that of --base-url.")
@click.option(
    "--max-cost",
    type=float,
    help="Stop at so many USD of the whole run; prices as given, else as the registry of "
    "models has them.",
)
@click.option(
    "--max-total-tokens",
    type=click.IntRange(min=1),
    help="Stop at so many input and output tokens of the whole run.",
)
@click.option("--max-replies", type=click.IntRange(min=1), help="Stop at so many replies in all.")
@click.option(
    "--price-in", type=float, help="USD per million input tokens; default the registry's."
)
@click.option("--price-out", type=float, help="USD per million output tokens.")
@click.option(
    "--mixed-models", is_flag=True, help="Go on when the server answers under another model name."
)
@click.option(
    "--progress",
    "progress_mode",
    type=click.Choice(PROGRESS_MODES),
    default="auto",
    show_default=True,
    help="How progress is shown on stderr.",
)
@click.option("-q", "--quiet", is_flag=True, help="No progress.")
@grading_options
def command(
    models: tuple[str, ...], output: Path | None, names: str, count: str, **given: Any
) -> int:
    """Sample MODEL on benchmarks, then print the scores and write the page.

    MODEL is `local` (Gemma 3 270M on this machine), `local/PATH.gguf`, or `openai-api/NAME` for
    a model at any OpenAI-compatible server (see --base-url; its key is read from
    HATSCORE_API_KEY or OPENAI_API_KEY). `openai/NAME`, `anthropic/NAME`, `google/NAME`,
    `vllm/NAME`, `ollama/NAME` and others go through the provider's own interface, with its own
    key. The same command goes on where it stopped.
    """
    from hatscore.cli.request import default_directory
    from hatscore.cli.running import judge_all, sample_all

    requests = [_request(model, given) for model in models]
    directories = []
    for request in requests:
        default = default_directory(request.model, request.benchmarks, request.options)
        if output is None:
            directories.append(default)
        else:
            directories.append(output if len(models) == 1 else output / default.name)
    cluster = _cluster(given)
    summaries = sample_all(requests, directories, cluster=cluster, quiet=given["quiet"])
    failed = sum(summary is None for summary in summaries)
    there = [d for d, summary in zip(directories, summaries, strict=True) if summary or _holds(d)]
    if failed and not there:
        return EXIT_USAGE
    complete = all(summary is not None and summary.complete for summary in summaries)
    answering = [r for r, d in zip(requests, directories, strict=True) if d in there]
    complete &= judge_all(answering, there, cluster=cluster, quiet=given["quiet"])
    if complete:
        show_results(there, names=names, count=count, known=given["model_files"])
        return 0
    try:
        show_results(there, names=names, count=count, known=given["model_files"])
    except (InputError, InsufficientData) as error:
        # too little came for a score; the run itself is fine and can go on
        click.echo(f"Error: {error}", err=True)
    return EXIT_USAGE if failed else EXIT_INCOMPLETE


def _holds(directory: Path) -> bool:
    """Whether any reply is there."""
    from hatscore.sampling import Run

    with Run.open(directory) as run:
        return run.store.usage().replies > 0


def show_results(
    directories: list[Path], *, names: str, count: str, known: tuple[str, ...] = ()
) -> None:
    """Print the table and write the page, into the run or beside several runs."""
    from hatscore.cli.pages import write_page
    from hatscore.cli.reading import read_graded
    from hatscore.models import load_models
    from hatscore.report import render_table
    from hatscore.scoring import measurements

    paths = [str(directory) for directory in directories]
    outcomes = read_graded(paths, names=names, count=count)
    click.echo(render_table(measurements(outcomes), outcomes), nl=False)
    where = directories[0] if len(directories) == 1 else directories[0].parent
    page = write_page(
        paths,
        outcomes,
        where / "report",
        names=names,
        count=count,
        registry=load_models(known),
    )
    click.echo(f"Page: {page}")


def _cluster(given: dict[str, Any]) -> Any:
    """Return the cluster that is asked for, None for this machine alone."""
    if given["ray"] is None:
        for name in ("workers", "gpus_per_worker", "results"):
            if given[name]:
                raise InputError(f"--{name.replace('_', '-')} needs --ray")
        return None
    from hatscore.sampling.cluster import Cluster

    return Cluster(
        address=given["ray"] or None,
        workers=given["workers"],
        gpus_per_worker=given["gpus_per_worker"],
        shelf_url=given["results"],
    )


def _plan(text: str | None, keep: float | None) -> Any:
    """Return the plan that is asked for, None for the default."""
    from hatscore.sampling.plan import KEEP, parse_plan

    if text is None and keep is None:
        return None
    plan = parse_plan(text or "efficient", keep=KEEP if keep is None else keep)
    if keep is not None and plan.keep != keep:
        raise InputError(
            f"--keep {keep:g}: the plan {plan} leaves no prompts out; leave --keep away, or take "
            "--plan efficient or width=X"
        )
    return plan


def _prices(model: str, given: dict[str, Any]) -> tuple[float | None, float | None]:
    """Return the prices that are given, else those of the registry, which are said."""
    asked = (given["price_in"], given["price_out"])
    # a server of one's own bills nobody as the vendor does
    if asked != (None, None) or (given["base_url"] and given["max_cost"] is None):
        return asked
    from hatscore.cli.plan import registry_price
    from hatscore.models import load_models

    price = registry_price(model, load_models(given["model_files"]))
    if price.input is None and given["max_cost"] is not None:
        raise InputError(f"--max-cost: {model}: {price.said}")
    if price.input is not None and (given["max_cost"] is not None or not given["quiet"]):
        click.echo(f"Note: {model}: cost reckoned at {price.said}", err=True)
    return price.input, price.output


def _request(model: str, given: dict[str, Any]) -> Any:
    from hatscore.cli.request import Request, parse_pairs, reasoning_fields
    from hatscore.sampling import Budget, SamplingParams

    price_in, price_out = _prices(model, given)
    options = parse_pairs(given["pairs"], what="--set")
    for name in ("difficulty", "kind", "data"):
        if given[name] is not None:
            options[name] = given[name]
    seeded = model.startswith("local") or given["send_seed"]
    return Request(
        model=model,
        benchmarks=tuple(split_list(given["benchmarks"])),
        languages=split_list(given["languages"]) or None,
        source_language=given["source"],
        items=given["items"],
        repeats=given["repeats"],
        plan=_plan(given["plan"], given["keep"]),
        seed=given["seed"],
        mode=cast("Mode | None", given["mode"]),
        prompt_language=cast("PromptLanguage", given["prompt_language"]),
        params=SamplingParams(
            temperature=None if given["no_temperature"] else given["temperature"],
            top_p=given["top_p"],
            max_tokens=given["max_tokens"],
            seed=given["seed"] if seeded else None,
            extra=parse_pairs(given["extra"], what="--extra", as_json=True)
            | reasoning_fields(model, given["reasoning_effort"], given["reasoning_tokens"]),
        ),
        options=options,
        base_url=given["base_url"],
        concurrency=given["concurrency"],
        timeout_s=given["timeout"],
        tries=given["tries"],
        budget=Budget(
            max_replies=given["max_replies"],
            max_tokens=given["max_total_tokens"],
            max_cost=given["max_cost"],
            price_in=price_in,
            price_out=price_out,
        ),
        mixed_models=given["mixed_models"],
        progress=given["progress_mode"],
        batch=given["batch"],
        judges=given["judges"],
        judge_url=given["judge_url"] or given["base_url"],
        model_files=given["model_files"],
    )
