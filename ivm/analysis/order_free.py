"""In which order the rounds of a loop may be run so that it ends with the same rows.

A loop in which rows only ever lead to more rows ends with the least collection that is closed under its rules, however
long some of them are delayed. So rounds need not count how often the bindings were evaluated: they only have to grow
along derivations. What takes the least of values keeps that property where a value is passed on unchanged, or grows,
and is otherwise only held against what does not change: a value that is not the least leads to nothing that counts.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

from ivm.analysis.fact import fact
from ivm.analysis.known_predicates import known_predicates
from ivm.analysis.lifted import is_lifted
from ivm.analysis.ranges import value_range
from ivm.catalog.types import Physical
from ivm.sql.ir.limits import is_exact
from ivm.sql.ir.relation import (
    Filter,
    Join,
    LetRec,
    Map,
    Project,
    RecursiveGet,
    Reduce,
    Relation,
    Union,
    Unnest,
)
from ivm.sql.ir.scalar import Call, Column, Literal, Scalar, columns_of


@dataclass(frozen=True, slots=True)
class Valued:
    """A binding whose rows have the least, or if `largest` the greatest, of values in a column; if it `grows`, values
    grow from round to round, or if the greatest is asked, fall.
    """

    binding: int
    column: int
    largest: bool
    grows: bool


@dataclass(frozen=True, slots=True)
class RoundOrder:
    """How rounds are run. `exact`: as they are counted; else the loop's rows only lead to more rows.

    `valued`: bindings that take the least of values, where small values may come first; where there is none, a row may
    stay in the round in which it came for as long as something of no later round leads to it.
    """

    exact: bool
    valued: tuple[Valued, ...] = ()


class _Kind(IntEnum):
    """What a column has to do with the value of a binding."""

    NOTHING = 0
    PASSED = 1
    GROWN = 2


class _NotFreeError(Exception):
    """Something sees in which round rows are there."""


_EXACT = RoundOrder(exact=True)
_ADDED = frozenset(["add"])
_BELOW = {False: ("lt", "le"), True: ("gt", "ge")}
_ABOVE = {False: ("gt", "ge"), True: ("lt", "le")}


@fact
def order_of(loop: LetRec) -> RoundOrder:
    """The freest order in which the rounds of a loop may be run; exact if in doubt."""
    if loop.limit is not None:
        return _EXACT
    values = {each.name: found for each in loop.bindings if (found := _value_of(each.relation)) is not None}
    try:
        walk = _Walk(values)
        for number, binding in enumerate(loop.bindings):
            walk.binding(number, binding.relation, values.get(binding.name))
    except _NotFreeError:
        return _EXACT
    # Without groups a row counts as often as there are ways to it, and rounds tell those that lead in circles.
    return RoundOrder(False, tuple(walk.valued)) if walk.groups else _EXACT


def _value_of(relation: Relation) -> tuple[int, bool] | None:
    """The column of a binding that has the least of some values, and whether it is the greatest; None if none has."""
    if not isinstance(relation, Reduce) or len(relation.aggregates) != 1 or not relation.keys:
        return None
    (only,) = relation.aggregates
    if only.function not in ("min", "max") or not isinstance(only.arg, Column):
        return None
    if only.type.physical not in (Physical.INT32, Physical.INT64):
        return None
    return len(relation.keys), only.function == "max"


class _Walk:
    """Looks at all bindings: `groups`, whether some node tells rows apart from one; `valued`."""

    def __init__(self, values: dict[str, tuple[int, bool]]) -> None:
        self._values = values
        self.groups = False
        self.valued: list[Valued] = []

    def binding(self, number: int, relation: Relation, value: tuple[int, bool] | None) -> None:
        """Raises _NotFreeError if a binding sees in which round rows are there."""
        if not is_lifted(relation):
            return
        if value is None:
            if any(self.kinds(relation, largest=False)):
                raise _NotFreeError  # a value that is not the least may be left behind
            return
        assert isinstance(relation, Reduce), "a reduce takes the least"
        column, largest = value
        below = self.kinds(relation.input, largest)
        (arg,) = (each.arg for each in relation.aggregates)
        assert isinstance(arg, Column), "the value is a column"
        if any(below[c] for key in relation.keys for c in columns_of(key)):
            raise _NotFreeError
        self.groups = True
        self.valued.append(Valued(number, column, largest, below[arg.index] is _Kind.GROWN))

    def kinds(self, relation: Relation, largest: bool) -> tuple[_Kind, ...]:
        """Of each column what it has to do with a value of which the least, or greatest, is asked."""
        if not is_lifted(relation):
            return (_Kind.NOTHING,) * len(relation.schema)
        match relation:
            case RecursiveGet():
                return self._named(relation, largest)
            case Project():
                below = self.kinds(relation.input, largest)
                return tuple(below[c] for c in relation.columns)
            case Map():
                below = self.kinds(relation.input, largest)
                for scalar in relation.scalars:
                    below = (*below, _mapped(scalar, relation.input, below, largest))
                return below
            case Unnest():
                below = self.kinds(relation.input, largest)
                if any(below[c] for each in relation.lists for c in columns_of(each)):
                    raise _NotFreeError
                return (*below, *(_Kind.NOTHING for _ in relation.added))
            case Filter():
                below = self.kinds(relation.input, largest)
                for predicate in relation.predicates:
                    _check_filter(predicate, below, largest)
                return below
            case Join():
                below = tuple(kind for each in relation.inputs for kind in self.kinds(each, largest))
                if any(below[c] for group in relation.equivalences for c in group):
                    raise _NotFreeError
                return below
            case Union():
                return tuple(map(max, zip(*(self.kinds(each, largest) for each in relation.inputs), strict=True)))
            case Reduce() if not relation.aggregates:
                below = self.kinds(relation.input, largest)
                if any(below[c] for key in relation.keys for c in columns_of(key)):
                    raise _NotFreeError
                self.groups = True
                return (_Kind.NOTHING,) * len(relation.schema)
        raise _NotFreeError

    def _named(self, relation: RecursiveGet, largest: bool) -> tuple[_Kind, ...]:
        found = self._values.get(relation.name)
        if found is not None and found[1] != largest:
            raise _NotFreeError
        return tuple(
            _Kind.PASSED if found is not None and c == found[0] else _Kind.NOTHING for c in range(len(relation.schema))
        )


def _mapped(scalar: Scalar, input_: Relation, below: tuple[_Kind, ...], largest: bool) -> _Kind:
    """What an expression has to do with a value."""
    if isinstance(scalar, Column):
        return below[scalar.index]
    if not any(below[c] for c in columns_of(scalar)):
        return _Kind.NOTHING
    if isinstance(scalar, Call) and scalar.function in _ADDED and len(scalar.args) == 2:
        one, other = scalar.args
        if not any(below[c] for c in columns_of(one)):
            one, other = other, one
        if not any(below[c] for c in columns_of(other)) and _leads_on(other, input_, largest):
            _mapped(one, input_, below, largest)
            return _Kind.GROWN
    raise _NotFreeError


def _leads_on(scalar: Scalar, input_: Relation, largest: bool) -> bool:
    """Whether an integer is never negative, or if the greatest is asked never positive."""
    known = value_range(scalar)
    if known is not None and (known[1] <= 0 if largest else known[0] >= 0):
        return True
    while isinstance(scalar, Call) and scalar.function == "cast" and is_exact(scalar.args[0].type):
        (scalar,) = scalar.args  # which changes no sign
    return any(_shows(predicate, scalar, largest) for predicate in known_predicates(input_))


def _shows(predicate: Scalar, scalar: Scalar, largest: bool) -> bool:
    """Whether a predicate says that an exact number is not negative, or if the greatest is asked not positive."""
    match predicate:
        case Call("not", (Call(function, (one, Literal(int() as bound))),)) if one == scalar:
            return function in _BELOW[largest] and _is_beyond(bound, largest, strict=function in ("le", "ge"))
        case Call(function, (Literal(int() as bound), one)) if one == scalar:
            return function in _BELOW[largest] and _is_beyond(bound, largest, strict=function in ("lt", "gt"))
        case Call("eq" | "in", (one, *others)) if one == scalar:
            bounds = [other.value for other in others if isinstance(other, Literal) and isinstance(other.value, int)]
            return len(bounds) == len(others) and all(_is_beyond(each, largest, strict=False) for each in bounds)
        case Call(function, (one, Literal(int() as bound))) if one == scalar:
            return function in _ABOVE[largest] and _is_beyond(bound, largest, strict=function in ("lt", "gt"))
    return False


def _is_beyond(bound: int, largest: bool, *, strict: bool) -> bool:
    """Whether what is at least a bound, or if `strict` above it, is not negative; mirrored if the greatest is asked.

    Numbers and bounds are integers of one scale.
    """
    return (bound - strict <= 0) if largest else (bound + strict >= 0)


def _check_filter(predicate: Scalar, below: tuple[_Kind, ...], largest: bool) -> None:
    """Raises _NotFreeError if a filter lets values pass by more than their not being too large."""
    if not any(below[c] for c in columns_of(predicate)):
        return
    if isinstance(predicate, Call) and len(predicate.args) == 2:
        one, other = predicate.args
        if isinstance(one, Column) and below[one.index] and not any(below[c] for c in columns_of(other)):
            if predicate.function in _BELOW[largest]:
                return
        elif (
            isinstance(other, Column)
            and below[other.index]
            and not any(below[c] for c in columns_of(one))
            and predicate.function in _ABOVE[largest]
        ):
            return
    raise _NotFreeError
