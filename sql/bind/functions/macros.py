"""Functions that DuckDB has as macros, or as names of operators: each is what is written here."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from sqlglot import exp, parse_one

from sql.bind.expressions.binder import Binder
from sql.bind.expressions.operand import Operand

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
    parameters, _ = MACROS[name]
    if len(args) != len(parameters):
        counted = f"{len(parameters)} argument{'s' if len(parameters) > 1 else ''}"
        binder.fail(node, f"{name}() takes {counted}, not {len(args)}")
    given = dict(zip(parameters, args, strict=True))
    found = _body(name).transform(lambda part: given.get(part.name, part) if isinstance(part, exp.Column) else part)
    found.parent = node.parent
    return Operand(node, binder.value(found).scalar)


@cache
def _body(name: str) -> exp.Expr:
    return parse_one(MACROS[name][1], dialect="duckdb")
