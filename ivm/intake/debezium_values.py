"""What Debezium writes in the place of dates, times, decimals and bytes, as the columns of a table take it.

An envelope with its schema says what each field is; without it the type of the column does.
"""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

from ivm.catalog.names import key
from ivm.catalog.schema import Table
from ivm.catalog.types import Kind, SqlType
from ivm.intake.json_rows import Maker, Makers, decimal_of, maker_of

UNAVAILABLE = "__debezium_unavailable_value"
"""What stands for a large value that has not changed, and that Postgres therefore has not told."""
_EPOCH, _DAY = datetime(1970, 1, 1), date(1970, 1, 1)
_MICROS = 1_000_000


def makers_of(table: Table, fields: Mapping[str, Mapping[str, Any]] | None) -> Makers:
    """What makes the values of a table's columns; `fields`: what the envelope's schema says of each, if it has
    one.
    """
    found = {}
    for column in table.fields:
        make = _by_type(column.type)
        if fields is not None and (field := fields.get(key(column.name))) is not None:
            make = _by_schema(field, column.type) or maker_of(column.type)
        if make is not None:
            found[key(column.name)] = make
    return Makers(found)


def fields_of(schema: Any) -> dict[str, Mapping[str, Any]] | None:
    """What a schema says of the fields of a row, by the keys of their names; None if it says nothing of rows."""
    if not isinstance(schema, Mapping):
        return None
    for part in schema.get("fields") or ():
        if isinstance(part, Mapping) and part.get("field") in ("after", "before") and part.get("fields"):
            return {
                key(each["field"]): each for each in part["fields"] if isinstance(each, Mapping) and "field" in each
            }
    return None


def _by_schema(field: Mapping[str, Any], column: SqlType) -> Maker | None:
    name = str(field.get("name") or "")
    if name.endswith("connect.data.Decimal"):
        scale = int((field.get("parameters") or {}).get("scale", 0))
        return lambda value: _unscaled(value, scale)
    if name in _NAMED:
        make, plain = _NAMED[name], _integers
        return lambda value: make(value) if type(value) in plain else value
    if name.endswith("VariableScaleDecimal"):
        return _variable
    if field.get("type") == "bytes":
        return _bytes
    return _truth if column.kind is Kind.BOOLEAN else None


def _by_type(type_: SqlType) -> Maker | None:
    if type_.kind in _COUNTED:
        make, plain = _COUNTED[type_.kind], _integers
        return lambda value: make(value) if type(value) in plain else value
    known = {Kind.DECIMAL: _decimal, Kind.BLOB: _bytes, Kind.BOOLEAN: _truth}
    return known.get(type_.kind) or maker_of(type_)


_integers = (int,)


def _truth(value: Any) -> Any:
    """MySQL has no truth values, but 0 and 1."""
    return bool(value) if type(value) is int and value in (0, 1) else value


def _bytes(value: Any) -> Any:
    return b64decode(value, validate=True) if isinstance(value, str) else value


def _unscaled(value: Any, scale: int) -> Any:
    """A decimal of the bytes of its digits, the highest first, as base64 or as they are."""
    if isinstance(value, str):
        value = b64decode(value, validate=True)
    if not isinstance(value, bytes | bytearray):
        return decimal_of(value)
    return Decimal(int.from_bytes(value, "big", signed=True)).scaleb(-scale)


def _variable(value: Any) -> Any:
    return _unscaled(value["value"], int(value["scale"])) if isinstance(value, Mapping) else _decimal(value)


def _decimal(value: Any) -> Any:
    if isinstance(value, Mapping):
        return _variable(value)
    if isinstance(value, str) and not _is_number(value):
        raise ValueError(
            f"{value!r} is no number; if it is a decimal's bytes, whose scale only the schema tells, send envelopes "
            "with their schema (schemas.enable=true), or set decimal.handling.mode=string"
        )
    return decimal_of(value)


def _is_number(text: str) -> bool:
    try:
        return Decimal(text).is_finite() or True
    except ArithmeticError:
        return False


def _moment(micros: int) -> datetime:
    return _EPOCH + timedelta(microseconds=micros)


def _nano_moment(nanos: int) -> datetime | str:
    """As a text where it is finer than Python's are."""
    micros, rest = divmod(nanos, 1000)
    found = _moment(micros)
    return f"{found.isoformat(' ', 'microseconds')}{rest:03}" if rest else found


def _time(micros: int) -> time:
    if not 0 <= micros < 86_400 * _MICROS:
        raise ValueError(f"{micros} microseconds are no time of a day")
    return _moment(micros).time()


def _nano_time(nanos: int) -> time | str:
    micros, rest = divmod(nanos, 1000)
    found = _time(micros)
    return f"{found.isoformat('microseconds')}{rest:03}" if rest else found


def _date(days: int) -> date:
    return _DAY + timedelta(days=days)


_Number = Callable[[int], Any]
_CONNECT, _TIME = "org.apache.kafka.connect.data.", "io.debezium.time."
_NAMED: Mapping[str, _Number] = {
    f"{_TIME}Date": _date,
    f"{_CONNECT}Date": _date,
    f"{_TIME}Timestamp": lambda count: _moment(count * 1000),
    f"{_CONNECT}Timestamp": lambda count: _moment(count * 1000),
    f"{_TIME}MicroTimestamp": _moment,
    f"{_TIME}NanoTimestamp": _nano_moment,
    f"{_TIME}Time": lambda count: _time(count * 1000),
    f"{_CONNECT}Time": lambda count: _time(count * 1000),
    f"{_TIME}MicroTime": _time,
    f"{_TIME}NanoTime": _nano_time,
    f"{_TIME}MicroDuration": lambda count: timedelta(microseconds=count),
}
"""What whole numbers count, by what a schema calls it."""
_COUNTED: Mapping[Kind, _Number] = {
    Kind.DATE: _date,
    Kind.TIMESTAMP_S: lambda count: _moment(count * _MICROS),
    Kind.TIMESTAMP_MS: lambda count: _moment(count * 1000),
    Kind.TIMESTAMP: _moment,
    Kind.TIMESTAMP_NS: _nano_moment,
    Kind.TIMESTAMPTZ: lambda count: _moment(count).replace(tzinfo=UTC),
    Kind.TIME: _time,
    Kind.INTERVAL: lambda count: timedelta(microseconds=count),
}
"""What whole numbers count in a column of such a type, where no schema says it."""
