"""Dates and timestamps: their parts, and arithmetic on them.

A part is a literal: year, month, day, quarter, dow, isodow, doy, week, hour, minute, second, ...
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

from ivm.catalog.calendar import DAY, PARTS_OF_DAY, shift_months
from ivm.catalog.types import BIGINT, DATE, DOUBLE, INTEGER, TIMESTAMP, TIMESTAMPTZ, VARCHAR, Kind
from ivm.sql.ir.functions.function import Function, NotFoldableError, Nulls, Raises, of_values
from ivm.sql.ir.functions.numbers import difference_range, sum_range
from ivm.sql.ir.scalar import Call, Value

_SOMETIMES, _OUT_OF_RANGE = Raises.SOMETIMES, Raises.OUT_OF_RANGE


def _truncation_raises(call: Call) -> Raises:
    return Raises.NEVER if call.type.kind is Kind.DATE else Raises.SOMETIMES


def _add_months(call: Call, values: Sequence[Any]) -> Value:
    if call.type.kind is Kind.DATE:
        return int(shift_months(*values))
    days, clock = divmod(values[0], DAY)
    return int(shift_months(days, values[1]) * DAY + clock)


def _extract(call: Call, values: Sequence[Any]) -> Value:
    part, value = values
    if part not in PARTS_OF_DAY:
        raise NotFoldableError
    return int(PARTS_OF_DAY[part](value if call.args[1].type.kind is Kind.DATE else value // DAY))


_MOMENT = "DATE or TIMESTAMP"

FUNCTIONS = (
    # What time it is; see `ivm.sql.ir.clock`.
    Function("now", (), TIMESTAMPTZ, nulls=Nulls.NEVER),
    Function("extract", ("literal", _MOMENT), "BIGINT; epoch (seconds) and julian DOUBLE", value=_extract),
    Function("date_trunc", ("literal", _MOMENT), "TIMESTAMP; DATE where DuckDB does so", raises=_truncation_raises),
    # The boundaries of the part that lie between the two; the whole parts between the two.
    Function("date_diff", ("literal", "T", "T"), BIGINT),
    Function("date_sub", ("literal", TIMESTAMP, TIMESTAMP), BIGINT),
    Function(
        "add_days", (DATE, INTEGER), DATE, raises=_OUT_OF_RANGE, range=sum_range, value=of_values(operator.add)
    ),
    # The first minus the second.
    Function("days_between", (DATE, DATE), BIGINT, range=difference_range, value=of_values(operator.sub)),
    # The end of a month where it is shorter.
    Function("add_months", (_MOMENT, INTEGER), "T", raises=_OUT_OF_RANGE, value=_add_months),
    Function(
        "add_micros", (TIMESTAMP, BIGINT), TIMESTAMP,
        raises=_OUT_OF_RANGE, range=sum_range, value=of_values(operator.add),
    ),
    # The first minus the second.
    Function("micros_between", (TIMESTAMP, TIMESTAMP), BIGINT, raises=_OUT_OF_RANGE, range=difference_range),
    Function("from_micros", (BIGINT,), TIMESTAMP, raises=_OUT_OF_RANGE, range=lambda call, a: a[0]),
    Function("to_micros", (TIMESTAMP,), BIGINT, ("epoch_us",), range=lambda call, a: a[0]),
    Function("last_day", (DATE,), DATE, ("last_day",), raises=_SOMETIMES),
    # Of year, month, day; and of hour, minute and seconds. An error if there is no such day or time.
    Function("make_date", (BIGINT, BIGINT, BIGINT), DATE, ("make_date",), raises=_SOMETIMES),
    Function(
        "make_timestamp", (BIGINT, BIGINT, BIGINT, BIGINT, BIGINT, DOUBLE), TIMESTAMP,
        ("make_timestamp",), raises=_SOMETIMES,
    ),
    Function("dayname", (DATE,), VARCHAR, ("dayname",)),
    Function("monthname", (DATE,), VARCHAR, ("monthname",)),
    # The format is a literal.
    Function("strftime", (TIMESTAMP, "literal"), VARCHAR),
    Function("strptime", (VARCHAR, "literal"), TIMESTAMP, raises=_SOMETIMES),
    Function("try_strptime", (VARCHAR, "literal"), TIMESTAMP, makes_null=True),
)  # fmt: skip
