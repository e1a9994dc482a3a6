from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ivm.kernels.texts import dictionary as text
from ivm.trace.text.dictionary import TextDictionary
from tests.kernels import callable_part

compare_text = callable_part(text.compare_text)

TEXTS = st.text("aé€𝄞\0", max_size=3) | st.text(min_size=6, max_size=20) | st.sampled_from(["x" * 8, "x" * 9, "x" * 7])
LISTS = st.lists(st.none() | TEXTS, max_size=12)
FORMS = ["string", "large_string", "string_view", "dictionary", "chunked", "sliced", "sparse dictionary"]


def arrow_text(form: str, values: list[str | None]) -> pa.Array | pa.ChunkedArray:
    match form:
        case "dictionary":
            return pa.array(values, pa.string()).dictionary_encode()
        case "chunked":
            return pa.chunked_array([pa.array(values[:2], pa.string()), pa.array(values[2:], pa.string())])
        case "sliced":
            return pa.array(["before", None, *values, "after"], pa.string()).slice(2, len(values))
        case "sparse dictionary":
            long = pa.array([*values, *(f"other {i}" for i in range(50))], pa.string()).dictionary_encode()
            return long.slice(0, len(values))
    types = {"string": pa.string(), "large_string": pa.large_string(), "string_view": pa.string_view()}
    return pa.array(values, types[form])


def decoded(dictionary: TextDictionary, codes: np.ndarray, valid: np.ndarray | None) -> list[str | None]:
    return dictionary.now().decode(codes, valid).to_pylist()


@given(st.lists(st.tuples(st.sampled_from(FORMS), LISTS), max_size=4))
def test_codes_stand_for_their_strings_whatever_form_they_came_in(batches):
    dictionary = TextDictionary()
    known: dict[str, int] = {"": 0}
    for form, values in batches:
        column = dictionary.encode(arrow_text(form, values))
        assert column.values.dtype == np.int32
        assert decoded(dictionary, column.values, column.valid) == values
        for value, code in zip(values, column.values.tolist(), strict=True):
            assert code == (0 if value is None else known.setdefault(value, code))
    assert len(set(known.values())) == len(known)
    assert len(dictionary) >= len(known)
    for value, code in known.items():
        assert dictionary.code(value) == code
        assert dictionary.now().strings(np.array([code], np.int32)) == [value]


def test_growth_keeps_every_code():
    dictionary = TextDictionary()
    texts = [f"text number {i}" for i in range(20_000)] + ["long " * 5_000]
    codes = dictionary.encode(pa.array(texts)).values
    assert codes.tolist() == list(range(1, len(texts) + 1))
    assert dictionary.encode(pa.array(texts[::-1])).values.tolist() == codes.tolist()[::-1]
    assert dictionary.now().strings(codes) == texts
    assert len(dictionary) == len(texts) + 1
    assert dictionary.nbytes > sum(map(len, texts))


@pytest.mark.parametrize("form", FORMS)
def test_only_nulls(form):
    column = TextDictionary().encode(arrow_text(form, [None, None]))
    assert column.values.tolist() == [0, 0]
    assert column.valid is not None
    assert not column.valid.any()


def test_null_in_the_values_of_a_dictionary():
    array = pa.DictionaryArray.from_arrays(pa.array([0, 1, None, 1]), pa.array(["a", None]))
    dictionary = TextDictionary()
    column = dictionary.encode(array)
    assert decoded(dictionary, column.values, column.valid) == ["a", None, None, None]


@given(st.lists(TEXTS, min_size=1, max_size=10))
def test_ranks_and_comparisons_are_bytewise(texts):
    dictionary = TextDictionary()
    codes = dictionary.encode(pa.array(texts, pa.string())).values
    ordered = sorted({text.encode() for text in texts})
    assert dictionary.now().ranks(codes).tolist() == [ordered.index(text.encode()) for text in texts]
    for a, code in zip(texts, codes.tolist(), strict=True):
        for b, other in zip(texts, codes.tolist(), strict=True):
            expected = (a.encode() > b.encode()) - (a.encode() < b.encode())
            assert compare_text(dictionary.now().heap, dictionary.now().places, code, other) == expected


def test_no_rows():
    dictionary = TextDictionary()
    assert len(dictionary.encode(pa.chunked_array([], pa.string()))) == 0
    assert dictionary.now().decode(np.empty(0, np.int32)).to_pylist() == []
    assert dictionary.now().ranks(np.empty(0, np.int32)).tolist() == []
