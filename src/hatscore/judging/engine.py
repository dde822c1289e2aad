"""Ask a judge for the verdicts that a run lacks.

Replies of one text to one item are judged once and share the verdict: a judge at temperature 0
would say the same again. A verdict that cannot be read is asked for once more, with room for more
tokens; what still cannot be read stays so and is counted as ``judge_unparsed``.
"""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from hatscore.benchmarks.base import Item
from hatscore.errors import InputError
from hatscore.judging.prompt import JUDGE_PARAMS, JUDGE_TOKENS, JUDGE_VERSION, judge_prompt
from hatscore.judging.store import VERDICTS_NAME, Verdict, VerdictStore
from hatscore.judging.subjects import subjects
from hatscore.sampling.codec import clean
from hatscore.sampling.engine import sample
from hatscore.sampling.lock import Lock
from hatscore.sampling.run import Run
from hatscore.sampling.servers import Limits, Remembering
from hatscore.sampling.start import make_client, run_to_end, run_until_stopped
from hatscore.sampling.store import now
from hatscore.sampling.task import Cell, Task

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

    from hatscore.judging.subjects import Subject
    from hatscore.sampling.client import Client, Completion
    from hatscore.sampling.engine import Progress
    from hatscore.sampling.start import NamedClient

__all__ = [
    "JUDGE_LOCK_NAME",
    "JudgeSummary",
    "check_judges",
    "judge_replies",
    "make_judges",
    "run_judging",
]

JUDGE_LOCK_NAME = "judge.lock"


@dataclass(frozen=True, slots=True)
class JudgeSummary:
    """What one start of one judge has brought.

    Parameters
    ----------
    judge
        Its name as typed.
    replies
        Replies of the run that need a verdict.
    subjects
        Different texts among them: what a judge is asked at most once, twice where it must.
    asked
        Answers of the judge at this start.
    unparsed
        Subjects whose verdict could not be read, at last.
    missing
        Subjects without any verdict, because the requests failed.
    input_tokens, output_tokens
        Of this start; None where the server does not tell.
    models
        Model names that the judge's server gave.
    last_error
        The last failure, None when there was none.
    """

    judge: str
    replies: int
    subjects: int
    asked: int
    unparsed: int
    missing: int
    input_tokens: int | None = None
    output_tokens: int | None = None
    models: tuple[str, ...] = ()
    last_error: str | None = None

    @property
    def complete(self) -> bool:
        """Whether the judge has been heard on every reply."""
        return self.missing == 0


class _Sink:
    """Takes the answers of one judge: a subject is the item, an attempt the repeat."""

    def __init__(self, store: VerdictStore, judge: str, found: dict[str, Subject]) -> None:
        self.store = store
        self.judge = judge
        self.found = found
        self.verdicts: dict[str, Verdict] = {}

    def resume(self) -> None:
        """Read what the judge has said before, and share it with replies that came later."""
        held = dict(self.store.verdicts(self.judge))
        for key, verdict in held.items():
            subject = self.found.get(verdict.subject)
            if subject is not None and key in subject.keys:
                best = self.verdicts.get(verdict.subject)
                if best is None or verdict.attempts > best.attempts:
                    self.verdicts[verdict.subject] = verdict
        for name, verdict in self.verdicts.items():
            late = [key for key in self.found[name].keys if held.get(key) != verdict]
            self.store.put(self.judge, late, verdict)

    def cell(self, subject: str) -> Cell:
        return Cell(self.judge, subject, self.found[subject].item.language)

    def put_items(self, _tasks: Iterable[Task], /) -> None:
        """Nothing to note: the replies are stored already."""

    def good_repeats(self) -> dict[Cell, range]:
        return {self.cell(name): range(v.attempts) for name, v in self.verdicts.items()}

    def failed_cells(self) -> frozenset[Cell]:
        failed = self.store.failures(self.judge)
        return frozenset(self.cell(name) for name in failed if name in self.found)

    def put_all(
        self,
        cell: Cell,
        repeats: Sequence[int],
        completions: Sequence[Completion],
        /,
        *,
        seed: int | None,
    ) -> None:
        del seed  # a judge at temperature 0 needs none
        for repeat, completion in zip(repeats, completions, strict=True):
            if completion.error is None:
                self._put(cell, repeat, completion)
            else:
                self.store.put_failure(self.judge, cell.item)

    def _put(self, cell: Cell, repeat: int, completion: Completion) -> None:
        first = self.verdicts.get(cell.item)
        text = clean(completion.text)
        verdict = Verdict(
            subject=cell.item,
            attempts=repeat + 1,
            text=text,
            first_text=first.text if first else None,
            reasoning=None if completion.reasoning is None else clean(completion.reasoning),
            finish_reason=completion.finish_reason,
            model=completion.model,
            prompt_version=JUDGE_VERSION,
            created_at=now(),
        )
        self.verdicts[cell.item] = verdict
        self.store.put(self.judge, self.found[cell.item].keys, verdict)

    def flush_if_due(self) -> None:
        self.store.flush_if_due()

    def flush(self) -> None:
        self.store.flush()

    def models(self) -> tuple[str, ...]:
        return self.store.models(self.judge)

    def due(self, attempt: int) -> list[Task]:
        """Return what is to be asked in this attempt."""
        wanted = [
            name
            for name in self.found
            if (verdict := self.verdicts.get(name)) is None
            or (verdict.attempts <= attempt and verdict.value is None)
        ]
        return [self._task(name, attempt) for name in wanted]

    def _task(self, name: str, attempt: int) -> Task:
        subject = self.found[name]
        stored = subject.item
        item = Item(
            name, stored.language, stored.source_language, stored.question, stored.gold, stored.item
        )
        prompt = judge_prompt(
            context=stored.gold.context,
            question=stored.question,
            answer=subject.answer,
            language=stored.language,
            attempt=attempt,
        )
        return Task(self.judge, item, prompt, attempt + 1)


async def judge_replies(
    run: Run,
    store: VerdictStore,
    client: Client,
    *,
    judge: str,
    concurrency: int = 8,
    progress: Callable[[Progress], None] | None = None,
    stop: asyncio.Event | None = None,
) -> JudgeSummary:
    """Ask `client` for every verdict that `store` lacks of the replies of `run`.

    Verdicts are stored as they come; after a stop the next call goes on from there.

    Parameters
    ----------
    run
        Open for reading; its items of kind ``judge`` carry the text that the judge reads.
    store
        Open for writing.
    client
        The judge's model; it is not closed.
    judge
        The name under which its verdicts are stored.
    concurrency
        Most requests under way at once.
    progress
        Called as by :func:`hatscore.sampling.engine.sample`, for the first tries, then for the
        second ones.
    stop
        When it is set, nothing more is asked, and what is under way is waited for.

    Raises
    ------
    InputError
        No reply of the run needs a judge.
    ModelError
        The judge does not answer as it must, or the last 20 requests have all failed.
    RunError
        The verdicts cannot be written.
    """
    found = subjects(run.store)
    if not found and all(item.gold.kind != "judge" for item in run.store.items()):
        raise InputError(
            f"{run.directory}: no item of this run is graded by a judge; "
            "`hatscore score` grades it as it is"
        )
    sink = _Sink(store, judge, found)
    sink.resume()
    if sink.verdicts and isinstance(client, Remembering):
        client.recall(Limits(1))  # it has answered before: what it refuses is about one answer
    summary = JudgeSummary(
        judge=judge,
        replies=sum(len(subject.keys) for subject in found.values()),
        subjects=len(found),
        asked=0,
        unparsed=0,
        missing=0,
    )
    for attempt in range(len(JUDGE_TOKENS)):
        # what failed in the first attempt is not asked for again at this start
        tasks = [t for t in sink.due(attempt) if attempt == 0 or t.item.id in sink.verdicts]
        part = await sample(
            sink,
            tasks,
            client,
            params=JUDGE_PARAMS,
            concurrency=concurrency,
            progress=progress,
            stop=stop,
        )
        summary = replace(
            summary,
            asked=summary.asked + part.new,
            input_tokens=_add(summary.input_tokens, part.input_tokens),
            output_tokens=_add(summary.output_tokens, part.output_tokens),
            models=part.models,
            last_error=part.last_error or summary.last_error,
        )
    done = sink.verdicts
    return replace(
        summary,
        unparsed=sum(v.value is None and v.attempts >= len(JUDGE_TOKENS) for v in done.values()),
        missing=sum(
            name not in done
            or (done[name].value is None and done[name].attempts < len(JUDGE_TOKENS))
            for name in found
        ),
    )


def run_judging(
    directory: str | Path,
    judges: Sequence[str],
    *,
    base_url: str | None = None,
    concurrency: int = 8,
    again: bool = False,
    progress: Callable[[str, Progress], None] | None = None,
    timeout_s: float = 600.0,
    tries: int = 8,
) -> list[JudgeSummary]:
    """Let each of `judges` say what it has not yet said about the replies in `directory`.

    Ctrl-C and SIGTERM stop it in good order; the same call goes on later.

    Parameters
    ----------
    directory
        A run; the verdicts go into ``verdicts.sqlite`` there.
    judges
        Models as :func:`hatscore.sampling.start.make_client` takes them, at least one.
    base_url
        Address of the judges' server; None takes the environment's.
    concurrency
        Most requests under way at once.
    again
        Forget what these judges have said, first.
    progress
        Called with the judge's name and how far it is.
    timeout_s, tries
        As of :func:`hatscore.sampling.start.make_client`.

    Raises
    ------
    KeyboardInterrupt
        It was stopped.
    InputError
        No judge, one named twice, no reply needs one, or called inside a running event loop.
    ModelError, RunError
        As :func:`judge_replies`; RunError too when another process judges this run.
    """
    clients = make_judges(judges, base_url=base_url, timeout_s=timeout_s, tries=tries)

    async def main(stop: asyncio.Event) -> list[JudgeSummary]:
        try:
            with ExitStack() as stack:
                run = stack.enter_context(Run.open(directory))
                stack.callback(Lock(run.directory / JUDGE_LOCK_NAME).release)
                store = stack.enter_context(VerdictStore(run.directory / VERDICTS_NAME))
                summaries = []
                for judge, client in zip(judges, clients, strict=True):
                    if again:
                        store.forget(judge)
                    summaries.append(
                        await judge_replies(
                            run,
                            store,
                            client,
                            judge=judge,
                            concurrency=concurrency,
                            progress=_named(progress, judge),
                            stop=stop,
                        )
                    )
                    if stop.is_set():
                        break
                return summaries
        finally:
            for client in clients:
                await client.close()

    instead = "await hatscore.judging.judge_replies(run, store, ...)"
    return run_until_stopped(main, instead=instead)


def check_judges(judges: Sequence[str], *, base_url: str | None = None) -> None:
    """Ask whether the judges are there, where that costs nothing.

    Raises
    ------
    InputError
        As :func:`make_judges`.
    ModelError
        A server does not answer, or does not serve the judge.
    """
    # a model on this machine would be loaded for it
    clients = [c for c in make_judges(judges, base_url=base_url) if c.kind != "local"]

    async def main() -> None:
        try:
            for client in clients:
                await client.check()
        finally:
            for client in clients:
                await client.close()

    run_to_end(main, instead="await client.check()")


def make_judges(
    judges: Sequence[str],
    *,
    base_url: str | None = None,
    timeout_s: float = 600.0,
    tries: int = 8,
) -> list[NamedClient]:
    """Return the clients of a panel; none is started or asked yet.

    Raises
    ------
    InputError
        No judge, one named twice, or one that :func:`hatscore.sampling.start.make_client`
        does not take.
    """
    if not judges or len(set(judges)) != len(judges):
        raise InputError(
            f"judges must be named once each and at least one; got {', '.join(judges) or 'none'}"
        )
    make = partial(make_client, base_url=base_url, mode="chat", timeout_s=timeout_s, tries=tries)
    return [make(judge) for judge in judges]


def _named(
    progress: Callable[[str, Progress], None] | None, judge: str
) -> Callable[[Progress], None] | None:
    return None if progress is None else lambda far: progress(judge, far)


def _add(one: int | None, two: int | None) -> int | None:
    return one if two is None else two + (one or 0)
