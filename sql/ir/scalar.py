"""Scalar expressions: columns by position, literals in engine form, and calls of named functions.

Every expression is typed. The binder has already inserted every cast, so a function's arguments have exactly the
types that its definition below asks for, and no consumer has to coerce.

Engine form of literals: int for the integer types; the scaled int for DECIMAL (1.25 as DECIMAL(3,2) is 125);
int days for DATE; int microseconds for TIMESTAMP; float, bool, str; None for NULL of any type. One of a nested type is
a str, too, whose bytes are as `ivm.trace.columns.nested` lays them out.

`ivm.sql.ir.functions` declares the functions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from operator import is_not

from ivm.catalog.types import BOOLEAN, Kind, Physical, SqlType

Value = int | float | bool | str | None


@dataclass(frozen=True, slots=True)
class Column:
    """Column `index` of the input row."""

    index: int
    type: SqlType
    nullable: bool = True

    def __hash__(self) -> int:
        """By the position: columns of one row seldom differ in nothing else."""
        return hash(self.index)


@dataclass(frozen=True, slots=True)
class Literal:
    """A constant in engine form (see the module)."""

    value: Value
    type: SqlType

    @property
    def nullable(self) -> bool:
        """Whether this is NULL."""
        return self.value is None


def some_value(type_: SqlType) -> Value:
    """A value of the type, whichever: what stands where none is looked at."""
    match type_.kind:
        case Kind.STRUCT:
            return "".join(_null_within(field) for _, field in type_.fields)
        case Kind.ARRAY:
            assert type_.element is not None, "an array has elements"
            return _null_within(type_.element) * type_.size
    return _SOME.get(type_.physical, 0)


_SOME: dict[Physical, Value] = {Physical.BOOL: False, Physical.CODE: "", Physical.FLOAT64: 0.0}
_BYTES = {Physical.BOOL: 1, Physical.INT32: 4, Physical.INT64: 8, Physical.FLOAT64: 8, Physical.WIDE: 16}


def _null_within(type_: SqlType) -> str:
    """NULL as an element or a field of a nested value: its flag, and what stands for a value of the type."""
    if type_.kind is Kind.NULL:
        return "\2"
    if type_.kind is Kind.STRUCT:
        return "\2" + "".join(_null_within(field) for _, field in type_.fields)
    return "\2" + "\0" * _BYTES.get(type_.physical, 1)


class _HashedOnce:
    """Room for a hash, and for those who remember something of it for as long as it is there."""

    __slots__ = ("__weakref__", "_hash")
    _hash: int


@dataclass(frozen=True, slots=True)
class Call(_HashedOnce):
    """`function` applied to `args`; `nullable` is False only if the result can never be NULL."""

    function: str
    args: tuple[Scalar, ...]
    type: SqlType
    nullable: bool = True

    def __hash__(self) -> int:
        """Expressions are looked up by value time and again, so each remembers its hash."""
        try:
            return self._hash
        except AttributeError:
            found = hash((self.function, self.args, self.nullable))
            object.__setattr__(self, "_hash", found)
            return found


@dataclass(frozen=True, slots=True)
class Outer:
    """Column `index` of the row that the enclosing Apply numbered `binding` is at, seen from inside its right side.

    Stands only between binding and decorrelation (`ivm.sql.decorrelate`).
    """

    binding: int
    index: int
    type: SqlType
    nullable: bool = True


Scalar = Column | Literal | Call | Outer

TRUE = Literal(True, BOOLEAN)
FALSE = Literal(False, BOOLEAN)


def walk(scalar: Scalar) -> Iterator[Scalar]:
    """Every sub-expression, the expression itself first."""
    waiting = [scalar]
    while waiting:
        found = waiting.pop()
        yield found
        if isinstance(found, Call):
            waiting.extend(reversed(found.args))


def columns_of(scalar: Scalar) -> frozenset[int]:
    """Positions of the columns that the expression reads."""
    if isinstance(scalar, Column):
        return frozenset((scalar.index,))
    found: set[int] = set()
    waiting: list[Scalar] = [scalar]
    for part in waiting:  # which grows meanwhile
        if isinstance(part, Call):
            waiting.extend(part.args)
        elif isinstance(part, Column):
            found.add(part.index)
    return frozenset(found)


def rewrite(scalar: Scalar, function: Callable[[Scalar], Scalar]) -> Scalar:
    """Apply `function` bottom-up to every sub-expression; what it leaves as it is stays the very same object."""
    if isinstance(scalar, Call):
        args = tuple([rewrite(arg, function) if isinstance(arg, Call) else function(arg) for arg in scalar.args])
        if any(map(is_not, args, scalar.args)):
            scalar = Call(scalar.function, args, scalar.type, scalar.nullable)
    return function(scalar)


def remap(scalar: Scalar, positions: Callable[[int], int]) -> Scalar:
    """The expression over a row in which column i stands at `positions(i)`."""

    def move(s: Scalar) -> Scalar:
        if not isinstance(s, Column):
            return s
        index = positions(s.index)
        return s if index == s.index else Column(index, s.type, s.nullable)

    return rewrite(scalar, move)


def substitute(scalar: Scalar, values: tuple[Scalar, ...]) -> Scalar:
    """Replace column i by `values[i]`: the expression over the input of the row that `values` compute."""
    return rewrite(scalar, lambda s: values[s.index] if isinstance(s, Column) else s)
