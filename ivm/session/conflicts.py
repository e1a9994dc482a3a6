"""How rows that are to be inserted meet those of a table."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from ivm.catalog.schema import Table
from ivm.trace.columns.arrow import to_arrow
from ivm.trace.columns.batch import Batch, Reader, Readers
from ivm.trace.columns.column import Bools, Ints
from ivm.trace.index.arrangement import Arrangement
from ivm.trace.rows.table_store import TableStore
from ivm.trace.text.dictionary import TextDictionary


def conflicts(
    store: TableStore, dictionary: TextDictionary, keys: Sequence[tuple[int, ...]], rows: pa.Table
) -> tuple[Ints, Ints, pa.Table]:
    """How `rows`, which have the table's columns, meet those of the table on any of the `keys`, sets of columns.

    The positions of those that meet nothing; of those that meet a row of the table; and the rows that these meet. Rows
    are looked at one after the other, as if each had been inserted alone: of those that agree with each other only the
    first is in either, as in DuckDB; a NULL meets nothing. The caller has the lock. Cost: a probe for each row and key,
    and a step in Python; text that is new is kept.
    """
    batch = _batch(store, dictionary, rows)
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
    return np.array(fresh, np.int64), np.array(meeting, np.int64), _gathered(store, dictionary, there[meeting])


def _looked_up(store: TableStore, key: tuple[int, ...], batch: Batch) -> tuple[list[bytes | None], Ints, Ints]:
    """How rows meet living ones on the columns `key`.

    Of each row its key as bytes, None if a NULL is in it; and (position, number of a living row with the same key).
    """
    words, dropped, positions, numbers = _probed(store, key, batch, store.last_time)
    packed = np.ascontiguousarray(words.reshape(len(batch), -1))
    keys: list[bytes | None] = packed.view(f"V{8 * packed.shape[1]}").ravel().tolist()
    if dropped is not None:
        keys = [None if gone else each for each, gone in zip(keys, dropped.tolist(), strict=True)]
    return keys, positions, numbers


def _probed(store: TableStore, key: tuple[int, ...], batch: Batch, time: int) -> tuple[Ints, Bools | None, Ints, Ints]:
    """The keys of rows as an index by `key` packs them, and (position, number of a row of that key) as of a time."""
    arrangement = _index(store, key)
    words, dropped = arrangement.layout.pack([batch.column(c) for c in key], len(batch))
    return words, dropped, *arrangement.probe(words, dropped, time, True)


def _index(store: TableStore, key: tuple[int, ...]) -> Arrangement:
    """An index of all rows by these columns: one that the table has, or else one that is made for this."""
    known = store.follower(key)
    if isinstance(known, Arrangement) and known.is_whole:
        return known
    made = store.arrangement(key, shared=False)
    for _ in made.fill():
        pass
    return made


def met_by(
    store: TableStore,
    dictionary: TextDictionary,
    keys: Sequence[tuple[int, ...]],
    rows: pa.Table,
    as_of: int | None = None,
) -> pa.Table:
    """The rows of the table that meet some of `rows` on any of the `keys`, each once, now or as of a time.

    Of `rows`, which have the table's columns, only those of keys are looked at. Cost: a probe for each row and key, and
    for a key that has no index that of an index.
    """
    batch = _batch(store, dictionary, rows)
    time = store.last_time if as_of is None else as_of
    found = [_probed(store, key, batch, time)[3] for key in keys]
    return _gathered(store, dictionary, np.unique(np.concatenate([np.empty(0, np.int64), *found])))


def unmet(store: TableStore, dictionary: TextDictionary, key: tuple[int, ...], rows: pa.Table) -> pa.Table:
    """Those of `rows`, which have the table's columns, that meet none of the table on `key`; see `met_by`."""
    met = _probed(store, key, _batch(store, dictionary, rows), store.last_time)[2]
    return rows.take(np.setdiff1d(np.arange(rows.num_rows), met)) if len(met) else rows


def store_of(table: Table, dictionary: TextDictionary, rows: pa.Table) -> TableStore:
    """A table of these rows."""
    store = TableStore(table, dictionary)
    if rows.num_rows:
        store.apply(rows, None, 1)
        store.seal(2, 1)
    return store


def _batch(store: TableStore, dictionary: TextDictionary, rows: pa.Table) -> Batch:
    return Batch(rows, Readers([Reader(field.type, dictionary) for field in store.table.fields]))


def _gathered(store: TableStore, dictionary: TextDictionary, numbers: Ints) -> pa.Table:
    """Rows by their numbers."""
    fields = store.table.fields
    columns = [to_arrow(store.store.gather(c, numbers), f.type, dictionary.now()) for c, f in enumerate(fields)]
    return pa.table(columns, names=[field.name for field in fields])
