"""What is said of a scalar function where it is declared."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any

from ivm.catalog.types import Kind, SqlType
from ivm.sql.ir.limits import Range
from ivm.sql.ir.scalar import Call, Value


class Nulls(Enum):
    """When a function is NULL."""

    ANY = auto()
    """Where any argument is, whatever the others are."""
    ALL = auto()
    """Where all arguments are, and nowhere else."""
    LOGIC = auto()
    """Where all arguments are, and where some are and the others do not decide."""
    FIRST = auto()
    """Where the first argument is; otherwise it depends."""
    NEVER = auto()
    DEPENDS = auto()


class Raises(Enum):
    """When evaluating a function on arguments that are there raises NumericError."""

    NEVER = auto()
    SOMETIMES = auto()
    OUT_OF_RANGE = auto()
    """Where the exact result leaves the range of its type; never for DOUBLE and FLOAT."""


class NotFoldableError(Exception):
    """A call over literals has no value, or none that is the same wherever it is computed."""


RangeRule = Callable[[Call, list[Range]], Range]
"""From the ranges of all arguments that are exact to that of the result before its check against the type."""

ValueRule = Callable[[Call, Sequence[Any]], Value]
"""The value of a call by those of its arguments, none of them NULL; NotFoldableError, ValueError or OverflowError."""


@dataclass(frozen=True, slots=True)
class Function:
    """One scalar function: `name` is that of calls in the IR; see `ivm.sql.ir.functions` for how one is added.

    Attributes:
        takes: the arguments' types. A text stands for more than one: `T` for the same type wherever it stands,
            `literal` for a literal, `...` for any number more of what is before it. A type may hold variables.
        gives: the result's type, or what it follows from.
        names: the names by which SQL calls it, where the types alone say how it is bound; the last `optional`
            arguments may then be missing. Several may share a name: the first that takes what is given is called.
        nulls: when it is NULL. `makes_null`: it may also be NULL though no argument is.
        raises: when it raises, or what says so of a call.
        range: the range of its results; None where nothing is known.
        value: its value of literals, where that is the same wherever it is computed; None to leave it to the runtime.
        lazy: only its first argument is evaluated on every row.
        asked: the function of DuckDB's that computes it, of the arguments of a batch at a time; None where we do.
        symbol: the operator that it is written as between its arguments; None for name(arguments).
        mirrored: of a comparison f the g with f(a, b) = g(b, a). `negated`: the g with NOT f(a, b) = g(a, b).
        holds: of a condition the share of rows on which it is taken to be true.
    """

    name: str
    takes: tuple[SqlType | str, ...]
    gives: SqlType | str
    names: tuple[str, ...] = ()
    optional: int = 0
    nulls: Nulls = Nulls.ANY
    makes_null: bool = False
    raises: Raises | Callable[[Call], Raises] = Raises.NEVER
    range: RangeRule | None = None
    value: ValueRule | None = None
    lazy: bool = False
    asked: str | None = None
    symbol: str | None = None
    mirrored: str | None = None
    negated: str | None = None
    holds: float = 0.5


def variable(name: str) -> SqlType:
    """What stands in the types of a function for any one type."""
    return SqlType(Kind.NULL, labels=(name,))


def of_values(function: Callable[..., Value]) -> ValueRule:
    """The rule of a function of the values alone."""
    return lambda call, values: function(*values)
