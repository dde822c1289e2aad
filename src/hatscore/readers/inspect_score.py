"""What a scored sample of inspect_ai says of one reply: its credit and how it ended."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from hatscore.errors import ReaderError, UnknownNameError

__all__ = ["Reply", "choose_scorer", "credit", "judge"]

_LETTERS = {"C": 1.0, "P": 0.5, "I": 0.0, "N": 0.0}
_WORDS = {"yes": 1.0, "true": 1.0, "no": 0.0, "false": 0.0}
# reasons that inspect gives beside a score; the other ones lie with the grader
_REASONS = {
    "invalid_response_format": "unparsed",
    "refusal": "refused",
    "no_response": "empty",
}
_GRADER = frozenset({"grader_failed", "scoring_failed"})
# how our own scorer says that a reply ended, by whether it has a score
_OURS = {
    False: frozenset({"wrong", "unparsed", "empty", "truncated", "refused"}),
    True: frozenset({"error", "judge_unparsed"}),
}
_MOST = 1 << 53  # counts beyond are no counts, and no floats hold them
_CUT = frozenset({"max_tokens", "model_length"})


class Reply(NamedTuple):
    """One reply.

    Attributes
    ----------
    status
        A status of the canonical table; ``wrong`` with a credit between 0 and 1 is partly right.
    credit
        0 to 1.
    input_tokens, output_tokens, reasoning_tokens
        Of the evaluated model, None where unknown.
    text
        Hash of the reply's text, None where no text is known.
    """

    status: str
    credit: float
    input_tokens: int | None = None
    output_tokens: int | None = None
    reasoning_tokens: int | None = None
    text: int | None = None

    @property
    def counts(self) -> bool:
        """Whether the reply counts in n."""
        return self.status not in ("error", "judge_unparsed")


def choose_scorer(scores: dict[str, Any], wanted: str | None, name: str) -> str:
    """Return which score of a sample counts, as ``scorer`` or ``scorer.key``.

    Parameters
    ----------
    scores
        Scores of one sample by scorer.
    wanted
        What the user chose; None where there is no choice to be made.
    name
        The log, for messages.

    Raises
    ------
    ReaderError
        Several scorers or several values and none chosen.
    UnknownNameError
        No such scorer.
    """
    known = [
        f"{scorer}.{key}" if key else scorer
        for scorer, score in scores.items()
        for key in (_keys(score) or [""])
    ]
    if wanted is None:
        if len(known) == 1:
            return known[0]
        raise ReaderError(
            f"{name}: {len(known)} scores to choose from, {', '.join(known)}; "
            f"say which counts, for example scorer={known[0]!r}"
        )
    if wanted in known:
        return wanted
    below = [one for one in known if one.rsplit(".", 1)[0] == wanted]
    if len(below) == 1:
        return below[0]
    raise UnknownNameError(f"scorer of {name}", wanted, known)


def judge(
    sample: dict[str, Any], scorer: str, *, model: str, max_tokens: int | None, where: str
) -> Reply:
    """Return what a sample or its summary says.

    Parameters
    ----------
    sample
        With the keys that inspect writes.
    scorer
        As `choose_scorer` returns it.
    model, max_tokens
        The evaluated model, and the most tokens it may write.
    where
        File and sample, for messages.

    Raises
    ------
    ReaderError
        A score that is no credit between 0 and 1.
    """
    tokens = _tokens(sample, model)
    if sample.get("error") is not None or sample.get("invalidation"):
        return Reply("error", 0.0, *tokens)
    score, value = _score(sample, scorer)
    text = _text(sample, score)
    if value == "C":
        return Reply("correct", 1.0, *tokens, text)
    cut = sample.get("limit") is not None
    if score is None:
        return Reply("truncated" if cut else "judge_unparsed", 0.0, *tokens, text)
    reason = score.get("reason") or _inner(score, "metadata", "unscored_reason")
    got = credit(value, scorer, where)
    if got > 0:
        return Reply("correct" if got == 1 else "wrong", got, *tokens, text)
    own = _inner(score, "metadata", "status")
    ours = isinstance(own, str) and _inner(sample, "metadata", "benchmark_version")
    if ours and own in _OURS[math.isnan(got)]:
        return Reply(str(own), 0.0, *tokens, text)
    if reason in _GRADER or math.isnan(got):  # no verdict, unless the fault is the model's
        ended = _REASONS.get(str(reason), "judge_unparsed")
    elif cut:  # before the reason: nothing was written because nothing could be
        ended = "truncated"
    else:
        ended = _REASONS.get(str(reason)) or ("refused" if value == "N" else "")
        ended = ended or _ending(sample, score, tokens[1], max_tokens)
    return Reply(ended, 0.0, *tokens, text)


def credit(value: Any, scorer: str, where: str) -> float:
    """Return a score's value as credit, 0 to 1; NaN for a reply that was not scored.

    Letters are those of inspect: C 1, P 0.5, I and N (no answer) 0.

    Raises
    ------
    ReaderError
        Anything else.
    """
    number: float | None = None
    if isinstance(value, bool | int | float):
        number = float(value) if abs(value) <= 1 or value != value else math.inf  # noqa: PLR0124 - NaN
    elif isinstance(value, str):
        number = _LETTERS.get(value, _WORDS.get(value.lower()))
        if number is None:
            try:
                number = float(value)
            except ValueError:
                number = None
    if number is None or not (math.isnan(number) or 0 <= number <= 1):
        raise ReaderError(
            f"{where}: the score {scorer} is {str(value)[:80]!r}; expected C, P, I, N, yes, no or "
            "a number from 0 to 1. Choose another scorer, or score the log anew"
        )
    return number


def _ending(
    sample: dict[str, Any], score: dict[str, Any], written: int | None, max_tokens: int | None
) -> str:
    """How a wrong reply ended: from the reply itself, else from what the summary tells of it."""
    output = sample.get("output")
    choices = output.get("choices") if isinstance(output, dict) else None
    if isinstance(choices, list) and choices and isinstance(choices[0], dict):
        stop = choices[0].get("stop_reason")
        if stop == "content_filter":
            return "refused"
        if stop in _CUT:
            return "truncated"
        if not _visible(choices[0].get("message")).strip():
            return "empty"
    elif max_tokens and written and written >= max_tokens and sample.get("turn_count") in (None, 1):
        return "truncated"
    answer = score.get("answer")
    if isinstance(answer, str) and not answer.strip():
        explanation = score.get("explanation")
        graded = _inner(score, "metadata", "grading") is not None
        silent = graded or not (isinstance(explanation, str) and explanation.strip())
        return "empty" if silent else "unparsed"
    return "wrong"


def _score(sample: dict[str, Any], scorer: str) -> tuple[dict[str, Any] | None, Any]:
    scores = sample.get("scores")
    if not isinstance(scores, dict):
        return None, None
    found, key = scores.get(scorer), None
    if not isinstance(found, dict) and "." in scorer:
        above, key = scorer.rsplit(".", 1)
        found = scores.get(above)
    if not isinstance(found, dict):
        return None, None
    value = found.get("value")
    if key is not None:
        value = value.get(key) if isinstance(value, dict) else None
    return (None if value is None else found), value


def _keys(score: Any) -> list[str]:
    value = score.get("value") if isinstance(score, dict) else None
    return list(value) if isinstance(value, dict) else []


def _tokens(sample: dict[str, Any], model: str) -> tuple[int | None, int | None, int | None]:
    usage = _inner(sample, "model_usage", model)
    if not isinstance(usage, dict):
        return None, None, None

    read = _count(usage.get("input_tokens"))
    if read is not None:  # inspect counts apart what came from a cache
        read += _count(usage.get("input_tokens_cache_read")) or 0
        read += _count(usage.get("input_tokens_cache_write")) or 0
    return read, _count(usage.get("output_tokens")), _count(usage.get("reasoning_tokens"))


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and 0 <= value < _MOST else None


def _text(sample: dict[str, Any], score: dict[str, Any] | None) -> int | None:
    output = sample.get("output")
    if isinstance(output, dict):
        choices = output.get("choices")
        first = choices[0] if isinstance(choices, list) and choices else None
        shown = _visible(first.get("message")) if isinstance(first, dict) else ""
        return hash(shown) if shown else None
    if score is None:
        return None
    texts = (score.get("answer"), score.get("explanation"))
    return hash(tuple(map(str, texts))) if any(texts) else None


def _visible(message: Any) -> str:
    content = message.get("content") if isinstance(message, dict) else None
    if isinstance(content, list):
        parts = [part.get("text") for part in content if isinstance(part, dict)]
        return "".join(part for part in parts if isinstance(part, str))
    return content if isinstance(content, str) else ""


def _inner(parent: dict[str, Any], name: str, key: str) -> Any:
    inner = parent.get(name)
    return inner.get(key) if isinstance(inner, dict) else None
