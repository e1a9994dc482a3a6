"""What is known of one column of a class holds for the others: `a = b` and `a = 5` give `b = 5`."""

from __future__ import annotations

from dataclasses import replace

from ivm.analysis.equivalences import equivalences
from ivm.analysis.known_predicates import known_predicates
from ivm.sql.ir.conditions import comparison
from ivm.sql.ir.rebuild import row, with_inputs
from ivm.sql.ir.relation import Join, Relation
from ivm.sql.ir.scalar import Call, Column, columns_of
from ivm.transform.rewrite import at_each, filtered


@at_each(Join)
def propagate_constants(relation: Join) -> Relation:
    """Add to the inputs of each join the constants and IN lists that the classes carry over from other inputs.

    Only these: they are cheap to test and select strongly; a copied range would be tested on every change and rarely
    drop a row that the join keeps. A class of columns that one constant pins stays: it is still the lookup's key.
    """
    added: list[list[Call]] = [[] for _ in relation.inputs]
    owners = [(i, c) for i, each in enumerate(relation.inputs) for c in range(len(each.schema))]
    for group in relation.equivalences:
        members = [owners[c] for c in group]
        facts = _facts([(relation.inputs[i], c) for i, c in members])
        for i, c in members:
            column = row(relation.inputs[i])[c]
            added[i] += [_of(column, fact) for fact in facts]
    return with_inputs(relation, tuple(map(_told, relation.inputs, added)))


def _of(column: Column, fact: Call) -> Call:
    """What `fact` says of another column."""
    args = (column, *fact.args[1:])
    return replace(fact, args=args, nullable=any(arg.nullable for arg in args))


def _facts(members: list[tuple[Relation, int]]) -> list[Call]:
    """Equalities with constants, or IN lists, that hold for every one of these columns, each of an input."""
    for relation, column in members:
        constant = equivalences(relation).constants.get(column)
        if constant is not None and constant.value is not None:
            return [comparison("eq", Column(column, constant.type), constant)]
    found: list[Call] = []
    for relation, column in members:
        for predicate in known_predicates(relation):
            match predicate:
                case Call("in", (Column(index), *values)) if index == column and not any(map(columns_of, values)):
                    found.append(predicate)
    return found


def _told(relation: Relation, facts: list[Call]) -> Relation:
    """The input filtered by what it does not know yet."""
    known, constants = known_predicates(relation), equivalences(relation).constants
    pinned = [column for column in row(relation) if column.index in constants]
    return filtered(relation, (f for f in facts if f not in known and not (f.function == "eq" and f.args[0] in pinned)))
