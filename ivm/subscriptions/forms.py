"""In which form changes are told: as they are, by a view's key as what is and what is gone, or as before and after."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import pyarrow as pa

from ivm.subscriptions.net import DIFF, TIME, numbers_of, row_numbers
from ivm.trace.columns.column import Ints

FormName = Literal["changes", "upserts", "debezium"]
FORMS: tuple[FormName, ...] = get_args(FormName)


@dataclass(frozen=True, slots=True)
class AsTheyAre:
    """The columns of the view, `_time` and `_diff`: one row for each row whose multiplicity has changed."""

    key: tuple[str, ...] = ()

    def told(self, changes: pa.Table) -> pa.Table:
        """Changes in this form."""
        return changes


@dataclass(frozen=True, slots=True)
class Upserts:
    """Of each key that changes, its row from then on; `key` are the names of the columns that tell rows apart.

    The columns of the view, `_time` and `_deleted`. Of a key that is gone, all columns but the key are NULL.
    """

    key: tuple[str, ...]

    def told(self, changes: pa.Table) -> pa.Table:
        """Changes in this form."""
        gone, come, times = _pairs(changes, self.key)
        is_gone = come < 0
        there = np.where(is_gone, gone, come)
        kept = pa.array(there)
        filled = pa.array(there, mask=is_gone)
        names = changes.column_names[:-2]
        arrays = [changes.column(name).take(kept if name in self.key else filled) for name in names]
        return pa.Table.from_arrays([*arrays, pa.array(times), pa.array(is_gone)], names=[*names, TIME, "_deleted"])


@dataclass(frozen=True, slots=True)
class Debezium:
    """Of each key that changes, its row before and after, as structs; `op` is c(reated), u(pdated) or d(eleted).

    `before`, `after`, `op` and `_time`. `key` are the names of the columns that tell rows apart.
    """

    key: tuple[str, ...]

    def told(self, changes: pa.Table) -> pa.Table:
        """Changes in this form."""
        gone, come, times = _pairs(changes, self.key)
        rows = changes.select(range(changes.num_columns - 2)).combine_chunks()
        before, after = (_structs(rows, places) for places in (gone, come))
        ops = np.where(gone < 0, "c", np.where(come < 0, "d", "u"))
        return pa.table({"before": before, "after": after, "op": pa.array(ops.tolist(), pa.string()), TIME: times})


Form = AsTheyAre | Upserts | Debezium


def form_of(name: FormName, key: Sequence[str]) -> Form:
    """What tells changes in the form of this name; `key`: the columns that tell the rows of the view apart."""
    if name == "upserts":
        return Upserts(tuple(key))
    return Debezium(tuple(key)) if name == "debezium" else AsTheyAre()


def _pairs(changes: pa.Table, key: Sequence[str]) -> tuple[Ints, Ints, Ints]:
    """Of each time and key that changes: where its row before stands, and its row after, -1 for none; and the time.

    In the order of the times.
    """
    times = numbers_of(changes[TIME])
    numbers = row_numbers(changes, [TIME, *key])
    count = int(numbers.max(initial=-1)) + 1
    gone, come = np.full(count, -1, np.int64), np.full(count, -1, np.int64)
    is_more = numbers_of(changes[DIFF]) > 0
    places = np.arange(len(numbers))
    gone[numbers[~is_more]] = places[~is_more]
    come[numbers[is_more]] = places[is_more]
    at = times[np.maximum(gone, come)]
    order = np.argsort(at, kind="stable")
    return gone[order], come[order], at[order]


def _structs(rows: pa.Table, places: Ints) -> pa.Array:
    is_none = places < 0
    taken = rows.take(pa.array(places, mask=is_none)).combine_chunks()
    arrays = [pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type) for column in taken]
    return pa.StructArray.from_arrays(arrays, fields=list(rows.schema), mask=pa.array(is_none))
