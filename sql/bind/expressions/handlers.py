"""How each kind of expression is bound."""

from __future__ import annotations

from sqlglot import exp

from sql.bind import unnest
from sql.bind.aggregates import types as aggregates
from sql.bind.expressions import collations, comparisons, operators, subqueries
from sql.bind.expressions.binder import Handler
from sql.bind.functions import (
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
    zones,
)
from sql.bind.windows import block as windows

HANDLERS: dict[type[exp.Expr], Handler] = {
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
}
