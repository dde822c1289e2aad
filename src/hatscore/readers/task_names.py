"""Which language a task's name holds, and which benchmark and subtask are left without it.

Harnesses write the language into the name of the task: ``mgsm_native_cot_de``,
``mmlu_prox_lite_sw_biology``, ``belebele_swh_Latn``, ``mmlu_prox:lang=sw``. Many words look like
a language (``arc`` is Aramaic, ``to`` Tongan), so the names of a run are read together: the
place where they differ by language alone is the language's place.
"""

from __future__ import annotations

import re
from collections import defaultdict
from functools import cache
from importlib import import_module
from itertools import zip_longest
from typing import TYPE_CHECKING, NamedTuple

from hatscore.errors import InputError, UnknownNameError
from hatscore.languages import name as language_name
from hatscore.languages import script

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = ["TaskName", "language_named", "language_tag", "read_map", "split_names"]

_PREFIX = re.compile(r"\A(?:re|path):")
_TOKEN = re.compile(r"[^\W_]+")
_EDGE = " _-|:,.=/()"
_SCRIPT_LETTERS = 4
_SHORTEST_CODE, _LONGEST_CODE = 2, 3
# Numbered prompts and formulations ask the same questions: other benchmarks, not other subjects.
_VARIANT = re.compile(r"(prompt[_-]?\d+|m?cf|hybrid)(?:[_:|-](.*))?", re.DOTALL)


class TaskName(NamedTuple):
    """A task's name taken apart.

    Attributes
    ----------
    benchmark
        The name up to the language: ``mmlu_prox_lite``.
    language
        BCP 47 tag: ``sw``.
    subtask
        What follows the language, ``biology`` or nothing. Subtasks do not share item ids.
    """

    benchmark: str
    language: str
    subtask: str


@cache
def language_tag(text: str) -> str | None:
    """Return the BCP 47 tag that a word of a task name stands for, or None.

    Three-letter codes become the two-letter ones that mean the same, and a script is dropped
    where the language is usually written in it.

    Examples
    --------
    >>> [language_tag(word) for word in ("de", "deu", "swh_Latn", "zho_Hant", "pt-BR", "biology")]
    ['de', 'de', 'sw', 'zh-Hant', 'pt-BR', None]
    """
    code, *rest = re.split(r"[_-]", text)
    code = code.lower()
    if not _SHORTEST_CODE <= len(code) <= _LONGEST_CODE or not code.isascii():
        return None
    aliases = import_module("babel.core").get_global("language_aliases")
    code = str(aliases.get(code, code)).split("_", maxsplit=1)[0]
    tag = code
    for part in rest:
        if len(part) == _SCRIPT_LETTERS:
            if part.title() not in _scripts():
                return None
            tag += f"-{part.title()}"
        else:
            tag += f"-{part.upper()}"
    try:
        language_name(tag)
        if len(rest) == 1 and len(rest[0]) == _SCRIPT_LETTERS:
            written = script(tag)
            if script(code) == ("Kore" if written == "Hang" else written):
                return code
    except InputError:
        return None
    return tag


def language_named(text: str) -> str | None:
    """Return the BCP 47 tag of a language given by tag or by its English name, or None.

    Examples
    --------
    >>> language_named("Swahili"), language_named("sw"), language_named("anatomy")
    ('sw', 'sw', None)
    """
    return _english().get(text.strip().casefold()) or language_tag(text.strip())


@cache
def _english() -> dict[str, str]:
    languages = import_module("babel").Locale("en").languages
    return {
        str(english).casefold(): str(code).replace("_", "-") for code, english in languages.items()
    }


@cache
def _scripts() -> frozenset[str]:
    return frozenset(import_module("babel").Locale("en").scripts)


def read_map(
    option: str | Mapping[str, str] | None, *, field: str
) -> tuple[str | None, str | None]:
    """Read the option ``map`` of a log: where the language stands.

    Parameters
    ----------
    option
        A regular expression, or ``doc.FIELD``; or a mapping of ``language`` to one of them.
    field
        Beginning of what names a field of the item, such as ``doc.``.

    Returns
    -------
    tuple
        The field without that beginning, and the regular expression; None for what was not said.

    Raises
    ------
    InputError
        A mapping of something else than the language.
    """
    if option is None or isinstance(option, str):
        text = option
    else:
        other = [key for key in option if key != "language"]
        if other:
            raise UnknownNameError("field of map", other[0], ["language"])
        text = option.get("language")
    if text is not None and text.startswith(field):
        return text.removeprefix(field), None
    return None, text and _PREFIX.sub("", text)


def _compile_map(pattern: str) -> re.Pattern[str]:
    try:
        compiled = re.compile(pattern)
    except re.error as err:
        raise InputError(f"map={pattern!r} is no regular expression: {err}") from err
    if "language" not in compiled.groupindex and compiled.groups != 1:
        raise InputError(
            f"map={pattern!r} has no group named language; write for example "
            r"'(?P<benchmark>mgsm)_(?P<language>\w+)'"
        )
    return compiled


def split_names(names: Iterable[str], pattern: str | None = None) -> dict[str, TaskName]:
    r"""Take the names of a run's tasks apart, all together.

    Parameters
    ----------
    names
        Names of tasks.
    pattern
        Regular expression with a group ``language`` (or one group alone), and optionally
        ``benchmark`` and ``subtask``, that says it instead. Names it does not match are left out.

    Returns
    -------
    dict
        By name; a name without a language is not in it.

    Raises
    ------
    InputError
        A pattern that cannot be used, or whose group ``language`` matches something else.

    Examples
    --------
    >>> split_names(["mgsm_en_cot_en", "mgsm_en_cot_de", "arc_easy"])["mgsm_en_cot_de"]
    TaskName(benchmark='mgsm_en_cot', language='de', subtask='')
    """
    wanted = sorted(set(names))
    if pattern is not None:
        compiled = _compile_map(pattern)
        matched = ((name, compiled.search(name)) for name in wanted)
        return {name: _by_pattern(name, match) for name, match in matched if match}
    found = {name: list(_candidates(name)) for name in wanted}
    languages: dict[tuple[str, str], set[str]] = defaultdict(set)
    for candidates in found.values():
        for one in candidates:
            languages[one.benchmark, one.subtask].add(one.language)
    # of equal places the last: names go from the general to the particular
    return {
        name: max(
            enumerate(candidates),
            key=lambda pair: (len(languages[pair[1].benchmark, pair[1].subtask]), pair[0]),
        )[1]
        for name, candidates in found.items()
        if candidates
    }


def _candidates(name: str) -> Iterable[TaskName]:
    tokens = list(_TOKEN.finditer(name))
    for token, following in zip_longest(tokens, tokens[1:]):
        end = token.end()
        tag = language_tag(token.group())
        if tag is None:
            continue
        if following is not None and following.start() == end + 1 and name[end] in "-_":
            longer = f"{token.group()}-{following.group()}"
            is_script = len(following.group()) == _SCRIPT_LETTERS
            is_territory = name[end] == "-" or following.group().isupper()
            if (is_script or (is_territory and len(following.group()) == _SHORTEST_CODE)) and (
                with_more := language_tag(longer)
            ):
                tag, end = with_more, following.end()
        yield _without(name, token.start(), end, tag)


def _by_pattern(name: str, match: re.Match[str]) -> TaskName:
    group = "language" if "language" in match.re.groupindex else 1
    written = match[group] or ""
    tag = language_tag(written)
    if tag is None:
        raise InputError(
            f"map: in {name!r} the group language matches {written!r}, which is no language; "
            "expected a BCP 47 tag such as sw or zh-Hant"
        )
    groups = match.groupdict()
    plain = _without(name, *match.span(group), tag)
    if groups.get("benchmark"):
        return TaskName(str(groups["benchmark"]), tag, groups.get("subtask") or "")
    return plain if "subtask" not in groups else plain._replace(subtask=groups["subtask"] or "")


def _without(name: str, start: int, end: int, tag: str) -> TaskName:
    before, after = name[:start].strip(_EDGE), name[end:].strip(_EDGE)
    if variant := _VARIANT.fullmatch(after):
        return TaskName(f"{before}_{variant[1]}".strip(_EDGE), tag, variant[2] or "")
    return TaskName(before, tag, after) if before else TaskName(after, tag, "")
