"""`row_number() <= k`: only the first k rows of each partition need be kept in order."""

from __future__ import annotations

from ivm.analysis.unique_keys import is_unique
from ivm.transform.rewrite import bottom_up, filtered
from sql.ir.rebuild import with_inputs
from sql.ir.relation import Filter, Relation, TopK, Window, WindowFunction
from sql.ir.scalar import Call, Column, Literal, Scalar

_RANKS = ("rank", "dense_rank")
_MIRRORED = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le", "eq": "eq"}


def limit_window(relation: Relation) -> Relation:
    """Filter(.. row_number <= k .., Window) reads a TopK of k rows per partition instead of all rows.

    Also for `< k`, `= k`, and for rank and dense_rank where ORDER BY leaves no ties. All other functions of the window
    must look at no row behind the current one. `<= k` itself is true then, and `= 1` too; a window of which nothing
    else is read falls away when columns are pruned.
    """
    return bottom_up(relation, _limited)


def _limited(relation: Relation) -> Relation:
    if not isinstance(relation, Filter) or not isinstance(relation.input, Window):
        return relation
    window = relation.input
    if not all(map(_looks_back, window.functions)):
        return relation
    bounds = [(p, bound) for p in relation.predicates if (bound := _bound(p, window)) is not None]
    if not bounds:
        return relation
    least = min(limit for _, (limit, _) in bounds)
    settled = {p for p, (limit, implied) in bounds if implied and limit == least}
    kept = [p for p in relation.predicates if p not in settled]
    return filtered(_cut(window, max(least, 0)), kept)


def _cut(window: Window, limit: int) -> Relation:
    below = window.input
    if isinstance(below, TopK) and (below.group, below.order, below.offset) == (window.partition, window.order, 0):
        if below.limit is not None and below.limit <= limit:
            return window
        below = below.input
    return with_inputs(window, (TopK(below, window.partition, window.order, limit),))


def _looks_back(function: WindowFunction) -> bool:
    """Whether the value at a row does not depend on rows behind it, peers included."""
    if function.function in ("row_number", *_RANKS):
        return True
    if function.function == "lag":
        offset = function.args[1]
        return isinstance(offset, Literal) and isinstance(offset.value, int) and offset.value >= 0
    framed = function.function not in ("lead", "ntile", "percent_rank", "cume_dist")
    return framed and function.frame.end is not None and function.frame.end <= 0 and not function.frame.peers


def _bound(predicate: Scalar, window: Window) -> tuple[int, bool] | None:
    """How many rows of a partition can satisfy the predicate, counted from the first; whether all those do."""
    match predicate:
        case Call(function, (Column(column), Literal(int() as value))) if function in _MIRRORED:
            pass
        case Call(mirrored, (Literal(int() as value), Column(column))) if mirrored in _MIRRORED:
            function = _MIRRORED[mirrored]
        case _:
            return None
    if not _is_row_number(column, window):
        return None
    if function == "eq":
        return value, value == 1
    if function in ("le", "lt"):
        return value - (function == "lt"), True
    return None


def _is_row_number(column: int, window: Window) -> bool:
    """Whether the column numbers the rows of each partition."""
    number = column - len(window.input.schema)
    if number < 0:
        return False
    function = window.functions[number].function
    if function in _RANKS:
        return is_unique(window.input, (*window.partition, *(o.column for o in window.order)))
    return function == "row_number"
