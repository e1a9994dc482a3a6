"""The messages of Flight SQL, as protobuf writes them: fields by their numbers, each a number or bytes.

They are few and small, so that reading and writing them here takes less than a package for it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ivm.catalog.errors import TypeMismatchError

_TYPE = "type.googleapis.com/arrow.flight.protocol.sql."
_VARINT, _LONG, _BYTES, _SHORT = 0, 1, 2, 5
_MASK = (1 << 64) - 1
Value = int | bytes | str | None


@dataclass(frozen=True, slots=True)
class Message:
    """The fields of a message; what is there more than once is so in `repeated`."""

    repeated: Mapping[int, list[int | bytes]]

    def bytes(self, number: int) -> bytes:
        """A field of bytes; none where it is not there."""
        found = self.repeated.get(number, [b""])[-1]
        return found if isinstance(found, bytes) else b""

    def text(self, number: int) -> str | None:
        """A text; None where it is not there. TypeMismatchError if it is none."""
        return _text(self.bytes(number)) if number in self.repeated else None

    def texts(self, number: int) -> list[str]:
        """All texts of a field."""
        return [_text(each) for each in self.repeated.get(number, ()) if isinstance(each, bytes)]

    def number(self, number: int) -> int:
        """A number; 0 where it is not there."""
        found = self.repeated.get(number, [0])[-1]
        return found if isinstance(found, int) else 0


def read(data: bytes) -> Message:
    """The message that bytes are. TypeMismatchError for anything else."""
    found: dict[int, list[int | bytes]] = {}
    at = 0
    try:
        while at < len(data):
            tag, at = _varint(data, at)
            value: int | bytes
            if tag & 7 == _VARINT:
                value, at = _varint(data, at)
            elif tag & 7 == _BYTES:
                size, at = _varint(data, at)
                value, at = _cut(data, at, size)
            elif tag & 7 in (_LONG, _SHORT):
                value, at = _cut(data, at, 8 if tag & 7 == _LONG else 4)
            else:
                raise IndexError
            found.setdefault(tag >> 3, []).append(value)
    except IndexError:
        raise TypeMismatchError("cannot read the command: its bytes are no message of protobuf's") from None
    return Message(found)


def command(data: bytes) -> tuple[str, Message]:
    """The name of a message of Flight SQL that is within an Any, and its fields. TypeMismatchError."""
    outer = read(data)
    name = outer.text(1) or ""
    if not name.startswith(_TYPE):
        raise TypeMismatchError(f"cannot carry out {name[:100]!r}: it is no command of Flight SQL")
    return name.removeprefix(_TYPE), read(outer.bytes(2))


def written(fields: Mapping[int, Value]) -> bytes:
    """A message of these fields, without those that are None."""
    found = bytearray()
    for number, value in fields.items():
        if isinstance(value, int):
            found += _as_varint(number << 3 | _VARINT) + _as_varint(value & _MASK)
        elif value is not None:
            data = value.encode() if isinstance(value, str) else value
            found += _as_varint(number << 3 | _BYTES) + _as_varint(len(data)) + data
    return bytes(found)


def wrapped(name: str, fields: Mapping[int, Value]) -> bytes:
    """A message of Flight SQL within an Any."""
    return written({1: _TYPE + name, 2: written(fields)})


def _text(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise TypeMismatchError(f"cannot read the command: a text in it is not UTF-8: {error}") from error


def _cut(data: bytes, at: int, size: int) -> tuple[bytes, int]:
    if at + size > len(data):
        raise IndexError
    return data[at : at + size], at + size


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value & _MASK, at
        if shift > 63:
            raise IndexError


def _as_varint(value: int) -> bytes:
    found = bytearray()
    while value > 0x7F:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    found.append(value)
    return bytes(found)
