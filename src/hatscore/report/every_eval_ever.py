"""Scores as an aggregate record of Every Eval Ever, eval.schema.json 0.2.2.

The schema is that of github.com/evaleval/every_eval_ever. One record is one model on one benchmark:
HAT, the slope as published and the accuracies, each language a result of its own. A result needs a
number, so what has no value is left out and said.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from hatscore._version import __version__
from hatscore.errors import InputError, UnknownNameError
from hatscore.report.text import interval
from hatscore.scoring import MACRO

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hatscore.scoring import Measurement
    from hatscore.stats.estimate import Estimate

__all__ = ["RELATIONSHIPS", "SCHEMA_VERSION", "Origin", "evaluation_id", "record", "result_id"]

SCHEMA_VERSION = "0.2.2"
RELATIONSHIPS = ("first_party", "third_party", "collaborative", "other")
SOURCE = "source"
"""Stands for the source language in the ids of results."""

_SLOPE = "least-squares slope of the target's success rates on the source's, through the origin"
_METRICS: dict[str, dict[str, Any]] = {
    "hat": {
        "evaluation_description": f"Hardness Adjusted Transfer (arXiv 2606.21954): {_SLOPE}, "
        "corrected for the noise of the source rates; 1 where all is kept, 0 where nothing is",
        "metric_id": "hatscore.hat",
        "metric_name": "HAT, corrected",
        "metric_kind": "hat",
        "metric_unit": "proportion",
        "lower_is_better": False,
    },
    "hat_plugin": {
        "evaluation_description": f"Hardness Adjusted Transfer as published: {_SLOPE}; too small "
        "with few replies per item",
        "metric_id": "hatscore.hat_plugin",
        "metric_name": "HAT, plug-in",
        "metric_kind": "hat",
        "metric_unit": "proportion",
        "lower_is_better": False,
    },
    "accuracy": {
        "evaluation_description": "Mean rate of correct replies, items weighing alike",
        "metric_id": "accuracy",
        "metric_name": "Accuracy",
        "metric_kind": "accuracy",
        "metric_unit": "proportion",
        "lower_is_better": False,
        "score_type": "continuous",
        "min_score": 0,
        "max_score": 1,
    },
}


@dataclass(frozen=True, slots=True)
class Origin:
    """What a record says beside the scores.

    Parameters
    ----------
    organization
        Who provides the data.
    relationship
        One of `RELATIONSHIPS`: of the provider to the model.
    retrieved_at
        When the record is made, seconds since 1970 in UTC.
    sampled_at
        When the run began, ISO 8601; empty if not known.
    developer
        Who made the model; empty if not known.
    source_data
        ``source_version`` and ``additional_details`` of the benchmark, as far as known.
    generation
        ``generation_args`` and ``additional_details`` of the sampling, as far as known.
    llm_scoring
        Judges and their prompt, where judges decided.

    Raises
    ------
    InputError
        No organization.
    UnknownNameError
        Another relationship.
    """

    organization: str
    relationship: str
    retrieved_at: int
    sampled_at: str = ""
    developer: str = ""
    source_data: Mapping[str, Any] = field(default_factory=dict)
    generation: Mapping[str, Any] = field(default_factory=dict)
    llm_scoring: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.organization.strip():
            raise InputError("a record says who provides it: give the organization's name")
        if self.relationship not in RELATIONSHIPS:
            raise UnknownNameError("relationship", self.relationship, RELATIONSHIPS)


def evaluation_id(model: str, benchmark: str, origin: Origin) -> str:
    """Return the id of a record: benchmark, model and time."""
    return f"{benchmark}/{model}/{origin.retrieved_at}"


def result_id(metric: str, language: str) -> str:
    """Return the id of a result within its record, ``accuracy/sw``."""
    return f"{metric}/{language}"


def record(
    part: Sequence[Measurement],
    origin: Origin,
    *,
    source_language: str,
    samples: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Return the record of one model on one benchmark.

    Parameters
    ----------
    part
        Its measurements, the macro row too.
    origin
        What is said beside them.
    source_language
        BCP 47 tag, or several with commas between them.
    samples
        The file of single replies: ``file_path``, ``checksum`` (SHA-256) and ``total_rows``.

    Raises
    ------
    InputError
        Measurements of several models or benchmarks, or none.
    """
    keys = {(m.model, m.benchmark) for m in part}
    if len(keys) != 1:
        raise InputError(
            f"a record is of one model on one benchmark, got {sorted(keys) or 'nothing'}"
        )
    ((model, benchmark),) = keys
    data = {"dataset_name": benchmark, "source_type": "other", **origin.source_data}
    named = {"evaluation_name": benchmark, "source_data": data}
    found, lost = [], []
    for metric, language, estimate in _scores(part):
        if math.isnan(estimate.value):
            lost.append(f"{result_id(metric, language)}: {estimate.reason or 'no value'}")
        else:
            spoken = source_language if language == SOURCE else language
            pair = {"language": spoken, "source_language": source_language}
            result = _result(metric, estimate, pair, origin)
            found.append({"evaluation_result_id": result_id(metric, language), **named, **result})
    library: dict[str, Any] = {"name": "hatscore", "version": __version__}
    if lost:
        library["additional_details"] = {"without_score": "; ".join(lost)}
    made: dict[str, Any] = {
        "schema_version": SCHEMA_VERSION,
        "evaluation_id": evaluation_id(model, benchmark, origin),
        "retrieved_timestamp": str(origin.retrieved_at),
        "source_metadata": {
            "source_name": "hatscore",
            "source_type": "evaluation_run",
            "source_organization_name": origin.organization,
            "evaluator_relationship": origin.relationship,
        },
        "eval_library": library,
        "model_info": {"name": model, "id": model},
        "evaluation_results": found,
    }
    if origin.developer:
        made["model_info"]["developer"] = origin.developer
    if origin.sampled_at:
        made["evaluation_timestamp"] = origin.sampled_at
    if samples is not None:
        made["detailed_evaluation_results"] = {
            "format": "jsonl",
            "hash_algorithm": "sha256",
            **samples,
        }
    return made


def _scores(part: Sequence[Measurement]) -> list[tuple[str, str, Estimate]]:
    found = [
        (metric, m.language, m.scores[name])
        for m in part
        for metric, name in (
            ("hat", "hat"),
            ("hat_plugin", "hat_plugin"),
            ("accuracy", "target_accuracy"),
        )
    ]
    (macro,) = (m for m in part if m.language == MACRO)
    return [*found, ("accuracy", SOURCE, macro.scores["source_accuracy"])]


def _result(
    metric: str, estimate: Estimate, pair: Mapping[str, str], origin: Origin
) -> dict[str, Any]:
    config: dict[str, Any] = {**_METRICS[metric], "metric_parameters": dict(pair)}
    if origin.llm_scoring:
        config["llm_scoring"] = dict(origin.llm_scoring)
    details = {"estimator": estimate.estimator, "interval": interval(estimate)}
    if estimate.reason:
        details["reason"] = estimate.reason
    uncertainty: dict[str, Any] = {"num_samples": estimate.n_items}
    if math.isfinite(estimate.se):
        uncertainty["standard_error"] = {
            "value": estimate.se,
            "method": "from the influence of every cluster of items",
        }
    if estimate.bounded:
        uncertainty["confidence_interval"] = {
            "lower": estimate.low,
            "upper": estimate.high,
            "confidence_level": estimate.confidence,
            "method": estimate.interval,
        }
    result: dict[str, Any] = {
        "metric_config": config,
        "score_details": {
            "score": estimate.value,
            "details": details,
            "uncertainty": uncertainty,
        },
    }
    if origin.sampled_at:
        result["evaluation_timestamp"] = origin.sampled_at
    if origin.generation:
        result["generation_config"] = dict(origin.generation)
    return result
