"""Calls of the application's functions become columns of what an operator of its own makes.

Through all other rules such a call is like any other. What is called on some rows only, in a branch of CASE or behind
AND, says so in its condition; see `ivm.transform.calling`.
"""

from __future__ import annotations

from ivm.analysis.ranges import can_raise
from ivm.sql.ir.functions.called import calls, is_called
from ivm.sql.ir.rebuild import scalars_of, with_inputs, with_scalars
from ivm.sql.ir.relation import Filter, Map, Reduce, Relation, Unnest, Window
from ivm.sql.ir.scalar import Call, Scalar
from ivm.transform.calling import Calling
from ivm.transform.rewrite import bottom_up, filtered, names, projected


@bottom_up
def call_functions(relation: Relation) -> Relation:
    """Compute all calls of a node below it, each in a column of its own."""
    scalars = scalars_of(relation)
    if not any(map(calls, scalars)) or (isinstance(relation, Unnest) and not _calls_within(relation)):
        return relation
    match relation:
        case Filter():
            return _filtered(relation)
        case Map() | Unnest() | Window() | Reduce():
            return _over_calls(relation)
    raise AssertionError(f"a {type(relation).__name__} calls nothing")


def _over_calls(relation: Map | Unnest | Window | Reduce) -> Relation:
    calling, written = Calling(relation.input), dict[Scalar, Scalar]()
    for scalar in scalars_of(relation):
        written[scalar] = calling.placed(scalar)
    width, more = len(relation.input.schema), len(calling.relation.schema)
    made = with_inputs(with_scalars(relation, lambda scalar: written[scalar]), (calling.relation,))
    if isinstance(made, Reduce):
        return made
    return projected(made, (*range(width), *range(more, len(made.schema))), names(relation))


def _calls_within(unnest: Unnest) -> bool:
    """Whether there are calls but that which the Unnest itself is."""
    return any(calls(arg) if is_called(each) else calls(each) for each in unnest.lists for arg in _args(each))


def _args(scalar: Scalar) -> tuple[Scalar, ...]:
    return scalar.args if isinstance(scalar, Call) else (scalar,)


def _filtered(relation: Filter) -> Relation:
    """The rows that pass. What calls nothing is asked before, if it comes first or cannot raise."""
    first = next(place for place, each in enumerate(relation.predicates) if calls(each))
    early = [
        each
        for place, each in enumerate(relation.predicates)
        if not calls(each) and (place < first or not can_raise(each))
    ]
    calling = Calling(filtered(relation.input, early))
    late = [calling.placed(each) for each in relation.predicates if each not in early]
    return projected(filtered(calling.relation, late), tuple(range(len(relation.schema))), names(relation))
