"""What a benchmark is: data plus small pure functions."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, Protocol, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hatscore.grading.answer import Gold

__all__ = [
    "Benchmark",
    "Bindable",
    "Checkable",
    "Finding",
    "FindingLevel",
    "Item",
    "Mode",
    "Prompt",
    "PromptLanguage",
]

Mode = Literal["chat", "completion"]
PromptLanguage = Literal["native", "english"]
FindingLevel = Literal["info", "fault"]


@dataclass(frozen=True, slots=True)
class Prompt:
    """What is sent to the model for one item, exactly.

    Parameters
    ----------
    mode
        ``chat``: `text` is one user turn. ``completion``: `text` is continued as it stands.
    text
        The prompt.
    stop
        Stop strings, () for none.
    max_tokens
        Upper bound of generated tokens that leaves room for a full answer in every language.
    """

    mode: Mode
    text: str
    stop: tuple[str, ...] = ()
    max_tokens: int = 64


@dataclass(frozen=True, slots=True)
class Item:
    """One question in one language.

    Parameters
    ----------
    id
        Key shared by all languages; text, never a number.
    language, source_language
        BCP 47 tags. The row with ``language == source_language`` is the source row.
    question
        What is asked, without instruction and examples.
    gold
        The right answer in this language.
    group
        Cluster of items whose outcomes may be correlated (country, subject); default the item.
    chance
        Probability that a blind guess is right.
    fields
        Anything the benchmark's own prompt function needs (texts only).
    """

    id: str
    language: str
    source_language: str
    question: str
    gold: Gold
    group: str = ""
    chance: float = 0.0
    fields: Mapping[str, str] = field(default_factory=dict)


@runtime_checkable
class Benchmark(Protocol):
    """A registered benchmark.

    Attributes
    ----------
    name, version, title, licence, source
        Identity; `version` changes whenever a prompt, an item or a gold changes.
    languages
        Every language it has, sorted.
    source_languages
        Languages that may be the source; the first is the default.
    language_neutral_gold
        Whether the gold is the same text in every language (numbers, option letters).
    options
        Names of the options that :meth:`load` takes, with what each means.
    """

    name: str
    version: str
    title: str
    licence: str
    source: str
    languages: tuple[str, ...]
    source_languages: tuple[str, ...]
    language_neutral_gold: bool
    options: Mapping[str, str]

    def load(
        self,
        *,
        languages: Sequence[str],
        source_language: str,
        items: int | None,
        seed: int,
        options: Mapping[str, str],
    ) -> list[Item]:
        """Return the items in all `languages` (which include the source), item by item.

        The same item set in every language, deterministic in `seed`; with `items` smaller than
        what exists a seeded sample of the items, nested: the first k of a larger sample with
        the same seed are the smaller sample. More than exists is an InputError that says how
        many there are. Unknown options are an InputError with the nearest names.
        """
        ...

    def prompt(self, item: Item, *, mode: Mode, prompt_language: PromptLanguage) -> Prompt:
        """Return what is sent for `item`."""
        ...


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that :meth:`Checkable.check` saw in a benchmark's data.

    Parameters
    ----------
    level
        ``info``: as it should be, or known and dealt with. ``fault``: scores would suffer.
    text
        What was seen, in a sentence that names language and row where there are any.
    language
        The language it was seen in, "" for all or none.
    row
        The item's id, or the place in the file; "" for none.
    """

    level: FindingLevel
    text: str
    language: str = ""
    row: str = ""


@runtime_checkable
class Checkable(Protocol):
    """A benchmark that can look its own data over; others are valid without it."""

    def check(self, *, options: Mapping[str, str]) -> list[Finding]:
        """Return what is to be said about the data, in all languages that can be loaded.

        Faults do not raise: they come back as findings, all of them at once. Only data that
        cannot be found at all, or a wrong option, is an InputError.
        """
        ...


@runtime_checkable
class Bindable(Protocol):
    """A benchmark of the user's own data, whose languages or version depend on the options."""

    def bind(self, options: Mapping[str, str]) -> Benchmark:
        """Return the benchmark as it is with these options.

        Its `version` names the content of the data, so that a run is not continued with other
        questions under the same path.

        Raises
        ------
        InputError
            The data is missing or faulty, or an option is wrong.
        """
        ...
