"""The scores of a judged run, corrected by labels that people gave to some of its replies."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from hatscore.errors import InputError
from hatscore.judging.labels import read_label_rows
from hatscore.judging.statuses import read_verdicts
from hatscore.judging.subjects import judged_replies
from hatscore.sampling.plan_state import PlanState
from hatscore.sampling.run import Run
from hatscore.stats import mean
from hatscore.stats.clusters import Clusters
from hatscore.stats.labelled import labelled_scores
from hatscore.stats.labels import Replies, label_rates, rates_differ

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from hatscore.judging.labels import Label
    from hatscore.judging.statuses import Judged
    from hatscore.judging.store import ReplyKey
    from hatscore.judging.subjects import Judgeable
    from hatscore.sampling.plan_state import BenchmarkState
    from hatscore.stats import Estimate
    from hatscore.stats.labels import JudgeRates

__all__ = ["COUNTED", "Corrected", "corrected_scores"]

COUNTED = ("empty", "truncated", "refused", "unparsed")
"""Statuses that count in n as not correct, beside the verdict wrong; the default of the scores."""

_LEVEL = 0.95
_DIFFERS_P = 0.01
_VERDICTS = {"correct": True, "wrong": False}
_SHOWN = 10


@dataclass(frozen=True, slots=True)
class Corrected:
    """One benchmark of a run.

    Parameters
    ----------
    benchmark
        Its name in the run, without options.
    judges
        The panel whose verdicts, by majority, were corrected.
    scores
        Corrected HAT by target language, sorted.
    macro
        Its mean over the target languages.
    rates
        How often the panel is right, by language, source languages too; of all languages
        together under ``all`` when pooled.
    pooled
        Whether one sensitivity and one specificity were taken for all languages.
    notes
        What the reader of the scores should know, in words.
    """

    benchmark: str
    judges: tuple[str, ...]
    scores: Mapping[str, Estimate]
    macro: Estimate
    rates: Mapping[str, JudgeRates]
    pooled: bool = False
    notes: tuple[str, ...] = field(default=())


def corrected_scores(
    run_directory: str | Path,
    labels: str | Path,
    *,
    judges: Sequence[str] | None = None,
    counted: Collection[str] = COUNTED,
    pooled: bool = False,
    confidence: float = 0.95,
) -> list[Corrected]:
    """Return the HAT scores of a judged run, corrected for the errors of its judges.

    See `hatscore.stats.labelled` for how. As in the scores that are not corrected, replies that no
    judge sees (empty, truncated, refused) are wrong, and cells that a plan left out on purpose are
    stood for by those that it kept.

    Parameters
    ----------
    run_directory
        Written by `hatscore run`, with stored verdicts.
    labels
        A file of labels, read by :func:`hatscore.judging.read_labels`.
    judges
        The panel; None takes every judge that has given a verdict.
    counted
        Statuses that count in n as not correct.
    pooled
        Take one sensitivity and one specificity for all languages.
    confidence
        Level of the intervals, in (0, 1).

    Returns
    -------
    list of Corrected
        One per benchmark of the run that is judged, in order.

    Raises
    ------
    InputError
        Nothing in the run is judged, no verdicts, labels of replies that the run does not have
        or of another text, and languages whose labels cannot tell how often the judge is right;
        the message names the file, its lines or the languages, and what to do.
    ReaderError, RunError
        The file or the run cannot be read.
    """
    directory, file = Path(run_directory), Path(labels)
    rows = read_label_rows(file)
    with Run.open(directory) as run:
        replies = {reply.key: reply for reply in judged_replies(run.store)}
    if not replies:
        raise InputError(
            f"{directory}: no item of this run is graded by a judge, so labels have nothing to "
            "correct; score it without --labels"
        )
    judged = read_verdicts(directory, judges)
    if not judged.judges:
        raise InputError(
            f"{directory}: no judge has given a verdict yet, and labels alone are too few to score "
            f"by; ask one first: `hatscore judge {directory} --judge MODEL`"
        )
    _check_labels(rows, replies, file, directory)
    right = {label.key: label.right for label in rows}
    names = list(dict.fromkeys(key.benchmark for key in replies))
    plans = PlanState.read(directory).benchmarks
    return [
        _benchmark(
            name,
            [reply for key, reply in replies.items() if key.benchmark == name],
            judged,
            plans.get(name),
            {key: value for key, value in right.items() if key.benchmark == name},
            counted=frozenset(counted),
            pooled=pooled,
            confidence=confidence,
            where=(file, directory),
            notes=_notes(rows, name, judged),
        )
        for name in names
    ]


def _check_labels(
    rows: Sequence[Label], replies: Mapping[ReplyKey, Judgeable], file: Path, directory: Path
) -> None:
    """Refuse labels of what the run does not hold."""
    if not rows:
        raise InputError(
            f"{file}: no row has a label; write yes or no into the column label, of as many rows "
            "as you like from the top of each language"
        )
    faults = []
    for label in rows:
        reply = replies.get(label.key)
        if reply is None:
            faults.append(f"line {label.line}: {_unknown(label.key, replies)}")
        elif (
            label.answer is not None
            and reply.status is None
            and _words(label.answer) != _words(reply.answer)
        ):
            faults.append(
                f"line {label.line}: another answer than the run has there: "
                f"{_short(label.answer)}, not {_short(reply.answer)}"
            )
    if faults:
        more = f"\n  and {len(faults) - _SHOWN} more" if len(faults) > _SHOWN else ""
        raise InputError(
            f"{file}: {len(faults)} of {len(rows)} labels are of replies that {directory} does not "
            "hold:\n  " + "\n  ".join(faults[:_SHOWN]) + more + "\nGive the run that was labelled, "
            f"or remove these rows; `hatscore judge {directory} --draw-labels FILE` draws replies "
            "of this run."
        )


def _unknown(key: ReplyKey, replies: Mapping[ReplyKey, Judgeable]) -> str:
    """Say which part of a key the run does not have."""
    left: Iterable[ReplyKey] = replies
    said = []
    for name in key._fields:
        value = getattr(key, name)
        left = [other for other in left if getattr(other, name) == value]
        said.append(f"{name} {value}")
        if not left:
            return f"no reply with {', '.join(said)}"
    return "no such reply"


def _words(text: str) -> str:
    """Take no notice of line ends, which spreadsheets change."""
    return " ".join(text.split())


def _short(text: str, most: int = 40) -> str:
    words = _words(text)
    return repr(words if len(words) <= most else words[: most - 3] + "...")


def _notes(rows: Sequence[Label], benchmark: str, judged: Judged) -> tuple[str, ...]:
    ours = [label for label in rows if label.key.benchmark == benchmark]
    statuses = Counter(judged.statuses[label.key] for label in ours)
    notes = []
    unread = statuses["judge_unparsed"]
    if unread:
        notes.append(f"{unread} labels are of replies without a verdict and tell nothing of one")
    unseen = sum(n for status, n in statuses.items() if status not in _VERDICTS) - unread
    if unseen:
        notes.append(
            f"{unseen} labels are of replies that no judge sees (empty, truncated, refused); "
            "these count as not correct whatever their label"
        )
    if ours and all(label.answer is None for label in ours):
        notes.append(
            "the labels have no column answer: nothing shows that they were given to the replies "
            "of this run"
        )
    return tuple(notes)


def _benchmark(
    name: str,
    replies: Sequence[Judgeable],
    judged: Judged,
    plan: BenchmarkState | None,
    right: Mapping[ReplyKey, bool],
    *,
    counted: frozenset[str],
    pooled: bool,
    confidence: float,
    where: tuple[Path, Path],
    notes: tuple[str, ...],
) -> Corrected:
    languages = sorted({reply.key.language for reply in replies})
    # an item whose source language was not sampled has no score to be corrected
    replies = [reply for reply in replies if reply.item.source_language in languages]
    stored = {reply.key.item: reply.item for reply in replies}
    index = {item: i for i, item in enumerate(stored)}
    column = {language: j for j, language in enumerate(languages)}
    tables = {
        language: _replies(
            [r for r in replies if r.key.language == language], judged, right, index, counted
        )
        for language in languages
    }
    _check_classes(tables, pooled=pooled, where=where, benchmark=name)
    found = labelled_scores(
        list(tables.values()),
        [column[stored[item].source_language] for item in index],
        groups=np.array([stored[item].group for item in index], dtype=object),
        weights=None
        if plan is None
        else _weights(
            plan, {(r.key.item, r.key.language) for r in replies}, list(index), languages
        ),
        pooled=pooled,
        confidence=confidence,
    )
    if pooled:
        notes = (*notes, *_differing(tables))
    scores = {
        language: score
        for language, score in zip(languages, found.scores, strict=True)
        if score is not None
    }
    if not scores:
        raise InputError(f"{where[1]}: {name} has no replies in a target language to be scored")
    return Corrected(
        benchmark=name,
        judges=judged.judges,
        scores=scores,
        macro=mean(list(scores.values()), confidence=confidence),
        rates={"all": found.rates[0]} if pooled else dict(zip(languages, found.rates, strict=True)),
        pooled=pooled,
        notes=notes,
    )


def _replies(
    replies: Sequence[Judgeable],
    judged: Judged,
    right: Mapping[ReplyKey, bool],
    index: Mapping[str, int],
    counted: frozenset[str],
) -> Replies:
    n = np.zeros(len(index))
    seen = []
    texts: dict[str, int] = {}
    for reply in replies:
        status = judged.statuses.get(reply.key, "judge_unparsed")
        said = _VERDICTS.get(status)
        if said is not None or status in counted:
            n[index[reply.key.item]] += 1
        if said is not None:
            label = right.get(reply.key)
            seen.append(
                (
                    index[reply.key.item],
                    texts.setdefault(reply.subject, len(texts)),
                    said,
                    np.nan if label is None else float(label),
                )
            )
    columns = zip(*seen, strict=True) if seen else [()] * 4
    item, text, yes, label_of = columns
    return Replies(
        n,
        np.array(item, dtype=np.intp),
        np.array(text, dtype=np.intp),
        np.array(yes, dtype=np.bool_),
        np.array(label_of, dtype=np.float64),
    )


def _differing(tables: Mapping[str, Replies]) -> Iterator[str]:
    """Say where the labels show that one pair of rates is not that of all languages."""
    rates = {
        language: label_rates(table, Clusters.of(None, len(table.n)), _LEVEL)
        for language, table in tables.items()
        if not _fault(table.yes, table.label)
    }
    p = rates_differ([each.public for each in rates.values()])
    if p < _DIFFERS_P:
        shown = ", ".join(
            f"{language} {each.a:.2f} and {1 - each.f:.2f}" for language, each in rates.items()
        )
        yield (
            f"sensitivity and specificity differ between languages (p = {p:.2g}: {shown}): one "
            "pair for all bends the scores; label replies of every language and leave --pooled out"
        )


def _weights(
    plan: BenchmarkState,
    sampled: Collection[tuple[str, str]],
    items: Sequence[str],
    languages: Sequence[str],
) -> NDArray[np.float64]:
    """Return how many cells each cell stands for; one that was not sampled may be 0, on purpose."""
    found = np.ones((len(items), len(languages)))
    for i, item in enumerate(items):
        for j, language in enumerate(languages):
            weight = plan.weight(item, language)
            # a cell that has replies though it was left out speaks for itself, as in the scores
            found[i, j] = weight or float((item, language) in sampled)
    return found


def _check_classes(
    tables: Mapping[str, Replies], *, pooled: bool, where: tuple[Path, Path], benchmark: str
) -> None:
    """Refuse labels that cannot tell how often a judge is right, all languages at once."""
    groups = (
        {"all languages together": list(tables.values())}
        if pooled
        else {language: [table] for language, table in tables.items()}
    )
    faults = []
    for name, parts in groups.items():
        yes = np.concatenate([part.yes for part in parts])
        label = np.concatenate([part.label for part in parts])
        fault = _fault(yes, label)
        if fault:
            faults.append(f"{name}: {fault}")
    if not faults:
        return
    file, directory = where
    remedies = [f"Label more replies: `hatscore judge {directory} --draw-labels FILE` draws some"]
    if not pooled:
        remedies.append(
            "or give --pooled, which takes one sensitivity and one specificity for all languages"
        )
    of = "" if pooled else f" in {len(faults)} of {len(groups)} languages"
    raise InputError(
        f"{file}: the labels of {benchmark} do not tell how often the judge is right{of}:\n  "
        + "\n  ".join(faults[:_SHOWN])
        + (f"\n  and {len(faults) - _SHOWN} more" if len(faults) > _SHOWN else "")
        + f"\n{', '.join(remedies)}."
    )


def _fault(said: NDArray[np.bool_], label: NDArray[np.float64]) -> str:
    known = ~np.isnan(label)
    if not len(said):
        return "no reply has a verdict"
    if not known.any():
        return f"no label, of {len(said):,} replies with a verdict"
    for verdict, word in ((True, "right"), (False, "wrong")):
        there = int((said == verdict).sum())
        if not there:
            return f"the judge calls all {len(said):,} replies {'wrong' if verdict else 'right'}"
        if not (known & (said == verdict)).any():
            return (
                f"none of the {int(known.sum())} labels is of a reply that the judge calls {word} "
                f"({there:,} are there)"
            )
    for truth, word, rate in ((1.0, "right", "sensitivity"), (0.0, "wrong", "specificity")):
        if not (label[known] == truth).any():
            return (
                f"none of the {int(known.sum())} labels says {word}, and so the {rate} is not known"
            )
    return ""
