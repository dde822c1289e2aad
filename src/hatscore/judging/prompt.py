"""What a judge is asked: one text for all languages, in our own words.

The protocol is that of ECLeKTic (arXiv 2502.21228): the judge sees the text that holds the fact,
the question and the answer, all in the language of the item, and says in one English word whether
the text supports the answer. The gold answer is not shown: it is transliterated per language, and
a right answer is often spelt in another way.
"""

from __future__ import annotations

import json
from hashlib import sha256
from typing import TYPE_CHECKING, Final

from hatscore.benchmarks.base import Prompt
from hatscore.languages import name
from hatscore.sampling.client import SamplingParams

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["JUDGE_PARAMS", "JUDGE_TOKENS", "JUDGE_VERSION", "judge_prompt", "subject_key"]

# Changes with every word of the prompt; kept with each verdict.
JUDGE_VERSION: Final = "1"

JUDGE_PARAMS: Final = SamplingParams(temperature=0.0)

# First try and second. One word needs no room, but a judge that thinks does; most verdicts that
# cannot be read were cut short, so the second try has four times as much.
JUDGE_TOKENS: Final[Sequence[int]] = (1024, 4096)

_TEMPLATE = """\
Below are a text, a question and an answer to the question. They are in {language}.
Find out whether the text supports the answer. Go by the text alone, not by what else you know.
Output one English word and nothing else: YES if the answer to the question follows from the \
text, NO if it does not.

Text:
{context}

Question:
{question}

Answer:
{answer}

Output:"""


def judge_prompt(
    *, context: str, question: str, answer: str, language: str, attempt: int = 0
) -> Prompt:
    """Return what is sent to a judge.

    Parameters
    ----------
    context, question
        Of the item, in `language`.
    answer
        What the model said, without its thinking.
    language
        BCP 47 tag; the judge reads the language's English name.
    attempt
        0, or 1 for the second try, which has room for more tokens.

    Raises
    ------
    InputError
        CLDR has no such language.
    """
    text = _TEMPLATE.format(
        language=name(language), context=context, question=question, answer=answer
    )
    return Prompt("chat", text, max_tokens=JUDGE_TOKENS[attempt])


def subject_key(*, context: str, question: str, answer: str, language: str) -> str:
    """Return a hash of what is judged: equal subjects share one verdict.

    The wording of the prompt is no part of it, so that a new version of the prompt does not make
    stored verdicts void.
    """
    parts = json.dumps([language, context, question, answer], ensure_ascii=False)
    return sha256(parts.encode("utf-8", "replace")).hexdigest()
