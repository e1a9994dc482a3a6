"""Functions of text that Arrow holds, by its bytes, against the same by codes and against DuckDB."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ivm.catalog.types import BIGINT, BOOLEAN, INTEGER, VARCHAR, SqlType
from ivm.render.scalars.by_bytes import function_of, functions_in
from ivm.render.scalars.compiler import Compiler
from ivm.render.scalars.functions import Context
from ivm.sql.ir.scalar import Call, Column, Literal, Scalar
from ivm.trace.columns.batch import Batch, Reader, Readers
from ivm.trace.concatenation import concat_deltas
from ivm.trace.delta import Delta, Group, delta_of, plain_layout
from ivm.trace.text.dictionary import TextDictionary
from tests.scalars.oracle import column_of, duckdb_rows, is_compiled, program_of, python_of

TEXT = Column(0, VARCHAR)
ENCODINGS = {
    "string": pa.string(),
    "large_string": pa.large_string(),
    "string_view": pa.string_view(),
    "dictionary": pa.dictionary(pa.int8(), pa.string()),
    "large_dictionary": pa.dictionary(pa.int32(), pa.large_string()),
}
CHARS = "abAB zZ%_é日ß\u00a0\u2003\u0301\t𝄞"
LONG = "the special handling of requests, é, special requests; " * 7
ROWS = st.lists(
    st.none() | st.text(CHARS, max_size=12) | st.sampled_from(["", "a", LONG, LONG[1:], "日" * 40]), max_size=20
)


def call(function: str, type_: SqlType, *args: Any) -> Call:
    scalars = [a if isinstance(a, Column | Call) else literal(a) for a in args]
    return Call(function, tuple(scalars), type_)


def literal(value: Any) -> Literal:
    return Literal(value, VARCHAR if isinstance(value, str) else INTEGER)


def cases() -> list[tuple[str, Call]]:
    patterns = ["", "%", "%%", "a", "a%", "%a", "%a%", "a%b", "%special%requests%", "%ab%a%", "%é%", "_", "_%", "%_a%"]
    patterns += ["日%", "%ss; %", "%é, special%", "the%requests; ", "aa%aa", "%a_b%"]
    found = [(f"c0 LIKE '{p}'", call("like", BOOLEAN, TEXT, p)) for p in patterns]
    found.append(("c0 LIKE 'a$%%' ESCAPE '$'", call("like", BOOLEAN, TEXT, "a$%%", "$")))
    for name, sign in [("eq", "="), ("ne", "<>"), ("lt", "<"), ("le", "<="), ("gt", ">"), ("ge", ">=")]:
        for text in ("", "a", "é", LONG, "aZ"):
            found.append((f"c0 {sign} '{text}'", call(name, BOOLEAN, TEXT, text)))
        found.append((f"'ab' {sign} c0", call(name, BOOLEAN, "ab", TEXT)))
    found.append(("c0 IN ('a', '', 'éa', 'the')", call("in", BOOLEAN, TEXT, "a", "", "éa", "the")))
    for function in ("contains", "starts_with", "ends_with"):
        found += [(f"{function}(c0, '{p}')", call(function, BOOLEAN, TEXT, p)) for p in ("", "a", "é", "requests; ")]
    for start in (-50, -3, -1, 0, 1, 2, 5, 30):
        found.append((f"substring(c0, {start})", call("substring", VARCHAR, TEXT, start)))
        for length in (-2, 0, 1, 3, 50):
            found.append((f"substring(c0, {start}, {length})", call("substring", VARCHAR, TEXT, start, length)))
        for function in ("left", "right"):
            found.append((f"{function}(c0, {start})", call(function, VARCHAR, TEXT, start)))
    for function in ("upper", "lower", "trim", "ltrim", "rtrim"):
        found.append((f"{function}(c0)", call(function, VARCHAR, TEXT)))
    for function in ("trim", "ltrim", "rtrim"):
        found.append((f"{function}(c0, 'a ')", call(function, VARCHAR, TEXT, "a ")))
    for function in ("length", "strlen", "bit_length"):
        found.append((f"{function}(c0)", call(function, BIGINT, TEXT)))
    found.append(("c0 IS NULL", Call("is_null", (TEXT,), BOOLEAN, False)))
    prefix = call("substring", VARCHAR, call("lower", VARCHAR, call("trim", VARCHAR, TEXT)), 1, 2)
    found.append(("substring(lower(trim(c0)), 1, 2) IN ('a', 'ab')", call("in", BOOLEAN, prefix, "a", "ab")))
    found.append(
        ("length(upper(c0)) > 2", call("gt", BOOLEAN, call("length", BIGINT, call("upper", VARCHAR, TEXT)), 2))
    )
    return found


CASES = cases()


def encoded(rows: list[str | None], encoding: str) -> pa.ChunkedArray:
    """In two chunks, each a slice of something longer."""
    half = len(rows) // 2
    chunks = []
    for part in (rows[:half], rows[half:]):
        type_ = ENCODINGS[encoding]
        whole = pa.array(["before", None, *part, "behind"], pa.string())
        if pa.types.is_dictionary(type_):
            whole = whole.dictionary_encode().cast(type_)
        chunks.append(whole.cast(type_).slice(2, len(part)))
    return pa.chunked_array(chunks)


def batch_of(rows: list[str | None], encoding: str, dictionary: TextDictionary) -> Batch:
    return Batch(pa.table([encoded(rows, encoding)], names=["c0"]), Readers([Reader(VARCHAR, dictionary)]))


def delta_over(batch: Batch, refs: Any = None) -> Delta:
    return Delta([Group(batch, refs)], plain_layout(1), len(batch) if refs is None else len(refs), 1)


def mapped(scalar: Scalar, delta: Delta, dictionary: TextDictionary, compiler: Compiler | None = None) -> list[Any]:
    output = program_of((scalar,), (), (1,), 1, dictionary, compiler).run(delta)
    return [] if output is None else python_of(output.column(0), scalar.type, dictionary)


@pytest.mark.parametrize("encoding", ENCODINGS)
@settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck))
@given(rows=ROWS, data=st.data())
def test_by_bytes_as_by_codes(encoding: str, rows: list[str | None], data: Any) -> None:
    dictionary = TextDictionary()
    codes = column_of(rows, VARCHAR, dictionary)
    refs = np.array(data.draw(st.lists(st.integers(0, len(rows) - 1), max_size=9)) if rows else [], np.int64)
    for sql, scalar in CASES:
        batch = batch_of(rows, encoding, TextDictionary())
        expected = mapped(scalar, delta_of([codes], 1, None, len(rows)), dictionary)
        assert mapped(scalar, delta_over(batch), batch._readers.each[0]._dictionary) == expected, sql
        assert 0 not in batch._made, f"{sql} encoded its argument"
        assert mapped(scalar, delta_over(batch, refs), batch._readers.each[0]._dictionary) == [
            expected[r] for r in refs
        ]


@settings(max_examples=10, deadline=None)
@given(rows=ROWS.filter(bool))
def test_by_bytes_as_duckdb(rows: list[str | None]) -> None:
    dictionary = TextDictionary()
    for sql, scalar in CASES:
        expected = duckdb_rows(sql, [VARCHAR], [(r,) for r in rows], scalar.type)
        assert mapped(scalar, delta_over(batch_of(rows, "string", dictionary)), dictionary) == expected, sql


def test_compiled_loops_read_them_as_columns() -> None:
    rows = ["forest green", None, "", "forest", "deep forest"] * 5
    dictionary, compiler = TextDictionary(), Compiler(wait=True)
    like = call("like", BOOLEAN, TEXT, "forest%")
    refs = np.arange(len(rows))[::-1].copy()
    program = program_of((call("length", BIGINT, TEXT),), (like,), (1,), 1, dictionary, compiler)
    for delta in (
        delta_over(batch_of(rows, "string", dictionary)),
        delta_over(batch_of(rows, "string", dictionary), refs),
    ):
        output = program.run(delta)
        assert output is not None
        assert output.column(0).values.tolist() in ([12, 6] * 5, [6, 12] * 5)
    assert is_compiled(program)
    assert not compiler.failures()
    assert len(dictionary) == 1


def test_a_column_that_is_read_otherwise_too_goes_by_its_codes() -> None:
    context = Context(TextDictionary())
    like, other = call("like", BOOLEAN, TEXT, "a%"), call("eq", BOOLEAN, TEXT, Column(1, VARCHAR))
    assert set(functions_in((like,), 2, context)) == {0}
    assert not functions_in((like, other), 2, context)
    assert not functions_in((call("reverse", VARCHAR, TEXT),), 2, context)
    assert not functions_in((Call("in", (TEXT, literal("a"), Literal(None, VARCHAR)), BOOLEAN),), 2, context)


def test_equal_expressions_are_one_function() -> None:
    context = Context(TextDictionary())
    one, two = call("left", VARCHAR, TEXT, 2), call("left", VARCHAR, Column(7, VARCHAR, False), 2)
    first, second = function_of(one, context), function_of(two, context)
    assert first is not None
    assert second is not None
    assert first[1] is second[1]
    assert (first[0], second[0]) == (0, 7)


def test_codes_that_somebody_else_has_wanted_are_used() -> None:
    context = Context(TextDictionary())
    found = function_of(call("left", VARCHAR, TEXT, 3), context)
    assert found is not None
    batch = batch_of([f"{number} times" for number in range(10)], "string", context.dictionary)
    assert batch.computes(0, [found[1]])
    batch.column(0)
    assert not batch.computes(0, [found[1]])


def test_deltas_in_a_row_compute_each_at_its_source() -> None:
    dictionary = TextDictionary()
    parts = [delta_over(batch_of([t, None, "b"], "string", dictionary)) for t in ("abc", "é")]
    both = concat_deltas(parts)
    assert both is not None
    assert mapped(call("length", BIGINT, TEXT), both, dictionary) == [3, None, 1, 1, None, 1]
    assert len(dictionary) == 1
    mixed = concat_deltas([parts[0], delta_of([column_of(["xy"], VARCHAR, dictionary)], 1, None)])
    assert mixed is not None
    assert mapped(call("length", BIGINT, TEXT), mixed, dictionary) == [3, None, 1, 2]
