"""Our grading as a scorer: the status of every reply as `hatscore run` would tell it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast, get_args

from inspect_ai.model import GenerateConfig, Model, ModelOutput
from inspect_ai.scorer import Score, Scorer, Target, accuracy, grouped, scorer

from hatscore.errors import InputError, UnknownNameError
from hatscore.grading import clean_reply, grade, parse_verdict
from hatscore.grading.answer import Graded, NameMode, Reply
from hatscore.inspect.metric import hat
from hatscore.inspect.recipe import Recipe
from hatscore.inspect.solver import find_judges, room
from hatscore.judging.prompt import JUDGE_PARAMS, JUDGE_TOKENS, judge_prompt, subject_key
from hatscore.judging.statuses import majority
from hatscore.judging.subjects import readable_answer
from hatscore.sampling.clients.provider_answer import read_output
from hatscore.sampling.codec import clean

if TYPE_CHECKING:
    from inspect_ai.solver import TaskState

    from hatscore.benchmarks import Item
    from hatscore.grading.answer import Status
    from hatscore.inspect.recipe import Material

__all__ = ["graded"]

# What inspect calls these, so that its own tools and our reader of its logs count them apart.
_REASONS: dict[Status, str] = {
    "unparsed": "invalid_response_format",
    "empty": "no_response",
    "truncated": "truncated",
    "refused": "refusal",
    "error": "scoring_failed",
    "judge_unparsed": "grader_failed",
}
_UNSCORED: tuple[Status, ...] = ("error", "judge_unparsed")


@scorer(metrics=[grouped(accuracy(), "language"), hat()])
def graded(names: str = "lenient", judge: str | list[str] | None = None) -> Scorer:
    """Grade replies to the samples of our tasks, which say in their metadata what they ask.

    A score's value is 1 or 0, or NaN (unscored) for a reply that no judge could be made to
    speak on. Its metadata hold ``status``, one of :data:`hatscore.grading.STATUSES`, and the
    words of the judges; ``answer`` is what was read, in canonical form.

    Parameters
    ----------
    names
        ``lenient`` or ``strict``, see :func:`hatscore.grading.grade`.
    judge
        A model, or several of which more than half must agree, for benchmarks that are judged;
        None takes the role ``grader``.

    Raises
    ------
    InputError
        A sample of another task, or one that the benchmark does not have in its version.
    """
    if names not in get_args(NameMode):
        raise UnknownNameError("way to match names", names, get_args(NameMode))
    mode = cast("NameMode", names)
    loaded: dict[Recipe, Material] = {}
    heard: dict[str, tuple[Status, dict[str, str]]] = {}

    async def score(state: TaskState, target: Target) -> Score:
        del target  # the main gold alone; the item knows the others
        recipe = _recipe(state)
        if recipe not in loaded:
            loaded[recipe] = recipe.load()
        item = _find(loaded[recipe], state, recipe.label())
        reply = _reply(state.output)
        if item.gold.kind != "judge":
            return _score(grade(reply, item.gold, names=mode), reply)
        status, answer = readable_answer(reply, item.gold)
        if status is not None:
            return _score(Graded(status), reply)
        subject = subject_key(
            context=item.gold.context, question=item.question, answer=answer, language=item.language
        )
        if subject not in heard:  # epochs often say the same
            heard[subject] = await _judged(find_judges(judge), item, answer)
        verdict, words = heard[subject]
        return _score(Graded(verdict, answer), reply, words)

    return score


def _recipe(state: TaskState) -> Recipe:
    given = state.metadata.get("recipe")
    if not isinstance(given, dict):
        raise InputError(
            f"sample {state.sample_id!r} has no metadata 'recipe': this scorer grades the tasks "
            "of hatscore; others keep their own scorer and take the metric hatscore/hat"
        )
    return Recipe.of(**given)


def _find(material: Material, state: TaskState, label: str) -> Item:
    item = material.items.get(str(state.sample_id))
    version = state.metadata.get("benchmark_version")
    if item is None or version != material.benchmark.version:
        had = f"version {version} of " if item is not None else ""
        raise InputError(
            f"sample {state.sample_id!r} is of {had}items that {label} does not have "
            f"here in version {material.benchmark.version}: score with the options and data with "
            "which it was asked"
        )
    return item


def _reply(output: ModelOutput) -> Reply:
    """Read an output as the sampling of `hatscore run` does."""
    found = read_output(output, None, n=1, bound=None, latency_s=0.0)
    if not found:
        return Reply("", error="the provider returned no reply")
    return Reply(clean(found[0].text), found[0].finish_reason)


def _score(found: Graded, reply: Reply, words: dict[str, str] | None = None) -> Score:
    status = found.status
    metadata: dict[str, Any] = {"status": status}
    if words:
        metadata["judges"] = words
    # The whole reply tells epochs apart that came to the same answer.
    explanation = f"{status}\n\n{reply.text}" if reply.text else status
    return Score(
        value=float("nan") if status in _UNSCORED else int(status == "correct"),
        answer=found.answer,
        explanation=explanation,
        reason=_REASONS.get(status),
        metadata=metadata,
    )


async def _judged(
    judges: dict[str, Model], item: Item, answer: str
) -> tuple[Status, dict[str, str]]:
    """Ask every judge once, and once more with more room where it cannot be understood."""
    words: dict[str, str] = {}
    for name, model in judges.items():
        for attempt in range(len(JUDGE_TOKENS)):
            prompt = judge_prompt(
                context=item.gold.context,
                question=item.question,
                answer=answer,
                language=item.language,
                attempt=attempt,
            )
            config = GenerateConfig(
                temperature=JUDGE_PARAMS.temperature,
                max_tokens=room(model, model.config, prompt.max_tokens),
            )
            words[name] = _reply(await model.generate(prompt.text, config=config)).text
            if parse_verdict(words[name]) is not None:
                break
    return majority([parse_verdict(said) for said in words.values()]), {
        name: clean_reply(said).strip() for name, said in words.items()
    }
