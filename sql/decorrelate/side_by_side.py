"""Freed relations side by side: joined on what they know of the outer row, or aligned for a union."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from sql.decorrelate.expand_joins import filtered
from sql.decorrelate.expand_predicates import equalities
from sql.decorrelate.pushed import Key, Pushed, column, equal, moved, project
from sql.ir.classes import merged_classes
from sql.ir.conditions import coalesced, is_null, negation
from sql.ir.relation import Filter, Join, Map, Negate, Project, Reduce, Relation
from sql.ir.scalar import Call, Column, Literal, Scalar, columns_of, substitute


def unsigned(relation: Relation) -> tuple[Relation, bool]:
    """The relation without the negation at its top or under its expressions and filters, and whether there was one."""
    if isinstance(relation, Negate):
        below, negative = unsigned(relation.input)
        return below, not negative
    if isinstance(relation, Map | Filter | Project):
        below, negative = unsigned(relation.input)
        return (replace(relation, input=below), True) if negative else (relation, False)
    return relation, False


def shifted(scalars: Iterable[Scalar], by: int) -> tuple[Scalar, ...]:
    """The expressions over a row before which `by` columns stand."""
    return tuple(moved(s, by) for s in scalars)


def over(left: Pushed, right: Pushed, predicates: Iterable[Scalar]) -> list[Scalar]:
    """Predicates over the rows of both, over the columns of their carriers."""
    values = (*left.outputs, *shifted(right.outputs, len(left.carrier.schema)))
    return [substitute(p, values) for p in predicates]


def equal_to_left(predicate: Scalar, width: int) -> Scalar | None:
    """The side of an equality that reads only columns from `width` on, where the other reads only those before."""
    if isinstance(predicate, Call) and predicate.function == "eq":
        for one, other in (predicate.args, predicate.args[::-1]):
            read, own = columns_of(one), columns_of(other)
            if read and own and max(read) < width <= min(own):
                return other
    return None


def swapped(predicate: Scalar, value: Scalar, column_: Column) -> Scalar:
    """An equality with `column_` in the place of its side `value`."""
    assert isinstance(predicate, Call), "an equality"
    return replace(predicate, args=tuple(column_ if arg == value else arg for arg in predicate.args))


def over_empty(groups: Reduce, index: int, function: str) -> Scalar:
    """An aggregate that reads NULLs where there is no row: what it is over no rows."""
    value = column(groups, index, nullable=True)
    if not function.startswith("count"):
        return value
    return coalesced(value, Literal(0, value.type))


def product(inputs: Sequence[Pushed], equivalences: Iterable[Iterable[int]]) -> Pushed:
    """The join of all, on equal terms too. What `equivalences` name must be columns of the carriers."""
    outputs: list[Scalar] = []
    pending: list[Scalar] = []
    found: dict[Scalar, list[Key]] = {}
    start = 0
    for pushed in inputs:
        outputs.extend(shifted(pushed.outputs, start))
        pending.extend(shifted(pushed.pending, start))
        for key in pushed.keys:
            found.setdefault(key.term, []).append(replace(key, column=key.column + start))
        start += len(pushed.carrier.schema)
    names = tuple(name for pushed in inputs for name in pushed.names)
    groups = [[s.index for s in (outputs[c] for c in group) if isinstance(s, Column)] for group in equivalences]
    plain = Join(tuple(pushed.carrier for pushed in inputs))
    keys: list[Key] = []
    tests: list[Scalar] = []
    for same in found.values():
        first = next((key for key in same if not key.null_safe), same[0])
        keys.append(first)
        for key in same:
            if key is not first:
                test = equal(column(plain, first.column), column(plain, key.column), first.null_safe)
                strict = isinstance(test, Call) and test.function == "eq"
                (groups.append([first.column, key.column]) if strict else tests.extend(equalities(test)))
    carrier = filtered(replace(plain, equivalences=merged_classes(groups)), tuple(tests))
    return Pushed(carrier, tuple(outputs), names, tuple(keys), tuple(pending))


def aligned(pushed: Pushed, width: int, terms: Sequence[Scalar], null_safe: set[Scalar]) -> Relation:
    """The outputs, then the keys of `terms`, without NULLs in a key that is met by equality here and not elsewhere."""
    keys = {key.term: key for key in pushed.keys}
    tests: list[Scalar] = []
    for term in terms:
        carried = column(pushed.carrier, keys[term].column)
        if term in null_safe and not keys[term].null_safe and carried.nullable:
            tests.append(negation(is_null(carried)))
    names = (*pushed.names, *(f"outer{i}" for i in range(len(terms))))
    columns = (*pushed.outputs, *(column(pushed.carrier, keys[term].column) for term in terms))
    return project(filtered(pushed.carrier, tuple(tests)), columns, names)
