"""JSON: texts that hold it, and what is read of them. JSON itself is a value only where it is given on as a text."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from catalog.types import VARCHAR, list_of
from sql.bind.expressions.binder import Binder, Handler
from sql.bind.expressions.operand import Operand
from sql.ir.functions import FUNCTIONS, Function
from sql.ir.functions.asked import JSON
from sql.ir.scalar import Call, Scalar

MAKERS: dict[str, tuple[Function, ...]] = {
    **{each.name: (each,) for each in JSON},
    **dict.fromkeys(
        ("json_extract", "json_extract_path"), tuple(each for each in JSON if each.asked == "json_extract")
    ),
}
"""The functions whose value is JSON in DuckDB, by name."""

Args = Sequence[exp.Expr]
_ARROWS = (exp.JSONExtract, exp.JSONExtractScalar)
_LOOSER = (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.Like, exp.ILike, exp.And, exp.Or, exp.Is,
           exp.NullSafeEQ, exp.NullSafeNEQ)  # fmt: skip


def made_by(binder: Binder, node: exp.Expr) -> tuple[tuple[Function, ...], Args] | None:
    """The functions that may make the JSON that `node` writes, and their arguments; None if it writes no JSON."""
    inner = node.unnest()
    if isinstance(inner, exp.JSONExtract):
        check_arrow(binder, inner)
        return MAKERS["json_extract"], (inner.this, inner.expression)
    if isinstance(inner, exp.Anonymous) and str(inner.this).lower() in MAKERS:
        return MAKERS[str(inner.this).lower()], inner.expressions
    return None


def refuse_json(binder: Binder, node: exp.Expr) -> Operand:
    """JSON where a value is wanted."""
    what = "JSON is no type of columns here"
    binder.refuse(node, f"{what}; write ->> for what is at a path as text, or CAST(... AS VARCHAR) for its JSON")


def check_arrow(binder: Binder, node: exp.Expr) -> None:
    """Refuse -> and ->> where DuckDB puts other parentheses than sqlglot: -> binds weaker than all, ->> as ||."""
    around, is_left = node.parent, node.arg_key == "this"
    if isinstance(node, exp.JSONExtract):
        stands = not isinstance(around, exp.Binary | exp.Unary | exp.In | exp.Between) or isinstance(around, exp.Paren)
        stands = stands or (isinstance(around, exp.JSONExtract) and is_left)
    else:
        stands = not isinstance(around, exp.Binary) or isinstance(around, _LOOSER)
        stands = stands or (is_left and isinstance(around, (exp.DPipe, *_ARROWS)))
    if not stands:
        sign = "->" if isinstance(node, exp.JSONExtract) else "->>"
        binder.refuse(node, f"{sign} without parentheses means something else to DuckDB here; write (x {sign} 'path')")


def every(binder: Binder, name: str, args: Args, text: Scalar) -> Scalar | None:
    """The list that a path with * leads to; None for any other."""
    path = args[1] if len(args) == 2 else None
    if not isinstance(path, exp.Literal) or not path.is_string or not path.name.startswith("$") or "*" not in path.name:
        return None
    function = FUNCTIONS[f"{name} of all"]
    literal = binder.bind(path).scalar
    return Call(function.name, (text, literal), list_of(VARCHAR))


HANDLERS: dict[type[exp.Expr], Handler] = {exp.JSONExtract: refuse_json}
