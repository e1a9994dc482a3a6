"""TIME_BUCKET: the beginning of the interval that a moment lies in."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from ivm.catalog.calendar import DAY
from ivm.catalog.types import BIGINT, INTEGER, INTERVAL, TIMESTAMP, TIMESTAMPS, TIMESTAMPTZ, VARCHAR, SqlType
from ivm.sql.bind.expressions.binder import Binder
from ivm.sql.bind.expressions.operand import Operand
from ivm.sql.bind.functions.computed import computed
from ivm.sql.bind.functions.intervals import as_interval
from ivm.sql.bind.functions.shifts import arithmetic, moment_of
from ivm.sql.ir.scalar import Call, Literal, Scalar
from ivm.sql.types.unify import common_type

_BUCKETS_FROM = 10_959 * DAY
"""2000-01-03, a Monday: what time_bucket counts from; months count from 2000-01-01."""
_MONTHS_FROM = Literal(10_957 * DAY, TIMESTAMP)


def bucket(binder: Binder, node: exp.Expr, args: Sequence[exp.Expr]) -> Operand:
    """TIME_BUCKET(interval, x): the beginning of the interval that x lies in: DATE, TIMESTAMP or TIMESTAMPTZ as x."""
    of = as_interval(binder, args[0])
    width = of.interval
    if width is None:
        return _varying_bucket(binder, node, of, binder.bind(args[1]))
    micros = width.days * DAY + width.micros
    if min(width.months, micros) < 0 or (width.months > 0) == (micros > 0):
        binder.fail(node, "time_bucket() needs an INTERVAL over zero, either of months or of days and time")
    given = binder.bind(args[1])
    if binder.tells_in_zone(given.type):
        return computed(node, "time_bucket", (of.scalar, given.scalar), TIMESTAMPTZ)
    stamp = binder.cast(moment_of(binder, node, given, "time_bucket"), TIMESTAMP)
    if width.months:
        months = binder.call(node, "date_diff", (Literal("month", VARCHAR), _MONTHS_FROM, stamp), BIGINT).scalar
        whole = arithmetic("sub", months, _remainder(months, width.months))
        months = Call("cast", (whole,), INTEGER, whole.nullable)
        found = binder.call(node, "add_months", (_MONTHS_FROM, months), TIMESTAMP)
    else:
        since = binder.call(node, "to_micros", (stamp,), BIGINT).scalar
        past = _remainder(arithmetic("sub", since, Literal(_BUCKETS_FROM, BIGINT)), micros)
        found = binder.call(node, "from_micros", (arithmetic("sub", since, past),), TIMESTAMP)
    return Operand(node, binder.cast(found, _bucketed(given.type)))


def shifted_bucket(binder: Binder, node: exp.Expr, args: Sequence[exp.Expr]) -> Operand:
    """TIME_BUCKET(interval, x, offset) and TIME_BUCKET(interval, x, origin), by DuckDB."""
    width, given, shift = as_interval(binder, args[0]), binder.bind(args[1]), binder.bind(args[2])
    for each in (given, shift):
        if not each.type.is_moment and (each.type != INTERVAL or each is given):
            binder.mismatch(each.node, f"time_bucket() needs a DATE or TIMESTAMP here, not {each.type}; cast it")
    type_ = given.type if shift.type == INTERVAL else common_type(given.type, shift.type) or given.type
    moments = [binder.cast(each, each.type if each.type == INTERVAL else type_) for each in (given, shift)]
    return computed(node, "time_bucket", (width.scalar, *moments), _bucketed(type_))


def _varying_bucket(binder: Binder, node: exp.Expr, width: Operand, given: Operand) -> Operand:
    """With a width that varies, by DuckDB."""
    if binder.tells_in_zone(given.type):
        return computed(node, "time_bucket", (width.scalar, given.scalar), TIMESTAMPTZ)
    stamp = binder.cast(moment_of(binder, node, given, "time_bucket"), TIMESTAMP)
    found = Call("time_bucket", (width.scalar, stamp), TIMESTAMP, width.scalar.nullable or stamp.nullable)
    return Operand(node, binder.cast(Operand(node, found), _bucketed(given.type)))


def _bucketed(type_: SqlType) -> SqlType:
    return TIMESTAMP if type_ in TIMESTAMPS else type_


def _remainder(of: Scalar, divisor: int) -> Scalar:
    """The remainder that is not negative."""
    size = Literal(divisor, BIGINT)
    return arithmetic("mod", arithmetic("add", arithmetic("mod", of, size), size), size)
