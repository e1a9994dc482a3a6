"""Parameters as they come, in Postgres's text and binary forms, as values that a statement is filled with."""

from __future__ import annotations

import re
import struct
from collections.abc import Callable
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

from ivm.catalog.errors import TypeMismatchError
from ivm.serve.postgres import types
from ivm.serve.postgres.types import BY_OID, ELEMENTS, PgType
from ivm.sql.parameters import sql_of

_EPOCH = datetime(2000, 1, 1)
_SIGNS = {0: "", 0x4000: "-"}
_GROUP = 4


def given(data: bytes | None, oid: int, form: int) -> str:
    """The SQL of a parameter of a type, which is 0 where the client leaves it to the server. TypeMismatchError for what
    is no value of it.

    A text of no type stands as a literal, of which SQL makes what is needed where it stands.
    """
    if data is None:
        return "NULL"
    of = BY_OID.get(oid, types.UNKNOWN)
    value = value_of(data, oid, form)
    found = sql_of(value)
    return f"CAST({found} AS {types.IN_SQL[of]})" if of in _CAST and isinstance(value, str) else found


def value_of(data: bytes, oid: int, form: int) -> Any:
    """The value of a parameter; a text where no other value of Python's is the same."""
    try:
        if oid in ELEMENTS:
            return _array(data, ELEMENTS[oid]) if form else _array_text(data.decode(), ELEMENTS[oid])
        reads = (_BINARY if form else _TEXT).get(BY_OID.get(oid, types.UNKNOWN))
        return data.decode() if reads is None else reads(data)
    except (ValueError, ArithmeticError, struct.error, KeyError) as error:
        shown = data[:40].hex() if form else data[:40].decode(errors="replace")
        raise TypeMismatchError(f"cannot read {shown!r} as a value of type {oid}: {error}") from error


_CAST = frozenset([types.DATE, types.TIME, types.TIMESTAMP, types.TIMESTAMPTZ, types.INTERVAL, types.JSON, types.JSONB])


def _truth(data: bytes) -> bool:
    found = {b"t": True, b"true": True, b"1": True, b"on": True, b"f": False, b"false": False, b"0": False}
    return (found | {b"off": False})[data.lower()]


def _bytes(data: bytes) -> bytes:
    if data.startswith(b"\\x"):
        return bytes.fromhex(data[2:].decode())
    return data.decode("unicode_escape").encode("latin-1")


def _decimal(data: bytes) -> Decimal:
    count, weight, sign, scale = struct.unpack_from("!HhHH", data)
    groups = struct.unpack_from(f"!{count}H", data, 8)
    digits = "".join(f"{group:04}" for group in groups)
    exponent = (weight + 1 - count) * _GROUP
    number = Decimal(f"{_SIGNS[sign]}{digits or 0}E{exponent}")
    return number.quantize(Decimal(1).scaleb(-scale)) if number.is_finite() else number


def _number(format: str) -> Callable[[bytes], Any]:
    unpack = struct.Struct(format).unpack
    return lambda data: unpack(data)[0]


def _moment(data: bytes) -> datetime:
    return _EPOCH + timedelta(microseconds=struct.unpack("!q", data)[0])


def _zoned(data: bytes) -> datetime:
    from datetime import UTC  # noqa: PLC0415  beside the names of types

    return _moment(data).replace(tzinfo=UTC)


def _day(data: bytes) -> date:
    return (_EPOCH + timedelta(days=struct.unpack("!i", data)[0])).date()


def _clock(data: bytes) -> time:
    return (_EPOCH + timedelta(microseconds=struct.unpack("!q", data)[0])).time()


def _span(data: bytes) -> str:
    micros, days, months = struct.unpack("!qii", data)
    return f"{months} months {days} days {micros} microseconds"


def _json_b(data: bytes) -> str:
    if data[:1] != b"\1":
        raise ValueError("of another version than 1")
    return data[1:].decode()


def _without_zone(data: bytes) -> str:
    """A date or a timestamp as it is written; Postgres passes over a zone behind it, which JDBC's driver writes."""
    return _ZONE.sub("", data.decode())


_ZONE = re.compile(r"(?:(?<=[:.]\d\d)|(?<=\.\d)|(?<=\d{3})|\s)\s*[+-]\d\d(?::?\d\d)*$")
_TEXT: dict[PgType, Callable[[bytes], Any]] = {
    types.BOOL: _truth,
    types.BYTEA: _bytes,
    types.INT2: int,
    types.INT4: int,
    types.INT8: int,
    types.OID: int,
    types.FLOAT4: float,
    types.FLOAT8: float,
    types.NUMERIC: lambda data: Decimal(data.decode()),
    types.UUID: lambda data: UUID(data.decode()),
    types.DATE: _without_zone,
    types.TIMESTAMP: _without_zone,
}
_BINARY: dict[PgType, Callable[[bytes], Any]] = {
    types.BOOL: lambda data: data == b"\1",
    types.BYTEA: bytes,
    types.INT2: _number("!h"),
    types.INT4: _number("!i"),
    types.INT8: _number("!q"),
    types.OID: _number("!I"),
    types.FLOAT4: _number("!f"),
    types.FLOAT8: _number("!d"),
    types.NUMERIC: _decimal,
    types.UUID: lambda data: UUID(bytes=data),
    types.DATE: _day,
    types.TIME: _clock,
    types.TIMESTAMP: _moment,
    types.TIMESTAMPTZ: _zoned,
    types.JSONB: _json_b,
    types.INTERVAL: _span,
}


def _array(data: bytes, element: PgType) -> list[Any]:
    """An array of one dimension in its binary form."""
    dimensions, _, _ = struct.unpack_from("!iiI", data)
    if dimensions == 0:
        return []
    if dimensions != 1:
        raise ValueError("arrays of several dimensions cannot be given")
    (count,) = struct.unpack_from("!i", data, 12)
    found, at = [], 20
    for _ in range(count):
        (size,) = struct.unpack_from("!i", data, at)
        at += 4
        found.append(None if size < 0 else value_of(data[at : at + size], element.oid, 1))
        at += max(size, 0)
    return found


def _array_text(text: str, element: PgType) -> list[Any]:
    """An array of one dimension as a text, {1,NULL,"a b"}."""
    if not (text.startswith("{") and text.endswith("}")):
        raise ValueError("an array stands in braces")
    found, at, end = list[Any](), 1, len(text) - 1
    while at < end:
        item, at, is_quoted = _item(text, at, end)
        if not is_quoted and item.startswith("{"):
            raise ValueError("arrays of several dimensions cannot be given")
        is_null = not is_quoted and item.upper() == "NULL"
        found.append(None if is_null else value_of(item.encode(), element.oid, 0))
        at += 1  # the comma
    return found


def _item(text: str, at: int, end: int) -> tuple[str, int, bool]:
    """An item that begins there, where it ends, and whether it is in quotes."""
    if text[at] != '"':
        found = text.find(",", at, end)
        stop = end if found < 0 else found
        return text[at:stop].strip(), stop, False
    letters, at = list[str](), at + 1
    while at < end and text[at] != '"':
        at += text[at] == "\\"
        letters.append(text[at])
        at += 1
    return "".join(letters), at + 1, True
