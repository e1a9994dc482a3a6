from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

from ivm.catalog.types import Physical
from ivm.kernels.hashing import function as hashing
from ivm.trace.columns.column import Column
from ivm.trace.index.keys import KeyLayout
from tests.kernels import callable_part
from tests.trace_in.columns import column_of, columns_with_forms, python_values

hash_word = callable_part(hashing.hash_word)
hash_words = callable_part(hashing.hash_words)

SPECIAL = [0.0, -0.0, float("nan"), -float("nan"), 1.5]


def canonical(value: object) -> object:
    if isinstance(value, float):
        return "nan" if np.isnan(value) else value + 0.0
    return value


def rows_of(words: np.ndarray) -> list[tuple[int, ...]]:
    return [tuple(row) for row in words.reshape(len(words), words.size // max(len(words), 1)).tolist()]


@given(columns_with_forms())
def test_equal_words_means_equal_rows_with_null_as_a_value(drawn):
    forms, columns = drawn
    words, dropped = KeyLayout(forms, "match").pack(columns)
    rows = list(zip(*([canonical(v) for v in python_values(c)] for c in columns), strict=True))
    assert dropped is None
    packed = rows_of(words)
    assert [[a == b for b in packed] for a in packed] == [[a == b for b in rows] for a in rows]


@given(columns_with_forms())
def test_rows_with_a_null_are_dropped_and_the_others_compare(drawn):
    forms, columns = drawn
    layout = KeyLayout(forms, "drop")
    words, dropped = layout.pack(columns)
    rows = list(zip(*([canonical(v) for v in python_values(c)] for c in columns), strict=True))
    assert ([False] * len(rows) if dropped is None else dropped.tolist()) == [None in row for row in rows]
    kept = [i for i, row in enumerate(rows) if None not in row]
    packed = rows_of(words)
    assert [[packed[i] == packed[j] for j in kept] for i in kept] == [[rows[i] == rows[j] for j in kept] for i in kept]


@given(columns_with_forms())
def test_unpack_gives_the_columns_back(drawn):
    forms, columns = drawn
    layout = KeyLayout(forms, "match")
    words, _ = layout.pack(columns)
    for before, after, (physical, _) in zip(columns, layout.unpack(words), forms, strict=True):
        assert [canonical(v) for v in python_values(after)] == [canonical(v) for v in python_values(before)]
        assert after.values.dtype == column_of(physical, []).values.dtype


@given(columns_with_forms())
def test_words_are_contiguous_rows(drawn):
    forms, columns = drawn
    for nulls in ("drop", "match"):
        layout = KeyLayout(forms, nulls)
        words, _ = layout.pack(columns)
        assert words.dtype == np.int64
        assert words.flags.c_contiguous
        assert words.shape == ((len(columns[0]),) if layout.words == 1 else (len(columns[0]), layout.words))


def test_a_single_bigint_is_not_copied():
    values = np.arange(5)
    words, dropped = KeyLayout(((Physical.INT64, False),), "match").pack([Column(values)])
    assert words is values
    assert dropped is None


def test_what_is_nullable_does_not_change_the_words_of_a_join():
    columns = [column_of(Physical.INT32, [1, 2]), column_of(Physical.INT64, [3, 4])]
    nullable = KeyLayout(((Physical.INT32, True), (Physical.INT64, True)), "drop").pack(columns)[0]
    plain = KeyLayout(((Physical.INT32, False), (Physical.INT64, False)), "drop").pack(columns)[0]
    assert (nullable == plain).all()


@pytest.mark.parametrize(
    ("forms", "nulls", "words"),
    [
        ([], "match", 1),
        ([Physical.INT32], "match", 1),
        ([Physical.INT32, Physical.CODE], "drop", 1),
        ([Physical.INT32, Physical.CODE], "match", 2),
        ([Physical.INT32, Physical.CODE, Physical.BOOL], "match", 2),
        ([Physical.INT64], "match", 2),
        ([Physical.WIDE, Physical.INT32], "drop", 3),
        ([Physical.INT64] * 70, "match", 72),
        ([Physical.INT32] * 67, "match", 35),
    ],
)
def test_number_of_words(forms, nulls, words):
    assert KeyLayout(tuple((form, True) for form in forms), nulls).words == words


def test_many_nullable_parts():
    forms = ((Physical.INT32, True),) * 67 + ((Physical.INT64, True),) * 70
    columns = [column_of(form, [None, 0, None, i]) for i, (form, _) in enumerate(forms, 1)]
    layout = KeyLayout(forms, "match")
    words, _ = layout.pack(columns)
    assert len(set(rows_of(words))) == 3
    assert [python_values(c) for c in layout.unpack(words)] == [python_values(c) for c in columns]


def test_pairs_are_in_the_order_of_their_parts():
    columns = [column_of(Physical.INT32, [0, 0, 1, 1]), column_of(Physical.INT32, [1, 7, 0, 2])]
    words, _ = KeyLayout(((Physical.INT32, False),) * 2, "drop").pack(columns)
    assert words.tolist() == sorted(words.tolist())


def test_no_columns_make_one_key():
    words, dropped = KeyLayout((), "match").pack([], 3)
    assert words.tolist() == [0, 0, 0]
    assert dropped is None


def test_strided_columns():
    table = np.arange(20, dtype=np.int64).reshape(10, 2)
    words, _ = KeyLayout(((Physical.INT64, False),), "drop").pack([Column(table[:, 0])])
    assert words.tolist() == list(range(0, 20, 2))


def test_hash_of_one_word_agrees_and_spreads():
    words = np.arange(1 << 16, dtype=np.int64).reshape(-1, 1)
    hashes = np.array([hash_words(words, i, 1) for i in range(len(words))], np.uint64)
    assert [hash_word(int(w)) for w in words[:100, 0]] == hashes[:100].tolist()
    for slots in (hashes & np.uint64(1023), hashes >> np.uint64(54)):
        counts = np.bincount(slots.astype(np.int64), minlength=1024)
        assert counts.min() > 16
        assert counts.max() < 128


@given(columns_with_forms())
def test_what_is_cut_is_what_is_unpacked(drawn):
    forms, columns = drawn
    layout = KeyLayout(forms, "match")
    words, _ = layout.pack(columns)
    room = np.concatenate([[7, 8], np.ascontiguousarray(words).reshape(-1), [9]])
    for cut, unpacked in zip(layout.cut(room, 2, len(columns[0])), layout.unpack(words), strict=True):
        assert cut.values.dtype == unpacked.values.dtype
        assert cut.values.tobytes() == unpacked.values.tobytes()
        assert (cut.valid is None) == (unpacked.valid is None)
        assert cut.valid is None or (cut.valid == unpacked.valid).all()
