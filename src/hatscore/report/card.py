"""A section for a model's card, and the ``model-index`` that model hubs read from its head.

No score is written without its interval.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from hatscore._version import __version__
from hatscore.report.blocks import by_block, profile_notes
from hatscore.report.health import alarms
from hatscore.report.text import MISSING, headline, label, number, printable, with_interval
from hatscore.scoring import MACRO

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hatscore.outcomes import Outcomes
    from hatscore.scoring import Measurement
    from hatscore.stats.estimate import Estimate

__all__ = ["Facts", "card_markdown", "card_yaml"]

PAPER = (
    "Bajpai, Briakou, Cherry, Jyothi, Piratla (2026), "
    "[arXiv 2606.21954](https://arxiv.org/abs/2606.21954)"
)
UNKNOWN = "not recorded"
_ESCAPED = "\\`*_{}[]<>#|~$"
_NAMES = {"hat": "HAT", "hat_plugin": "plug-in HAT"}
_ESTIMATORS = {
    "hat": "corrected slope `sum(s t) / sum(k (k - 1) / (n (n - 1)))` of success rates in the "
    "target on those in the source",
    "hat_plugin": "least-squares slope `sum(s t) / sum(s^2)` of success rates in the target on "
    "those in the source, not corrected for the noise of the source rates",
}


@dataclass(frozen=True, slots=True)
class Facts:
    """How one benchmark was sampled, in words; empty where it is not known.

    Parameters
    ----------
    version
        Of the benchmark.
    plan, prompts, sampling, judges
        Plan and replies per item; mode and language of the prompts; parameters that were sent;
        who judged free answers.
    date
        When sampling began, ``2026-11-30``.
    sampled_with
        The program that sampled, with its version.
    data
        Where the questions come from and under which licence.
    """

    version: str = ""
    plan: str = ""
    prompts: str = ""
    sampling: str = ""
    judges: str = ""
    date: str = ""
    sampled_with: str = ""
    data: str = ""


@dataclass(frozen=True, slots=True)
class _Part:
    """One model on one benchmark."""

    benchmark: str
    source: str
    rows: tuple[Measurement, ...]
    facts: Facts
    limits: tuple[str, ...] = field(default=())

    @property
    def macro(self) -> Measurement:
        (row,) = (m for m in self.rows if m.language == MACRO)
        return row

    @property
    def kind(self) -> str:
        """Which score is the average, or of the languages where there is none."""
        ranked = [self.macro, *self.targets]
        return next((k for k, e in map(headline, ranked) if not math.isnan(e.value)), "hat")

    @property
    def targets(self) -> list[Measurement]:
        return [m for m in self.rows if m.language != MACRO]


def card_markdown(
    found: Sequence[Measurement],
    outcomes: Outcomes,
    facts: Mapping[tuple[str, str], Facts] | None = None,
) -> str:
    """Return a Markdown section per model: scores with intervals, method, limits, citation.

    Parameters
    ----------
    found
        From `hatscore.scoring.measurements`.
    outcomes
        The table they were made from.
    facts
        By model and benchmark.
    """
    lines: list[str] = []
    for model, parts in _parts(found, outcomes, facts or {}).items():
        lines += [
            f"## Cross-lingual transfer of {_text(model)}",
            "",
            (
                "How much of what the model can do in the source language survives in others: the "
                f"Hardness Adjusted Transfer score (HAT; {PAPER}). 1 means that a question is "
                "answered in the target language as often as in the source language, 0 never. HAT "
                "is no accuracy: it says nothing of how much the model can do in the source "
                "language."
            ),
        ]
        for part in parts:
            lines += ["", *_benchmark_lines(part)]
        lines += ["", *_closing(parts)]
    return "\n".join(lines) + "\n"


def card_yaml(
    found: Sequence[Measurement],
    outcomes: Outcomes,
    facts: Mapping[tuple[str, str], Facts] | None = None,
) -> str:
    """Return the ``model-index`` of a model card's head, as YAML; the interval is in the name.

    Parameters as of `card_markdown`. A benchmark without a score has no entry.
    """
    index = []
    for model, parts in _parts(found, outcomes, facts or {}).items():
        results = []
        for part in parts:
            metrics = [metric for m in part.rows for metric in _metrics(m)]
            if metrics:
                results.append(
                    {
                        "task": {"type": "text-generation", "name": "Cross-lingual transfer"},
                        "dataset": {
                            "type": part.benchmark.partition("(")[0],
                            "name": f"{part.benchmark}, source {part.source}",
                            **({"revision": part.facts.version} if part.facts.version else {}),
                        },
                        "metrics": metrics,
                        "source": {
                            "name": f"hatscore {__version__}",
                            "url": "https://arxiv.org/abs/2606.21954",
                        },
                    }
                )
        index.append({"name": model, "results": results})
    return "\n".join(_yaml({"model-index": index})) + "\n"


def _parts(
    found: Sequence[Measurement], outcomes: Outcomes, facts: Mapping[tuple[str, str], Facts]
) -> dict[str, list[_Part]]:
    said = [*outcomes.notes, *profile_notes(found), *alarms(outcomes)]
    heads = [f"{model} on {benchmark}: " for model, benchmark in by_block(found)]
    general = [note for note in said if not any(note.startswith(head) for head in heads)]
    parts: dict[str, list[_Part]] = {}
    for (model, benchmark), rows in by_block(found).items():
        head = f"{model} on {benchmark}: "
        frame = outcomes.frame.filter(model=model, benchmark=benchmark)
        own = [note.removeprefix(head) for note in said if note.startswith(head)]
        parts.setdefault(model, []).append(
            _Part(
                benchmark,
                ", ".join(sorted(frame["source_language"].unique())),
                tuple(rows),
                facts.get((model, benchmark), Facts()),
                (*own, *general),
            )
        )
    return parts


def _benchmark_lines(part: _Part) -> list[str]:
    overall = headline(part.macro)[1]
    name = part.kind
    level = f"{100 * overall.confidence:g} %"
    lines = [
        f"### {_text(part.benchmark)}",
        "",
        _summary(part, level),
        "",
        f"| target language | {_NAMES[name]} [{level} interval] | target accuracy | items |",
        "|---|---|---|---:|",
    ]
    for m in part.rows:
        accuracy = m.scores["target_accuracy"]
        kind, score = headline(m)
        apart = f"{_NAMES[kind]} " * (kind != name and not math.isnan(score.value))
        cells = (label(m.language), apart + with_interval(score), with_interval(accuracy))
        lines.append(f"| {' | '.join(map(_cell, cells))} | {accuracy.n_items} |")
    lines += ["", *(f"- {line}" for line in _method(part, name, overall))]
    reasons = dict.fromkeys(e.reason for _, e in map(headline, part.rows) if e.reason)
    limits = [*part.limits, *reasons]
    if limits:
        lines += ["", "Limits of these numbers:", "", *(f"- {_text(limit)}" for limit in limits)]
    return lines


def _summary(part: _Part, level: str) -> str:
    name, overall = part.kind, headline(part.macro)[1]
    source = with_interval(part.macro.scores["source_accuracy"])
    known = [
        m for m in part.targets if headline(m)[0] == name and not math.isnan(headline(m)[1].value)
    ]
    if math.isnan(overall.value) and not known:
        return "No language has a score; the reasons stand below."
    text = (
        f"Macro average over {len(part.targets)} target languages: "
        f"**{_NAMES[name]} {with_interval(overall)}** ({level} interval); "
        f"accuracy in the source language {part.source}: {source}."
    )
    if len(known) > 1:
        low, *_, high = sorted(known, key=lambda m: headline(m)[1].value)
        text += (
            f" Highest: {_cell(label(high.language))}, {with_interval(headline(high)[1])}. "
            f"Lowest: {_cell(label(low.language))}, {with_interval(headline(low)[1])}. "
            "These two were picked after looking, so that their distance is on the large side."
        )
    return text


def _method(part: _Part, name: str, overall: Estimate) -> list[str]:
    f = part.facts
    n = {m.scores["target_accuracy"].n_items for m in part.targets}
    items = f"{min(n)} to {max(n)}" if len(n) > 1 else str(min(n))
    (language, *_) = [headline(m)[1] for m in part.targets]
    return [
        (
            f"Method: {_ESTIMATORS[name]}; intervals: {language.interval.capitalize()} for a "
            f"language, {overall.interval.capitalize()} for the average, clustered by item; "
            f"{items} items."
        ),
        (
            f"Benchmark version: {_text(f.version) or UNKNOWN}. "
            f"Data: {(_text(f.data) or UNKNOWN).removesuffix('.')}."
        ),
        (
            f"Plan: {_text(f.plan) or UNKNOWN}. Prompts: {_text(f.prompts) or UNKNOWN}. "
            f"Sampling parameters: {_text(f.sampling) or UNKNOWN}."
        ),
        f"Judge: {_text(f.judges) or ('none' if f.sampled_with else UNKNOWN)}.",
        (
            f"Sampled: {', with '.join(filter(None, (f.date, _text(f.sampled_with)))) or UNKNOWN}. "
            f"Scored with hatscore {__version__}."
        ),
    ]


def _closing(parts: Sequence[_Part]) -> list[str]:
    languages = sorted({m.language for part in parts for m in part.targets})
    return [
        "### Limits and citation",
        "",
        (
            f"The scores are of these questions and these languages ({', '.join(languages)}), with "
            "these prompts, and of no others. The intervals are over other questions of the same "
            "kind and other replies, not over other benchmarks, prompts or languages. Languages "
            "whose intervals overlap are not ranked by this measurement."
        ),
        "",
        f"The score: {PAPER}. Estimate and intervals: hatscore {__version__}.",
    ]


def _metrics(m: Measurement) -> list[dict[str, Any]]:
    name, estimate = headline(m)
    if math.isnan(estimate.value):
        return []
    where = "macro average" if m.language == MACRO else label(m.language)
    level = f"{100 * estimate.confidence:g} % interval"
    bounds = f"[{_end(estimate.low)}, {_end(estimate.high)}]"
    return [
        {
            "type": name,
            "value": round(estimate.value, 4),
            "name": f"{_NAMES[name]}, {where}, {level} {bounds}",
            "args": {
                "interval": bounds,
                "confidence": estimate.confidence,
                "language": m.language,
                "n_items": m.scores["target_accuracy"].n_items,
            },
        }
    ]


def _end(value: float) -> str:
    return number(value).replace(MISSING, "unknown").replace("\N{INFINITY}", "inf")


def _text(text: str) -> str:
    """Make text literal in Markdown, on one line."""
    plain = " ".join(printable(text).split())
    return "".join(f"\\{c}" if c in _ESCAPED else c for c in plain)


def _cell(text: str) -> str:
    return printable(text).replace("|", "\\|")


def _yaml(value: Any, indent: str = "") -> list[str]:
    """Return lines of YAML: blocks of mappings and lists, scalars as JSON writes them."""
    if isinstance(value, dict):
        lines = []
        for key, item in value.items():
            if isinstance(item, dict | list) and item:
                lines += [f"{indent}{key}:", *_yaml(item, f"{indent}  ")]
            else:
                lines.append(f"{indent}{key}: {_scalar(item)}")
        return lines
    lines = []
    for item in value:
        first, *rest = _yaml(item, f"{indent}  ")
        lines += [f"{indent}- {first.lstrip()}", *rest]
    return lines


def _scalar(value: Any) -> str:
    # a JSON string is a double-quoted string of YAML
    return json.dumps(printable(value) if isinstance(value, str) else value, ensure_ascii=True)
