"""A rough estimate of how many rows a relation has, from the sizes of what it reads and textbook selectivities.

The joins are planned by it, so it works on relations, of which no plan is there yet. `ivm.plan.node.Sizes` answers the
same of plans, since a plan is all that remains when EXPLAIN and the memory limit ask; to ask relations there too would
take keeping them. `ivm.plan.join_keys` compares ways through one join, and asks neither beyond the sizes of its inputs.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod

from ivm.analysis.equivalences import equivalences
from ivm.analysis.fact import fact
from ivm.analysis.unique_keys import is_unique, unique_keys
from sql.ir.functions import function_of
from sql.ir.relation import (
    Constant,
    Filter,
    Get,
    Join,
    Map,
    Negate,
    Project,
    Reduce,
    Relation,
    Threshold,
    TopK,
    Union,
    Window,
    inputs_of,
)
from sql.ir.scalar import Call, Column, Literal, Scalar

RowsOf = Callable[[str], float]
"""The number of rows of a table or view, by its name."""

_UNKNOWN = 0.5
# An unfiltered column that is no key is taken to have this share of its rows as distinct values.
_DISTINCT = 0.1


def cardinality(relation: Relation, rows_of: RowsOf) -> float:
    """The estimated number of rows, at least 0. Cost: linear in the size of the relation."""
    match relation:
        case Get():
            return rows_of(relation.name)
        case Constant():
            return float(len(relation.rows))
        case Map() | Project() | Window() | Negate() | Threshold():
            return cardinality(relation.input, rows_of)
        case Filter():
            return _filtered(relation, cardinality(relation.input, rows_of))
        case Join():
            return _joined(relation, rows_of)
        case Reduce():
            return _grouped(relation, cardinality(relation.input, rows_of))
        case TopK():
            rows = cardinality(relation.input, rows_of)
            groups = _distinct(rows, len(relation.group)) if relation.group else 1.0
            return rows if relation.limit is None else min(rows, relation.limit * groups)
        case Union():
            return sum(cardinality(each, rows_of) for each in relation.inputs)
    raise AssertionError(f"no estimate for {type(relation).__name__}")


@fact
def tables_of(relation: Relation) -> tuple[str, ...]:
    """The tables and views that a relation reads, each once."""
    if isinstance(relation, Get):
        return (relation.name,)
    return tuple(dict.fromkeys(name for each in inputs_of(relation) for name in tables_of(each)))


def selectivity(predicate: Scalar) -> float:
    """The estimated share of rows for which a predicate is true, between 0 and 1."""
    match predicate:
        case Literal():
            return 1.0 if predicate.value is True else 0.0
        case Call("and", args):
            return prod(selectivity(a) for a in args)
        case Call("or", args):
            return 1.0 - prod(1.0 - selectivity(a) for a in args)
        case Call("not", (inner,)) if not isinstance(inner, Column):
            return 1.0 - selectivity(inner)
        case Call("in", (_, *values)):
            return min(1.0, len(values) * function_of("eq").holds)
        case Call(function):
            return function_of(function).holds
    return _UNKNOWN


def _filtered(relation: Filter, rows: float) -> float:
    if frozenset() in unique_keys(relation):
        return min(rows, 1.0)
    return rows * prod(selectivity(p) for p in relation.predicates)


def _joined(join: Join, rows_of: RowsOf) -> float:
    """The product of the inputs, divided for each class by the distinct values of all of its columns but the fewest."""
    sizes = [cardinality(each, rows_of) for each in join.inputs]
    total = prod(sizes)
    for group in join.equivalences:
        distinct = sorted(_distinct_of(join, column, sizes) for column in group)
        total /= prod(max(1.0, d) for d in distinct[1:])
    return total


def _distinct_of(join: Join, column: int, sizes: list[float]) -> float:
    for relation, rows in zip(join.inputs, sizes, strict=True):
        if column < len(relation.schema):
            if column in equivalences(relation).constants:
                return 1.0
            return rows if is_unique(relation, (column,)) else _distinct(rows, 1)
        column -= len(relation.schema)
    raise AssertionError("a class names a column that no input has")


def _distinct(rows: float, columns: int) -> float:
    return rows * min(1.0, _DISTINCT * columns)


def _grouped(relation: Reduce, rows: float) -> float:
    if not relation.keys:
        return 1.0
    plain = [k.index for k in relation.keys if isinstance(k, Column)]
    if is_unique(relation.input, plain):
        return rows
    return _distinct(rows, len(relation.keys))
