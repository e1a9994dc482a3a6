"""What is known of one column of a class holds for the others: `a = b` and `a = 5` give `b = 5`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from ivm.analysis.equivalences import equivalences
from ivm.analysis.known_predicates import known_predicates
from ivm.transform.rewrite import at_each, filtered
from sql.ir.conditions import comparison
from sql.ir.rebuild import offsets, row, with_inputs
from sql.ir.relation import Join, Relation
from sql.ir.scalar import Call, Column, Literal, Scalar, rewrite


@at_each(Join)
def propagate_constants(relation: Join) -> Relation:
    """Add to the inputs of each join the constants and IN lists that the classes carry over from other inputs.

    Only these: they are cheap to test and select strongly; a copied range would be tested on every change and rarely
    drop a row that the join keeps. A class of columns that one constant pins stays: it is still the lookup's key.
    """
    added: list[list[Scalar]] = [[] for _ in relation.inputs]
    for group in relation.equivalences:
        members = [_located(relation, c) for c in group]
        for make in _facts(relation, members):
            for i, column in members:
                added[i].append(make(row(relation.inputs[i])[column]))
    inputs = tuple(_told(each, facts) for each, facts in zip(relation.inputs, added, strict=True))
    return with_inputs(relation, inputs)


def _located(join: Join, column: int) -> tuple[int, int]:
    starts = offsets(join.inputs)
    owner = sum(start <= column for start in starts) - 1
    return owner, column - starts[owner]


def _facts(join: Join, members: list[tuple[int, int]]) -> Iterator[Callable[[Column], Scalar]]:
    """Predicates over one column that hold for every member, as functions of that column."""
    for i, column in members:
        constant = equivalences(join.inputs[i]).constants.get(column)
        if constant is not None and constant.value is not None:
            yield partial(_pinned, constant)
            return
    for i, column in members:
        for predicate in known_predicates(join.inputs[i]):
            if _is_list_over(predicate, column):
                yield partial(_over, predicate)


def _is_list_over(predicate: Scalar, column: int) -> bool:
    match predicate:
        case Call("in", (Column(index), *_)):
            return index == column
    return False


def _pinned(value: Literal, column: Column) -> Scalar:
    return comparison("eq", column, value)


def _over(predicate: Scalar, column: Column) -> Scalar:
    return rewrite(predicate, lambda s: column if isinstance(s, Column) else s)


def _told(relation: Relation, facts: list[Scalar]) -> Relation:
    """The input filtered by what it does not know yet."""
    known = known_predicates(relation)
    constants = equivalences(relation).constants
    new = []
    for fact in facts:
        match fact:
            case Call("eq", (Column(column), Literal())) if column in constants:
                continue
        if fact not in known:
            new.append(fact)
    return filtered(relation, new)
