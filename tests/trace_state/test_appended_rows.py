"""Rows of a delta come to columns from where they lie, as its columns have them: in pieces, under references, NULL."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from ivm.catalog.types import BIGINT, BOOLEAN, DOUBLE, INTEGER, VARCHAR, SqlType, decimal
from ivm.kernels.memory.places import STRIDE
from ivm.trace.columns.batch import Batch, Reader, Readers
from ivm.trace.columns.column import Array, Column
from ivm.trace.columns.stored_columns import StoredColumns
from ivm.trace.delta import Columns, Delta, Group, Layout, Source
from ivm.trace.text.dictionary import TextDictionary
from ivm.trace.view_log import ViewLog
from tests.arrays import array_of

TYPES: list[SqlType] = [INTEGER, BIGINT, DOUBLE, BOOLEAN, VARCHAR, decimal(30, 2), decimal(9, 2)]
MADE = {
    "integer": lambda i: i,
    "bigint": lambda i: (1 << 40) + i,
    "double": lambda i: i / 4,
    "boolean": lambda i: i % 3 == 0,
    "varchar": lambda i: f"text {i % 50}",
}


def values_of(number: int, type_: SqlType, rows: int, seed: int, nulls: bool) -> list[Any]:
    made = MADE.get(str(type_).lower(), lambda i: i * 7 + number)
    return [None if nulls and (i + seed) % 5 == 0 else made(i + seed) for i in range(rows)]


class Given:
    """Sources of the same types, of any kind, over one dictionary."""

    def __init__(self) -> None:
        self.dictionary = TextDictionary()
        self.readers = Readers([Reader(each, self.dictionary) for each in TYPES])

    def batch(self, rows: int, seed: int, nulls: bool) -> Batch:
        """As rows come in: bits say what is NULL."""
        columns = [values_of(n, each, rows, seed, nulls) for n, each in enumerate(TYPES)]
        arrays = [hidden(array_of(values, each)) for values, each in zip(columns, TYPES, strict=True)]
        return Batch(pa.RecordBatch.from_arrays(arrays, names=[*map(str, range(len(TYPES)))]), self.readers)

    def columns(self, rows: int, seed: int, nulls: bool) -> Columns:
        """As the engine makes them: bytes say what is NULL, some of them far apart."""
        batch = self.batch(2 * rows, seed, nulls)
        taken = [batch.column(i) for i in range(len(TYPES))]
        return Columns([Column(c.values[::2], None if c.valid is None else c.valid[::2]) for c in taken])

    def pieces(self, rows: int, seed: int, nulls: bool) -> StoredColumns:
        """As a table keeps them: in several batches, of which some have NULL."""
        stored = StoredColumns(TYPES, self.dictionary, cold=True)
        for begin in range(0, rows, 100):
            size = min(100, rows - begin)
            stored.append(self.batch(size, seed + begin, nulls and begin % 200 == 0), size)
        return stored


def hidden(array: pa.Array) -> pa.Array:
    """The same array, where what is NULL lies on numbers that nobody is to see."""
    _, data = array.buffers()[:2]
    if array.null_count == 0 or not (pa.types.is_integer(array.type) or pa.types.is_floating(array.type)):
        return array
    values = np.frombuffer(data, array.type.to_pandas_dtype(), len(array)).copy()
    values[np.flatnonzero(array.is_null())] = 99
    return pa.Array.from_buffers(array.type, len(array), [array.buffers()[0], pa.py_buffer(values)])


def checked(found: Column, wanted: Column) -> None:
    """Both have the same values and the same NULLs."""
    there = np.ones(len(wanted), np.bool_) if wanted.valid is None else wanted.valid
    assert len(found) == len(wanted)
    assert (np.ones(len(found), np.bool_) if found.valid is None else found.valid).tolist() == there.tolist()
    assert found.values[there].tolist() == wanted.values[there].tolist()


def counted(columns: Sequence[Column], diffs: Sequence[int] | None = None) -> Counter[Any]:
    """How often each row is there."""
    values = [
        [value if there else None for value, there in zip(c.values.tolist(), c.valid, strict=True)]
        if c.valid is not None
        else c.values.tolist()
        for c in columns
    ]
    found = Counter[Any]()
    for number, row in enumerate(zip(*values, strict=True)):
        found[str(row)] += 1 if diffs is None else diffs[number]
    return found


def refs_of(rows: int, count: int, kind: str) -> Array | None:
    """References to rows, as int64 side by side, or such as kernels do not read."""
    picked = np.random.default_rng(count).integers(0, rows, count)
    match kind:
        case "none":
            return None
        case "side by side":
            return picked
        case "far apart":
            return np.repeat(picked, 2)[::2]
        case _:
            return picked.astype(np.int32)


@pytest.mark.parametrize("nulls", [(False, False), (False, True), (True, False)])
@pytest.mark.parametrize("refs", ["none", "side by side", "far apart", "short"])
@pytest.mark.parametrize("kind", ["batch", "columns", "pieces"])
def test_rows_are_appended_as_a_delta_has_them(kind: str, refs: str, nulls: Sequence[bool]) -> None:
    """To columns of a store and to a log; NULL first comes with the first rows, or with later ones, or not at all."""
    given = Given()
    stored = StoredColumns(TYPES, given.dictionary, cold=False)
    log = ViewLog(TYPES, given.dictionary)
    deltas = list[Delta]()
    for turn, each in enumerate(nulls):
        rows = 700
        source: Source = getattr(given, kind)(rows, 1000 * turn, each)
        other = given.columns(rows, 77, False)
        count = rows if refs == "none" else 600
        groups = [Group(source, refs_of(rows, count, refs)), Group(other, refs_of(rows, count, "side by side"))]
        layout = Layout([*((0, i) for i in range(len(TYPES) - 1)), (1, len(TYPES) - 1)])
        deltas.append(Delta(groups, layout, count, turn + 1))
        stored.append(deltas[-1], count)
        log.append(deltas[-1])
    log.seal(len(nulls) + 1, 0)
    logged, diffs = log.rows(None)
    assert counted(logged, diffs.tolist()) == sum((counted(each.columns()) for each in deltas), Counter())
    begin = 0
    for delta in deltas:
        for i in range(len(TYPES)):
            checked(stored.gather(i, slice(begin, begin + len(delta))), delta.column(i))
        begin += len(delta)


def test_what_is_null_is_zero() -> None:
    """Whatever lies there where it came: a code of another dictionary would be taken for a text."""
    given = Given()
    stored = StoredColumns(TYPES, given.dictionary, cold=False)
    batch = given.batch(300, 0, True)
    for refs in None, np.arange(299, -1, -1):
        stored.append(Delta([Group(batch, refs)], Layout([(0, i) for i in range(len(TYPES))]), 300, 1), 300)
    for i in range(len(TYPES)):
        column = stored.column(i)
        assert column.valid is not None
        assert not column.values[~column.valid].any()


def test_rows_go_and_come_back_by_other_layouts() -> None:
    """Taken back with the first NULL among them, come again without; and of more layouts than are remembered."""
    given = Given()
    stored, log, kept = StoredColumns(TYPES, given.dictionary, cold=False), ViewLog(TYPES, given.dictionary), []
    for turn in range(150):
        source, rows = given.batch(10, turn, turn % 3 == 1), np.arange(9, -1, -2)
        delta = Delta([Group(source, rows)], Layout([(0, i) for i in range(len(TYPES))]), 5, turn + 1)
        before, mark = stored.rows, log.mark()
        stored.append(delta, 5)
        log.append(delta)
        if turn % 3 == 1 and turn < 100:
            stored.truncate(before)
            log.rollback(mark)
            continue
        kept.append(delta)
    assert len(stored._sources) <= 64
    log.seal(151, 0)
    logged, diffs = log.rows(None)
    assert counted(logged, diffs.tolist()) == sum((counted(each.columns()) for each in kept), Counter())
    for number, delta in enumerate(kept):
        for i in range(len(TYPES)):
            checked(stored.gather(i, slice(5 * number, 5 * number + 5)), delta.column(i))


def test_a_column_told_of_while_it_was_empty_is_told_of_again() -> None:
    """Also to who asks for no rows yet, as an index does that is still to catch up with those that have come."""
    given = Given()
    stored = StoredColumns(TYPES, given.dictionary, cold=True)
    assert stored.places([1], 0)[1, STRIDE] == 0
    stored.append(given.batch(10, 0, False), 10)
    assert stored.places([1], 0)[1, STRIDE] == 8
