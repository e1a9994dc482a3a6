"""ORDER BY in the parentheses of functions of places: `rank(ORDER BY x) OVER (PARTITION BY g)`.

DuckDB has such a function go by the rows of the frame, in that order. Where the frame is the partition, that is what
the function is with the same ORDER BY in OVER.
"""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from ivm.sql.bind.expressions.binder import Binder
from ivm.sql.bind.windows.frames import Framed
from ivm.sql.bind.windows.specs import Spec
from ivm.sql.ir.window_function import WHOLE_PARTITION
from ivm.sql.sql_text import text_of

_OF_PEERS = (exp.Rank, exp.PercentRank, exp.CumeDist)
OF_PLACES = (*_OF_PEERS, exp.DenseRank, exp.RowNumber, exp.Ntile, exp.Lag, exp.Lead)
"""The functions to which frames mean nothing, unless they have an ORDER BY of their own."""


def own_order(node: exp.Expr) -> tuple[exp.Expr, ...]:
    """The terms of ORDER BY in the parentheses of the function of places before an OVER."""
    call = _called(node)
    orders = (each for each in call.iter_expressions() if isinstance(each, exp.Order))
    return next((tuple(order.expressions) for order in orders), ()) if isinstance(call, OF_PLACES) else ()


def bare(node: exp.Expr | None) -> exp.Expr | None:
    """An argument without the ORDER BY that is written behind it."""
    return node.this if isinstance(node, exp.Order) else node


def with_own_order(binder: Binder, node: exp.Expr, spec: Spec, framed: Framed) -> Spec:
    """The spec by which the function is the same without its own ORDER BY; UnsupportedError where there is none."""
    call, own = _called(node), own_order(node)
    what = f"ORDER BY within {text_of(call)[:60]}"
    if isinstance(call, exp.DenseRank):
        binder.fail(call, f"{what} is not possible; write it into OVER (..)")
    if framed.frame != WHOLE_PARTITION:
        binder.refuse(
            call, f"{what} goes by the rows of a frame, and is not maintained; leave ORDER BY out of OVER (..)"
        )
    if isinstance(node.this, exp.IgnoreNulls):
        binder.refuse(call, f"{what} with IGNORE NULLS is not maintained; write it into OVER (..)")
    return replace(spec, order=own if isinstance(call, _OF_PEERS) else (*own, *spec.order), frame=None)


def move_order(node: exp.Expr) -> None:
    """Take the ORDER BY out of the parentheses of a function of places, as OVER has it now, in DuckDB's text."""
    if not own_order(node):
        return
    for each in list(_called(node).iter_expressions()):
        if isinstance(each, exp.Order):
            if each.this is None:
                each.pop()
            else:
                each.replace(each.this)


def _called(node: exp.Expr) -> exp.Expr:
    call = node.this
    return call.this if isinstance(call, exp.IgnoreNulls | exp.RespectNulls) else call
