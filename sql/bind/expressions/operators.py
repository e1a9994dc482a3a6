"""Columns, literals, casts, and arithmetic on numbers."""

from __future__ import annotations

from functools import partial

from sqlglot import exp

from ivm.catalog.types import (
    BIGINT,
    BLOB,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    HUGEINT,
    INTERVAL,
    JSON,
    NULL,
    TIME,
    VARCHAR,
    Kind,
    SqlType,
)
from ivm.sql.bind.expressions.binder import Binder, Handler
from ivm.sql.bind.expressions.operand import Operand
from ivm.sql.bind.expressions.whole_rows import counted_row, is_counted, row_of
from ivm.sql.bind.functions.fields import field_by_path
from ivm.sql.bind.functions.intervals import negative, product, quotient, sum_of
from ivm.sql.bind.functions.shifts import add_moment, subtract_moment
from ivm.sql.bind.functions.signatures import number_operand
from ivm.sql.ir.scalar import Call, Literal
from ivm.sql.signs import Plus
from ivm.sql.types.casts import are_alike, castable
from ivm.sql.types.declared import declared_type
from ivm.sql.types.literals import NULL_LITERAL, negated, number
from ivm.sql.types.texts import InfinityError
from ivm.sql.types.unify import arithmetic_type, as_decimal, integer_type


def bind_literal(binder: Binder, node: exp.Expr) -> Operand:
    """A number or a text."""
    if node.is_string:
        return Operand(node, Literal(str(node.name), VARCHAR))
    # sqlglot writes .5 as 0.5, which has a digit more; what it made up stands nowhere in the text.
    bare = "start" not in node.meta and node.name.startswith("0.")
    try:
        return Operand(node, number(node.name.removeprefix("0") if bare else node.name))
    except ValueError as error:
        binder.fail(node, str(error))


def bind_escaped(binder: Binder, node: exp.Expr) -> Operand:
    r"""E'a\n', a text with escapes, which sqlglot has resolved."""
    start = node.meta.get("start")
    if not isinstance(start, int) or binder.source.text[start : start + 1] not in "eE":
        binder.refuse(node, "bytes are not supported; write a text")
    return Operand(node, Literal(str(node.this), VARCHAR))


def bind_bytes(binder: Binder, node: exp.Expr) -> Operand:
    """x'4142', a BLOB of these bytes."""
    try:
        data = bytes.fromhex(node.name)
    except ValueError:
        binder.fail(node, f"x'{node.name}' is no BLOB; write two hexadecimal digits for each byte")
    escaped = "".join(f"\\x{byte:02X}" for byte in data)
    return Operand(node, binder.cast(Operand(node, Literal(escaped, VARCHAR)), BLOB))


def bind_column(binder: Binder, node: exp.Expr) -> Operand:
    """A column by its name, a field of one: struct.field, table.struct.field.field, or all of a table as a struct."""
    assert isinstance(node, exp.Column), "dispatched by class"
    if is_counted(node):
        return counted_row(binder, node)
    if isinstance(node.this, exp.Star):
        binder.fail(node, f"* cannot stand in {binder.clause}; name a column")
    for named in (binder.find, partial(field_by_path, binder), partial(row_of, binder)):
        found = named(node)
        if found is not None:
            return found
    binder.missing(node)


def bind_parentheses(binder: Binder, node: exp.Expr) -> Operand:
    """What stands in the parentheses."""
    inner = binder.bind(node.this)
    return Operand(node, inner.scalar)


_LEAST = str(1 << 127)


def bind_plus(binder: Binder, node: exp.Expr) -> Operand:
    """Plus a number, which is that."""
    operand = number_operand(binder, node.this)
    return Operand(node, operand.scalar)


def bind_negation(binder: Binder, node: exp.Expr) -> Operand:
    """Minus a number; the digits of the least HUGEINT are one only with the sign."""
    if isinstance(node.this, exp.Literal) and not node.this.is_string and node.this.name == _LEAST:
        return Operand(node, Literal(-int(_LEAST), HUGEINT))
    operand = binder.bind(node.this)
    if operand.type == INTERVAL:
        return negative(operand)
    if isinstance(operand.scalar, Literal) and operand.type.is_numeric and operand.scalar.value is not None:
        try:
            return Operand(node, negated(operand.scalar, written=operand.integer is not None))
        except ValueError as error:
            binder.fail(node, str(error))
    if operand.type == NULL:
        return Operand(node, Literal(None, BIGINT))
    if not operand.type.is_numeric:
        binder.mismatch(node, f"cannot negate a {operand.type}")
    if operand.type.is_unsigned:
        return binder.call(node, "sub", (Literal(0, operand.type), operand.scalar), operand.type)
    return binder.call(node, "neg", (operand.scalar,), operand.type)


def bind_try_cast(binder: Binder, node: exp.Expr) -> Operand:
    """TRY_CAST(x AS type), NULL where CAST raises."""
    operand, target = _cast_of(binder, node)
    if operand.type.kind is Kind.ENUM and target not in (operand.type, JSON):
        operand = Operand(node, binder.cast(operand, VARCHAR))
    if isinstance(operand.scalar, Literal):
        try:
            literal = binder.converted(operand.scalar, target)
        except InfinityError as error:
            binder.mismatch(node, f"cannot read this as {target}: {error}")
        except ValueError:
            literal = Literal(None, target)
        if literal is not None:
            return Operand(node, literal)
    if operand.type == target:
        return Operand(node, operand.scalar)
    return Operand(node, Call("try_cast", (operand.scalar,), target))


def bind_cast(binder: Binder, node: exp.Expr) -> Operand:
    """CAST(x AS type), x::type, DATE 'x' and date(x)."""
    return Operand(node, binder.cast(*_cast_of(binder, node)))


def _cast_of(binder: Binder, node: exp.Expr) -> tuple[Operand, SqlType]:
    """What CAST(x AS type), x::type, DATE 'x', date(x) and TRY_CAST cast, and to what."""
    if node.this is None:
        binder.fail(node, "date() takes a value; write date(x), or current_date")
    target = DATE if isinstance(node, exp.Date) else declared_type(node.args["to"], binder.source, "the cast", node)
    operand = binder.bind(node.this)
    if operand.type not in (target, NULL) and not castable(operand.type, target):
        binder.mismatch(node, f"cannot cast {operand.type} to {target}")
    if are_alike(operand.type, target):
        target = operand.type  # DuckDB takes it for the same, and leaves names as they are spelt
    return operand, target


def bind_json_literal(binder: Binder, node: exp.Expr) -> Operand:
    """JSON '..', a text that is cast."""
    if not node.args.get("is_literal"):
        binder.refuse(node, "JSON stands before a text; write CAST(x AS JSON)")
    return Operand(node, binder.cast(binder.bind(node.this), JSON))


def bind_add(binder: Binder, node: exp.Expr) -> Operand:
    """Sum x + y of numbers, of a date and days, of a moment and an interval, of intervals."""
    left, right = binder.bind(node.this), binder.bind(node.expression)
    if left.type == right.type == INTERVAL:
        return sum_of(node, left, right)
    if _is_moment(left) or _is_moment(right):
        moment, added = (left, right) if _is_moment(left) else (right, left)
        return add_moment(binder, node, moment, added, 1)
    return _arithmetic(binder, node, "add", left, right)


def bind_sub(binder: Binder, node: exp.Expr) -> Operand:
    """Difference x - y, as for +, and of two dates."""
    left, right = binder.bind(node.this), binder.bind(node.expression)
    if left.type == right.type == INTERVAL:
        return sum_of(node, left, negative(right))
    if _is_moment(left):
        return subtract_moment(binder, node, left, right)
    return _arithmetic(binder, node, "sub", left, right)


def bind_mul(binder: Binder, node: exp.Expr) -> Operand:
    """Product x * y of numbers, or of an interval and a number."""
    left, right = binder.bind(node.this), binder.bind(node.expression)
    for interval, factor in ((left, right), (right, left)):
        if interval.type == INTERVAL:
            return product(binder, node, interval, factor)
    return _arithmetic(binder, node, "mul", left, right)


def bind_div(binder: Binder, node: exp.Expr) -> Operand:
    """Quotient x / y, a DOUBLE whatever the operands, but for FLOATs with what is no DOUBLE, and of an interval."""
    left, right = binder.bind(node.this), binder.bind(node.expression)
    if left.type == INTERVAL:
        return quotient(binder, node, left, right)
    _check_numbers(binder, node, "/", left, right)
    type_ = FLOAT if FLOAT in (left.type, right.type) and DOUBLE not in (left.type, right.type) else DOUBLE
    return binder.call(node, "div", (binder.cast(left, type_), binder.cast(right, type_)), type_)


def bind_int_div(binder: Binder, node: exp.Expr) -> Operand:
    """Quotient x // y of integers, towards zero; of others, as in DuckDB, x / y; but y = 0 raises there."""
    left, right = binder.bind(node.this), binder.bind(node.expression)
    _check_numbers(binder, node, "//", left, right)
    type_ = integer_type((left.term, right.term))
    if type_ == NULL:
        return Operand(node, Literal(None, BIGINT))
    if type_ is None or not type_.is_integer:
        if not isinstance(right.scalar, Literal) or right.scalar.value == 0:
            what = f"{left.type} // {right.type}"
            binder.refuse(node, f"{what} is not supported, since DuckDB raises where one divides by 0; write x / y")
        return bind_div(binder, node)
    return binder.call(node, "idiv", (binder.cast(left, type_), binder.cast(right, type_)), type_)


_SYMBOLS = {"add": "+", "sub": "-", "mul": "*", "mod": "%"}


def _arithmetic(binder: Binder, node: exp.Expr, function: str, left: Operand, right: Operand) -> Operand:
    _check_numbers(binder, node, _SYMBOLS[function], left, right)
    type_ = arithmetic_type(function, left.term, right.term)
    if type_ is None:
        binder.mismatch(node, f"{left.type} {_SYMBOLS[function]} {right.type} has over 38 decimals; cast one side")
    if NULL in (left.type, right.type):
        return Operand(node, Literal(None, type_))
    types = (type_, type_)
    if function == "mul" and type_.kind is Kind.DECIMAL:
        types = (as_decimal(left.type), as_decimal(right.type))
    args = (binder.cast(left, types[0]), binder.cast(right, types[1]))
    return binder.call(node, function, args, type_)


def _check_numbers(binder: Binder, node: exp.Expr, symbol: str, left: Operand, right: Operand) -> None:
    for operand in (left, right):
        if not operand.type.is_numeric and operand.type != NULL:
            binder.mismatch(node, f"cannot compute {left.type} {symbol} {right.type}; cast to a number or date first")


def _is_moment(operand: Operand) -> bool:
    return operand.type.is_moment or operand.type == TIME


HANDLERS: dict[type[exp.Expr], Handler] = {
    exp.Literal: bind_literal,
    exp.ByteString: bind_escaped,
    exp.HexString: bind_bytes,
    exp.Boolean: lambda binder, node: Operand(node, Literal(bool(node.this), BOOLEAN)),
    exp.Null: lambda binder, node: Operand(node, NULL_LITERAL),
    exp.Column: bind_column,
    exp.Paren: bind_parentheses,
    exp.Neg: bind_negation,
    Plus: bind_plus,
    exp.Cast: bind_cast,
    exp.Date: bind_cast,
    exp.ParseJSON: bind_json_literal,
    exp.TryCast: bind_try_cast,
    exp.Add: bind_add,
    exp.Sub: bind_sub,
    exp.Mul: bind_mul,
    exp.Mod: lambda binder, node: _arithmetic(binder, node, "mod", *map(binder.bind, (node.this, node.expression))),
    exp.Div: bind_div,
    exp.IntDiv: bind_int_div,
}
