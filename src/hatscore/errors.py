"""The one error tree. A message says what came, what was expected and what to do.

::

    HatscoreError
    ├── InputError            wrong use or unusable input (exit code 2)
    │   ├── AlignmentError    items or golds of two languages do not belong together
    │   ├── ReaderError       a file is not what its format promises
    │   ├── RunError          a run directory is missing, broken or of another configuration
    │   ├── MissingExtraError an optional part is not installed
    │   └── UnknownNameError  no such benchmark, language or model; names the nearest ones
    ├── ModelError            the model or its server does not answer as it must
    └── InsufficientData      the data cannot tell, and no NaN with a reason can be returned
"""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = [
    "AlignmentError",
    "HatscoreError",
    "InputError",
    "InsufficientData",
    "MissingExtraError",
    "ModelError",
    "ReaderError",
    "RefusedRequestError",
    "RunError",
    "UnknownNameError",
]


class HatscoreError(Exception):
    """Everything this package raises on purpose."""


class InputError(HatscoreError, ValueError):
    """Wrong use or unusable input: the command line ends with exit code 2."""


class AlignmentError(InputError):
    """Items or golds of two languages do not belong together."""


class ReaderError(InputError):
    """A file is not what its format promises."""


class RunError(InputError):
    """A run directory is missing, broken or belongs to another configuration."""


class MissingExtraError(InputError, ImportError):
    """An optional part is not installed.

    Parameters
    ----------
    extra
        Name of the extra in ``pip install 'hatscore[extra]'``.
    purpose
        What the user asked for, in a few words.
    """

    def __init__(self, extra: str, purpose: str) -> None:
        super().__init__(f"{purpose} needs an optional part: pip install 'hatscore[{extra}]'")
        self.extra = extra


class UnknownNameError(InputError):
    """No such benchmark, language, model or option; the message names the nearest ones.

    Parameters
    ----------
    kind
        What was asked for, in the singular: ``"benchmark"``.
    name
        What came.
    known
        Every name that would have been accepted.
    """

    def __init__(self, kind: str, name: str, known: Iterable[str]) -> None:
        names = sorted(known)
        near = get_close_matches(name.lower(), names, n=3, cutoff=0.5)
        hint = f"did you mean {' or '.join(near)}? " if near else ""
        super().__init__(f"unknown {kind} {name!r}: {hint}Known: {', '.join(names)}")
        self.name = name


class ModelError(HatscoreError):
    """The model or its server does not answer as it must."""


class RefusedRequestError(ModelError):
    """The model's server refuses what was sent, before it has answered anything.

    It may be about every request or about this prompt alone: nobody knows yet.
    """


class InsufficientData(HatscoreError):  # noqa: N818 - the public name of DESIGN.md
    """The data cannot tell, and there is no place for a NaN with a reason."""
