"""What the page says of the runs behind it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from hatscore.benchmarks import get_benchmark
from hatscore.errors import InputError
from hatscore.judging import VERDICTS_NAME, VerdictStore
from hatscore.readers.hatscore_run import benchmark_label, sniff
from hatscore.readers.registry import with_runs_within
from hatscore.sampling.run import Run

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hatscore.sampling.config import RunConfig

__all__ = ["run_context"]


def run_context(paths: Sequence[str]) -> Mapping[str, Mapping[str, str]]:
    """Return settings and data licences of the run directories among `paths`."""
    sections: dict[str, Mapping[str, str]] = {}
    for path in map(Path, with_runs_within(paths)):
        if not sniff(path):
            continue
        with Run.open(path) as run:
            sections[f"Run {path.name}: {run.config.model}"] = {
                **_describe(run.config),
                **_judges(path),
            }
    return sections


def _judges(directory: Path) -> dict[str, str]:
    """Name the judges that have given verdicts, and the models that answered under their names."""
    if not (directory / VERDICTS_NAME).is_file():
        return {}
    with VerdictStore(directory / VERDICTS_NAME, read_only=True) as store:
        return {
            f"Judge {judge}": "answered by " + (", ".join(store.models(judge)) or "nobody yet")
            for judge in store.judges()
        }


def _describe(config: RunConfig) -> dict[str, str]:
    params = config.params
    sent = {
        "temperature": params.temperature,
        "top_p": params.top_p,
        "max_tokens": params.max_tokens,
        "seed": params.seed,
        **params.extra,
    }
    described = {
        "Model": f"{config.model}, asked for as {config.served_model}",
        "Prompts": f"{config.mode} mode, {config.prompt_language} prompts",
        "Sampling parameters sent": ", ".join(
            f"{name} {value}" for name, value in sent.items() if value is not None
        ),
        "Sampled": f"begun {config.created_at} with hatscore {config.version}",
    }
    for plan in config.benchmarks:
        label = benchmark_label(plan)
        described[label] = (
            f"version {plan.version}; source {plan.source_language}; "
            f"{'all' if plan.items is None else plan.items} items (seed {plan.seed}), "
            + (
                f"{plan.repeats} replies per item and language"
                if plan.plan.kind == "paper"
                else f"plan {plan.plan}: {plan.repeats} replies per item in the source, at "
                f"most as many in a target; {plan.plan.keep:.0%} of the unsolved items kept"
            )
        )
        try:
            benchmark = get_benchmark(plan.name)
        except InputError:
            continue  # a plug-in that is not installed here: its licence is not known here
        described[f"{label}: data"] = f"{benchmark.source} Licence: {benchmark.licence}"
    return described
