"""All cells of a study looked over before the first is sampled: what would fail costs nothing."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import click

from hatscore.cli.known import as_known, spec_of
from hatscore.cli.prepared import Loader, load_tasks, prepare
from hatscore.cli.study_providers import Providers
from hatscore.cli.study_state import Present, present
from hatscore.errors import HatscoreError, InputError, ModelError, UnknownNameError
from hatscore.judging import VERDICTS_NAME
from hatscore.planning import stored_plans
from hatscore.readers.hatscore_run import sniff
from hatscore.sampling.run import check_resumable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from hatscore.cli.prepared import Prepared
    from hatscore.cli.request import Request
    from hatscore.cli.study_file import Cell, StudyFile
    from hatscore.sampling import SamplingPlan, Task

__all__ = ["Checked", "check_cells", "grouped", "require_sampling"]

_SHOWN = 3
_IN_FILE = (
    (("--data", "data="), 'options = { data = "PATH" } in its [[benchmark]]'),
    (("--base-url",), 'base_url = "http://HOST:PORT/v1" in its [[model]] or in [study]'),
    (("--judge",), 'judge = "MODEL" in its [[benchmark]] or in [study]'),
    (("--plan",), 'plan = "paper" in its [[benchmark]] or in [study]'),
    (("(-l)",), "languages = [...] in its [[benchmark]] or in [study]"),
)
"""What the options that messages speak of are called in a study file."""


@dataclass(frozen=True, slots=True)
class Checked:
    """A cell that was looked over.

    Attributes
    ----------
    cell
        As in the file.
    tasks
        All of its full plan; none where it cannot be planned.
    plan
        How replies are spread; None where it cannot be planned.
    prepared
        Ready to be sampled; None where it cannot be.
    problem
        Why not, in words; "" if it can.
    """

    cell: Cell
    tasks: Sequence[Task] = ()
    plan: SamplingPlan | None = None
    prepared: Prepared | None = None
    problem: str = ""

    def present(self) -> Present:
        """Return how far its run is."""
        if self.plan is None:
            raise InputError(f"{self.cell.directory}: {self.problem}")
        return present(self.cell.directory, self.tasks, self.plan)


def check_cells(study: StudyFile) -> list[Checked]:
    """Return every cell with its problem, if it has one; asks no model.

    Names are resolved, benchmarks loaded once, clients made but not started, keys of providers
    looked for, and runs that are there compared with what is asked for. Warnings and notes go to
    stderr, each once.
    """
    said: set[str] = set()

    def say(text: str) -> None:
        if text not in said:
            said.add(text)
            click.echo(text, err=True)

    loader, providers = Loader(), Providers()
    return [_check(cell, loader, providers, say) for cell in study.cells]


def require_sampling(checked: Iterable[Checked]) -> None:
    """Refuse a study with cells that cannot be sampled, and say which and why.

    Raises
    ------
    InputError
        There are some.
    """
    wrong = [c for c in checked if c.problem]
    if wrong:
        raise InputError(
            "nothing was sampled, because some cells cannot be:\n  " + "\n  ".join(grouped(wrong))
        )


def grouped(wrong: Sequence[Checked]) -> list[str]:
    """Return a line for each problem, with the cells that have it."""
    groups: dict[str, list[Checked]] = {}
    for each in wrong:
        groups.setdefault(_alike(each), []).append(each)
    return [f"{_who(same)}: {_with_advice(same[0].problem)}" for same in groups.values()]


def _check(cell: Cell, loader: Loader, providers: Providers, say: Callable[[str], None]) -> Checked:
    request = cell.request
    try:
        as_known(request, say=say)  # what is to be said of a model is said whatever else is wrong
        request = _with_judges(cell, loader, say)
        prepared = prepare(request, stored_plans(cell.directory), loader=loader, say=say)
        if sniff(cell.directory):
            check_resumable(cell.directory, prepared.config)
        providers.require(prepared)
        (benchmark,) = prepared.config.benchmarks
        return Checked(cell, prepared.tasks, benchmark.plan, prepared)
    except (InputError, ModelError) as error:
        problem: HatscoreError = error
    if not isinstance(problem, UnknownNameError):
        # what is missing can be counted though nobody is there to be asked
        with suppress(InputError):
            ((benchmark, tasks),) = load_tasks(
                request, request.mode or "chat", loader=loader, say=lambda _: None
            )
            return Checked(cell, tasks, benchmark.plan, problem=str(problem))
    return Checked(cell, problem=str(problem))


def _with_judges(cell: Cell, loader: Loader, say: Callable[[str], None]) -> Request:
    """Return the request without judges of all benchmarks where there is nothing to judge."""
    request = cell.request
    (loaded,) = loader.load(request)
    if request.judges and cell.judges_are_shared and not loaded.is_judged:
        return replace(request, judges=())
    if loaded.is_judged and not request.judges and not (cell.directory / VERDICTS_NAME).is_file():
        say(
            f"Note: {cell.benchmark}: a judge grades its answers and the study file names none: "
            'nothing of it is scored until it has judge = "MODEL", or `hatscore judge` was run'
        )
    return request


def _alike(each: Checked) -> str:
    """Return the problem without the name of the model: those that fail alike are one problem."""
    request = each.cell.request
    names = [request.model, request.model.removeprefix("paper/")]
    with suppress(InputError):
        names.insert(0, spec_of(request))
    problem = each.problem
    for name in names:
        problem = problem.replace(name, "")
    return problem


def _who(same: Sequence[Checked]) -> str:
    models = list(dict.fromkeys(c.cell.model for c in same))
    benchmarks = list(dict.fromkeys(c.cell.benchmark for c in same))
    cells = f" ({len(same)} cells)" if len(same) > 1 else ""
    return f"{_few(models)} on {_few(benchmarks)}{cells}"


def _few(names: Sequence[str]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more


def _with_advice(problem: str) -> str:
    found = [field for signs, field in _IN_FILE if any(sign in problem for sign in signs)]
    return f"{problem}. In a study file: {'; '.join(found)}" if found else problem
