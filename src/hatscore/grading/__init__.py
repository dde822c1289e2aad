"""Text to answer to status: one extractor per answer type, the same for all languages."""

from hatscore.grading.answer import STATUSES, Gold, Graded, Reply
from hatscore.grading.choice import extract_choice
from hatscore.grading.judge import parse_verdict
from hatscore.grading.name import match_name
from hatscore.grading.number import extract_number
from hatscore.grading.reply import clean_reply, strip_reasoning
from hatscore.grading.status import grade

__all__ = [
    "STATUSES",
    "Gold",
    "Graded",
    "Reply",
    "clean_reply",
    "extract_choice",
    "extract_number",
    "grade",
    "match_name",
    "parse_verdict",
    "strip_reasoning",
]
