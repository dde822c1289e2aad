"""Judges: models that say whether stored replies are right, and what follows from it."""

from __future__ import annotations

from hatscore.judging.engine import (
    JudgeSummary,
    check_judges,
    judge_replies,
    make_judges,
    run_judging,
)
from hatscore.judging.labels import read_labels
from hatscore.judging.prompt import JUDGE_VERSION, judge_prompt
from hatscore.judging.statuses import Judged, majority, read_verdicts, verdict_statuses
from hatscore.judging.store import VERDICTS_NAME, ReplyKey, Verdict, VerdictStore

__all__ = [
    "JUDGE_VERSION",
    "VERDICTS_NAME",
    "JudgeSummary",
    "Judged",
    "ReplyKey",
    "Verdict",
    "VerdictStore",
    "check_judges",
    "judge_prompt",
    "judge_replies",
    "majority",
    "make_judges",
    "read_labels",
    "read_verdicts",
    "run_judging",
    "verdict_statuses",
]
