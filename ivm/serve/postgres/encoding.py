"""Columns of results as the values of messages, in Postgres's text and binary forms."""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from decimal import Decimal
from functools import partial
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa
import pyarrow.types as arrow

from ivm.catalog.calendar import DAY, date_text, day_of, time_text, timestamp_text
from ivm.catalog.intervals import NANOS, interval_text, packed
from ivm.catalog.zones import UTC
from ivm.serve.postgres import types
from ivm.serve.postgres.types import PgType, Shape
from ivm.trace.columns.arrow import is_list
from ivm.trace.columns.python_values import values_or_texts

Encode = Callable[[Any], bytes]
TEXT_FORM, BINARY_FORM = 0, 1
_MICROS = 1_000_000
_FIRST_DAY = day_of(2000, 1, 1)
"""From which day on Postgres counts in its binary form."""
_NO_DAY, _NO_MOMENT = (1 << 31) - 1, (1 << 63) - 1
"""What stands for infinity, and with a minus for that before all."""


def encoded(column: pa.ChunkedArray, shape: Shape, form: int, zone: str = UTC) -> Sequence[bytes | None]:
    """The values of a column in a form; None for NULL. Moments are told by the clocks of a zone."""
    if shape.of is types.JSON and arrow.is_nested(column.type):
        return [None if v is None else json.dumps(v, default=str).encode() for v in values_or_texts(column)]
    encode = _encoder(shape.of, form, zone)
    if shape.is_array:
        encode = partial(_array, encode, shape.of, form)
    return [None if value is None else encode(value) for value in _raw(column).to_pylist()]


def _raw(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Days and moments as whole numbers, of microseconds; ENUMs as texts; all else as it is."""
    coarse, plain = _plain(column.type, moments=False), _plain(column.type, moments=True)
    return (column if coarse == column.type else column.cast(coarse, safe=False)).cast(plain)


def _plain(kind: pa.DataType, *, moments: bool) -> pa.DataType:
    if is_list(kind):
        return pa.list_(_plain(kind.value_type, moments=moments))
    if arrow.is_timestamp(kind):
        return pa.int64() if moments else pa.timestamp("us", kind.tz)
    if arrow.is_time(kind) and moments:
        return pa.int64()
    if arrow.is_date(kind) and moments:
        return pa.int32()
    return pa.string() if arrow.is_dictionary(kind) else kind


def _encoder(of: PgType, form: int, zone: str) -> Encode:
    if form == BINARY_FORM:
        return _BINARY.get(of, _text)
    if of is types.TIMESTAMPTZ:
        return partial(_zoned, None if zone == UTC else ZoneInfo(zone))
    return _TEXT.get(of, _text)


def _text(value: Any) -> bytes:
    return str(value).encode()


def _boolean(value: bool) -> bytes:
    return b"t" if value else b"f"


def _real(value: float, shortest: Callable[[float], str] = repr) -> bytes:
    if math.isfinite(value):
        return shortest(value).removesuffix(".0").encode()
    return b"NaN" if math.isnan(value) else b"Infinity" if value > 0 else b"-Infinity"


def _numeric(value: Any) -> bytes:
    return format(value, "f").encode() if isinstance(value, Decimal) else str(value).encode()


def _day(value: int) -> bytes:
    if abs(value) == _NO_DAY:
        return b"infinity" if value > 0 else b"-infinity"
    return _before_christ(date_text(value))


def _moment(value: int) -> bytes:
    if abs(value) == _NO_MOMENT:
        return b"infinity" if value > 0 else b"-infinity"
    return _before_christ(timestamp_text(value))


def _before_christ(text: str) -> bytes:
    """Postgres has BC behind all else, without parentheses."""
    return (text.replace(" (BC)", "") + " BC" if "(BC)" in text else text).encode()


def _zoned(zone: ZoneInfo | None, value: int) -> bytes:
    """A moment by the clocks of a zone; where Python does not know these, in UTC."""
    offset = 0
    if abs(value) == _NO_MOMENT:
        return _moment(value)
    if zone is not None:
        try:
            local = (datetime(1970, 1, 1, tzinfo=ZoneInfo(UTC)) + timedelta(microseconds=value)).astimezone(zone)
        except OverflowError:
            local = None
        if local is not None:
            offset = round((local.utcoffset() or timedelta(0)).total_seconds())
    hours, rest = divmod(abs(offset), 3600)
    minutes = f":{rest // 60:02}" + (f":{rest % 60:02}" if rest % 60 else "") if rest else ""
    text = timestamp_text(value + offset * _MICROS)
    told, before = text.replace(" (BC)", ""), " BC" if "(BC)" in text else ""
    return f"{told}{'-' if offset < 0 else '+'}{hours:02}{minutes}{before}".encode()


def _span(value: pa.MonthDayNano) -> bytes:
    months, days, nanos = value
    return interval_text(packed(months, days, nanos // NANOS)).replace("month", "mon").encode()


def _array(encode: Encode, of: PgType, form: int, values: Sequence[Any]) -> bytes:
    items = [None if value is None else encode(value) for value in values]
    if form == TEXT_FORM:
        return b"{" + b",".join(b"NULL" if item is None else _quoted(item) for item in items) + b"}"
    head = struct.pack("!iiI", 1 if items else 0, int(None in items), of.oid)
    if not items:
        return head
    fields = (b"\xff\xff\xff\xff" if item is None else struct.pack("!i", len(item)) + item for item in items)
    return head + struct.pack("!ii", len(items), 1) + b"".join(fields)


_PLAIN_ITEM = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-+._:")


def _quoted(item: bytes) -> bytes:
    """An item of an array, in quotes where it needs them."""
    if item and _PLAIN_ITEM.issuperset(item) and item.upper() != b"NULL":
        return item
    return b'"' + item.replace(b"\\", b"\\\\").replace(b'"', b'\\"') + b'"'


def _binary_numeric(value: Any) -> bytes:
    sign, digits, exponent = Decimal(value).as_tuple()
    assert isinstance(exponent, int), "a DECIMAL is finite"
    scale = max(-exponent, 0)
    digits = (*digits, *[0] * max(exponent, 0), *[0] * (-scale % 4))
    digits = (*[0] * (-len(digits) % 4), *digits)
    groups = [
        digits[i] * 1000 + digits[i + 1] * 100 + digits[i + 2] * 10 + digits[i + 3] for i in range(0, len(digits), 4)
    ]
    weight = len(groups) - 1 - (scale + 3) // 4
    while groups and groups[0] == 0:
        groups, weight = groups[1:], weight - 1
    while groups and groups[-1] == 0:
        groups = groups[:-1]
    weight = weight if groups else 0
    return struct.pack(f"!HhHH{len(groups)}H", len(groups), weight, 0x4000 if sign and groups else 0, scale, *groups)


def _binary_day(value: int) -> bytes:
    return struct.pack("!i", value if abs(value) == _NO_DAY else value - _FIRST_DAY)


def _binary_moment(value: int) -> bytes:
    return struct.pack("!q", value if abs(value) == _NO_MOMENT else value - _FIRST_DAY * DAY)


def _binary_span(value: pa.MonthDayNano) -> bytes:
    months, days, nanos = value
    return struct.pack("!qii", nanos // NANOS, days, months)


_TEXT: dict[PgType, Encode] = {
    types.BOOL: _boolean,
    types.FLOAT4: lambda value: _real(value, lambda each: str(np.float32(each))),
    types.FLOAT8: _real,
    types.NUMERIC: _numeric,
    types.BYTEA: lambda value: b"\\x" + value.hex().encode(),
    types.DATE: _day,
    types.TIME: lambda value: time_text(value).encode(),
    types.TIMESTAMP: _moment,
    types.INTERVAL: _span,
}
_BINARY: dict[PgType, Encode] = {
    types.BOOL: lambda value: b"\1" if value else b"\0",
    types.INT2: struct.Struct("!h").pack,
    types.INT4: struct.Struct("!i").pack,
    types.INT8: struct.Struct("!q").pack,
    types.OID: struct.Struct("!I").pack,
    types.FLOAT4: struct.Struct("!f").pack,
    types.FLOAT8: struct.Struct("!d").pack,
    types.NUMERIC: _binary_numeric,
    types.BYTEA: bytes,
    types.DATE: _binary_day,
    types.TIME: struct.Struct("!q").pack,
    types.TIMESTAMP: _binary_moment,
    types.TIMESTAMPTZ: _binary_moment,
    types.INTERVAL: _binary_span,
    types.UUID: lambda value: bytes.fromhex(value.replace("-", "")),
}
