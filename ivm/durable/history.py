"""What the files of a log say, record by record, without any of it being applied: to check them, and to copy a part."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import takewhile
from typing import NamedTuple

import pyarrow as pa

from ivm.catalog.errors import StorageError
from ivm.durable.payload import KINDS, read_head
from ivm.storage.log import first_of, log_files, log_name
from ivm.storage.record import Gap, Record, Torn, whole_records
from ivm.storage.storage import Readable


class Entry(NamedTuple):
    """A whole record: its file, where it begins and ends there, its number, its kind, the logical time after it.

    `times`: the last one of each commit that it holds, none if it holds none.
    """

    file: str
    start: int
    end: int
    number: int
    kind: int
    time: int
    times: Sequence[int]


class Damage(NamedTuple):
    """What is no record where record `number` should be, and why it is none. `is_torn`: a crash may leave it."""

    file: str
    number: int
    why: str
    is_torn: bool = False


def history(storage: Readable, after: int) -> Iterator[Entry | Damage]:
    """The records of a log behind record `after` and what is wrong with it, in order.

    Cost: reads the log, and the heads of records.
    """
    number, torn, names = after, False, [name for name in log_files(storage) if first_of(name) > after]
    if not names and storage.names():
        yield Damage(log_name(after + 1), after + 1, "it is missing")
    for name in names:
        first = first_of(name)
        try:
            data = storage.read(name, mapped=False)
        except OSError as error:
            yield Damage(name, first, f"it cannot be read: {error.strerror or error}")
            number = first
            continue
        if first <= number + torn and data.size == 0:
            continue  # its making was given up
        if first != number + 1:
            yield Damage(name, number + 1, f"it begins at record {first}, where record {number + 1} is expected")
        elif torn:
            yield Damage(name, number + 1, "the file before it ends within a record")
        number, torn = first - 1, False
        try:
            for found in whole_records(data, first):
                torn = isinstance(found, Torn)
                yield _said(name, number + 1, found)
                if not torn:
                    number = found.found - 1 if isinstance(found, Gap) else number + 1
        except StorageError as error:
            yield Damage(name, number + 1, str(error))


def whole_before(found: Sequence[Entry | Damage]) -> list[Entry]:
    """The records before anything is wrong."""
    return [each for each in takewhile(lambda each: isinstance(each, Entry), found) if isinstance(each, Entry)]


def _said(file: str, number: int, found: Record | Gap | Torn) -> Entry | Damage:
    match found:
        case Gap():
            several = f"records {number} to {found.found - 1}" if found.found > number + 1 else f"record {number}"
            return Damage(file, number, f"{several}, bytes {found.at} to {found.end}, cannot be read")
        case Torn():
            return Damage(file, number, f"its last {found.bytes} bytes are no whole record", is_torn=True)
    try:
        head, _ = read_head(found.payload)
        time, times = head["time"], [each for each, _ in head.get("commits", ())]
    except (KeyError, TypeError, ValueError, pa.ArrowException) as error:
        return Damage(file, number, f"record {number} cannot be understood: {error!r}")
    if found.kind not in KINDS or not all(isinstance(each, int) for each in (time, *times)):
        return Damage(file, number, f"record {number} is of kind {found.kind}, which this release of ivm does not know")
    return Entry(file, found.start, found.end, number, found.kind, time, times)
