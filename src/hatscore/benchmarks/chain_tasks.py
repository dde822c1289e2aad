"""The chains of ``chain``: facts, their lookups and the arithmetic on them, a seeded order.

A chain starts with a number that is known of something and goes on adding, subtracting or
multiplying. Every lookup and every operation is one step:

===================  =======  ======================================================
operand              lookups  value
===================  =======  ======================================================
``17``               0        a number from 11 to 99, or a factor from 2 to 9
``code(JP)``         1        telephone code of a country
``code(country(X))`` 2        the country of a city, then its telephone code
``days(3)``          1        days of a month
===================  =======  ======================================================

By number of steps, with n a number, k a factor, and ± for plus and minus:

1. ``code(C)``
2. ``code(C)±n``
3. ``code(country(X))±n`` and ``code(C)±code(D)``
4. ``(code(country(X))±n)*k``, ``code(country(X))±code(D)`` and ``code(country(X))±days(m)``
5. ``(code(country(X))±days(m))*k``, ``(code(country(X))±code(D))*k`` and
   ``code(country(X))±code(country(Y))``

Each kind of one length comes equally often. No chain names a country twice, no result on the way
is below 11, and of the two orders of a sum of like operands one is a chain.
"""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import product
from typing import TYPE_CHECKING, Any, Final, Literal, overload

from hatscore.benchmarks.wordmath_tasks import draw
from hatscore.benchmarks.worldfacts_data import load_facts

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from hatscore.benchmarks.wordmath_tasks import Operation

__all__ = [
    "STEPS",
    "Chain",
    "ChainFacts",
    "ChainList",
    "Operand",
    "all_chains",
    "examples",
    "load_chain_facts",
    "sample",
]

Kind = Literal["number", "country", "city", "month"]

STEPS: Final = (1, 2, 3, 4, 5)

_LOOKUPS: Final[Mapping[Kind, int]] = {"number": 0, "country": 1, "city": 2, "month": 1}
_SIGNS: Final[tuple[Operation, Operation]] = ("+", "-")
_TERMS: Final = range(11, 100)
_FACTORS: Final = range(2, 10)
_LEAST: Final = 11


@dataclass(frozen=True, slots=True)
class ChainFacts:
    """The table of facts.

    Parameters
    ----------
    version
        Changes with every change of the table, of the prompts or of the order of chains.
    codes
        Country (ISO 3166) -> telephone code.
    cities
        City, as the time zone it stands for -> country.
    days
        Number of a month, as text -> its days.
    month_names
        Language -> number of a month -> its name, where CLDR's will not do.
    names
        Language -> city or country -> its name, where CLDR's will not do.
    shown_countries, shown_months
        What the examples use and no chain does.
    """

    version: str
    codes: Mapping[str, int]
    cities: Mapping[str, str]
    days: Mapping[str, int]
    month_names: Mapping[str, Mapping[str, str]]
    names: Mapping[str, Mapping[str, str]]
    shown_countries: frozenset[str]
    shown_months: frozenset[str]


@cache
def load_chain_facts() -> ChainFacts:
    """Return the table of facts, the same object at every call."""
    text = files(__package__).joinpath("chain_data.toml").read_text(encoding="utf-8")
    table: dict[str, Any] = tomllib.loads(text)
    countries = load_facts().cities
    return ChainFacts(
        version=table["version"],
        codes=table["codes"],
        cities={zone: countries[zone] for zone in table["cities"]},
        days=table["days"],
        month_names=table["months"],
        names=table["names"],
        shown_countries=frozenset(table["shown"]["countries"]),
        shown_months=frozenset(str(month) for month in table["shown"]["months"]),
    )


@dataclass(frozen=True, slots=True)
class Operand:
    """A number, or something of which a number is known.

    Parameters
    ----------
    kind
        What it is.
    name
        The number in digits, the code of the country, the time zone of the city, or the number
        of the month.
    """

    kind: Kind
    name: str

    @property
    def key(self) -> str:
        """How it is written in the id of a chain."""
        match self.kind:
            case "number":
                return self.name
            case "country":
                return f"code({self.name})"
            case "city":
                return f"code(country({self.name.rsplit('/', maxsplit=1)[-1]}))"
            case "month":
                return f"days({self.name})"

    @property
    def value(self) -> int:
        """The number that is meant."""
        facts = load_chain_facts()
        match self.kind:
            case "number":
                return int(self.name)
            case "month":
                return facts.days[self.name]
            case _:
                return facts.codes[self.subject]

    @property
    def lookups(self) -> int:
        """How many facts it takes."""
        return _LOOKUPS[self.kind]

    @property
    def subject(self) -> str:
        """What the fact is about: of a city its country, else the operand itself."""
        return load_chain_facts().cities[self.name] if self.kind == "city" else self.name


@dataclass(frozen=True, slots=True)
class Chain:
    """An operand and what is done with it, one operation after the other.

    Parameters
    ----------
    start
        The first operand.
    operations
        Operations with their operands, in the order in which they are done.
    """

    start: Operand
    operations: tuple[tuple[Operation, Operand], ...] = ()

    @property
    def key(self) -> str:
        """The chain as an ordinary expression, with brackets where the order needs them."""
        text = self.start.key
        additive = False
        for operation, operand in self.operations:
            if operation == "*" and additive:
                text = f"({text})"
            text = f"{text}{operation}{operand.key}"
            additive = operation != "*"
        return text

    @property
    def results(self) -> tuple[int, ...]:
        """The value of the start, then the result of each operation; the last is the answer."""
        found = [self.start.value]
        for operation, operand in self.operations:
            last, value = found[-1], operand.value
            if operation == "+":
                found.append(last + value)
            elif operation == "-":
                found.append(last - value)
            else:
                found.append(last * value)
        return tuple(found)

    @property
    def steps(self) -> int:
        """Lookups and operations together."""
        lookups = sum(operand.lookups for _, operand in self.operations)
        return self.start.lookups + lookups + len(self.operations)


class ChainList(Sequence[Chain]):
    """Chains of one kind: each of the `heads`, multiplied by each of the `factors` if any."""

    def __init__(self, heads: Iterable[Chain], factors: Iterable[int] = ()) -> None:
        self._heads = tuple(heads)
        self._tails: tuple[tuple[tuple[Operation, Operand], ...], ...] = tuple(
            (("*", _number(factor)),) for factor in factors
        ) or ((),)

    def __len__(self) -> int:
        """Return how many chains there are."""
        return len(self._heads) * len(self._tails)

    @overload
    def __getitem__(self, index: int) -> Chain: ...

    @overload
    def __getitem__(self, index: slice) -> list[Chain]: ...

    def __getitem__(self, index: int | slice) -> Chain | list[Chain]:
        """Return the chain, or the chains, at `index`."""
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        head, tail = divmod(range(len(self))[index], len(self._tails))
        return Chain(self._heads[head].start, self._heads[head].operations + self._tails[tail])


@cache
def all_chains(steps: int) -> tuple[ChainList, ...]:
    """Return every chain that can be an item, kind by kind, in an order that never changes.

    Parameters
    ----------
    steps
        One of :data:`STEPS`.
    """
    facts = load_chain_facts()
    shown = facts.shown_countries
    numbers = [_number(term) for term in _TERMS]
    countries = [Operand("country", code) for code in facts.codes if code not in shown]
    cities = [Operand("city", zone) for zone, code in facts.cities.items() if code not in shown]
    months = [Operand("month", month) for month in facts.days if month not in facts.shown_months]
    match steps:
        case 1:
            return (ChainList(Chain(country) for country in countries),)
        case 2:
            return (ChainList(_signed(countries, numbers)),)
        case 3:
            return (ChainList(_signed(cities, numbers)), ChainList(_signed(countries, countries)))
        case 4:
            return (
                ChainList(_signed(cities, numbers), _FACTORS),
                ChainList(_signed(cities, countries)),
                ChainList(_signed(cities, months)),
            )
        case _:
            return (
                ChainList(_signed(cities, months), _FACTORS),
                ChainList(_signed(cities, countries), _FACTORS),
                ChainList(_signed(cities, cities)),
            )


@cache
def examples(steps: int) -> tuple[Chain, Chain, Chain]:
    """Return the three chains that show how to answer.

    None is an item, and no item asks for one of their countries, cities and months.

    Parameters
    ----------
    steps
        One of :data:`STEPS`.
    """
    poland, kenya, peru, sweden = (Operand("country", code) for code in ("PL", "KE", "PE", "SE"))
    warsaw, nairobi = Operand("city", "Europe/Warsaw"), Operand("city", "Africa/Nairobi")
    lima, kathmandu = Operand("city", "America/Lima"), Operand("city", "Asia/Kathmandu")
    april, october = Operand("month", "4"), Operand("month", "10")
    match steps:
        case 1:
            return Chain(poland), Chain(kenya), Chain(peru)
        case 2:
            return (
                Chain(poland, (("+", _number(27)),)),
                Chain(kenya, (("-", _number(38)),)),
                Chain(peru, (("+", _number(64)),)),
            )
        case 3:
            return (
                Chain(warsaw, (("+", _number(27)),)),
                Chain(kenya, (("-", sweden),)),
                Chain(lima, (("+", _number(64)),)),
            )
        case 4:
            return (
                Chain(warsaw, (("+", _number(27)), ("*", _number(4)))),
                Chain(nairobi, (("-", sweden),)),
                Chain(lima, (("+", october),)),
            )
        case _:
            return (
                Chain(warsaw, (("+", april), ("*", _number(4)))),
                Chain(nairobi, (("-", sweden), ("*", _number(3)))),
                Chain(lima, (("+", kathmandu),)),
            )


def sample(steps: int, count: int, seed: int) -> list[Chain]:
    """Return `count` different chains in random order; fewer are the beginning of more.

    The kinds take turns until one is exhausted; within a kind the order is that of
    :func:`hatscore.benchmarks.wordmath_tasks.draw`.

    Parameters
    ----------
    steps
        One of :data:`STEPS`.
    count
        At most as many as there are in :func:`all_chains`.
    seed
        Any integer.
    """
    kinds = all_chains(steps)
    taken = [0] * len(kinds)
    turns: list[int] = []
    while len(turns) < count:
        for kind, chains in enumerate(kinds):
            if taken[kind] < len(chains) and len(turns) < count:
                taken[kind] += 1
                turns.append(kind)
    # A seed of its own for each kind: equal ones would pick the same cities in all of them.
    drawn = [
        iter(draw(chains, taken[kind], seed * len(kinds) + kind))
        for kind, chains in enumerate(kinds)
    ]
    return [next(drawn[kind]) for kind in turns]


def _number(value: int) -> Operand:
    return Operand("number", str(value))


def _signed(starts: Sequence[Operand], others: Sequence[Operand]) -> Iterator[Chain]:
    """Every start plus and minus every other operand that may stand with it."""
    for start, other, sign in product(starts, others, _SIGNS):
        if start.subject == other.subject:
            continue
        if sign == "+" and start.kind == other.kind and start.name > other.name:
            continue
        if sign == "-" and start.value - other.value < _LEAST:
            continue
        yield Chain(start, ((sign, other),))
