"""Arrays with the dictionary of the one before them, against arrays that are read anew."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ivm.catalog.schema import Field
from ivm.catalog.types import BIGINT, VARCHAR
from ivm.intake.as_it_is import first_look
from ivm.trace.columns.arrow import to_column
from ivm.trace.columns.batch import Batch, Reader, Readers
from ivm.trace.columns.column import Column
from ivm.trace.text.dictionary import TextDictionary
from ivm.trace.text.texts import Texts

INDEXES = [pa.int8(), pa.int16(), pa.int32()]
TEXTS = ["", "a", "é", "a long text of many bytes", "b"]


class Length:
    type = BIGINT
    memo = None
    calls = 0

    def of_texts(self, texts: Texts) -> Column:
        self.calls += 1
        return Column((texts.ends - texts.starts).astype(np.int64))

    def of_codes(self, column: Column) -> Column:
        raise AssertionError("its texts have no codes")


class First(Length):
    """The first byte, a text."""

    type = VARCHAR

    def __init__(self, dictionary: TextDictionary) -> None:
        self._dictionary = dictionary

    def of_texts(self, texts: Texts) -> Column:
        self.calls += 1
        return self._dictionary.encode(pa.array([text[:1] for text in texts.strings()]))


def table_of(array: pa.Array) -> pa.Table:
    return pa.table([array], names=["x"])


def reading(array: pa.DictionaryArray, dictionary: TextDictionary) -> Callable[[int, int], Batch]:
    """What makes batches of parts of an array, as they come to a table one after the other."""
    whole, readers = pa.record_batch([array], names=["x"]), Readers([Reader(VARCHAR, dictionary)])
    look = first_look(whole.schema, [(0, Field("x", VARCHAR))])
    assert look is not None

    def read(begin: int, count: int) -> Batch:
        part = whole.slice(begin, count)
        return Batch(part, readers, look.at(part))

    return read


@given(data=st.data())
def test_codes_and_values_of_any_arrays(data: Any) -> None:
    """Of which some were looked at before, so that it is known where their codes lie, and of which dictionary."""
    nothing = {t: pa.DictionaryArray.from_arrays(pa.array([], t), pa.array([], pa.string())) for t in INDEXES}
    looks = {t: first_look(table_of(array).schema, [(0, Field("x", VARCHAR))]) for t, array in nothing.items()}
    dictionary = TextDictionary()
    readers = Readers([Reader(VARCHAR, dictionary)])
    functions = [Length(), First(dictionary)]
    whole: list[pa.Array] = []
    for _ in range(data.draw(st.integers(1, 6))):
        if not whole or data.draw(st.booleans()):
            texts = data.draw(st.permutations(TEXTS)) + [
                f"other {i}" for i in range(data.draw(st.sampled_from([0, 90])))
            ]
            indices = data.draw(st.lists(st.none() | st.integers(0, len(texts) - 1), min_size=30, max_size=30))
            type_ = data.draw(st.sampled_from(INDEXES))
            known = pa.array(texts).slice(0, data.draw(st.sampled_from([len(texts), 5])))
            indices = [None if i is None else i % len(known) for i in indices]
            if data.draw(st.booleans()):
                indices = [i or 0 for i in indices]
            whole.append(pa.DictionaryArray.from_arrays(pa.array(indices, type_), known))
        begin = data.draw(st.integers(0, 29))
        part = data.draw(st.sampled_from(whole)).slice(begin, data.draw(st.integers(0, 30 - begin)))
        strings = part.to_pylist()
        batch = Batch(table_of(part), readers)
        if data.draw(st.booleans()):
            look = looks[part.type.index_type]
            assert look is not None
            rows = table_of(part).to_batches()[0] if len(part) else pa.record_batch([part], names=["x"])
            addresses = look.at(rows)
            assert addresses is not None
            batch = Batch(rows, readers, addresses)
        if data.draw(st.booleans()):
            column = batch.column(0)
            assert dictionary.now().decode(column.values, column.valid).to_pylist() == strings
        elif part.null_count == 0:
            lengths, firsts = (batch.column((0, function)) for function in functions)
            assert lengths.values.tolist() == [len(s.encode()) for s in strings]
            assert dictionary.now().strings(firsts.values) == [s[:1] for s in strings]


def test_a_dictionary_is_looked_at_once_when_so_many_rows_have_come() -> None:
    dictionary = TextDictionary()
    whole = pa.array([f"text {i}" for i in range(20)]).dictionary_encode()
    read, length = reading(whole, dictionary), Length()
    for begin in range(20):
        assert read(begin, 1).column((0, length)).values.tolist() == [len(f"text {begin}")]
    assert length.calls == 9 + 1
    before = len(dictionary)
    assert read(0, 20).column(0).values.tolist() == to_column(whole, VARCHAR, dictionary).values.tolist()
    assert len(dictionary) == before + 20


def test_codes_that_are_remembered_are_told() -> None:
    dictionary = TextDictionary()
    read = reading(pa.array(["x", "y"]).dictionary_encode(), dictionary)
    codes = {code for each in (0, (0, First(dictionary))) for code in read(0, 2).column(each).values.tolist()}
    told = {code for memo in dictionary.memos for part in memo.codes() for code in part.tolist()}
    assert told == codes


def test_codes_of_a_known_dictionary_are_not_looked_up_by_arrow(monkeypatch: pytest.MonkeyPatch) -> None:
    dictionary = TextDictionary()
    readers = Readers([Reader(VARCHAR, dictionary)])
    whole = pa.record_batch([pa.array(["x", "y", "x", "z"]).dictionary_encode()], names=["x"])
    look = first_look(whole.schema, [(0, Field("x", VARCHAR))])
    assert look is not None
    length, first = Length(), First(dictionary)

    def read(begin: int) -> list[Any]:
        rows = whole.slice(begin)
        addresses = look.at(rows)
        assert addresses is not None
        codes = Batch(rows, readers, addresses).column(0)
        lengths, firsts = (Batch(rows, readers, addresses).column((0, each)) for each in (length, first))
        strings = dictionary.now().strings
        return [strings(codes.values), lengths.values.tolist(), strings(firsts.values)]

    expected: list[list[Any]] = [["y", "x", "z"], [1, 1, 1], ["y", "x", "z"]]
    assert read(1) == read(1) == expected
    monkeypatch.setattr(Batch, "_arrays", None)
    assert read(1) == expected
    assert read(2) == [each[1:] for each in expected]
