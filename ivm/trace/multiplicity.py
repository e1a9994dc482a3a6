"""How many equal rows the updates of a batch stand for, and that these are not too many to be stored."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from catalog.errors import ConstraintError
from catalog.schema import Schema
from ivm.trace.arrow import Reader
from ivm.trace.batch import Batch
from ivm.trace.column import Ints
from ivm.trace.consolidate import merge_equal
from ivm.trace.dictionary import TextDictionary
from ivm.trace.sequences import numbers_from

MOST_COPIES = 1 << 24
"""How many rows a batch may stand for beyond those that it holds. Equal rows are stored one by one."""

_MOST = 2**63 - 1


def within_bounds(
    rows: pa.Table, times: Ints | None, diffs: Ints, fields: Schema, what: str
) -> tuple[pa.Table, Ints | None, Ints]:
    """The updates, which stand for at most `MOST_COPIES` rows more than they are; ConstraintError if that cannot be.

    Where it is not so, the diffs of equal rows at equal times are added up first. `rows` has the columns of `fields`.
    """
    if _are_few(diffs):
        return rows, times, diffs
    signed = [sum(diffs[diffs > 0].tolist()), -sum(diffs[diffs < 0].tolist())]
    if max(signed) > _MOST:
        raise ConstraintError(
            f"cannot change {what}: _diff {_largest(diffs)} is part of a sum beyond 64 bits; give smaller diffs"
        )
    dictionary, types = TextDictionary(), [field.type for field in fields]
    given = Batch(rows, [Reader(each, dictionary) for each in types])
    columns = [given.column(i) for i in range(len(types))]
    kept, sums = merge_equal(columns, types, len(diffs), diffs, times)
    if not _are_few(sums):
        first = kept[int(np.argmax(np.abs(sums.astype(np.float64))))]
        row = tuple(column[int(first)].as_py() for column in rows.columns)
        raise ConstraintError(
            f"cannot change {what}: _diff {_largest(sums)} of row {row} stands for so many equal rows, which are "
            f"stored one by one; a batch stands for at most {MOST_COPIES} rows more than it holds; give several "
            "batches, or a column that counts"
        )
    return rows.take(numbers_from(kept)), None if times is None else times[kept], sums


def _are_few(diffs: Ints) -> bool:
    return bool(np.abs(diffs, dtype=np.float64).sum() <= len(diffs) + MOST_COPIES)


def _largest(diffs: Ints) -> int:
    return int(diffs[int(np.argmax(np.abs(diffs.astype(np.float64))))])
