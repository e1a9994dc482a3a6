"""Hot columns of a store: all that have no NULL are appended to by one kernel, the others each by itself."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from ivm.catalog import types
from ivm.catalog.types import Physical, decimal
from ivm.kernels.memory.places import ADDRESS, PIECES, STRIDE
from ivm.trace.columns.arrow import to_arrow
from ivm.trace.columns.batch import Batch, Reader, Readers
from ivm.trace.columns.column import Column, concat
from ivm.trace.columns.stored_columns import StoredColumns
from ivm.trace.delta import Columns, Delta, Group, delta_of, plain_layout
from ivm.trace.text.dictionary import TextDictionary

TYPES = (types.BIGINT, types.INTEGER, types.BOOLEAN, types.DOUBLE, decimal(38, 2), types.VARCHAR)


def _column(type_, rows, nulls, random):
    values = random.integers(0, 2, (rows, 2) if type_.physical is Physical.WIDE else rows)
    if random.random() < 0.3:  # as a column lies among others
        values = np.repeat(values, 2, axis=0)[::2]
    made = {Physical.BOOL: np.bool_, Physical.FLOAT64: np.float64, Physical.INT64: np.int64, Physical.WIDE: np.int64}
    column = Column(values.astype(made.get(type_.physical, np.int32)))
    return Column(column.values, random.random(rows) < 0.5) if nulls else column


def test_they_hold_what_came_however_it_came():
    random = np.random.default_rng(3)
    for _ in range(12):
        stored = StoredColumns(TYPES, TextDictionary(), cold=False)
        came: list[list[Column]] = [[] for _ in TYPES]
        nullable = random.random(len(TYPES)) < 0.3
        for rows in [1, 0, 3, 1500, 1, 40, 3000]:
            columns = [
                _column(each, rows, null and random.random() < 0.5, random)
                for each, null in zip(TYPES, nullable, strict=True)
            ]
            before = stored.rows
            if random.random() < 0.5:
                stored.append(delta_of(columns, 1, None, rows), rows)
            else:  # of several sources, and by reference
                taken = np.arange(rows)[::-1].copy()
                layout = plain_layout(len(TYPES)).bind(1, 2, 3)
                groups = [Group(Columns(columns), taken), Group(Columns(columns[2:5]), taken)]
                stored.append(Delta(groups, layout, rows, 1), rows)
                columns = [column.take(taken) for column in columns]
            if rows and random.random() < 0.3:
                stored.truncate(before)
                continue
            for each, column in zip(came, columns, strict=True):
                each.append(column)
        for index, each in enumerate(came):
            found, expected = stored.column(index), concat(each)
            masks = [np.ones(stored.rows, np.bool_) if c.valid is None else c.valid for c in (found, expected)]
            np.testing.assert_array_equal(masks[0], masks[1])
            np.testing.assert_array_equal(found.values[masks[0]], expected.values[masks[0]])


def test_a_text_that_becomes_hot_is_told_where_it_lies_once_all_rows_are_there():
    dictionary = TextDictionary()
    fields = (types.VARCHAR, types.BIGINT)
    readers = Readers([Reader(each, dictionary) for each in fields])

    def batch(begin, end):
        some = pa.table({"t": [f"text {i % 7}" for i in range(begin, end)], "n": list(range(begin, end))})
        return Batch(some, readers)

    stored = StoredColumns(fields, dictionary, cold=True)
    stored.append(batch(0, 40_000), 40_000)
    stored.tidy()
    assert stored.places([0])[0, STRIDE] == 0
    heating = stored.heat(0)
    next(heating)
    stored.append(batch(40_000, 40_010), 10)
    stored.tidy()
    assert stored.places([0])[0, STRIDE] == 0
    assert list(heating)
    stored.append(batch(40_010, 40_020), 10)
    stored.tidy()
    place, column = stored.places([0, 1])[0], stored.column(0)
    assert (place[ADDRESS], place[STRIDE], place[PIECES]) == (column.values.ctypes.data, 4, 0)
    assert stored.places([0, 1])[1, PIECES] != 0
    texts = to_arrow(column, types.VARCHAR, dictionary.now()).to_pylist()
    assert texts == [f"text {i % 7}" for i in range(40_020)]
