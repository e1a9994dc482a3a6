"""Loops over columns however deltas hold them: in one piece or in many, with and without NULLs; against the interpreter."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from ivm.catalog.types import BIGINT, BOOLEAN, DATE, DOUBLE, HUGEINT, INTEGER, VARCHAR, SqlType, decimal
from ivm.plan.mfp import Mfp
from ivm.render.scalars.compiler import Compiler
from ivm.render.scalars.program import MfpProgram
from ivm.render.scalars.writer import Masked
from ivm.sql.ir.scalar import Call, Column, Literal, Scalar
from ivm.trace.columns.arrow import arrow_type
from ivm.trace.columns.batch import Batch, Reader, Readers
from ivm.trace.delta import Delta, Group, Layout, Source, plain_layout
from ivm.trace.rows.row_store import RowStore
from ivm.trace.text.dictionary import TextDictionary
from tests.scalars.oracle import is_compiled, python_of

TYPES: tuple[SqlType, ...] = (INTEGER, BIGINT, decimal(15, 2), HUGEINT, DOUBLE, DATE, BOOLEAN, VARCHAR)
COMPILER = Compiler(wait=True)
VALUES: dict[SqlType, Any] = {
    DOUBLE: st.floats(allow_nan=False),
    BOOLEAN: st.booleans(),
    VARCHAR: st.sampled_from(["", "a", "bc"]),
    HUGEINT: st.integers(-(10**30), 10**30),
}
FEW = settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck), phases=[Phase.generate])


def programs(dictionary: TextDictionary, nullable: bool) -> list[MfpProgram]:
    """All columns of rows whose first is above 2 or NULL, and what is computed of some; interpreted, and compiled."""
    columns = [Column(i, type_, nullable) for i, type_ in enumerate(TYPES)]
    first: Scalar = Call("gt", (columns[0], Literal(2, INTEGER)), BOOLEAN, nullable)
    predicate = Call("or", (first, Call("is_null", (columns[0],), BOOLEAN, False)), BOOLEAN, nullable)
    sum_ = Call("add", (columns[0], columns[0]), BIGINT, nullable)
    maps: tuple[Scalar, ...] = (*columns, sum_, Call("is_null", (columns[2],), BOOLEAN, False))
    width = len(columns)
    mfp = Mfp(width, maps, (predicate,), tuple(range(width, width + len(maps))), gathered=True)
    return [MfpProgram(mfp, dictionary, compiler) for compiler in (None, COMPILER)]


def array_of(values: list[Any], type_: SqlType) -> pa.Array:
    """A slice of something longer."""
    given_type = arrow_type(type_)
    made: list[Any] = [None, *values, None]
    if pa.types.is_decimal(given_type):
        whole = pa.array(made, pa.decimal128(38, 0))
        buffers = whole.buffers()
        return pa.Array.from_buffers(given_type, len(made), buffers)[1:-1]
    return pa.array(made, pa.int32()).cast(given_type)[1:-1] if type_ is DATE else pa.array(made, given_type)[1:-1]


def rows_of(delta: Delta | None, dictionary: TextDictionary) -> list[tuple[Any, ...]]:
    if delta is None:
        return []
    types = (*TYPES, BIGINT, BOOLEAN)
    return list(zip(*(python_of(delta.column(i), t, dictionary) for i, t in enumerate(types)), strict=True))


def drawn(data: Any, nullable: bool, least: int = 1) -> list[list[Any]]:
    """Values of each column."""
    number = st.integers(-5, 10)
    rows = data.draw(st.integers(least, 12))
    return [
        data.draw(st.lists((st.none() | v) if nullable else v, min_size=rows, max_size=rows))
        for v in (VALUES.get(t, number) for t in TYPES)
    ]


def table_of(columns: list[list[Any]], chunks: int = 1, encoding: pa.DataType | None = None) -> pa.Table:
    arrays = [array_of(values, type_) for values, type_ in zip(columns, TYPES, strict=True)]
    if encoding is not None:
        arrays[7] = arrays[7].cast(encoding)
    table = pa.table(arrays, names=[f"c{i}" for i in range(len(TYPES))])
    return pa.concat_tables([table] * chunks) if chunks > 1 else table


@FEW
@given(data=st.data())
def test_batches_with_and_without_nulls(data: Any) -> None:
    dictionary = TextDictionary()
    readers = Readers([Reader(type_, dictionary) for type_ in TYPES])
    for nullable in (False, True):
        slow, fast = programs(dictionary, nullable)
        for nulls in (False, nullable, False):
            chunks = data.draw(st.integers(1, 2))
            batch = Batch(table_of(drawn(data, nulls), chunks), readers)
            refs = None
            if data.draw(st.booleans()):
                refs = np.array(data.draw(st.lists(st.integers(0, len(batch) - 1), min_size=1)), np.int64)
            length = len(batch) if refs is None else len(refs)
            delta = Delta([Group(batch, refs)], plain_layout(len(TYPES)), length, 1)
            assert rows_of(fast.run(delta), dictionary) == rows_of(slow.run(delta), dictionary)
        assert is_compiled(fast)


def test_the_forms_that_loops_are_written_for() -> None:
    dictionary = TextDictionary()
    readers = Readers([Reader(type_, dictionary) for type_ in TYPES])
    store = RowStore(TYPES, dictionary)
    rows: list[list[Any]] = [[3, 4], [5, 6], [7, 8], [9, 10], [0.5, 1.5], [1, 2], [True, False], ["a", ""]]
    store.append(Batch(table_of(rows), readers), 2, 1)
    for rows[2] in ([7, 8], [None, 8]):
        slow, fast = programs(dictionary, nullable=True)
        groups = [Group(Batch(table_of(rows), readers)), Group(store.columns, np.array([1, 0]))]
        delta = Delta(groups, Layout([(i >= 4, i) for i in range(len(TYPES))]), 2, 1)
        assert rows_of(fast.run(delta), dictionary) == rows_of(slow.run(delta), dictionary)
        assert fast._pieces[0]._forms[0][1] is not None
        *_, found = fast._pieces[0]._forms[0][1]._bound
        masked = [Masked.BITS if i == 2 and rows[2][0] is None else Masked.NEVER for i in range(8)]
        assert [a.masked for a in found] == masked
        assert [a.in_pieces for a in found] == [4 <= i < 6 for i in range(8)]
        assert [a.by_refs for a in found] == [4 <= i < 6 for i in range(8)]
        assert [a.group for a in found] == [0] * 4 + [1] * 2 + [2] * 2, "cold texts and truth values are gathered"


@FEW
@given(data=st.data())
def test_rows_of_stores_beside_those_of_a_batch(data: Any) -> None:
    """Half of the columns are those of a store's rows, in the pieces in which they came."""
    dictionary = TextDictionary()
    readers = Readers([Reader(type_, dictionary) for type_ in TYPES])
    nullable = data.draw(st.booleans())
    slow, fast = programs(dictionary, nullable)
    for cold in (True, False):
        store = RowStore(TYPES, dictionary, cold=cold)
        for time in range(data.draw(st.integers(1, 4))):
            batch = Batch(table_of(drawn(data, nullable and data.draw(st.booleans()))), readers)
            store.append(batch, len(batch), time)
            rows = np.array(data.draw(st.lists(st.integers(0, store.rows - 1), min_size=1, max_size=9)), np.int64)
            other = Batch(table_of(drawn(data, nullable)), readers)
            where = np.array([data.draw(st.integers(0, len(other) - 1)) for _ in rows], np.int64)
            groups: list[tuple[Source, Any]] = [(store.columns, rows), (other, where)]
            layout = Layout([(i % 2, i) for i in range(len(TYPES))])
            delta = Delta([Group(*each) for each in groups], layout, len(rows), 1)
            assert rows_of(fast.run(delta), dictionary) == rows_of(slow.run(delta), dictionary)
    assert is_compiled(fast)
