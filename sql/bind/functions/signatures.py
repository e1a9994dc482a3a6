"""Functions whose arguments and result have fixed types, bound as they are declared in `ivm.sql.ir.functions`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress

from sqlglot import exp
from sqlglot.helper import ensure_list

from ivm.catalog.errors import TypeMismatchError
from ivm.catalog.types import (
    BIGINT,
    BLOB,
    DATE,
    DOUBLE,
    JSON,
    NULL,
    TIMESTAMP,
    TIMESTAMP_NS,
    TIMESTAMPS,
    VARCHAR,
    Kind,
    SqlType,
)
from ivm.sql.arguments import KINDS, PLAIN
from ivm.sql.bind.expressions.binder import Binder, Handler
from ivm.sql.bind.expressions.operand import Operand
from ivm.sql.bind.functions.computed import computed
from ivm.sql.bind.functions.generic import bind_generic, is_generic, takes_so_many
from ivm.sql.ir.functions import Function
from ivm.sql.ir.scalar import Call, Literal, Scalar
from ivm.sql.types.unify import holds

Taker = Callable[[Binder, exp.Expr], Scalar]
"""Binds one argument and casts it to the type that the function takes; refuses what does not fit."""


def text_operand(binder: Binder, node: exp.Expr) -> Operand:
    """An operand that must be VARCHAR, or the ENUM or JSON that stands for one."""
    operand = binder.bind(node)
    if operand.type.kind in (Kind.ENUM, Kind.JSON):
        return Operand(node, binder.cast(operand, VARCHAR))
    if operand.type not in (VARCHAR, NULL):
        binder.mismatch(node, f"text is needed here, not {operand.type}; write CAST(... AS VARCHAR)")
    return operand


def number_operand(binder: Binder, node: exp.Expr) -> Operand:
    """An operand that must be a number; NULL is a BIGINT."""
    return _number(binder, binder.bind(node))


def _number(binder: Binder, operand: Operand) -> Operand:
    if operand.type == NULL:
        return Operand(operand.node, Literal(None, BIGINT))
    if not operand.type.is_numeric:
        binder.mismatch(operand.node, f"a number is needed here, not {operand.type}; cast it")
    return operand


def text(binder: Binder, node: exp.Expr) -> Scalar:
    """A VARCHAR."""
    return binder.cast(text_operand(binder, node), VARCHAR)


def double(binder: Binder, node: exp.Expr) -> Scalar:
    """Any number, as a DOUBLE, or the text of one as it is written in SQL."""
    operand = binder.bind(node)
    return binder.cast(operand if operand.is_text_literal else _number(binder, operand), DOUBLE)


def integer(target: SqlType) -> Taker:
    """An integer of at most that type."""

    def take(binder: Binder, node: exp.Expr) -> Scalar:
        operand = binder.bind(node)
        if operand.type != NULL and not (operand.type.is_integer and holds(target, operand.type)):
            binder.mismatch(node, f"this counts in integers, not {operand.type}; write CAST(... AS {target})")
        return binder.cast(operand, target)

    return take


def moment_as(target: SqlType) -> Taker:
    """A DATE or TIMESTAMP, with time zone or without and of any unit, as the one that is given."""
    return lambda binder, node: binder.cast(_moment(binder, node), target)


def moment_by_utc(binder: Binder, node: exp.Expr) -> Scalar:
    """The same as a TIMESTAMP; one with time zone by the clocks of UTC."""
    return binder.by_utc(_moment(binder, node), TIMESTAMP)


def _moment(binder: Binder, node: exp.Expr) -> Operand:
    operand = binder.bind(node)
    if not operand.type.is_moment and operand.type != NULL and not operand.is_text_literal:
        binder.mismatch(node, f"a DATE or TIMESTAMP is needed here, not {operand.type}; cast it")
    return operand


def nanoseconds(binder: Binder, node: exp.Expr) -> Scalar:
    """A TIMESTAMP_S, _MS or _NS, as the last, which DuckDB makes of them where a function takes it."""
    operand = binder.bind(node)
    if operand.type not in TIMESTAMPS or operand.type == TIMESTAMP:
        binder.mismatch(node, f"a TIMESTAMP_NS is needed here, not {operand.type}; cast it")
    return binder.cast(operand, TIMESTAMP_NS)


def exactly(target: SqlType) -> Taker:
    """A value of that type, or the text of one as it is written in SQL."""

    def take(binder: Binder, node: exp.Expr) -> Scalar:
        operand = binder.bind(node)
        is_read = operand.is_text_literal or (target == JSON and operand.type == VARCHAR)
        if operand.type not in (target, NULL) and (target == BLOB or not is_read):
            binder.mismatch(node, f"a {target} is needed here, not {operand.type}; cast it")
        return binder.cast(operand, target)

    return take


def _taker(function: Function, type_: SqlType | str) -> Taker:
    assert isinstance(type_, SqlType), "a function that is called by name takes fixed types"
    if type_ == TIMESTAMP and function.names[0] in _COUNTS_FROM_1970:
        return moment_by_utc
    if type_.is_integer:
        return integer(type_)
    if type_ in (DATE, TIMESTAMP):
        return moment_as(type_)
    return {VARCHAR: text, DOUBLE: double, TIMESTAMP_NS: nanoseconds}.get(type_) or exactly(type_)


_COUNTS_FROM_1970 = ("epoch_us", "epoch_ns")


def apply(binder: Binder, node: exp.Expr, name: str, args: Sequence[exp.Expr]) -> Operand:
    """The first plain function `name` that takes these arguments; `node` is the call, for messages."""
    functions = PLAIN[name]
    fitting = [each for each in functions if takes_so_many(each, len(args))]
    if not fitting:
        least, most = min(len(f.takes) - f.optional for f in functions), max(len(f.takes) for f in functions)
        counted = f"{least} to {most}" if least < most else str(most)
        binder.fail(node, f"{name}() takes {counted} argument{'s' if most > 1 else ''}, not {len(args)}")
    for function in fitting[1:] and fitting:
        with suppress(TypeMismatchError):
            return _applied(binder, node, function, args)
    return _applied(binder, node, fitting[0], args)  # whose error is told


def _applied(binder: Binder, node: exp.Expr, function: Function, args: Sequence[exp.Expr]) -> Operand:
    if is_generic(function):
        return bind_generic(binder, node, function, args)
    assert isinstance(function.gives, SqlType), "a function that is called by name gives a fixed type"
    if function.takes[:1] in ((DATE,), (TIMESTAMP,)) and function.names[0] not in _COUNTS_FROM_1970:
        operand = binder.bind(args[0])
        if binder.tells_in_zone(operand.type):
            return computed(node, function.names[0], (operand.scalar,), function.gives)
    scalars = tuple(_taker(function, type_)(binder, arg) for type_, arg in zip(function.takes, args, strict=False))
    nullable = function.makes_null or any(scalar.nullable for scalar in scalars)
    return Operand(node, Call(function.name, scalars, function.gives, nullable))


def _of_class(name: str, keys: Sequence[str]) -> Handler:
    """Binds a class of nodes whose arguments stand under `keys`; those that are missing are left out."""

    def bind(binder: Binder, node: exp.Expr) -> Operand:
        return apply(binder, node, name, [arg for key in keys for arg in ensure_list(node.args.get(key))])

    return bind


def bind_pad(binder: Binder, node: exp.Expr) -> Operand:
    """LPAD, RPAD."""
    args = [node.args[key] for key in ("this", "expression", "fill_pattern") if node.args.get(key) is not None]
    return apply(binder, node, "lpad" if node.args.get("is_left") else "rpad", args)


def bind_sha2(binder: Binder, node: exp.Expr) -> Operand:
    """SHA256(x), which sqlglot reads as one of a family."""
    length = node.args.get("length")
    if length is not None and length.name != "256":
        binder.refuse(node, "of the SHA2 functions only sha256 is supported")
    return apply(binder, node, "sha256", [node.this])


def bind_trim(binder: Binder, node: exp.Expr) -> Operand:
    """TRIM(x [, characters]), TRIM(LEADING c FROM x), LTRIM, RTRIM."""
    name = {"LEADING": "ltrim", "TRAILING": "rtrim"}.get(str(node.args.get("position") or ""), "trim")
    return apply(binder, node, name, [node.this, *([node.expression] if node.args.get("expression") else [])])


HANDLERS: dict[type[exp.Expr], Handler] = {
    **{kind: _of_class(name, keys) for kind, (name, keys) in KINDS.items()},
    exp.DateFromParts: _of_class("make_date", ("year", "month", "day")),
    exp.TimestampFromParts: _of_class("make_timestamp", ("year", "month", "day", "hour", "min", "sec")),
    exp.TimeFromParts: _of_class("make_time", ("hour", "min", "sec")),
    exp.Pad: bind_pad,
    exp.SHA2: bind_sha2,
    exp.Trim: bind_trim,
    exp.StrPosition: _of_class("strpos", ("this", "substr")),
}
