"""Texts put together and taken apart: ||, CONCAT, CONCAT_WS, text[a:b]."""

from __future__ import annotations

from sqlglot import exp

from catalog.types import BIGINT, BLOB, NULL, VARCHAR, Kind
from sql.bind.expressions.binder import Binder, Handler
from sql.bind.expressions.operand import Operand
from sql.bind.functions.signatures import integer, text
from sql.ir.conditions import coalesced
from sql.ir.scalar import Call, Literal, Scalar

_EMPTY = Literal("", VARCHAR)


def bind_concat(binder: Binder, node: exp.Expr) -> Operand:
    """CONCAT(x, ...), in which NULL counts as empty text."""
    if "start" not in node.meta:  # 'a' 'b'
        binder.refuse(node, "two texts side by side are not put together; write || between them")
    parts = [_or_empty(binder.cast(binder.value(arg), VARCHAR)) for arg in node.expressions]
    if len(parts) == 1:
        return Operand(node, parts[0])
    return binder.call(node, "concat", tuple(parts), VARCHAR)


def bind_concat_ws(binder: Binder, node: exp.Expr) -> Operand:
    """CONCAT_WS(separator, x, ...), which leaves NULLs out; NULL where the separator is."""
    if len(node.expressions) < 2:
        binder.fail(node, "concat_ws() needs a separator and something to put together")
    separator, *parts = (binder.cast(binder.value(arg), VARCHAR) for arg in node.expressions)
    # Each part that is there with the separator before it, and of all that what follows the first separator.
    led = [_or_empty(binder.call(node, "concat", (separator, part), VARCHAR).scalar) for part in parts]
    joined = Call("concat", tuple(led), VARCHAR, nullable=False) if len(led) > 1 else led[0]
    length = Call("length", (separator,), BIGINT, separator.nullable)
    start = Call("add", (length, Literal(1, BIGINT)), BIGINT, separator.nullable)
    return binder.call(node, "substring", (joined, start), VARCHAR)


def _or_empty(part: Scalar) -> Scalar:
    if isinstance(part, Literal):
        return part if part.value is not None else _EMPTY
    return coalesced(part, _EMPTY) if part.nullable else part


def bind_pipes(binder: Binder, node: exp.Expr) -> Operand:
    """The text x || y, NULL where either is."""
    left, right = binder.value(node.this), binder.value(node.expression)
    if NULL in (left.type, right.type):
        return Operand(node, Literal(None, NULL))
    if not any(operand.type == VARCHAR or operand.type.kind is Kind.ENUM for operand in (left, right)) or BLOB in (
        left.type,
        right.type,
    ):
        binder.mismatch(node, f"|| needs text on one side, not {left.type} and {right.type}; cast one to VARCHAR")
    return binder.call(node, "concat", (binder.cast(left, VARCHAR), binder.cast(right, VARCHAR)), VARCHAR)


def bind_bracket(binder: Binder, node: exp.Expr) -> Operand:
    """text[i] and text[i:j], counted from 1, and from the end if negative."""
    if len(node.expressions) != 1:
        binder.refuse(node, "text[...] takes one position or a range, such as name[1:3]")
    subject, place = text(binder, node.this), node.expressions[0]
    take = integer(BIGINT)
    if not isinstance(place, exp.Slice):
        position = take(binder, place)
        return binder.call(node, "cut", (subject, position, position), VARCHAR)
    first, last = place.args.get("this"), place.args.get("expression")
    start = take(binder, first) if first is not None else Literal(1, BIGINT)
    end = take(binder, last) if last is not None else Literal(-1, BIGINT)
    return binder.call(node, "cut", (subject, start, end), VARCHAR)


HANDLERS: dict[type[exp.Expr], Handler] = {
    exp.Concat: bind_concat,
    exp.ConcatWs: bind_concat_ws,
    exp.DPipe: bind_pipes,
    exp.Bracket: bind_bracket,
}
