from __future__ import annotations

import io
import subprocess
import sys
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

from ivm.catalog import types
from ivm.catalog.errors import Error
from ivm.catalog.types import SqlType, decimal, list_of
from ivm.trace.columns.arrow import arrow_type, to_column
from ivm.trace.columns.column import Column
from ivm.trace.columns.segment import Segment, Segments, column_to_arrow, columns_to_arrow, segment_of
from ivm.trace.index.keys import KeyLayout
from ivm.trace.text.dictionary import TextDictionary

MOOD = SqlType(types.Kind.ENUM, labels=("sad", "ok"))
VALUES: dict[SqlType, list[object]] = {
    types.NULL: [None, None],
    types.BOOLEAN: [True, None, False],
    types.TINYINT: [-128, None, 127],
    types.UTINYINT: [0, 255, None],
    types.USMALLINT: [2**16 - 1, None],
    types.UINTEGER: [2**32 - 1, None],
    types.BIGINT: [-(2**63), 2**63 - 1],
    types.UBIGINT: [2**64 - 1, None, 0],
    types.HUGEINT: [Decimal(10**37), None, Decimal(-(10**37))],
    decimal(4, 1): [Decimal("-999.9"), None],
    decimal(28, 5): [Decimal("12345678901234567890.12345"), None],
    types.FLOAT: [1.5, -0.0, None, float("inf")],
    types.DOUBLE: [0.1, -0.0, None, float("-inf")],
    types.VARCHAR: ["", None, "läuft", "", "x" * 100],
    types.BLOB: [b"\x00\xff\xfe", None, b""],
    MOOD: ["ok", None, "sad"],
    list_of(types.INTEGER): [[1, None, 3], None, [], [1, None, 3]],
    list_of(types.VARCHAR): [["a", None, ""], None, [], ["b", "läuft"]],
    list_of(types.HUGEINT): [[Decimal(10**37), None], [None]],
    list_of(list_of(types.VARCHAR)): [[["a"], None, []], None, [["b", None]]],
}


def other_dictionary() -> TextDictionary:
    """One that gives other codes than an empty one."""
    dictionary = TextDictionary()
    dictionary.codes(["b", "of another", "läuft", "x"])
    return dictionary


@pytest.mark.parametrize("type_", VALUES, ids=str)
def test_columns_go_to_another_dictionary(type_: SqlType) -> None:
    here, there = TextDictionary(), other_dictionary()
    given = pa.array(VALUES[type_], arrow_type(type_))
    written = column_to_arrow(to_column(given, type_, here), type_, here.now())
    assert written.type == arrow_type(type_)
    assert written.to_pylist() == given.to_pylist()
    restored = to_column(written, type_, there)
    again = column_to_arrow(restored, type_, there.now())
    assert again.equals(written)
    assert restored.values.dtype == to_column(given, type_, here).values.dtype


@pytest.mark.parametrize("type_", [list_of(types.INTEGER), list_of(types.VARCHAR), types.VARCHAR], ids=str)
def test_a_slice_is_read_from_where_it_begins(type_: SqlType) -> None:
    dictionary = TextDictionary()
    part = pa.array(VALUES[type_], arrow_type(type_))[2:]
    column = to_column(part, type_, dictionary)
    assert column_to_arrow(column, type_, dictionary.now()).to_pylist() == part.to_pylist()


def test_equal_lists_have_equal_codes() -> None:
    dictionary = TextDictionary()
    type_ = list_of(types.VARCHAR)
    first = to_column(pa.array([["a", "b"], ["a"]], arrow_type(type_)), type_, dictionary)
    second = to_column(pa.array([["a"], ["a", "b"]], arrow_type(type_)), type_, dictionary)
    assert first.values.tolist() == second.values[::-1].tolist()


def test_columns_are_numbers_texts_and_lists() -> None:
    here, there = TextDictionary(), other_dictionary()
    kinds = (types.BIGINT, types.VARCHAR, list_of(types.VARCHAR))
    lists = to_column(pa.array([["a"], [], ["b", "a"]], arrow_type(kinds[2])), kinds[2], here)
    numbers = np.array([-(2**63), 0, 7])
    columns = [Column(numbers), Column(here.codes(["b", "", "läuft"])), lists]
    arrays = columns_to_arrow(columns, kinds, here.now())
    assert arrays["column 1"].to_pylist() == ["b", "", "läuft"]
    assert arrays["column 2"].to_pylist() == [["a"], [], ["b", "a"]]
    restored = segment_of("some", arrays).columns(kinds, there)
    assert restored[0].values.tolist() == numbers.tolist()
    assert there.now().strings(restored[1].values) == ["b", "", "läuft"]
    assert columns_to_arrow(restored, kinds, there.now()) == arrays


@pytest.mark.parametrize("nulls", ["match", "find", "drop"])
def test_keys_that_share_a_word(nulls: str) -> None:
    here, there = TextDictionary(), other_dictionary()
    kinds = (types.INTEGER, types.VARCHAR, types.VARCHAR, decimal(28, 5))
    forms = tuple((kind.physical, nulls == "match") for kind in kinds)
    layout = KeyLayout(forms, nulls)  # type: ignore[arg-type]
    valid = np.array([True, False, True]) if nulls == "match" else None
    columns = [
        Column(np.array([-1, 0, 5], np.int32)),
        Column(here.codes(["b", "", "c"]), valid),
        Column(here.codes(["d", "d", "läuft"])),
        Column(np.array([[1, 0], [2, -1], [3, 3]], np.int64)),
    ]
    words, _ = layout.pack(columns)
    arrays = columns_to_arrow(layout.unpack(words), kinds, here.now())
    assert arrays["column 2"].to_pylist() == ["d", "d", "läuft"]
    restored, _ = layout.pack(segment_of("keys", arrays).columns(kinds, there), 3)
    assert restored.shape == (3, layout.words)
    assert columns_to_arrow(layout.unpack(restored), kinds, there.now()) == arrays


def one(kind: str = "rows", version: int = 1) -> Segment:
    columns = {"a": pa.array([1, 2]), "t": pa.array(["x", None])}
    return segment_of(kind, columns, {"since": -(2**63), "name": "ä", "none": None, "list": [1]}, version)


def test_a_segment_says_what_it_is_wherever_it_is_read() -> None:
    sink = io.BytesIO()
    segment = one()
    with pa.ipc.new_stream(sink, segment.batch.schema) as writer:
        writer.write_batch(segment.batch)
    read = Segment(pa.ipc.open_stream(sink.getvalue()).read_next_batch())
    assert (read.kind, read.version, read.rows) == ("rows", 1, 2)
    assert read.number("since") == -(2**63)
    assert read.scalars == segment.scalars
    assert read.ints("a").tolist() == [1, 2]
    assert read.column("t").to_pylist() == ["x", None]


def test_another_process_reads_a_segment() -> None:
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, one().batch.schema) as writer:
        writer.write_batch(one().batch)
    program = (
        "import sys, pyarrow as pa; from ivm.trace.columns.segment import Segment; "
        "s = Segment(pa.ipc.open_stream(sys.stdin.buffer.read()).read_next_batch()); "
        "print(s.kind, s.scalars['name'] == 'ä', s.column('t').to_pylist())"
    )
    done = subprocess.run([sys.executable, "-c", program], input=sink.getvalue(), capture_output=True, check=True)
    assert done.stdout.decode().strip() == "rows True ['x', None]"


def test_segments_are_taken_in_order() -> None:
    segments = Segments([one(), one("more"), one("more"), one("end")])
    assert segments.take("rows").kind == "rows"
    assert segments.take_if("rows") is None
    assert [each.kind for each in segments.all_of("more")] == ["more", "more"]
    with pytest.raises(Error, match=r"cannot restore rows: a segment of end comes next"):
        segments.take("rows")
    segments.take("end")
    with pytest.raises(Error, match=r"cannot restore end: nothing is left"):
        segments.take("end")


def test_a_segment_of_another_version_is_refused() -> None:
    with pytest.raises(Error, match=r"of version 2, and this release of ivm reads version 1"):
        Segments([one(version=2)]).take("rows")


def test_what_is_no_segment_is_refused() -> None:
    with pytest.raises(Error, match=r"does not say ivm\.kind; it was not written by ivm"):
        _ = Segment(pa.RecordBatch.from_pydict({"a": [1]})).kind
