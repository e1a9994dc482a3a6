"""How each kind of expression is bound."""

from __future__ import annotations

from sqlglot import exp

from ivm.sql.bind import unnest
from ivm.sql.bind.aggregates import types as aggregates
from ivm.sql.bind.expressions import collations, comparisons, operators, subqueries
from ivm.sql.bind.expressions.binder import Binder, Handler
from ivm.sql.bind.expressions.operand import Operand
from ivm.sql.bind.functions import (
    calls,
    clock,
    dates,
    intervals,
    json,
    lists,
    numbers,
    signatures,
    structs,
    texts,
    vectors,
    zones,
)
from ivm.sql.bind.windows import block as windows

_BY_KIND: dict[type[exp.Expr], Handler] = {
    **operators.HANDLERS,
    **comparisons.HANDLERS,
    **collations.HANDLERS,
    **calls.HANDLERS,
    **signatures.HANDLERS,
    **numbers.HANDLERS,
    **texts.HANDLERS,
    **structs.HANDLERS,
    **intervals.HANDLERS,
    **dates.HANDLERS,
    **clock.HANDLERS,
    **zones.HANDLERS,
    **aggregates.HANDLERS,
    **windows.HANDLERS,
    **unnest.HANDLERS,
    **json.HANDLERS,
    **subqueries.HANDLERS,
    **lists.HANDLERS,
    **vectors.HANDLERS,
}


def _inheriting(handler: Handler) -> Handler:
    """The handler, and what it binds has the collation of what it is made of."""

    def bind(binder: Binder, node: exp.Expr) -> Operand:
        return collations.inherited(binder, handler(binder, node))

    return bind


HANDLERS = {kind: _inheriting(handler) for kind, handler in _BY_KIND.items()}
"""By the class of a node."""
