"""How each kind of expression is bound."""

from __future__ import annotations

from sqlglot import exp

from sql.bind import (
    aggregates,
    comparisons,
    date_functions,
    functions,
    intervals,
    joined_text,
    numbers,
    operators,
    patterns,
    printed,
    rows,
    signatures,
    subqueries,
    unmaintained,
    windows,
)
from sql.bind.binder import Handler

HANDLERS: dict[type[exp.Expr], Handler] = {
    **operators.HANDLERS,
    **comparisons.HANDLERS,
    **rows.HANDLERS,
    **printed.HANDLERS,
    **functions.HANDLERS,
    **signatures.HANDLERS,
    **numbers.HANDLERS,
    **joined_text.HANDLERS,
    **patterns.HANDLERS,
    **intervals.HANDLERS,
    **date_functions.HANDLERS,
    **unmaintained.HANDLERS,
    **aggregates.HANDLERS,
    **windows.HANDLERS,
    **subqueries.HANDLERS,
}
