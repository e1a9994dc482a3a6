"""What was told of stored columns holds until the edition changes, whatever comes, goes and is read meanwhile."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from contextlib import suppress
from types import FrameType
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from ivm.catalog.types import BIGINT, DATE, SqlType, decimal
from ivm.trace.columns.batch import Batch, Reader, Readers
from ivm.trace.columns.column import Column, Ints
from ivm.trace.columns.computed import Read
from ivm.trace.columns.exported import stride_of
from ivm.trace.columns.stored_columns import StoredColumns
from ivm.trace.columns.stored_rows import StoredRows
from ivm.trace.delta import Delta, Group, Source, plain_layout
from ivm.trace.text.dictionary import TextDictionary

TYPES: list[SqlType] = [BIGINT, decimal(9, 2), DATE]
FORMS = [[pa.int32(), pa.int64()], [pa.decimal32(9, 2), pa.decimal64(9, 2)], [pa.date32()]]


def in_form(numbers: pa.Array, form: pa.DataType) -> pa.Array:
    """These numbers, int32, in the form."""
    if not pa.types.is_decimal(form):
        return numbers.cast(form)
    wide = numbers.cast(pa.int64()) if form.bit_width == 64 else numbers
    return pa.Array.from_buffers(form, len(wide), wide.buffers())


class AsTold(Source):
    """The columns as they were told of, read by nothing else."""

    def __init__(self, places: Ints) -> None:
        self._places = places

    def places(self, columns: Iterable[int]) -> Ints:
        return self._places

    def column(self, index: Read) -> Column:
        raise AssertionError("kernels go by places")


class Told:
    """Columns in batches, and what a reader was told of them."""

    def __init__(self, seed: int, odd: float = 0.1) -> None:
        """`odd`: how many of the columns that come are unlike the others, or have a NULL."""
        self.odd = odd
        self.random = np.random.default_rng(seed)
        self.dictionary = TextDictionary()
        self.readers = Readers([Reader(each, self.dictionary) for each in TYPES])
        self.stored = StoredColumns(TYPES, self.dictionary, cold=True)
        self.stored.want(range(len(TYPES)))
        self.begins: list[int] = []
        self.edition, self.places = -1, np.zeros(0, np.int64)
        self.went_on = 0

    def batch(self, rows: int) -> Batch:
        """Rows that come, as a look at them says where they lie; some in another width than those before, or NULL."""
        arrays = []
        for forms in FORMS:
            form = forms[-1] if self.random.random() < self.odd else forms[0]
            values = pa.array(self.random.integers(0, 1000, rows).astype(np.int32))
            array = in_form(values, form)
            if self.random.random() < self.odd:
                array = pa.array([None, *array[1:].to_pylist()], form)
            arrays.append(array)
        record = pa.RecordBatch.from_arrays(arrays, names=["0", "1", "2"])
        known = Batch(record, self.readers)
        addresses = known.places(()).copy()
        strides = [stride_of(array.type, each) for array, each in zip(arrays, TYPES, strict=True)]
        assert addresses[:, 1].tolist() == strides
        return Batch(record, self.readers, addresses)

    def come(self) -> None:
        rows = 600 if self.random.random() < 0.03 else int(self.random.integers(1, 4))
        self.begins.append(self.stored.rows)
        self.stored.append(self.batch(rows), rows)

    def go(self) -> None:
        if self.begins:
            self.stored.truncate(self.begins.pop())

    def read(self) -> None:
        rows = self.random.integers(0, max(self.stored.rows, 1), min(self.stored.rows, 5))
        self.stored.gather(int(self.random.integers(0, len(TYPES))), np.sort(rows))

    def tidy(self) -> None:
        self.begins.clear()
        self.stored.tidy()

    def check(self) -> None:
        """Read all by what was told; ask first only if the edition has changed: else the same would be told now."""
        stored, edition = self.stored, int(self.stored.edition[0])
        if edition != self.edition:
            stored.tell_wanted()
            self.edition, self.places = int(stored.edition[0]), stored.places(())
        else:
            self.went_on += 1
            before = self.places.copy()
            stored._told.clear()
            stored.tell_wanted()
            np.testing.assert_array_equal(before, stored.places(()))
        copied = StoredColumns(TYPES, self.dictionary, cold=False)
        delta = Delta([Group(AsTold(self.places))], plain_layout(len(TYPES)), stored.rows, 1)
        copied.append(delta, stored.rows)
        for index in range(len(TYPES)):
            found, wanted = copied.column(index), stored.column(index)
            assert _shown(found) == _shown(wanted)
        self.check_some(self.random.integers(0, stored.rows, self.random.choice([1, 3, 100])))

    def check_some(self, numbers: Ints) -> None:
        """Read some rows, of which as few columns are asked for as may be, by where they were copied to."""
        rows, copied = StoredRows(self.stored, numbers), StoredColumns(TYPES, self.dictionary, cold=False)
        for index in self.random.permutation(len(TYPES)):
            places = rows.places([index])
        copied.append(Delta([Group(AsTold(places))], plain_layout(len(TYPES)), len(numbers), 1), len(numbers))
        for index in range(len(TYPES)):
            assert _shown(copied.column(index)) == _shown(self.stored.gather(index, numbers))


def _shown(column: Column) -> list[object]:
    values = column.values.tolist()
    return (
        values
        if column.valid is None
        else [v if there else None for v, there in zip(values, column.valid, strict=True)]
    )


@pytest.mark.parametrize("seed", range(20))
def test_what_was_told_holds_until_the_edition_changes(seed: int) -> None:
    told = Told(seed)
    for _ in range(100):
        steps = [*(told.come,) * 4, told.go, told.read, told.tidy]
        steps[told.random.integers(len(steps))]()
        if told.stored.rows and told.random.random() < 0.7:
            told.check()
    assert told.went_on > 5


@pytest.mark.parametrize("seed", range(6))
def test_what_was_told_holds_while_batches_are_put_together(seed: int) -> None:
    told = Told(seed, odd=0.01)
    for _ in range(200):
        told.come()
        told.tidy()
        if told.random.random() < 0.5:
            told.tidy()
        told.check()
    assert told.went_on > 50


@pytest.mark.parametrize("seed", range(6))
def test_putting_together_goes_on_where_it_was_interrupted(seed: int) -> None:
    told = Told(seed, odd=0.01)
    for _ in range(150):
        told.come()
        interrupt(told, int(told.random.integers(0, 100)))
        told.tidy()
        told.check()


def interrupt(told: Told, line: int) -> None:
    """Tidy up until a line of what does it."""
    left = line

    def trace(frame: FrameType, event: str, argument: Any) -> Any:
        nonlocal left
        if "/ivm/trace/columns/" in frame.f_code.co_filename and event == "line":
            left -= 1
            if left < 0:
                raise KeyboardInterrupt
        return trace

    before = sys.gettrace()
    with suppress(KeyboardInterrupt):
        sys.settrace(trace)
        try:
            told.tidy()
        finally:
            sys.settrace(before)


def test_rows_that_lie_alike_change_no_edition() -> None:
    told = Told(0)
    stored, arrays = told.stored, [in_form(pa.array([1, 2], pa.int32()), forms[0]) for forms in FORMS]
    for _ in range(5):
        record = pa.RecordBatch.from_arrays(arrays, names=["0", "1", "2"])
        known = Batch(record, told.readers)
        stored.append(Batch(record, told.readers, known.places(()).copy()), 2)
        if stored.rows == 2:
            stored.tell_wanted()
            edition = int(stored.edition[0])
        stored.tidy()
        assert int(stored.edition[0]) == edition
