"""`row_number() <= k`: only the first k rows of each partition need be kept in order."""

from __future__ import annotations

from ivm.analysis.lifted import is_lifted
from ivm.analysis.unique_keys import is_unique
from ivm.sql.ir.functions import MIRRORED
from ivm.sql.ir.rebuild import with_inputs
from ivm.sql.ir.relation import Filter, Relation, TopK, Window
from ivm.sql.ir.scalar import Call, Column, Literal, Scalar
from ivm.sql.ir.window_function import WindowFunction
from ivm.transform.rewrite import at_each, filtered

_RANKS = ("rank", "dense_rank")


@at_each(Filter)
def limit_window(relation: Filter) -> Relation:
    """Filter(.. row_number <= k .., Window) reads a TopK of k rows per partition instead of all rows.

    Also for `< k`, `= k`, and for rank, whose TopK is with ties; dense_rank only where ORDER BY leaves none. All other
    functions of the window must look at no row behind the current one, and the rows must not change from round to round
    of a loop. `<= k` itself is true then, and `= 1` too; a window of which nothing else is read falls away when columns
    are pruned.
    """
    window = relation.input
    if not isinstance(window, Window) or is_lifted(window) or not all(map(_looks_back, window.functions)):
        return relation
    bounds = {p: bound for p in relation.predicates if (bound := _bound(p, window)) is not None}
    if not bounds:
        return relation
    limit, ties, _ = min(bounds.values())
    kept = [p for p in relation.predicates if bounds.get(p) != (limit, ties, True)]
    return filtered(_cut(window, limit, ties), kept)


def _cut(window: Window, limit: int, ties: bool) -> Relation:
    below = window.input
    if isinstance(below, TopK) and (below.group, below.order, below.offset) == (window.partition, window.order, 0):
        if below.limit is not None and (below.limit, below.ties) <= (limit, ties):
            return window
        below = below.input
    return with_inputs(window, (TopK(below, window.partition, window.order, limit, ties=ties),))


def _looks_back(function: WindowFunction) -> bool:
    """Whether the value at a row does not depend on rows behind it, peers included."""
    if function.function in ("row_number", *_RANKS):
        return True
    if function.function == "lag":
        offset = function.args[1]
        return isinstance(offset, Literal) and isinstance(offset.value, int) and offset.value >= 0
    framed = function.function not in ("lead", "ntile", "percent_rank", "cume_dist")
    return framed and function.frame.end is not None and function.frame.end <= 0 and not function.frame.peers


def _bound(predicate: Scalar, window: Window) -> tuple[int, bool, bool] | None:
    """How many first rows of a partition can satisfy a predicate, whether with ties, and whether all of them do."""
    match predicate:
        case Call(function, (Column(column), Literal(int() as value))) if function in MIRRORED:
            pass
        case Call(mirrored, (Literal(int() as value), Column(column))) if mirrored in MIRRORED:
            function = MIRRORED[mirrored]
        case _:
            return None
    ties = _has_ties(column, window)
    if ties is None or function not in ("eq", "le", "lt"):
        return None
    limit = max(value - (function == "lt"), 0)
    return limit, ties and limit > 0, function != "eq" or value == 1


def _has_ties(column: int, window: Window) -> bool | None:
    """Whether the column numbers the rows of each partition so that equal ones share a number; None if it does not."""
    number = column - len(window.input.schema)
    if number < 0:
        return None
    function = window.functions[number].function
    if function in _RANKS and is_unique(window.input, (*window.partition, *(o.column for o in window.order))):
        return False
    return {"row_number": False, "rank": True}.get(function)
