"""Where a row goes follows from its values alone, however Arrow holds them."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

from ivm.catalog.types import BIGINT, BOOLEAN, DATE, DOUBLE, HUGEINT, INTEGER, VARCHAR, decimal
from ivm.cluster.protocol.hashing import shards_of

SHARDS = 1 << 20


def _of(array, type_):
    return shards_of([array], [type_], len(array), SHARDS).tolist()


def _slow_text(text: str) -> int:
    """The hash of one text as the kernel has it, in Python's integers."""
    first, second, mask = 0xD6E8FEB86659FD93, 0xCF3BCCDCE7A3C36D, (1 << 64) - 1

    def mixed(x: int, word: int) -> int:
        x ^= word
        return (x ^ (x >> 32)) * first & mask

    def last(x: int) -> int:
        x = (x ^ (x >> 32)) * second & mask
        return x ^ (x >> 32)

    data = text.encode()
    x = mixed(0, len(data))
    for at in range(0, len(data), 8):
        x = mixed(x, int.from_bytes(data[at : at + 8], "little"))
    return last(mixed(0, last(x))) % SHARDS


@pytest.mark.parametrize(
    ("type_", "arrays"),
    [
        (BIGINT, [pa.array([1, None, -5, 1 << 20], pa.int64()), pa.array([1, None, -5, 1 << 20], pa.int32())]),
        (VARCHAR, [
            pa.array(["a", None, "", "a much longer text, é"]),
            pa.array(["a", None, "", "a much longer text, é"], pa.large_string()),
            pa.array(["a", None, "", "a much longer text, é"]).dictionary_encode(),
            pa.array(["x", "a", None, "", "a much longer text, é"]).slice(1),
        ]),
        (decimal(9, 2), [
            pa.array([Decimal("1.50"), None, Decimal("-2.25")], pa.decimal128(9, 2)),
            pa.array([Decimal("1.50"), None, Decimal("-2.25")], pa.decimal64(9, 2)),
        ]),
    ],
)  # fmt: skip
def test_equal_values_go_to_one_shard(type_, arrays):
    first, *others = (_of(array, type_) for array in arrays)
    assert all(other == first for other in others)


def test_the_hash_of_texts_is_as_it_is_written_down():
    texts = ["", "a", "abcdefgh", "abcdefghi", "a much longer text, é", "\0", "\0\0"]
    assert _of(pa.array(texts), VARCHAR) == [_slow_text(text) for text in texts]


def test_zeros_and_nans_are_equal():
    found = _of(pa.array([0.0, -0.0, np.nan, -np.nan, 1.5]), DOUBLE)
    assert found[0] == found[1] != found[4]
    assert found[2] == found[3]


def test_what_was_stored_is_found_again():
    """Never to be changed: rows of databases that there are would be looked for at other shards."""
    columns = [pa.array([7, None]), pa.array(["Bern", "Oslo"]), pa.array([True, False])]
    assert shards_of(columns, [BIGINT, VARCHAR, BOOLEAN], 2, 1000).tolist() == STORED
    assert _of(pa.array([7, 1 << 70], pa.decimal128(38, 0)), HUGEINT)[0] == _of(pa.array([7]), BIGINT)[0]
    assert _of(pa.array([19_000], pa.int32()).cast(pa.date32()), DATE) == _of(pa.array([19_000], pa.int32()), INTEGER)


def test_rows_spread_evenly():
    rows = 100_000
    chosen = shards_of([pa.array(range(rows))], [BIGINT], rows, 8)
    counts = np.bincount(chosen, minlength=8)
    assert counts.max() < 1.05 * rows / 8
    assert (shards_of([], [], rows, 8) == shards_of([], [], 1, 8)[0]).all()


STORED = [632, 574]
