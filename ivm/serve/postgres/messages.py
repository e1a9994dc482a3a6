"""Messages of Postgres's protocol 3, as bytes: those that come are read, those that go are written."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

VERSION = 3 << 16
"""Protocol 3.0; a client that asks for a newer minor version is told that this one is spoken."""
CANCEL, SSL, GSSENC = (1234 << 16) + 5678, (1234 << 16) + 5679, (1234 << 16) + 5680
"""What takes the place of a version in a first message that wants something else."""

BIND_COMPLETE, CLOSE_COMPLETE, PARSE_COMPLETE = b"2\0\0\0\4", b"3\0\0\0\4", b"1\0\0\0\4"
EMPTY_QUERY, NO_DATA, SUSPENDED = b"I\0\0\0\4", b"n\0\0\0\4", b"s\0\0\0\4"
COPY_DONE = b"c\0\0\0\4"
NULL = b"\xff\xff\xff\xff"
"""The length of a value that is NULL."""


class MalformedError(Exception):
    """Bytes that are no message of the protocol; the connection ends."""


class Body:
    """What a message holds, taken from its beginning on; MalformedError where it ends too early."""

    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, 0

    @property
    def is_over(self) -> bool:
        """Whether nothing is left."""
        return self._at >= len(self._data)

    def taken(self, size: int) -> bytes:
        """So many bytes."""
        end = self._at + size
        if size < 0 or end > len(self._data):
            raise MalformedError("a message ends before what it announces")
        found, self._at = self._data[self._at : end], end
        return found

    def text(self) -> str:
        """A text that ends with a byte of zero."""
        end = self._data.find(b"\0", self._at)
        if end < 0:
            raise MalformedError("a text in a message has no end")
        found, self._at = self._data[self._at : end], end + 1
        try:
            return found.decode()
        except UnicodeDecodeError as error:
            raise MalformedError("a text in a message is not UTF-8") from error

    def int16(self) -> int:
        """A number of two bytes, not negative: a count or a form."""
        return int.from_bytes(self.taken(2), "big")

    def int32(self) -> int:
        """A number of four bytes, with its sign."""
        return int.from_bytes(self.taken(4), "big", signed=True)

    def value(self) -> bytes | None:
        """A value with its length; None for NULL."""
        size = self.int32()
        return None if size == -1 else self.taken(size)


@dataclass(frozen=True, slots=True)
class Described:
    """A column as a client is told of it. `size` is that of a value, -1 where they differ; `modifier` tells more."""

    name: str
    oid: int
    size: int = -1
    modifier: int = -1


def message(kind: bytes, body: bytes = b"") -> bytes:
    """A message of a kind."""
    return kind + (len(body) + 4).to_bytes(4, "big") + body


def zero_ended(text: str) -> bytes:
    """A text as messages have it; a byte of zero within would end it, and is left out."""
    return text.replace("\0", "").encode(errors="replace") + b"\0"


def authentication(code: int, data: bytes = b"") -> bytes:
    """What is asked of a client that is to prove who it is; 0: nothing more."""
    return message(b"R", code.to_bytes(4, "big") + data)


def parameter_status(name: str, value: str) -> bytes:
    """What a setting is that clients keep in mind."""
    return message(b"S", zero_ended(name) + zero_ended(value))


def key_data(process: int, secret: bytes) -> bytes:
    """What a client has to say, on another connection, to cancel a query of this one."""
    return message(b"K", process.to_bytes(4, "big") + secret)


def negotiated(unknown: Iterable[str]) -> bytes:
    """That protocol 3.0 is spoken, whatever minor version was asked for, and what was asked for that is not known."""
    names = [zero_ended(name) for name in unknown]
    return message(b"v", (0).to_bytes(4, "big") + len(names).to_bytes(4, "big") + b"".join(names))


def ready(status: str) -> bytes:
    """That another query may come: I, or within a transaction T, or E where it has failed."""
    return message(b"Z", status.encode())


def complete(tag: str) -> bytes:
    """That a statement is done, and what it was."""
    return message(b"C", zero_ended(tag))


def row_description(columns: Sequence[Described], forms: Sequence[int]) -> bytes:
    """What the columns of rows are; `forms`: of each whether values are text (0) or binary (1)."""
    parts = [len(columns).to_bytes(2, "big")]
    for column, form in zip(columns, forms, strict=True):
        rest = struct.pack("!IHIhih", 0, 0, column.oid, column.size, column.modifier, form)
        parts.append(zero_ended(column.name) + rest)
    return message(b"T", b"".join(parts))


def parameter_description(oids: Sequence[int]) -> bytes:
    """The types of a statement's parameters."""
    return message(b"t", struct.pack(f"!H{len(oids)}I", len(oids), *oids))


def data_rows(columns: Sequence[Sequence[bytes | None]], rows: int) -> bytes:
    """Rows of encoded values, which are given by column."""
    count, pack = len(columns).to_bytes(2, "big"), struct.Struct("!I").pack
    fields = [[NULL if each is None else pack(len(each)) + each for each in column] for column in columns]
    found = []
    for row in zip(*fields, strict=True) if fields else [()] * rows:
        body = b"".join(row)
        found.append(b"D" + pack(len(body) + 6) + count + body)
    return b"".join(found)


def copy_response(kind: bytes, columns: int, form: int) -> bytes:
    """That values are to come (`G`) or follow (`H`), of so many columns, as text (0) or binary (1)."""
    return message(kind, struct.pack(f"!bH{columns}H", form, columns, *[form] * columns))


def told(kind: bytes, severity: str, code: str, text: str, **more: str) -> bytes:
    """An error (`E`) or a notice (`N`) with its SQLSTATE; `more` by the letters of the protocol: D, H, P."""
    fields = {
        "S": severity,
        "V": severity,
        "C": code,
        "M": text,
        **{key: value for key, value in more.items() if value},
    }
    return message(kind, b"".join(key.encode() + zero_ended(value) for key, value in fields.items()) + b"\0")
