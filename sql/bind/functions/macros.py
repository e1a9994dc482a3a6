"""Functions that DuckDB has as macros, or as names of operators: each is what is written here."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from ivm.sql.bind.expressions.binder import Binder
from ivm.sql.bind.expressions.operand import Operand
from ivm.sql.bind.written import written_out

MACROS = {
    "add": (("x", "y"), "x + y"),
    "subtract": (("x", "y"), "x - y"),
    "multiply": (("x", "y"), "x * y"),
    "divide": (("x", "y"), "x // y"),
    "fdiv": (("x", "y"), "floor(x / y)"),
    "fmod": (("x", "y"), "x - y * floor(x / y)"),
    "days_in_month": (("x",), "day(last_day(x))"),
}
"""By the name: the parameters, and what of them stands for a call."""


def by_name(binder: Binder, node: exp.Expr, name: str, args: Sequence[exp.Expr]) -> Operand | None:
    """The call of a macro; None if this is none."""
    if name not in MACROS:
        return None
    parameters, text = MACROS[name]
    if len(args) != len(parameters):
        counted = f"{len(parameters)} argument{'s' if len(parameters) > 1 else ''}"
        binder.fail(node, f"{name}() takes {counted}, not {len(args)}")
    found = written_out(text, parameters, args)
    found.parent = node.parent
    return Operand(node, binder.bind(found).scalar)
