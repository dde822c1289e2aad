# ruff: noqa: RUF001 - other scripts look alike on purpose
"""Numbers: the answer of a reply as an exact number, however its language writes it.

How a language groups digits and marks decimals is not asked, because models mix habits: a
German reply writes ``70.000`` as often as ``70,000``. The shape alone decides. Groups of three
digits are thousands, whatever separates them; any other single comma or point is decimal.
"""

from __future__ import annotations

import re
import unicodedata
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

from hatscore.grading.reply import Read, boxes, line_after, prepare

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hatscore.grading.cues import Cue

__all__ = [
    "announced_number",
    "bare_number",
    "extract_number",
    "is_number",
    "last_number",
    "parse_number",
]

_LONGEST = 400  # digits; more are no answer and would take quadratic time
_GROUP = ",.'’‘ʼ´`′٬،_ "
_CURRENCY = r"(?:[A-Z]{0,3}[$€£¥₹₩₽₺₫₱₦฿৳₴₪₵₸¢\\]+)"
_NUMBER = re.compile(
    # 1,234,567.8 and all its kin; a leading zero is no group
    rf"(?<!\d)(?:(?P<grouped>[1-9]\d{{0,2}}(?P<mark>[{_GROUP}])\d{{3}}(?:(?P=mark)\d{{3}})*(?!\d)"
    r"(?:(?!(?P=mark))[.,٫،]\d+(?!\d|[.,]\d))?)"
    # 1,00,000: Indian groups
    r"|(?P<indian>[1-9]\d?(?:,\d{2})+,\d{3}(?!\d)(?:[.٫]\d+)?)"
    # 1,5,7 or 12.05.2023: several numbers without blanks
    r"|(?P<several>\d+(?:[.,]\d+){2,})"
    r"|(?P<plain>\d+(?:[.,٫،]\d+)?)"
    r"|(?<![\w.])(?P<point>[.٫]\d+))"
)
_VULGAR = "¼-¾⅐-⅞↉"
_VULGAR_TAIL = re.compile(rf"[ ]?([{_VULGAR}])")
_LONE_VULGAR = re.compile(rf"[{_VULGAR}]")
_DENOMINATOR = re.compile(r"[ ]?[/⁄∕][ ]?(\d{1,30})(?![\d/⁄∕]|[.,]\d)")
_MIXED = re.compile(r"[ ](\d{1,9})[/⁄∕](\d{1,9})(?![\d/⁄∕])")
# Myriads are digits of their languages: 7万 is 70000, as 7億5000万 is 750000000.
_MYRIADS = {"万": 10**4, "萬": 10**4, "만": 10**4, "億": 10**8, "亿": 10**8, "억": 10**8}
_MYRIAD = re.compile(r"[ ]?([万萬만億亿억])")

# A sign belongs to the number if it touches it (a currency may stand between) and nothing that
# could be subtracted from stands before. A dash is a sign only where it cannot be a dash.
_SIGN = re.compile(
    rf"(?:(?<![\w)\]}}%°²³])[-−](?:{_CURRENCY}[ ]?)?"
    rf"|^[ ]?[-−–][ ]?(?:{_CURRENCY}[ ]?)?|[=≈:][ ]?[-−–][ ]?(?:{_CURRENCY}[ ]?)?)$"
)
_SIGN_SPAN = 12

_UNIT_WORD = r"(?![xX][\s\d])[^\W\d_][^\s\d()\[\]{}=≈+*×÷·<>,;:.!?。、|/]{0,24}"
_UNIT = re.compile(
    rf"(?:[ \t]*(?:[%‰°€£¥₹₩₽$¢²³]+|/?{_UNIT_WORD}(?:\.(?=[ \t]*[-+*×=/]))?)){{0,5}}[ \t]*"
)
_OPERATOR = re.compile(r"[)\]}\s]{0,4}?([=≈]|[-−–+*/×÷·∙⋅✕]|[xX](?=[\s\d$(]))[ \t]*")
_BEFORE_TERM = re.compile(rf"(?:[ \t(\[{{]|{_CURRENCY}|[-−](?=[\d$€£(]))*")
_AFTER_EQUALS = re.compile(
    rf"(?:[ \t(\[{{≈~]|{_CURRENCY}|[-−–](?=[ ]?[\d$€£(])|{_UNIT_WORD}[ \t]){{0,8}}"
)
_MOST_TERMS = 60
_UNIT_WORDS = 2

_HASHES = re.compile(r"####+([^\n]*)")
_NEXT_LINE = re.compile(r"\s*(\S[^\n]*)")
_BULLET = re.compile(r"\A[-*•–—][ \t]+")
_HEADING = re.compile(r"[\s*_]{0,4}\d{1,2}[.):][*_]{0,3}[ \t]+[^\W\d_]")
_DECORATED = re.compile(rf"[\s*_`~\"'“”„«»「」()\[\]{{}}<>|#:=✅]*(?:[-−]?{_CURRENCY})?[ ]?$")
_SENTENCE_END = re.compile(r"[.!?](?=\s+[^\d\s$€£¥₹\\-]|\s*$)|[。！？।؟۔]")

_SPACE_COMMAND = re.compile(r"(?<=\d)\\{1,2}(?:[,;:! ]|thinspace|,)(?=\d)|(?<=\d)~(?=\d{3})")
_BRACED_MARK = re.compile(r"(?<=\d)\{([.,])\}(?=\d)")
_FRAC = re.compile(
    r"\\{1,2}[dtc]?frac[ ]?(?:\{[ ]?([-−]?[\d.,]{1,40})[ ]?\}[ ]?\{[ ]?([\d.,]{1,40})[ ]?\}"
    r"|(\d)[ ]?(\d))"
)
_TEXT_COMMAND = re.compile(
    r"\\{1,2}(?:text(?:bf|it|rm|tt|sf)?|math(?:bf|rm|sf|it|tt)|mbox|emph|bm|boldsymbol"
    r"|underline)[ ]?(?=\{)"
)
_OPERATOR_COMMAND = re.compile(r"\\{1,2}(times|cdot|div|approx|quad|left|right|displaystyle)\b")
_OPERATORS = {"times": "×", "cdot": "×", "div": "÷", "approx": "≈"}
_EMPHASIS = re.compile(r"\*{2,}|_{2,}|`+|(?<![\w\s)])\*(?=\S)|(?<=\w)\*(?![\w\s($\\-])|\*$")
_ESCAPED = re.compile(r"\\{1,2}(?=[%#&_*()\[\]])|\\{1,2}(?=\$)")


class _Found(NamedTuple):
    """A number in a text: where it stands, and what it is worth read from either end."""

    start: int
    end: int
    first: Fraction
    last: Fraction


def extract_number(text: str) -> Fraction | None:
    r"""Return the number that a reply gives as its answer, exactly, or None.

    The first number after the last answer cue of any language that has one, on the cue's line
    or the next that is not empty; if an equation stands there, its right-hand side. Without a
    cue the last ``\boxed{}``, then the last ``####``, then the last number of the reply.

    Currency, units and percent signs are dropped (60 % is 60). Fractions, plain, in LaTeX or as
    one character, are fractions. Ten-thousands of Chinese, Japanese and Korean multiply (7万 is
    70000); words for numbers are not read.

    Parameters
    ----------
    text
        The reply as the model gave it, thinking included.

    Returns
    -------
    Fraction or None
        None when the reply holds no number. Never raises.

    Examples
    --------
    >>> extract_number("Antwort: 70.000")
    Fraction(70000, 1)
    >>> extract_number("उत्तर: १२.५ किमी")
    Fraction(25, 2)
    >>> extract_number("I cannot answer that.") is None
    True
    """
    read = prepare(text, is_number)
    announced = announced_number(read)
    return last_number(read) if announced is None else announced


def last_number(read: Read) -> Fraction | None:
    """Return the last number of a prepared reply, or None."""
    found = list(_numbers(_tidy(read.text)))
    return found[-1].last if found else None


def announced_number(read: Read) -> Fraction | None:
    """Return the number after the last cue, in the last box or after ``####``, or None."""
    for cue in reversed(read.cues):
        value = _after_cue(read.text, cue)
        if value is not None:
            return value
    for content in boxes(read.text):
        value = _first_value(_tidy(content))
        if value is not None:
            return value
    if "####" in read.text:
        for line in reversed(_HASHES.findall(read.text)):
            value = None if _HEADING.match(line) else _direct(_tidy(line))
            if value is not None:
                return value
    return None


def bare_number(line: str) -> Fraction | None:
    """Return the number of a line that holds nothing else but currency, unit and marks."""
    line = _tidy(line)
    found = next(_numbers(line), None)
    if found is None or not _DECORATED.match(line[: found.start]):
        return None
    rest = line[found.end :].strip(" .*_`\"'”»)]}>|!")
    if len(rest.split()) > _UNIT_WORDS or any(char.isdigit() for char in rest):
        return None
    return found.first


def is_number(read: Read, cue: Cue | None) -> bool:
    """Tell :func:`prepare` what answers a question for a number."""
    if cue is None:
        return bare_number(read.text) is not None
    return _after_cue(read.text, cue) is not None


def parse_number(text: str) -> Fraction | None:
    """Return the number that the short text `text` (a gold answer) writes, or None."""
    return _first_value(_tidy(text))


def _after_cue(text: str, cue: Cue) -> Fraction | None:
    begin, end = line_after(text, cue)
    line = _tidy(text[begin:end])
    if begin > cue.end:
        return _on_next_line(line)
    if cue.kind == "bare":
        return _direct(line)
    if cue.kind == "copula":
        sentence = _SENTENCE_END.search(line)
        return _first_value(line[: sentence.start()] if sentence else line)
    value = _first_value(line)
    if value is None and cue.near and (following := _NEXT_LINE.match(text, end)):
        return _on_next_line(_tidy(following[1]))
    return value


def _on_next_line(line: str) -> Fraction | None:
    # A list of steps is no answer.
    return None if _HEADING.match(line) else _first_value(_BULLET.sub("", line))


def _direct(line: str) -> Fraction | None:
    """Return the first number if nothing but decoration and currency stands before it."""
    found = next(_numbers(line), None)
    if found is None or not _DECORATED.match(line[: found.start]):
        return None
    return _first_value(line)


def _tidy(text: str) -> str:
    """Take LaTeX and emphasis out of the way of numbers."""
    if "\\" in text:
        text = _SPACE_COMMAND.sub(" ", text)
        text = _FRAC.sub(_plain_fraction, text)
        text = _TEXT_COMMAND.sub("", text)
        text = _OPERATOR_COMMAND.sub(lambda match: f" {_OPERATORS.get(match[1], '')} ", text)
        text = _ESCAPED.sub("", text)
    elif "~" in text:
        text = _SPACE_COMMAND.sub(" ", text)
    if "{" in text:
        text = _BRACED_MARK.sub(r"\1", text)
    if "*" in text or "_" in text or "`" in text:
        text = _EMPHASIS.sub("", text)
    return text


def _plain_fraction(match: re.Match[str]) -> str:
    top = match[1] or match[3]
    return f" {top.replace(',', '')}/{(match[2] or match[4]).replace(',', '')} "


def _numbers(text: str) -> Iterator[_Found]:
    """Yield the numbers of a text from left to right."""
    end = 0
    for match in _NUMBER.finditer(text):
        if match.start() < end or match.end() - match.start() > _LONGEST:
            continue
        found = _complete(text, match)
        end = found.end
        yield found
    if end == 0 and (vulgar := _LONE_VULGAR.search(text)):
        value = _vulgar(vulgar[0]) * _sign(text, vulgar.start())
        yield _Found(vulgar.start(), vulgar.end(), value, value)


def _complete(text: str, match: re.Match[str]) -> _Found:
    """Add sign, fraction and myriads to the digits of `match`."""
    first, last = _digits(match)
    end = match.end()
    if match.lastgroup != "several":
        first, end = _with_fraction(text, first, end)
        first, end = _with_myriads(text, first, end)
        last = first
    sign = _sign(text, match.start())
    if sign < 0:
        first, last = -first, -last
    return _Found(match.start(), end, first, last)


def _digits(match: re.Match[str]) -> tuple[Fraction, Fraction]:
    digits = match[0]
    if digits.isdecimal():
        value = Fraction(int(digits))
        return value, value
    if match["several"]:
        pieces = re.split("[.,]", digits)
        return Fraction(pieces[0]), Fraction(pieces[-1])
    if mark := match["mark"]:
        digits = digits.replace(mark, "")
    elif match["indian"]:
        digits = digits.replace(",", "")
    for mark in ",٫،":
        digits = digits.replace(mark, ".")
    value = Fraction(digits)
    return value, value


def _with_fraction(text: str, value: Fraction, end: int) -> tuple[Fraction, int]:
    following = text[end : end + 1]
    if not following or following not in " /⁄∕¼½¾⅐⅑⅒⅓⅔⅕⅖⅗⅘⅙⅚⅛⅜⅝⅞":
        return value, end
    if value.denominator == 1:
        if vulgar := _VULGAR_TAIL.match(text, end):
            return value + _vulgar(vulgar[1]), vulgar.end()
        if (mixed := _MIXED.match(text, end)) and 0 < int(mixed[1]) < int(mixed[2]):
            return value + Fraction(int(mixed[1]), int(mixed[2])), mixed.end()
    if (below := _DENOMINATOR.match(text, end)) and int(below[1]):
        return value / int(below[1]), below.end()
    return value, end


def _with_myriads(text: str, value: Fraction, end: int) -> tuple[Fraction, int]:
    if not (unit := _MYRIAD.match(text, end)):
        return value, end
    total = Fraction(0)
    while unit:
        total += value * _MYRIADS[unit[1]]
        end = unit.end()
        more = _NUMBER.match(text, end + text.startswith(" ", end))
        if not more or more["several"] or more.end() - end > _LONGEST:
            break
        value = _digits(more)[0]
        unit = _MYRIAD.match(text, more.end())
        if not unit and more.start() == end:
            total, end = total + value, more.end()
    return total, end


def _vulgar(char: str) -> Fraction:
    return Fraction(unicodedata.numeric(char)).limit_denominator(10)


def _sign(text: str, start: int) -> int:
    begin = max(0, start - _SIGN_SPAN)
    before = text[begin:start]
    if "-" not in before and "−" not in before and "–" not in before:
        return 1
    match = _SIGN.search(before)
    if match is None or (match.start() == 0 and begin > 0):
        return 1
    return -1


def _first_value(segment: str) -> Fraction | None:
    """Return the first number of `segment`, or the right-hand side of its equation."""
    numbers = iter(_numbers(segment))
    first = next(numbers, None)
    if first is None:
        return None
    at = {first.start: first}
    sides = [[first]]
    end = first.end
    for _ in range(_MOST_TERMS):
        unit = _UNIT.match(segment, end)
        operator = _OPERATOR.match(segment, unit.end() if unit else end)
        if operator is None and not (unit and "%" in unit[0]):
            break
        equals = operator is not None and operator[1] in "=≈"
        end = operator.end() if operator else unit.end() if unit else end
        lead = (_AFTER_EQUALS if equals else _BEFORE_TERM).match(segment, end)
        begin = lead.end() if lead else end
        while begin not in at and (following := next(numbers, None)) is not None:
            at[following.start] = following
            if following.start > begin:
                break
        term = at.get(begin)
        if term is None:
            break
        if equals:
            sides.append([])
        sides[-1].append(term)
        end = term.end
    # The last side that is one number and not a sum of several.
    for side in reversed(sides):
        if len(side) == 1:
            return side[0].first
    return first.first
