"""INSERT ... ON CONFLICT: which of the rows to be inserted meet rows that are there, or earlier ones of their own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from ivm.trace.arrow import Reader, to_arrow
from ivm.trace.batch import Batch
from ivm.trace.column import Ints
from ivm.trace.dictionary import TextDictionary
from ivm.trace.table_store import TableStore


@dataclass(frozen=True, slots=True)
class Conflicts:
    """What becomes of rows that are to be inserted, by their positions.

    `fresh` meet nothing. `meeting` meet a row of the table: row i of `met` is the one that meeting[i] meets. Of rows
    that agree with each other only the first is in either, as in DuckDB.
    """

    fresh: Ints
    meeting: Ints
    met: pa.Table


def conflicts(
    store: TableStore, dictionary: TextDictionary, keys: Sequence[tuple[int, ...]], rows: pa.Table
) -> Conflicts:
    """How `rows`, which have the table's columns, meet those of the table on any of the `keys`, sets of columns.

    Rows are looked at one after the other, as if each had been inserted alone; a NULL meets nothing. The caller has the
    lock. Cost: a probe for each row and key, and a step in Python; text that is new is kept.
    """
    batch = Batch(rows, [Reader(field.type, dictionary) for field in store.table.fields])
    found = [_looked_up(store, key, batch) for key in keys]
    there = np.full(rows.num_rows, -1, np.int64)
    for _, positions, numbers in found:
        there[positions] = numbers
    taken: list[set[bytes | None]] = [set() for _ in keys]
    fresh, meeting = [], []
    for place, number in enumerate(there.tolist()):
        own = [words[place] for words, _, _ in found]
        if any(key is not None and key in seen for key, seen in zip(own, taken, strict=True)):
            continue
        if number < 0:
            fresh.append(place)
        else:
            meeting.append(place)
            own = own if len(keys) == 1 else []  # what is ignored takes no place
        for key, seen in zip(own, taken, strict=False):
            seen.add(key)
    met = np.array(meeting, np.int64)
    return Conflicts(np.array(fresh, np.int64), met, _rows_at(store, dictionary, there[met]))


def _looked_up(store: TableStore, key: tuple[int, ...], batch: Batch) -> tuple[list[bytes | None], Ints, Ints]:
    """How rows meet living ones on the columns `key`, of which the table has an index.

    Of each row its key as bytes, None if a NULL is in it; and (position, number of a living row with the same key).
    """
    arrangement = store.arrangement(key)
    arrangement.catch_up()
    words, dropped = arrangement.layout.pack([batch.column(c) for c in key], len(batch))
    positions, numbers = arrangement.probe(words, dropped, store.last_time, True)
    packed = np.ascontiguousarray(words.reshape(len(batch), -1))
    keys: list[bytes | None] = packed.view(f"V{8 * packed.shape[1]}").ravel().tolist()
    if dropped is not None:
        keys = [None if gone else each for each, gone in zip(keys, dropped.tolist(), strict=True)]
    return keys, positions, numbers


def _rows_at(store: TableStore, dictionary: TextDictionary, numbers: Ints) -> pa.Table:
    fields = store.table.fields
    columns = [to_arrow(store.store.gather(c, numbers), f.type, dictionary.now()) for c, f in enumerate(fields)]
    return pa.table(columns, names=[field.name for field in fields])
