"""A folder in the format of Every Eval Ever: a record per model and benchmark, and every reply.

Replies are written of runs of `hatscore run` alone: only there they are stored.
"""

from __future__ import annotations

import json
import re
import time
from contextlib import suppress
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import NAMESPACE_URL, uuid5

from hatscore.cli.sampled import sampled_benchmarks
from hatscore.errors import InputError
from hatscore.grading import grade
from hatscore.grading.answer import Graded
from hatscore.judging import ReplyKey, read_verdicts
from hatscore.judging.prompt import judge_prompt
from hatscore.readers.every_eval_ever import ASKED, OMITTED, WEIGHT
from hatscore.readers.hatscore_run import check_count, wanted, weight_of
from hatscore.report.blocks import by_block
from hatscore.report.every_eval_ever import SOURCE, Origin, evaluation_id, record, result_id
from hatscore.sampling.clients.providers import PROVIDERS
from hatscore.sampling.plan_state import PlanState
from hatscore.sampling.run import Run

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from hatscore.cli.sampled import Sampled
    from hatscore.grading.answer import NameMode
    from hatscore.outcomes import Outcomes
    from hatscore.sampling.config import BenchmarkPlan
    from hatscore.sampling.store import StoredItem, StoredResponse
    from hatscore.sampling.task import Cell
    from hatscore.scoring import Measurement

__all__ = ["write_every_eval_ever"]

INSTANCE_VERSION = "instance_level_eval_0.2.2"
_ALWAYS = frozenset({"correct", "wrong"})
_METHODS = {"judge": "llm_judge"}
_ROUTES = frozenset(PROVIDERS) - {"anthropic", "deepseek", "google", "grok", "mistral", "openai"}
_ROUTES |= {"openai-api", "openai-compatible", "paper", "local"}
_UNSAFE = re.compile(r"[^\w.=,-]+")


def write_every_eval_ever(
    paths: Sequence[str],
    folder: Path,
    *,
    outcomes: Outcomes,
    found: Sequence[Measurement],
    organization: str,
    relationship: str,
    names: NameMode = "lenient",
    count: str,
) -> list[Path]:
    """Write records, and the replies of runs beside them; return the files.

    A record lies in ``BENCHMARK/DEVELOPER/MODEL/ID.json``, its replies in ``ID_samples.jsonl``.

    Parameters
    ----------
    paths
        What `outcomes` was read from; runs among them are asked for their replies.
    folder
        Where to write; it is made.
    outcomes, found
        The table and its scores.
    organization, relationship
        See `Origin`.
    names, count
        How the replies were graded, as for `hatscore.read`.
    """
    sampled = sampled_benchmarks(paths)
    counted = _ALWAYS | check_count(count)
    retrieved_at = int(time.time())
    written = []
    for (model, benchmark), part in by_block(found).items():
        run = sampled.get((model, benchmark))
        developer = _developer(model)
        judges = read_verdicts(run.path).judges if run is not None else ()
        origin = Origin(
            organization=organization,
            relationship=relationship,
            retrieved_at=retrieved_at,
            developer=developer,
            **(_known(run, judges) if run is not None else {}),
        )
        short = model.rpartition("/")[2]
        home = folder / _safe(benchmark) / _safe(developer or "unknown") / _safe(short)
        home.mkdir(parents=True, exist_ok=True)
        name = str(uuid5(NAMESPACE_URL, evaluation_id(model, benchmark, origin)))
        tags = outcomes.frame.filter(model=model, benchmark=benchmark)["source_language"]
        source = ", ".join(sorted(tags.unique()))
        made = record(part, origin, source_language=source)
        samples = None
        if run is not None:
            ids = {result["evaluation_result_id"] for result in made["evaluation_results"]}
            path = home / f"{name}_samples.jsonl"
            head = {
                "schema_version": INSTANCE_VERSION,
                "evaluation_id": made["evaluation_id"],
                "model_id": model,
                "evaluation_name": benchmark,
            }
            samples = _write(path, _instances(run, head, ids, counted, names))
            written.append(path)
            made = record(part, origin, source_language=source, samples=samples)
        path = home / f"{name}.json"
        text = json.dumps(made, indent=2, ensure_ascii=False, allow_nan=False)
        path.write_text(text + "\n", encoding="utf-8")
        written.append(path)
    return written


def _known(run: Sampled, judges: Sequence[str]) -> dict[str, Any]:
    """Return what a run knows of an `Origin`."""
    from hatscore.benchmarks import get_benchmark

    config, plan, params = run.config, run.plan, run.config.params
    source: dict[str, str] = {"options": json.dumps(dict(plan.options), sort_keys=True)}
    if "data" in plan.options:
        # where a file of the user's lies is nobody's business
        options = {**plan.options, "data": Path(plan.options["data"]).name}
        source["options"] = json.dumps(options, sort_keys=True)
    with suppress(InputError):  # a plug-in that is not installed here
        benchmark = get_benchmark(plan.name)
        source |= {"source": benchmark.source, "licence": benchmark.licence}
    sent = {"temperature": params.temperature, "top_p": params.top_p}
    arguments: dict[str, Any] = {k: v for k, v in sent.items() if v is not None}
    if params.max_tokens is not None:
        arguments["max_tokens"] = params.max_tokens
    details = {
        "mode": config.mode,
        "prompt_language": config.prompt_language,
        "plan": str(plan.plan),
        "repeats": str(plan.repeats),
        "items": "all" if plan.items is None else f"{plan.items} by seed {plan.seed}",
        **{name: json.dumps(value) for name, value in params.extra.items()},
    }
    found: dict[str, Any] = {
        "sampled_at": config.created_at,
        "source_data": {"source_version": plan.version, "additional_details": source},
        "generation": {"generation_args": arguments, "additional_details": details},
    }
    if judges:
        prompt = judge_prompt(
            context="{context}", question="{question}", answer="{answer}", language="en"
        )
        found["llm_scoring"] = {
            "judges": [{"model_info": {"name": judge, "id": judge}} for judge in judges],
            "input_prompt": prompt.text,
            "aggregation_method": "majority_vote",
        }
    return found


def _developer(model: str) -> str:
    """Return who made a model as the registry or its name says; empty where neither does."""
    from hatscore.models import load_models

    known = load_models().find(model)
    if known is not None and known.vendor:
        return known.vendor
    *makers, _ = model.split("/")
    # a way to a model is not who made it
    return next((part for part in reversed(makers) if part not in _ROUTES), "")


def _write(path: Path, rows: Iterator[dict[str, Any]]) -> dict[str, Any]:
    """Write JSON lines and return what the record says of them."""
    total, hashed = 0, sha256()
    with path.open("wb") as file:
        for row in rows:
            line = json.dumps(row, ensure_ascii=True, allow_nan=False).encode() + b"\n"
            hashed.update(line)
            file.write(line)
            total += 1
    return {"file_path": path.name, "checksum": hashed.hexdigest(), "total_rows": total}


def _instances(
    run: Sampled,
    head: Mapping[str, Any],
    ids: set[str],
    counted: frozenset[str],
    names: NameMode,
) -> Iterator[dict[str, Any]]:
    judged = read_verdicts(run.path).statuses
    with Run.open(run.path) as opened:
        plan = _Planned(run.plan, PlanState.read(run.path), opened.store.counts())
        for item, response in opened.store.rows(run.plan.name):
            if item.gold.kind == "judge":
                key = ReplyKey(item.benchmark, item.item, item.language, response.repeat)
                graded = Graded(judged.get(key, "judge_unparsed"))
            else:
                graded = grade(response.reply, item.gold, names=names)
            row = _instance(item, response, graded, counts=graded.status in counted)
            row["metadata"] |= plan.metadata(item)
            is_source = item.language == item.source_language
            result = result_id("accuracy", SOURCE if is_source else item.language)
            yield {**head, **({"evaluation_result_id": result} if result in ids else {}), **row}


@dataclass(slots=True)
class _Planned:
    """What a sampling plan decided, where it did not ask for the same of every cell."""

    plan: BenchmarkPlan
    plans: PlanState
    stored: Collection[Cell]
    _told: set[str] = field(default_factory=set)
    _languages: set[str] = field(init=False)

    def __post_init__(self) -> None:
        self._languages = {c.language for c in self.stored if c.benchmark == self.plan.name}

    def metadata(self, item: StoredItem) -> dict[str, str]:
        """Return it for a reply; the first to a source item also tells what was left out."""
        state = self.plans.benchmarks.get(self.plan.name)
        if state is None:
            return {}
        found = {
            ASKED: str(wanted(self.plan, state, item.cell)),
            WEIGHT: repr(weight_of(self.plans, item)),
        }
        if item.language == item.source_language and item.item not in self._told:
            self._told.add(item.item)
            left_out = [
                language
                for language in state.targets.get(item.item, ())
                if state.weight(item.item, language) == 0
                and language in self._languages
                and item.cell._replace(language=language) not in self.stored
            ]
            if left_out:
                found[OMITTED] = " ".join(left_out)
        return found


def _instance(
    item: StoredItem, response: StoredResponse, graded: Graded, *, counts: bool
) -> dict[str, Any]:
    right = graded.status == "correct"
    reference = [item.gold.value, *item.gold.also]
    hashed = sha256((item.question + "".join(reference)).encode("utf-8", "surrogatepass"))
    output: dict[str, Any] = {"raw": [response.text]}
    if response.reasoning is not None:
        output["reasoning_trace"] = [response.reasoning]
    row: dict[str, Any] = {
        "sample_id": item.item,
        "sample_hash": hashed.hexdigest(),
        "interaction_type": "single_turn",
        "input": {
            "raw": item.question,
            "formatted": item.prompt.text,
            "reference": reference,
            "choices": list(item.gold.options) or None,
        },
        "output": output,
        "messages": None,
        "answer_attribution": [],
        "evaluation": {"score": float(right), "is_correct": right},
        "token_usage": _tokens(response),
        "error": None,
        "metadata": {
            "language": item.language,
            "source_language": item.source_language,
            "repeat": str(response.repeat),
            "group": item.group,
            "chance": repr(item.chance),
            "status": graded.status,
        },
    }
    if graded.answer is not None:
        row["answer_attribution"] = [
            {
                "turn_idx": 0,
                "source": "output.raw",
                "extracted_value": graded.answer,
                "extraction_method": _METHODS.get(item.gold.kind, "custom"),
                "is_terminal": True,
            }
        ]
    if not counts:
        # it stands in no accuracy, neither as right nor as wrong
        row["error"] = response.error or f"{graded.status}: does not count"
    if response.latency_s is not None:
        row["performance"] = {"latency_ms": 1000 * response.latency_s}
    return row


def _tokens(response: StoredResponse) -> dict[str, Any] | None:
    if response.input_tokens is None or response.output_tokens is None:
        return None
    found = {
        "input_tokens": response.input_tokens,
        "output_tokens": response.output_tokens,
        "total_tokens": response.input_tokens + response.output_tokens,
    }
    if response.reasoning_tokens is not None:
        found["reasoning_tokens"] = response.reasoning_tokens
    return found


def _safe(name: str) -> str:
    """Return a name that can be one folder on any system."""
    return _UNSAFE.sub("_", name).strip("._") or "_"
