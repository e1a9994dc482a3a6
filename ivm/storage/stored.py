"""What refers to a file that was written, and pages: files of plain data that say what they are."""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import pyarrow as pa

from ivm.catalog.errors import StorageError
from ivm.storage.storage import Readable, read_file

T = TypeVar("T")

_SUM_BYTES = 1 << 20
_FIRST_LINE = re.compile(rb"([a-z ]{1,32}), format (\d{1,9}), crc32 ([0-9a-f]{8})\n")


class Stored(NamedTuple):
    """A file that was written: its name, how many bytes it has, and zlib's CRC-32 of them."""

    file: str
    bytes: int
    crc: int


def read_stored(place: Readable, stored: Stored) -> pa.Buffer:
    """The bytes of a file. StorageError if they are not those that were written. Cost: a pass over them."""
    where, data = place.where(stored.file), read_file(place, stored.file)
    if data.size != stored.bytes:
        raise StorageError(
            f"cannot read {where}: it has {data.size} bytes, and {stored.bytes} were written; restore it from a backup"
        )
    view, total = memoryview(data), 0
    for start in range(0, len(view), _SUM_BYTES):  # so that other threads run in between
        total = zlib.crc32(view[start : start + _SUM_BYTES], total)
    if total != stored.crc:
        raise StorageError(
            f"cannot read {where}: it is damaged: its bytes are not those that were written; restore it from a backup"
        )
    return data


class Form(NamedTuple):
    """What pages of one kind are: JSON behind a line that says what it is, the number of the format, and zlib's CRC-32
    of the rest, in hexadecimal.
    """

    what: str
    format: int

    def page(self, plain: Any) -> bytes:
        """The bytes of a page of plain data."""
        text = json.dumps(plain, separators=(",", ":")).encode()
        return f"{self.what}, format {self.format}, crc32 {zlib.crc32(text):08x}\n".encode() + text

    def read(self, place: Readable, name: str, make: Callable[[Any], T]) -> T:
        """What `make` makes of the plain data of a page; it raises AttributeError, KeyError, TypeError or ValueError
        for what is none of its own. StorageError for whatever is wrong.
        """
        where, data = place.where(name), read_file(place, name).to_pybytes()
        first = _FIRST_LINE.match(data)
        if first is None or first[1].decode() != self.what:
            raise StorageError(f"cannot read {where}: it is damaged, or not written by ivm; restore it from a backup")
        if int(first[2]) != self.format:
            raise StorageError(
                f"cannot read {where}: it has format {int(first[2])}, and this release of ivm reads format "
                f"{self.format}; use the release that wrote it, the same on all machines"
            )
        text = data[first.end() :]
        if zlib.crc32(text) != int(first[3], 16):
            raise StorageError(f"cannot read {where}: it is damaged; restore it from a backup")
        try:
            return make(json.loads(text))
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise StorageError(
                f"cannot read {where}: it was not written by ivm: {error!r}; restore it from a backup"
            ) from error
