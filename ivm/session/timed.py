"""Changes that have times of their own, taken apart by these and put together again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa

from ivm.engine.transaction import Change
from ivm.trace.columns.column import Array, Ints


def times_of(change: Change) -> Ints:
    """The times of changes that come from a source, each of which has one."""
    assert change.times is not None, "each has a time"
    return change.times


def rows_of(change: Change, which: Array) -> Change:
    """Some rows of a change; all of it is the change itself."""
    if which.all():
        return change
    return change._replace(
        data=change.data.filter(pa.array(which)), addresses=None,
        diffs=None if change.diffs is None else change.diffs[which], times=times_of(change)[which],
    )  # fmt: skip


def batches(changes: Sequence[Change], to: int) -> Iterator[tuple[list[Change], int]]:
    """What is committed together, each table's changes in one, and the time up to which all is complete then.

    That is all of it; where a table is changed in several modes, each time.
    """
    modes = {(each.table.name, each.mode) for each in changes}
    if len(modes) == len({name for name, _ in modes}):
        if changes:
            yield _joined(changes), to
        return
    for time in np.unique(np.concatenate(list(map(times_of, changes)))).tolist():
        each = [rows_of(change, times_of(change) == time) for change in changes]
        yield [change for change in each if change.data.num_rows], time + 1


def _joined(changes: Sequence[Change]) -> list[Change]:
    """The changes of each table in one, in their order."""
    by_table: dict[str, list[Change]] = {}
    for each in changes:
        by_table.setdefault(each.table.name, []).append(each)
    return [those[0] if len(those) == 1 else _one(those) for those in by_table.values()]


def _one(changes: Sequence[Change]) -> Change:
    data = pa.concat_tables([pa.table(each.data) for each in changes])
    ones = [np.ones(each.data.num_rows, np.int64) if each.diffs is None else each.diffs for each in changes]
    plain = all(each.diffs is None for each in changes)
    return changes[0]._replace(
        data=data, addresses=None, diffs=None if plain else np.concatenate(ones),
        times=np.concatenate(list(map(times_of, changes))),
    )  # fmt: skip


def placed(changes: Sequence[Change], present: int) -> list[Change]:
    """Changes at logical times: those of the sources, or as soon after each other and the present as can be."""
    times = list(map(times_of, changes))
    distinct: Ints = np.unique(np.concatenate(times))
    places = np.arange(len(distinct))
    found: Ints = np.maximum(np.maximum.accumulate(distinct - places), present + 1) + places
    return [
        change._replace(times=found[np.searchsorted(distinct, each)])
        for change, each in zip(changes, times, strict=True)
    ]
