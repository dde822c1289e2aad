"""Writes logs with inspect_ai itself: run as a script, in a process of its own.

inspect leaves threads, handlers and warnings behind, and one of the runs is killed. What each
reply is follows from `is_right`; how many are right is written to ``expected.json``.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

LANGUAGES = ("en", "de", "sw")
ITEMS = 6
EPOCHS = 3


def is_right(language: str, item: int, epoch: int) -> bool:
    return (item * 3 + epoch * 2 + len(LANGUAGES) * LANGUAGES.index(language)) % 4 != 0


def main(folder: Path) -> None:  # noqa: C901, PLR0915 - a list of runs, one after the other
    from inspect_ai import Task, eval_retry, task
    from inspect_ai import eval as run
    from inspect_ai.analysis import samples_df
    from inspect_ai.dataset import Sample
    from inspect_ai.model import GenerateConfig, ModelOutput, ModelUsage, get_model
    from inspect_ai.scorer import Score, accuracy, includes, match, scorer
    from inspect_ai.solver import solver

    @solver
    def ask(*, broken=(), kill=False):
        async def solve(state, generate):
            if state.sample_id in broken:
                raise RuntimeError("boom")
            if kill and len(list(folder.glob("done-*"))) >= 4:  # noqa: ASYNC240 - alone here
                os._exit(0)  # at once, nothing is finished
            state.user_prompt.text += f" {state.epoch}"
            state = await generate(state)
            if kill:
                (folder / f"done-{state.sample_id}-{state.epoch}").touch()
            return state

        return solve

    @scorer(metrics={"right": [accuracy()], "style": [accuracy()]})
    def parts():
        async def score(state, target):  # noqa: ARG001 - as inspect calls it
            return Score(value={"right": 1.0, "style": 0.25})

        return score

    @scorer(metrics=[accuracy()])
    def letters():
        async def score(state, target):  # noqa: ARG001 - as inspect calls it
            if int(target.text) < 4:
                return Score(value="CPIN"[int(target.text)])
            return Score(value=float("nan"), reason="grader_failed")

        return score

    def answer(messages, *_):
        *_, language, item, epoch = messages[-1].text.split()
        item, epoch = int(item), int(epoch)
        if item == 100:
            text, written = "", 0
        else:
            text, written = f"ANSWER {item if is_right(language, item, epoch) else 77}", 5
        output = ModelOutput.from_content("model-v2", text)
        output.usage = ModelUsage(
            input_tokens=10,
            input_tokens_cache_read=2,
            output_tokens=500 if item == 101 else written,
            total_tokens=600 if item == 101 else 12 + written,
        )
        return output

    def questions(language, items=range(ITEMS), *, metadata=True, identity=lambda _, i: i):
        return [
            Sample(
                id=identity(language, i),
                input=f"{language} {i}",
                target=str(i),
                metadata={"language": language} if metadata else {},
            )
            for i in items
        ]

    def go(where, *tasks, **options):
        model = get_model("mockllm/model", custom_outputs=answer, memoize=False)
        quick = {"log_realtime": False, "log_buffer": 1000}
        options = {"epochs": EPOCHS, "fail_on_error": False, "max_tasks": 9, **quick, **options}
        return run(
            list(tasks), model=model, log_dir=str(folder / where), display="none",
            log_level="error", **options,
        )  # fmt: skip

    def named(name, samples, where="", **options):
        options = {"solver": ask(), "scorer": match(location="end"), **options}
        return Task(name=name, dataset=samples, metadata={"where": where}, **options)

    def in_one(language, samples):
        for sample in samples:
            sample.metadata["item_id"] = sample.id
            sample.id = f"{language}-{sample.id}"
        return samples

    def everything():
        return [sample for one in LANGUAGES for sample in in_one(one, questions(one))]

    def hashed(language, item):
        return f"{language}_{(item * 7919 + LANGUAGES.index(language) * 104729) % 9973:04d}"

    def odd(form):
        samples = in_one("en", questions("en"))
        samples += in_one("de", questions("de", [0, 1, 2, 3, 100, 101]))
        for sample, i in zip(samples, [*range(ITEMS)] * 2, strict=True):
            sample.metadata["item_id"] = i
            sample.target = str(i)
        return named("sums", samples, f"odd_{form}", solver=ask(broken=("de-1",)), token_limit=300)

    def plain(where):
        return [named(f"sums_{one}", questions(one, metadata=False), where) for one in LANGUAGES]

    @task
    def sums(language: str, data: str):  # noqa: ARG001 - an argument that goes with the language
        cold = GenerateConfig(temperature=0)
        return named("sums", questions(language, metadata=False), "args", config=cold)

    shuffled = [sample for one in LANGUAGES for sample in questions(one, identity=hashed)]
    logs = go(
        "mixed",
        *plain("names_eval"),
        *(sums(one, f"{one}.jsonl") for one in LANGUAGES),
        named("sums", everything(), "metadata"),
        named("sums", everything(), "two_scorers", scorer=[match(), includes()]),
        named("sums", everything(), "parts", scorer=parts()),
        named("sums", everything(), "letters", scorer=letters(), epochs=1),
        named("sums", shuffled, "hashed"),
        named("sums_en", questions("en"), "killed"),
        odd("eval"),
        *plain("twice"),
    )
    logs += go("mixed", *plain("names_json"), odd("json"), log_format="json")
    logs += go("mixed", *plain("twice"))
    for log in logs:
        there = folder / log.eval.metadata["where"]
        there.mkdir(exist_ok=True)
        Path(log.location).rename(there / Path(log.location).name)
    go("unscored", named("sums", everything()), score=False)

    @solver
    def by_itself():
        # a retry makes its model anew, without the answers that were given to the first
        async def solve(state, generate):  # noqa: ARG001 - as inspect calls it
            if state.sample_id == 4 and not (folder / "flag").exists():
                raise RuntimeError("boom")
            state.user_prompt.text += f" {state.epoch}"
            state.output = answer(state.messages)
            return state

        return solve

    @task
    def flaky(language: str):
        return named(f"sums_{language}", questions(language), solver=by_itself())

    failed = go("retried", *(flaky(one) for one in LANGUAGES), fail_on_error=True)
    (folder / "flag").touch()
    eval_retry(failed, log_dir=str(folder / "retried"), display="none", log_level="error")
    right = {
        one: [sum(is_right(one, i, e + 1) for e in range(EPOCHS)) for i in range(ITEMS)]
        for one in LANGUAGES
    }
    (folder / "expected.json").write_text(json.dumps(right))
    own = samples_df(folder / "metadata", quiet=True)
    own = own[own.score_match == "C"].groupby("metadata_language").size()
    (folder / "own.json").write_text(json.dumps(own.to_dict()))
    go(  # the last one: the process ends in it
        "killed",
        named("sums_de", questions("de"), solver=ask(kill=True)),
        log_buffer=1,
        max_samples=1,
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]))
