"""INTERVAL: made of parts and taken apart. What is compared is the length; see `ivm.catalog.intervals`."""

from __future__ import annotations

from collections.abc import Callable

from ivm.catalog import intervals
from ivm.catalog.calendar import DAY, toward_zero
from ivm.catalog.types import BIGINT, HUGEINT, INTEGER, INTERVAL
from ivm.sql.ir.functions.function import Function, Raises, of_values

_MONTHS, _DAYS, _MICROS = range(3)


def _of_time(micros: int) -> int:
    days = int(toward_zero(micros, DAY))
    return intervals.packed(0, days, micros - days * DAY)


def _part(place: int) -> Callable[[int], int]:
    return lambda value: intervals.parts(value)[place]


FUNCTIONS = (
    # Of months, days and microseconds.
    Function(
        "interval", (INTEGER, INTEGER, BIGINT), INTERVAL,
        raises=Raises.SOMETIMES, value=of_values(intervals.packed),
    ),
    # Of microseconds: the whole days, and the time that is left, with one sign.
    Function("days_and_time", (BIGINT,), INTERVAL, value=of_values(_of_time)),
    Function("interval_months", (INTERVAL,), INTEGER, value=of_values(_part(_MONTHS))),
    Function("interval_days", (INTERVAL,), INTEGER, value=of_values(_part(_DAYS))),
    Function("interval_micros", (INTERVAL,), BIGINT, value=of_values(_part(_MICROS))),
    # In microseconds, a month counting 30 days of 24 hours.
    Function("interval_length", (INTERVAL,), HUGEINT, value=of_values(intervals.length)),
    Function("epoch_us of INTERVAL", (INTERVAL,), BIGINT, ("epoch_us",), raises=Raises.SOMETIMES),
)  # fmt: skip
