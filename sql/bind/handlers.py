"""How each kind of expression is bound."""

from __future__ import annotations

from sqlglot import exp

from sql.bind import aggregates, comparisons, functions, moments, operators
from sql.bind.binder import Handler

HANDLERS: dict[type[exp.Expr], Handler] = {
    **operators.HANDLERS,
    **comparisons.HANDLERS,
    **functions.HANDLERS,
    **moments.HANDLERS,
    **aggregates.HANDLERS,
}
