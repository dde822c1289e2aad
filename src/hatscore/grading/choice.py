"""Options: the label a reply chooses, whatever script, bracket or sentence carries it.

A single letter is the easiest answer to misread: ``A`` is an article, ``I`` a pronoun, ``C`` a
temperature, ``(B)`` one of the options a reply discusses. So a letter counts by where it
stands: right after an announcement, then in brackets, then alone; and an option that the reply
rejects never counts.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import TYPE_CHECKING, NamedTuple

from hatscore.grading.cues import DECORATION, Cue, phrases, present, words_pattern
from hatscore.grading.mentions import distinct, mentions, name_key
from hatscore.grading.reply import Read, boxes, prepare
from hatscore.grading.text import fold

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

__all__ = ["announced_choice", "bare_choice", "choice_test", "extract_choice", "read_choice"]

# Letters that have the shape of a Latin capital.
_SHAPES = dict(zip("АВСЕНІЈΑΒΕΗΙ", "ABCEHIJABEHI", strict=True))
_SMALL_SHAPES = dict(zip("асеіј", "aceij", strict=True))
# Native letter series, by order.
_SERIES = (
    "أبجدهوزحطي",
    "ابجدهوزحطی",
    "কখগঘঙচছজঝঞ",
    "กขคงจฉชซฌญ",
    "कखगघङचछजझञ",
    "కఖగఘఙచఛజఝఞ",
    "אבגדהוזחטי",
    "가나다라마바사아자차",
    "アイウエオカキクケコ",
    "甲乙丙丁戊己庚辛壬癸",
)
_BY_ORDER = {
    letter: label for series in _SERIES for letter, label in zip(series, "ABCDEFGHIJ", strict=True)
}
# Words of one letter in some language: they count only where nothing reads on.
_WORDS = frozenset("AEIOUY")

_OPEN = "(\\[{<\"'“‘«‹「『【〈《〔*_`$|"
_CLOSE = ")\\]}>\"'”’»›」』】〉》〕*_`$|"
_NO_LETTER_BEFORE = r"(?<![a-zA-Z\u00c0-\u024f\u0370-\u052f0-9])(?<![\w][.'’\-])"
_NO_LETTER_AFTER = (
    r"(?![a-zA-Z\u00c0-\u024f\u0370-\u052f0-9+#°′²³₀-₉^]|['’\-][^\W_]|[_=]\w|[ ]?=|[\u0300-\u036f])"
)
_END = re.compile(r"[ \t*_`~\"'”’»)\]}>$|]*(?:$|[\n.,;:!?)\]。，、；：！？।؟۔،…|/]|[-–—])")
_NEXT_WORD = re.compile(r"[ \t*_`~\"'”’»)\]}>$|]*([^\s\d.,;:!?()\[\]。、]+)")
_UNIT_BEFORE = re.compile(r"\d[ ]?[°kKmMµnGc]?$")
_CALL_BEFORE = {
    **dict.fromkeys(_OPEN.replace("\\", ""), re.compile(r"(?!)")),
    **dict.fromkeys("([", re.compile(r"[A-Za-z0-9]$")),
    "{": re.compile(r"[_^]$"),
}
_COMMAND = re.compile(r"\\{1,2}[a-zA-Z]{2,14}")
_CLAUSE = re.compile(r"[\n.,;:!?。，、；：！？।؟۔،…(]")
_SENTENCE_END = re.compile(r"[.!?](?=\s+[^\s])|[。！？।؟۔\n]")
_SPAN = 400


class _Label(NamedTuple):
    """A label in the text: canonical form, position, and whether something encloses it."""

    label: str
    start: int
    end: int
    enclosed: bool


def extract_choice(
    text: str, labels: Sequence[str], options: Sequence[str] | None = None
) -> str | None:
    """Return the label of the option that a reply chooses, or None.

    The label after the last answer cue of any language that has one; without a cue, in this
    order: the last ``\\boxed{}``, a line that holds or begins with a label, the option called
    correct or named as one ("option C"), the only label in brackets, the only capital that is
    no word. Last, the one option whose text occurs.

    Letters of the same shape (Cyrillic and Greek capitals) and native letter series (Arabic,
    Bengali, Thai, Devanagari and others) are mapped to Latin ones. Small letters count in
    brackets or alone. A rejected option ("not A") is no answer, nor are several at once.

    Parameters
    ----------
    text
        The reply as the model gave it, thinking included.
    labels
        Labels of the item's options, and of no others, in order.
    options
        Texts of the options, as many as labels, for the last resort.

    Returns
    -------
    str or None
        One of `labels`. Never raises on any text.

    Examples
    --------
    >>> extract_choice("Ответ - (С)", "ABCD")
    'C'
    >>> extract_choice("Definitely not A; it is (F).", "ABCDEF")
    'F'
    >>> extract_choice("It must be Paris.", "AB", ["London", "Paris"])
    'B'
    """
    known = tuple(labels)
    read = prepare(text, choice_test(known))
    return read_choice(read, known, tuple(options) if options else None)


def choice_test(labels: tuple[str, ...]) -> Callable[[Read, Cue | None], bool]:
    """Return what tells :func:`prepare` whether a question for an option is answered."""

    def is_choice(read: Read, cue: Cue | None) -> bool:
        if cue is None:
            return bare_choice(read.text, labels) is not None
        return _after_cue(read, cue, labels, None) is not None

    return is_choice


def read_choice(read: Read, labels: tuple[str, ...], options: tuple[str, ...] | None) -> str | None:
    """Return the label that a prepared reply chooses, or None."""
    if (found := announced_choice(read, labels, options)) is not None:
        return found
    if (found := _by_line(read, labels)) is not None:
        return found
    if (found := _called_right(read, labels)) is not None:
        return found
    mentioned = [label for label in _labels(read.text, labels) if not _negated(read, label)]
    for group in (
        [label for label in mentioned if label.enclosed and read.text[label.start] != "i"],
        [label for label in mentioned if _is_strong(read.text, label)],
    ):
        if len({label.label for label in group}) == 1:
            return group[0].label
    return _by_text(read.text, labels, options)


def announced_choice(
    read: Read, labels: tuple[str, ...], options: tuple[str, ...] | None
) -> str | None:
    """Return the label after the last cue that has one, or in the last box, or None."""
    for cue in reversed(read.cues):
        if (found := _after_cue(read, cue, labels, options)) is not None:
            return found
    for content in boxes(read.text):
        plain = _COMMAND.sub("", content)
        found = bare_choice(plain, labels) or _by_text(plain, labels, options)
        if found is not None:
            return found
    return None


def bare_choice(line: str, labels: tuple[str, ...]) -> str | None:
    """Return the label that a line holds alone or begins with ("B", "(b)", "B. Paris")."""
    match = _line_pattern(labels).match(line)
    return _canonical(match[1], labels) if match else None


def _after_cue(
    read: Read, cue: Cue, labels: tuple[str, ...], options: tuple[str, ...] | None
) -> str | None:
    text = read.text
    line_end = text.find("\n", cue.end)
    line_end = len(text) if line_end < 0 else line_end
    line = text[cue.end : line_end]
    if not line.strip(" \t*_`~\"'“”()[]{}<>$\\|#.:✅"):
        if not cue.near:
            return None
        following = re.compile(r"\s*([^\n]+)").match(text, line_end)
        if following is None:
            return None
        if (found := bare_choice(following[1], labels)) is not None:
            return found
        return _by_text(following[1], labels, options)
    label = _adjacent(read, cue.end, line_end, labels)
    if label is not None:
        alone = _alone(text, label.end, line_end)
        if alone or _is_strong(text, label, adjacent=True):
            return _unless_several(read, label, labels)
    if cue.kind == "bare":
        return _bracketed_nearby(read, cue, line_end, labels)
    if options and (found_text := _option_at(line, labels, options)) is not None:
        return found_text
    if cue.kind == "copula" and (end := _SENTENCE_END.search(text, cue.end, line_end)):
        line_end = end.start() + 1
    for label in _labels(text, labels, cue.end, min(line_end, cue.end + _SPAN)):
        if _is_strong(text, label) and not _negated(read, label):
            return _unless_several(read, label, labels)
    return _by_text(text[cue.end : line_end], labels, options)


def _bracketed_nearby(read: Read, cue: Cue, line_end: int, labels: tuple[str, ...]) -> str | None:
    """Read "A válasz a kérdésre (B)": a few words, no link, and a label in brackets."""
    end = min(line_end, cue.end + 60)
    if sentence := _SENTENCE_END.search(read.text, cue.end, end):
        end = sentence.start()
    for label in _labels(read.text, labels, cue.end, end):
        if label.enclosed and not _negated(read, label):
            return _unless_several(read, label, labels)
    return None


def _by_line(read: Read, labels: tuple[str, ...]) -> str | None:
    """Return the label that the last line holds alone, or that one line begins with."""
    lines = [line for line in read.text.split("\n") if line.strip()]
    if not lines:
        return None
    pattern = _line_pattern(labels)
    for line in (lines[-1], lines[0]):
        match = pattern.match(line)
        if match and match["rest"] is None:
            return _canonical(match[1], labels)
    begun = {
        _canonical(match[1], labels) for line in lines[:200] if (match := pattern.match(line))
    } - {None}
    return begun.pop() if len(begun) == 1 else None


def _called_right(read: Read, labels: tuple[str, ...]) -> str | None:
    """Return the last label called correct, or else the only one called an option."""
    right = present(read.low, (*phrases("right"), *phrases("answer")))
    option = present(read.low, phrases("option"))
    if not right and not option:
        return None
    pattern = _right_pattern(right)
    called: list[str] = []
    named: set[str] = set()
    option_before = _option_before(option)
    for label in _labels(read.text, labels):
        if _negated(read, label):
            continue
        after = read.low[label.end : label.end + 60]
        if right and (_is_strong(read.text, label) or _then_copula(read, label)):
            match = pattern.match(after)
            if match:
                called.append(label.label)
        if option and option_before.search(read.low, max(0, label.start - 40), label.start):
            named.add(label.label)
    if called:
        return called[-1]
    return named.pop() if len(named) == 1 else None


def _by_text(text: str, labels: tuple[str, ...], options: tuple[str, ...] | None) -> str | None:
    """Return the label of the only option whose text occurs in `text`, or None."""
    if not options:
        return None
    keys = _option_keys(labels, options)
    whole = name_key(text)
    for key, label in keys.items():
        if key == whole:
            return label
    long_enough = {key: label for key, label in keys.items() if len(key) > 1}
    found = distinct(mentions(text, long_enough))
    return found.pop() if len(found) == 1 else None


def _option_at(line: str, labels: tuple[str, ...], options: tuple[str, ...]) -> str | None:
    """Return the label of the longest option that `line` begins with, or None."""
    key = name_key(line[:_SPAN])
    best = ""
    keys = _option_keys(labels, options)
    for option in keys:
        if len(option) > max(1, len(best)) and (key == option or key.startswith(option + " ")):
            best = option
    return keys[best] if best else None


@lru_cache(maxsize=256)
def _option_keys(labels: tuple[str, ...], options: tuple[str, ...]) -> dict[str, str]:
    # Of options with one text the first stands for all: nothing tells them apart.
    keys: dict[str, str] = {}
    for label, option in zip(labels, options, strict=False):
        if key := name_key(option):
            keys.setdefault(key, label)
    return keys


def _canonical(letter: str, labels: tuple[str, ...]) -> str | None:
    """Return the item's label that `letter` stands for, or None."""
    if letter in labels:
        return letter
    for form in (_SHAPES.get(letter), _BY_ORDER.get(letter), _SMALL_SHAPES.get(letter), letter):
        if form is None:
            continue
        if form in labels:
            return form
        if form.upper() in labels:
            return form.upper()
    return None


@lru_cache(maxsize=256)
def _letters(labels: tuple[str, ...]) -> tuple[str, str]:
    """Return patterns of what may be a label: Latin in shape, and of other scripts.

    Letters beyond the item's options are matched too, so that "(K)" is not read over.
    """
    latin = {*"ABCDEFGHIJKLMNOPQRSTUVWXYZ", *"abcdefghijklmnopqrstuvwxyz"}
    latin.update(_SHAPES, _SMALL_SHAPES)
    others = set(_BY_ORDER)
    longer = []
    for label in labels:
        if len(label) > 1:
            longer.append(label)
        elif label not in latin:
            others.add(label)
    longer.sort(key=len, reverse=True)
    return (
        "|".join([*map(re.escape, longer), f"[{''.join(sorted(latin))}]"]),
        f"[{re.escape(''.join(sorted(others)))}]",
    )


@lru_cache(maxsize=256)
def _label_pattern(labels: tuple[str, ...]) -> re.Pattern[str]:
    latin, other = _letters(labels)
    return re.compile(
        rf"(?P<open>[{_OPEN}])[ ]?(?P<inside>{latin}|{other})[ ]?[.):]?(?P<close>[{_CLOSE}])"
        rf"|{_NO_LETTER_BEFORE}(?P<naked>{latin}){_NO_LETTER_AFTER}"
        rf"|(?<![^\W_])(?<![\u0900-\u0dff])(?P<native>{other})(?![^\W_]|[\u0900-\u0963\u0966-\u0dff])"
    )


@lru_cache(maxsize=256)
def _adjacent_pattern(labels: tuple[str, ...]) -> re.Pattern[str]:
    latin, other = _letters(labels)
    return re.compile(
        rf"(?<![\w][.'’])"
        rf"(?:(?P<open>[{_OPEN}])[ ]?(?P<inside>{latin}|{other})[ ]?[.):]?(?P<close>[{_CLOSE}])"
        rf"|(?P<naked>{latin}){_NO_LETTER_AFTER}"
        rf"|(?P<native>{other})(?![^\W_]|[\u0900-\u0963\u0966-\u0dff]))"
    )


@cache
def _lead() -> re.Pattern[str]:
    return re.compile(rf"{DECORATION}(?:{words_pattern(phrases('option'))}[ \t:]*{DECORATION})?")


def _adjacent(read: Read, begin: int, end: int, labels: tuple[str, ...]) -> _Label | None:
    """Return the label that stands at `begin`, past decoration and a word for "option"."""
    lead = _lead().match(read.low, begin, end)
    place = lead.end() if lead else begin
    # The last bracket or quote belongs to the label.
    pattern = _adjacent_pattern(labels)
    match = None
    if place > begin:
        match = pattern.match(read.text, place - 1, end)
    match = match or pattern.match(read.text, place, end)
    return _label_of(match, labels) if match else None


@lru_cache(maxsize=256)
def _line_pattern(labels: tuple[str, ...]) -> re.Pattern[str]:
    latin, other = _letters(labels)
    # "B", "(b)", "**B.**" alone; "B. Paris", "(B) Paris", "B) Paris" at the start of a line.
    return re.compile(
        rf"[\s{_OPEN}\\\-]{{0,12}}({latin}|{other}){_NO_LETTER_AFTER}"
        rf"(?:[{_CLOSE}\s.,!:。।]*$|(?P<rest>[*_]*(?:[.)\]】、][{_CLOSE}:]*|[ ]?[-–—](?=\s))\s*[^\n]*))"
    )


def _label_of(match: re.Match[str], labels: tuple[str, ...]) -> _Label | None:
    group = next(name for name in ("inside", "naked", "native") if match[name] is not None)
    label = _canonical(match[group], labels)
    if label is None:
        return None
    start, end = match.span(group)
    enclosed = group == "inside" and (not match[group].islower() or match["open"] in "([{【*")
    return _Label(label, start, match.end() if enclosed else end, enclosed)


def _labels(
    text: str, labels: tuple[str, ...], begin: int = 0, end: int | None = None
) -> Iterator[_Label]:
    """Yield what can be read as a label between two positions, from left to right."""
    for match in _label_pattern(labels).finditer(text, begin, len(text) if end is None else end):
        found = _label_of(match, labels)
        if found is None:
            continue
        before = text[max(0, match.start() - 4) : match.start()]
        # f(B) and 12 J are a function and a quantity.
        if found.enclosed:
            if _CALL_BEFORE[match["open"]].search(before):
                continue
        elif _UNIT_BEFORE.search(before) or text[found.start].islower():
            continue
        yield found


def _alone(text: str, end: int, line_end: int) -> bool:
    return not text[end:line_end].strip(" \t.,!*_`~\"'”’»)]}>$|。।")


def _is_strong(text: str, label: _Label, *, adjacent: bool = False) -> bool:
    """Tell a label from a word of one letter by what stands around it."""
    if label.enclosed:
        return True
    letter = text[label.start]
    if letter.islower():
        return False
    after = text[label.end : label.end + 40]
    if letter in _BY_ORDER and not letter.isascii():
        # Native letters are letters of words: free-standing ones only.
        return adjacent and not _NEXT_LETTER.match(after)
    if label.label not in _WORDS or _END.match(after):
        return True
    word = _NEXT_WORD.match(after)
    if word is None:
        return True
    return not _is_latin(word[1][0]) or (adjacent and fold(word[1]) in phrases_set("why"))


_NEXT_LETTER = re.compile(r"[^\W\d_]|[\u0900-\u0963\u0966-\u0dff]")


def _is_latin(char: str) -> bool:
    return char < "\u0250" or "\u0370" <= char < "\u0530" or "\u1e00" <= char < "\u2000"


@cache
def phrases_set(role: str) -> frozenset[str]:
    """Return the first words of the phrases of `role`."""
    return frozenset(phrase.split()[0] for phrase in phrases(role))


def _then_copula(read: Read, label: _Label) -> bool:
    word = _NEXT_WORD.match(read.low, label.end, label.end + 40)
    return word is not None and word[1] in phrases_set("is")


def _unless_several(read: Read, label: _Label, labels: tuple[str, ...]) -> str | None:
    """Return the label unless it is rejected or a second one is joined to it ("A or B")."""
    if _negated(read, label):
        return None
    after = _joined().match(read.low, label.end, label.end + 30)
    if after is not None:
        other = _adjacent(read, after.end(), after.end() + 40, labels)
        if other and other.label != label.label and _is_strong(read.text, other):
            return None
    return label.label


@cache
def _joined() -> re.Pattern[str]:
    close = r"[ \t*_`~\"'”’»)\]}>$|]*"
    return re.compile(rf"{close}(?:[,،、]?{close}{words_pattern(phrases('or'))}|[,/&+،、])")


@cache
def _negations() -> tuple[re.Pattern[str], re.Pattern[str]]:
    decoration = DECORATION
    before = re.compile(
        rf"{words_pattern(phrases('no'))}[ \t]*(?:[^\s\d.,;:!?()。、]{{1,20}}[ \t]+){{0,2}}{decoration}$"
    )
    after = re.compile(rf"{decoration}(?:{words_pattern(phrases('no_after'))})")
    return before, after


def _negated(read: Read, label: _Label) -> bool:
    """Return whether the reply rejects this label, in the clause around it."""
    before, after = _negations()
    clause = read.low[max(0, label.start - 40) : label.start]
    clause = clause.rstrip("([{*_`\"'“«「『【$ \t")
    clause = _CLAUSE.split(clause)[-1] + " "
    if before.search(clause):
        return True
    return after.match(read.low, label.end, label.end + 40) is not None


def _right_pattern(words: tuple[str, ...]) -> re.Pattern[str]:
    return _compiled(rf"[^\n.;,!?。；！？।]{{0,25}}?{words_pattern(words)}")


def _option_before(words: tuple[str, ...]) -> re.Pattern[str]:
    return _compiled(rf"{words_pattern(words)}{DECORATION}$")


@lru_cache(maxsize=512)
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)
