"""Keys of two integer parts, in parts and as a whole; the compiled way of mapping dictionary codes equals numpy's."""

from __future__ import annotations

import numpy as np
import pytest

from ivm.catalog.types import Physical
from ivm.kernels.memory.in_place import look_up
from ivm.trace.columns.column import Array, Column
from ivm.trace.index.keys import KeyLayout

ROWS = 3000
INT32 = np.random.default_rng(1).integers(-(2**31), 2**31, ROWS).astype(np.int32)
INT64 = np.random.default_rng(2).integers(-(2**63), 2**63 - 1, ROWS)
STRIDED = np.stack([INT64, INT64], axis=1)[:, 0]


@pytest.mark.parametrize(
    ("first", "second", "forms"),
    [
        (INT32, INT32[::-1], (Physical.INT32, Physical.CODE)),
        (INT64, INT32, (Physical.INT64, Physical.INT32)),
        (INT32, STRIDED, (Physical.INT32, Physical.INT64)),
        (STRIDED, INT64[::-1], (Physical.INT64, Physical.INT64)),
    ],
)
def test_pairs_pack_as_small_batches_do(first: Array, second: Array, forms: tuple[Physical, Physical]) -> None:
    layout = KeyLayout(((forms[0], False), (forms[1], False)), nulls="drop")
    whole, _ = layout.pack([Column(first), Column(second)])
    parts = [layout.pack([Column(first[i : i + 100]), Column(second[i : i + 100])])[0] for i in range(0, ROWS, 100)]
    assert np.array_equal(whole, np.concatenate(parts))
    unpacked = layout.unpack(whole)
    assert np.array_equal(unpacked[0].values, first)
    assert np.array_equal(unpacked[1].values, second)


def test_look_up() -> None:
    table = INT32[:50]
    places = np.random.default_rng(3).integers(0, 50, ROWS).astype(np.int32)
    found = np.empty(ROWS, np.int32)
    look_up(table, places, found)
    assert np.array_equal(found, table[places])
