"""What arrives by a channel while a view is filled from it: the rows in parts, and what commits change meanwhile.

Rows and changes are parted by the same hash of all columns, so that what takes a row back is in the part of the row,
and the parts can be read one after the other, each net. What is kept is as it came: it has no codes of texts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from ivm.catalog.types import SqlType
from ivm.cluster.protocol.hashing import hashes_of
from ivm.cluster.protocol.routing import arrived
from ivm.kernels.types import Hashes
from ivm.trace.columns.arrow import numbers_from
from ivm.trace.columns.column import Bools, Ints
from ivm.trace.delta import Delta
from ivm.trace.text.dictionary import TextDictionary

_BITS = 64


class _Changes(NamedTuple):
    time: int
    batch: pa.RecordBatch
    hashes: Hashes


class Collected:
    """Rows of a channel, as parts and changes of commits. A commit's are tentative until `keep`."""

    def __init__(self, types: Sequence[SqlType], dictionary: TextDictionary) -> None:
        self._types = types
        self._dictionary = dictionary
        self._parts: dict[int, Sequence[pa.RecordBatch]] = {}
        self._of = 1
        self._changes: list[_Changes] = []
        self._kept = 0

    def put(self, part: int, of: int, batches: Sequence[pa.RecordBatch]) -> None:
        """The rows of a part, of so many. Called again, it changes nothing."""
        self._parts[part], self._of = batches, of

    def change(self, time: int, batches: Sequence[pa.RecordBatch]) -> None:
        """What a commit changes, up to its last time."""
        self._changes += [_Changes(time, each, row_hashes(each, self._types)) for each in batches]

    def undo(self) -> None:
        """The last commit's changes are not to be. It may be interrupted, and called again."""
        del self._changes[self._kept :]

    def keep(self) -> None:
        """They are final."""
        self._kept = len(self._changes)

    def as_of(self, time: int) -> Iterator[Delta]:
        """All rows as of a time, which is the present at the call, as updates at it; net, and a part in each chunk.

        Cost: that of taking texts into the dictionary, a copy of what is changed, and a pass that adds up there.
        """
        return self._read(time, [each for each in self._changes[: self._kept] if each.time <= time])

    def _read(self, time: int, changes: Sequence[_Changes]) -> Iterator[Delta]:
        for part in range(self._of):
            found = list(self._parts.get(part, ()))
            found += [batch for each in changes for batch in in_part(each.batch, each.hashes, part, self._of)]
            delta = arrived(found, self._types, self._dictionary, time)
            if delta is not None:
                yield delta


def row_hashes(batch: pa.RecordBatch, types: Sequence[SqlType]) -> Hashes:
    """A hash of all columns of each row that was sent, but for its time and its diff."""
    return hashes_of([batch.column(i) for i in range(len(types))], types, batch.num_rows)


def in_part(batch: pa.RecordBatch, hashes: Hashes, part: int, of: int) -> list[pa.RecordBatch]:
    """Those of the rows that are in a part, of so many, a power of two; none if there are none."""
    rows = _rows_of_part(hashes, part, of)
    if rows is None:
        return [batch] if batch.num_rows else []
    return [batch.take(numbers_from(rows))] if len(rows) else []


def _rows_of_part(hashes: Hashes, part: int, of: int) -> Ints | None:
    """The places of the rows that are in a part; None for all of them."""
    if of == 1:
        return None
    # By the highest bits: the lowest are what shards are chosen by.
    chosen: Bools = hashes >> np.uint64(_BITS + 1 - of.bit_length()) == np.uint64(part)
    return None if chosen.all() else np.flatnonzero(chosen)
