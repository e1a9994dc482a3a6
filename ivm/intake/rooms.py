"""Room in a page of rows for the values of a column, which are written to where Arrow reads them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from struct import Struct
from typing import Any

import numpy as np
import pyarrow as pa

from ivm.catalog.json_texts import is_json
from ivm.catalog.types import MAX_DIGITS, Kind, SqlType
from ivm.intake.plain_values import Makers, makers_of
from ivm.trace.columns.arrow import arrow_type, item_of
from ivm.trace.columns.column import Array

ENDS = np.dtype(np.int32)
"""Where texts end."""
_PAIR, _LOW = 16, (1 << 64) - 1
_pack = Struct("<Qq").pack_into
NOT_PLAIN = ValueError, OverflowError, KeyError
"""What a value raises that is not written here: its type is no plain one (see `Makers`), or it does not fit."""
WRITTEN = (Kind.VARCHAR, Kind.JSON, Kind.BLOB, Kind.UUID)
"""What is written as bytes, one value after the other."""


class FullError(Exception):
    """Bytes do not go into the room that there is."""


class Room(ABC):
    """Room in a page for a column."""

    @abstractmethod
    def write(self, at: int, value: Any, is_stored: bool) -> bool:
        """Write the value of row `at`: in physical form if that `is_stored`, but for texts; whether it is NULL.

        One of `NOT_PLAIN` where it is not plain, or does not fit; FullError where the room does not do.
        """

    def put(self, at: int, values: Sequence[Any], is_stored: bool) -> bool:
        """The same of values, at least one, from row `at` on; whether some are NULL."""
        for place, value in enumerate(values, at):
            self.write(place, value, is_stored)
        return False

    @abstractmethod
    def skip(self, at: int) -> None:
        """Row `at` has no value."""

    @abstractmethod
    def buffers(self) -> list[pa.Buffer]:
        """What Arrow is to read."""


class _Numbers(Room):
    """Room for numbers of one size, of values that are made into them."""

    def __init__(self, items: Array, makers: Makers) -> None:
        self._items, self._makers = items, makers

    def put(self, at: int, values: Sequence[Any], is_stored: bool) -> bool:
        """See `Room.put`: all of them at once."""
        if not is_stored:
            values = _made(values, self._makers)
        elif None in values:
            raise ValueError("it is NULL")
        self._items[at : at + len(values)] = np.array(values, self._items.dtype)
        return False

    def write(self, at: int, value: Any, is_stored: bool) -> bool:
        """See `Room.write`."""
        if not is_stored:
            make = self._makers[type(value)]
            if make is not None:
                value = make(value)
        elif value is None:
            raise ValueError("it is NULL")
        self._items[at] = value
        return False

    def skip(self, at: int) -> None:
        """See `Room.skip`."""
        self._items[at] = 0

    def buffers(self) -> list[pa.Buffer]:
        """See `Room.buffers`."""
        return [pa.py_buffer(self._items)]


class _Pairs(Room):
    """Room for numbers of 128 bits that stay below a bound."""

    def __init__(self, rows: int, makers: Makers, bound: int) -> None:
        self._bytes = bytearray(_PAIR * rows)
        self._makers, self._bound = makers, bound

    def write(self, at: int, value: Any, is_stored: bool) -> bool:
        """See `Room.write`."""
        if not is_stored:
            make = self._makers[type(value)]
            if make is not None:
                value = make(value)
        if value is None or not -self._bound < value < self._bound:
            raise OverflowError(value)
        _pack(self._bytes, _PAIR * at, value & _LOW, value >> 64)
        return False

    def skip(self, at: int) -> None:
        """See `Room.skip`."""
        _pack(self._bytes, _PAIR * at, 0, 0)

    def buffers(self) -> list[pa.Buffer]:
        """See `Room.buffers`."""
        return [pa.py_buffer(self._bytes)]


class _Bits(Room):
    """Room for truth values, or for which values are there."""

    def __init__(self, rows: int) -> None:
        self._bits = bytearray(rows + 7 >> 3)

    def write(self, at: int, value: Any, is_stored: bool) -> bool:
        """See `Room.write`."""
        if type(value) is not bool:
            raise ValueError(value)
        bits, bit = self._bits, 1 << (at & 7)
        bits[at >> 3] = bits[at >> 3] & ~bit | (bit if value else 0)
        return False

    def fill(self, at: int, count: int) -> None:
        """So many are true from `at` on."""
        for place in range(at, at + count):
            self._bits[place >> 3] |= 1 << (place & 7)

    def skip(self, at: int) -> None:
        """See `Room.skip`."""
        self.write(at, False, True)

    def buffers(self) -> list[pa.Buffer]:
        """See `Room.buffers`."""
        return [pa.py_buffer(self._bits)]


class Bytes(Room):
    """Room for texts or strings of bytes, one after the other."""

    def __init__(self, rows: int, size: int, makers: Makers) -> None:
        self._ends = np.zeros(rows + 1, ENDS).data
        self._bytes, self._size = memoryview(bytearray(size)), size
        self._makers = makers

    def write(self, at: int, value: Any, is_stored: bool) -> bool:
        """See `Room.write`."""
        make = self._makers[type(value)]
        if make is not None:
            value = make(value)
        given = value.encode() if isinstance(value, str) else value
        begin = self._ends[at]
        end = begin + len(given)
        if end > self._size:
            raise FullError
        self._bytes[begin:end] = given
        self._ends[at + 1] = end
        return False

    def skip(self, at: int) -> None:
        """See `Room.skip`."""
        self._ends[at + 1] = self._ends[at]

    def buffers(self) -> list[pa.Buffer]:
        """See `Room.buffers`."""
        return [pa.py_buffer(self._ends), pa.py_buffer(self._bytes)]


class Nullable:
    """Room for values of which some may be NULL."""

    def __init__(self, room: Room, rows: int) -> None:
        self._room, self.there = room, _Bits(rows)

    def put(self, at: int, values: Sequence[Any], is_stored: bool) -> bool:
        """See `Room.put`."""
        there = [value is not None for value in values]  # `None in values` would ask values of any class
        if False not in there:
            self.there.fill(at, len(values))
            return self._room.put(at, values, is_stored)
        for place, value in enumerate(values, at):
            self.write(place, value, is_stored)
        return True

    def write(self, at: int, value: Any, is_stored: bool) -> bool:
        """See `Room.write`."""
        is_there = value is not None
        self.there.write(at, is_there, True)
        if is_there:
            return self._room.write(at, value, is_stored)
        self._room.skip(at)
        return True


class _Json(Bytes):
    """Room for texts that are JSON to everybody."""

    def write(self, at: int, value: Any, is_stored: bool) -> bool:
        """See `Room.write`."""
        if type(value) is not str or not is_json(value):
            raise ValueError("it takes DuckDB to say whether this is JSON")
        return super().write(at, value, is_stored)


def room_for(type_: SqlType) -> Callable[[int, int], Room] | None:
    """What makes room for so many rows of a type, and bytes of text; None if its values are not written here."""
    kind, makers = type_.kind, makers_of(type_)
    if kind is Kind.BOOLEAN:
        return lambda rows, _: _Bits(rows)
    if makers is None:
        return None
    if kind in (Kind.DECIMAL, Kind.HUGEINT):
        bound = 10 ** (type_.precision if kind is Kind.DECIMAL else MAX_DIGITS)
        return lambda rows, _: _Pairs(rows, makers, bound)
    if kind in WRITTEN:
        room = _Json if kind is Kind.JSON else Bytes
        return lambda rows, size: room(rows, size, makers)
    given = arrow_type(type_)
    dtype = np.dtype(item_of(given.index_type if kind is Kind.ENUM else given))
    return lambda rows, _: _Numbers(np.zeros(rows, dtype), makers)


def _made(values: Sequence[Any], makers: Makers) -> Sequence[Any]:
    """The stored forms of values; one of `NOT_PLAIN` where one is not plain."""
    kinds = set(map(type, values))
    if len(kinds) > 1:
        made = {kind: makers[kind] for kind in kinds}
        return [value if (make := made[type(value)]) is None else make(value) for value in values]
    (kind,) = kinds
    make = makers[kind]
    return values if make is None else list(map(make, values))
