"""What is said of a kind of values where it is declared, and the values that Python has no type for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import NamedTuple

import pyarrow as pa

Value = object
"""A value of a column as pyarrow takes it; a list is a tuple."""


class Record(NamedTuple):
    """A value of STRUCT(a INTEGER, b VARCHAR)."""

    a: int | None
    b: str | None


class Pairs(tuple[tuple[str, int | None], ...]):
    """A value of MAP(VARCHAR, INTEGER)."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Type:
    """A type that columns are declared with: its Arrow type, and the few values that they take."""

    arrow: pa.DataType
    domain: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class Kind:
    """A class of types that a query may mix.

    Attributes:
        name: what templates call it.
        letter: what the names of its columns begin with.
        types: by their names, as DuckDB tells them. Literals are of the first.
        odd: literals as some people write them.
        forms: expressions of the kind, as templates.
        conditions: conditions that are of this kind alone, as templates.
        weight: how often it is chosen, beside 1.

    In a template `<INT>` stands for an expression of that kind, `<1..3>` for a number of these, `<a|b>` for either.
    None may fail.
    """

    name: str
    letter: str
    types: dict[str, Type]
    odd: tuple[str, ...] = ()
    forms: tuple[str, ...] = ()
    conditions: tuple[str, ...] = ()
    weight: float = 1.0

    @property
    def literal_type(self) -> str:
        """The type of literals."""
        return next(iter(self.types))


def expanded(rng: Random, template: str, value: Callable[[str], str], kinds: frozenset[str]) -> str:
    """A template with something in each place; `value` makes an expression of one of the kinds."""
    parts = template.split("<")
    found = [parts[0]]
    for part in parts[1:]:
        place, _, rest = part.partition(">")
        chosen = rng.choice(place.split("|"))
        if chosen in kinds:
            found.append(value(chosen))
        elif ".." in chosen:
            first, last = chosen.split("..")
            found.append(str(rng.randint(int(first), int(last))))
        else:
            found.append(chosen)
        found.append(rest)
    return "".join(found)
