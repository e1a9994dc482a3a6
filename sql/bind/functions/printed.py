"""printf(), format() and typeof()."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sqlglot import exp

from catalog.types import BIGINT, BOOLEAN, DOUBLE, HUGEINT, NULL, UBIGINT, VARCHAR
from sql.bind.expressions.binder import Binder, Handler
from sql.bind.expressions.operand import Operand
from sql.ir.conditions import is_null
from sql.ir.scalar import Call, Literal, Scalar
from sql.types.printed import Place, format_pieces, printf_pieces


def by_name(binder: Binder, node: exp.Expr, name: str, args: Sequence[exp.Expr]) -> Operand | None:
    """PRINTF('%8.2f of %s', x, ...); None for a function of another name."""
    return _bind(binder, node, name, args) if name == "printf" and args else None


def _bind(binder: Binder, node: exp.Expr, name: str, args: Sequence[exp.Expr]) -> Operand:
    form, *others = args
    written = binder.value(form).scalar
    if not isinstance(written, Literal) or written.type not in (VARCHAR, NULL):
        binder.refuse(form, f"{name}() needs its format as a text literal")
    operands = [binder.value(arg) for arg in others]
    if written.value is None or any(operand.type == NULL for operand in operands):
        return Operand(node, Literal(None, VARCHAR))
    pieces = _pieces(binder, form, name, str(written.value))
    named = {piece.argument for piece in pieces if isinstance(piece, Place)}
    if named != set(range(len(operands))):
        what = f"the format of {name}() names {len(named)} arguments, and {len(operands)} are given"
        binder.fail(form, f"{what}; give as many as there are places")
    parts = tuple(
        Literal(piece, VARCHAR) if isinstance(piece, str) else _written(binder, piece, operands[piece.argument])
        for piece in pieces
    )
    if len(parts) < 2:
        return Operand(node, parts[0] if parts else Literal("", VARCHAR))
    return binder.call(node, "concat", parts, VARCHAR)


def _pieces(binder: Binder, form: exp.Expr, name: str, text: str) -> list[str | Place]:
    parse: Callable[[str], list[str | Place]] = printf_pieces if name == "printf" else format_pieces
    try:
        return parse(text)
    except ValueError as error:
        binder.refuse(form, f"in the format of {name}() {error}")


def _written(binder: Binder, place: Place, operand: Operand) -> Scalar:
    """The operand as the place has it."""
    type_ = operand.type
    try:
        if type_.is_integer:
            spec = place.of_integer()
            if spec == "d":
                return binder.cast(operand, VARCHAR)
            wide = type_ in (HUGEINT, UBIGINT)
            return _formatted(binder.cast(operand, HUGEINT if wide else BIGINT), spec)
        if type_.is_numeric:
            return _formatted(binder.cast(operand, DOUBLE), place.of_double())
        if type_ == BOOLEAN and place.letter == "s" and place.written.startswith("{"):
            binder.refuse(operand.node, f"{place.written!r} is not supported for a BOOLEAN; write {{}}")
        spec, text = place.of_text(), binder.cast(operand, VARCHAR)
        return text if place.is_plain else _formatted(text, spec)
    except ValueError as error:
        binder.mismatch(operand.node, f"{error}; cast it, or write another letter")


def _formatted(scalar: Scalar, spec: str) -> Scalar:
    return Call("formatted", (scalar, Literal(spec, VARCHAR)), VARCHAR, scalar.nullable)


def bind_typeof(binder: Binder, node: exp.Expr) -> Operand:
    """TYPEOF(x), which follows from the query."""
    operand = binder.bind(node.this)
    name = Literal('"NULL"' if operand.type == NULL else str(operand.type), VARCHAR)
    if not binder.is_grouped or isinstance(operand.scalar, Literal):
        return Operand(node, name)
    # What a group has no value of has no type either, which is found out where the columns are.
    return Operand(node, Call("case", (is_null(operand.scalar), name, name), VARCHAR, nullable=False))


HANDLERS: dict[type[exp.Expr], Handler] = {
    exp.Format: lambda binder, node: _bind(binder, node, "format", [node.this, *node.expressions]),
    exp.Typeof: bind_typeof,
}
