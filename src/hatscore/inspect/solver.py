"""Ask a model as `hatscore run` asks it: the prompt alone, its stop strings, room to answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from inspect_ai._util.error import PrerequisiteError
from inspect_ai.model import GenerateConfig, Model, get_model
from inspect_ai.model._generate_config import active_generate_config
from inspect_ai.solver import Generate, Solver, TaskState, solver

from hatscore.errors import InputError
from hatscore.sampling.clients.inspect import REASONING_ROOM, reasons

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["ask", "find_judges", "room"]

_ROLE = "grader"


@solver
def ask(judge: str | list[str] | None = None, *, judged: bool = False) -> Solver:
    """Send a sample's prompt with the bounds that its metadata name.

    ``--max-tokens`` and ``--stop-seqs`` of the eval win over ``max_tokens`` and ``stop`` of the
    metadata. Where the model reasons, the bound is widened, because providers count thoughts and
    answer together.

    Parameters
    ----------
    judge
        As for :func:`hatscore.inspect.graded`.
    judged
        Whether a judge is needed: it is looked for before the first reply is paid for.
    """
    looked_for = not judged

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        nonlocal looked_for
        if not looked_for:
            find_judges(judge)
            looked_for = True
        model = get_model()
        config = model.config.merge(active_generate_config())
        own: dict[str, Any] = {}
        if config.max_tokens is None:
            own["max_tokens"] = room(model, config, int(state.metadata["max_tokens"]))
        if config.stop_seqs is None and state.metadata.get("stop"):
            own["stop_seqs"] = list(state.metadata["stop"])
        return await generate(state, **own)

    return solve


def room(model: Model, config: GenerateConfig, wanted: int) -> int:
    """Return the bound of generated tokens that leaves `wanted` for the answer.

    Parameters
    ----------
    model
        Who is asked.
    config
        With the reasoning settings.
    wanted
        Tokens of the answer.
    """
    if not reasons(model.api, config):
        return wanted
    return wanted + (config.reasoning_tokens or REASONING_ROOM)


def find_judges(judge: str | Sequence[str] | None) -> dict[str, Model]:
    """Return the judges by name.

    Parameters
    ----------
    judge
        Models, or None for the role ``grader`` of the eval. The evaluated model never judges
        itself unless it is named.

    Raises
    ------
    InputError
        There is no such role.
    """
    if judge:
        names = judge.split(",") if isinstance(judge, str) else judge
        return {name.strip(): get_model(name.strip()) for name in names}
    try:
        model = get_model(role=_ROLE, required=True)
    except (PrerequisiteError, ValueError) as error:
        raise InputError(
            "this benchmark is graded by a judge: name one with -T judge=PROVIDER/NAME or "
            f"--model-role {_ROLE}=PROVIDER/NAME, or take the answers of the file as accepted "
            "names with -T grading=names"
        ) from error
    return {str(model): model}
