"""Records: how a log keeps one commit, so that a reader knows whether it is whole, and who came before.

A record is a header of HEADER bytes and its payload, padded with zeros to a multiple of 8:

| bytes | | |
|---|---|---|
| 0 | 4 | `ivmR` |
| 4 | 2 | the version of this form, 1 |
| 6 | 2 | the kind of the payload |
| 8 | 8 | the bytes of the payload |
| 16 | 8 | the number of the record: one more than that of the one before |
| 24 | 8 | the number up to which records were certain to survive a loss of power when this one was written |
| 32 | 4 | zlib's CRC-32 of the payload |
| 36 | 4 | zlib's CRC-32 of the 36 bytes before |

All numbers are unsigned, the low byte first. A record whose commit is not decided yet has zeros in place of its header.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator, Sequence
from struct import Struct
from typing import NamedTuple

import pyarrow as pa

from ivm.catalog.errors import StorageError

MAGIC = b"ivmR"
VERSION = 1
_SAID = Struct("<4sHHQQQI")
_SUM = Struct("<I")
HEADER = _SAID.size + _SUM.size
UNDECIDED = bytes(HEADER)
"""What is written in place of a header before it is known whether the record counts: to readers it is no record."""
_STEP = 8
_ZEROS = bytes(_STEP)
_FEW_BYTES = 1 << 19
_MAGICS = re.compile(re.escape(MAGIC))


class Record(NamedTuple):
    """One record of a log: its number, what its payload is, and that; its first byte, and the one behind it."""

    number: int
    kind: int
    payload: pa.Buffer
    start: int
    end: int


class Torn(NamedTuple):
    """What is behind the last whole record of a log, from byte `at` on: so many bytes that a crash left there."""

    at: int
    bytes: int


class Gap(NamedTuple):
    """Bytes of a log, up to `end`, that were record `number` and maybe more, and are damaged: no crash did that.

    Behind them is record `found`, which is whole.
    """

    number: int
    at: int
    end: int
    found: int


def written(kind: int, number: int, settled: int, payload: Sequence[bytes | memoryview]) -> list[bytes | memoryview]:
    """A record's bytes, piece by piece; those of the payload are not copied, if they are many."""
    if sum(map(len, payload)) < _FEW_BYTES:  # each sum of a piece lets other threads in, which takes longer than a copy
        payload = [b"".join(payload)]
    length, total = 0, 0
    for piece in payload:
        length += len(piece)
        total = zlib.crc32(piece, total)
    said = _SAID.pack(MAGIC, VERSION, kind, length, number, settled, total)
    return [said + _SUM.pack(zlib.crc32(said)), *payload, _ZEROS[: -length % _STEP]]


def records(data: pa.Buffer, first: int, where: str) -> Iterator[Record | Torn]:
    """The records that `data` begins with, the first of which has this number; last what a crash left, if anything.

    StorageError where a record is broken that was certain to survive, by what one behind it says, and for one that a
    later version wrote. Cost: reads all of `data`.
    """
    for found in whole_records(data, first):
        if isinstance(found, Gap):
            raise StorageError(
                f"cannot read {where}: record {found.number}, at byte {found.at}, is damaged, and record {found.found} "
                "behind it is whole, so no crash did that; `ivm recover` makes a copy of what is before it"
            )
        yield found


def whole_records(data: pa.Buffer, first: int) -> Iterator[Record | Gap | Torn]:
    """As `records`, but what is damaged in the middle is told, and the whole records behind it are given too."""
    view, at, number = memoryview(data), 0, first
    while at < len(view):
        found = _record(view, at)
        if found is not None and found.number == number:
            yield Record(number, found.kind, data.slice(at + HEADER, found.length), at, found.end)
            at, number = found.end, number + 1
            continue
        gap = _gap(view, at, number)
        yield gap or Torn(at, len(view) - at)
        if gap is None:
            return
        at, number = gap.end, gap.found


class _Header(NamedTuple):
    kind: int
    length: int
    number: int
    settled: int
    end: int


def _record(view: memoryview, at: int) -> _Header | None:
    """The header of the whole record at a place; None if there is none."""
    found = _header(view, at)
    if found is None:
        return None
    start = at + HEADER
    total = _SAID.unpack_from(view, at)[-1]
    return found if zlib.crc32(view[start : start + found.length]) == total else None


def _header(view: memoryview, at: int) -> _Header | None:
    if at + HEADER > len(view):
        return None
    magic, version, kind, length, number, settled, _ = _SAID.unpack_from(view, at)
    (total,) = _SUM.unpack_from(view, at + _SAID.size)
    if magic != MAGIC or zlib.crc32(view[at : at + _SAID.size]) != total:
        return None
    if version > VERSION:
        raise StorageError(
            f"cannot read a record of version {version}: this release of ivm reads version {VERSION}; open it with the "
            "release that wrote it"
        )
    end = at + HEADER + length + -length % _STEP
    return _Header(kind, length, number, settled, end) if end <= len(view) else None


def _gap(view: memoryview, at: int, number: int) -> Gap | None:
    """What is damaged at a place, if a record behind it says that it was certain to survive."""
    behind: tuple[int, int] | None = None
    for met in _MAGICS.finditer(view, at + _STEP):
        found = _record(view, met.start()) if (met.start() - at) % _STEP == 0 else None
        if found is not None and found.number > number:
            behind = behind or (met.start(), found.number)
            if found.settled >= number:
                return Gap(number, at, *behind)
    return None
