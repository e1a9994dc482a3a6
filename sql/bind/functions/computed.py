"""What DuckDB computes of a text that is written, in which the arguments have places."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from ivm.catalog.types import VARCHAR, SqlType
from ivm.sql.bind.expressions.binder import Binder
from ivm.sql.bind.expressions.operand import Operand
from ivm.sql.ir.functions.nested import places_of
from ivm.sql.ir.scalar import Call, Literal, Scalar


def computed_of(node: exp.Expr, text: str, arguments: Sequence[Scalar], type_: SqlType) -> Operand:
    """The value of a text in which each `PLACE` is an argument."""
    return Operand(node, Call("written", (Literal(text, VARCHAR), *arguments), type_))


def constant_text(binder: Binder, node: exp.Expr, what: str) -> str:
    """The text of an argument that DuckDB takes as a constant alone; refuses `what` reads columns."""
    if node.find(exp.Column, exp.Query) is not None:
        binder.refuse(node, f"{what} that vary are not supported; write them as constants")
    return node.sql("duckdb")


def computed(node: exp.Expr, function: str, arguments: Sequence[Scalar], type_: SqlType) -> Operand:
    """A function of DuckDB's whose type the signatures of `ivm.sql.ir.functions.nested` cannot say."""
    return computed_of(node, f"{function}({', '.join(places_of(len(arguments)))})", arguments, type_)
