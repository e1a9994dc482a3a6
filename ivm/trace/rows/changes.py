"""The changes of a batch in the order in which a store must meet them, what they did, and why they cannot be made."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ivm.catalog.errors import ConstraintError
from ivm.catalog.schema import Table
from ivm.catalog.types import SqlType
from ivm.kernels.hashing.changes import COUNTS, FAILED, INSERTED, KILLED
from ivm.trace.columns.arrow import numbers_from, to_column
from ivm.trace.columns.column import Bools, Ints, every
from ivm.trace.columns.exported import ArrowRows
from ivm.trace.consolidate import merge_equal
from ivm.trace.text.dictionary import TextDictionary
from ivm.trace.time import ascend, chosen

MOST_COPIES = 1 << 24
"""How many rows a batch may stand for beyond those that it holds. Equal rows are stored one by one."""
_MOST = 2**63 - 1
_MAX_FAILURES = 3
_INSERTS: Bools = np.ones(1 << 8, np.bool_)


@dataclass(slots=True)
class Changes:
    """Single inserts and deletes in time order, `length` of them.

    `positions`: change i is that of row positions[i] of the batch; None if it is row i. `times` int64 (n,), ascending,
    or the one time of all. `inserts_or_all` bool (n,); None if all are inserts.
    """

    length: int
    positions: Ints | None
    times: Ints | int
    inserts_or_all: Bools | None

    def __len__(self) -> int:
        return self.length

    @property
    def only_inserts(self) -> bool:
        """Whether there is no delete."""
        return self.inserts_or_all is None

    @property
    def inserts(self) -> Bools:
        """Which changes are inserts, bool (n,), which nobody writes to."""
        if self.inserts_or_all is not None:
            return self.inserts_or_all
        return _INSERTS[: self.length] if self.length <= len(_INSERTS) else np.ones(self.length, np.bool_)

    @property
    def bounds(self) -> tuple[int, int]:
        """The first and the last time; there is at least one change."""
        times = self.times
        return (times, times) if isinstance(times, int) else (int(times[0]), int(times[-1]))


def in_order(times: Ints | int, diffs: Ints | None, length: int, *, deletes_first: bool | None) -> Changes:
    """The updates as single inserts and deletes, by time and within a time deletes first, or last; None: as they come.

    An update of diff d stands for |d| changes. Cost: a pass over times and diffs, and a sort if they are out of order.
    """
    if diffs is None and isinstance(times, int):
        return Changes(length, None, times, None)
    if not isinstance(times, int) and len(times) == 1:
        times = int(times[0])
    if diffs is None or (length and abs(diffs.item(0)) == 1 and every(diffs == diffs.item(0))):
        inserts_or_all = None if diffs is None or diffs.item(0) == 1 else np.zeros(length, np.bool_)
        if isinstance(times, int) or ascend(times):
            return Changes(length, None, times, inserts_or_all)
        order = np.argsort(times, kind="stable")
        return Changes(length, order, times[order], inserts_or_all)
    positions: Ints | None = None
    counts = np.abs(diffs)
    if not every(counts == 1):
        positions = np.repeat(np.arange(length), counts)
        diffs = diffs[positions]
        times = chosen(times, positions)
    inserts = diffs > 0
    late = np.zeros(1, np.bool_) if deletes_first is None else inserts if deletes_first else ~inserts
    moved = _order(times, late)
    if moved is not None:
        positions = moved if positions is None else positions[moved]
        inserts = inserts[moved]
        times = chosen(times, moved)
    return Changes(len(inserts), positions, times, None if every(inserts) else inserts)


def net_in_order(rows: ArrowRows, types: Sequence[SqlType], times: Ints | int, diffs: Ints) -> Changes:
    """As `in_order`, deletes first, after the diffs of equal rows at equal times are added up and zeros left out.

    `rows` are the updates', with columns of `types`, at least one. Cost: see `summed`.
    """
    kept, sums = summed(rows, types, None if isinstance(times, int) else times, diffs)
    changes = in_order(chosen(times, kept), sums, len(kept), deletes_first=True)
    return replace(changes, positions=kept if changes.positions is None else kept[changes.positions])


def within_bounds(
    rows: ArrowRows, times: Ints | None, diffs: Ints, types: Sequence[SqlType], what: str
) -> tuple[ArrowRows, Ints | None, Ints]:
    """The updates, which stand for at most `MOST_COPIES` rows more than they are; ConstraintError if that cannot be.

    Where it is not so, the diffs of equal rows at equal times are added up first. `rows` has columns of `types`.
    """
    if _are_few(diffs):
        return rows, times, diffs
    signed = [sum(diffs[diffs > 0].tolist()), -sum(diffs[diffs < 0].tolist())]
    if max(signed) > _MOST:
        raise ConstraintError(
            f"cannot change {what}: _diff {_largest(diffs)} is part of a sum beyond 64 bits; give smaller diffs"
        )
    kept, sums = summed(rows, types, times, diffs)
    if not _are_few(sums):
        first = kept[int(np.argmax(np.abs(sums.astype(np.float64))))]
        row = tuple(column[int(first)].as_py() for column in rows.columns)
        raise ConstraintError(
            f"cannot change {what}: _diff {_largest(sums)} of row {row} stands for so many equal rows, which are "
            f"stored one by one; a batch stands for at most {MOST_COPIES} rows more than it holds; give several "
            "batches, or a column that counts"
        )
    return rows.take(numbers_from(kept)), None if times is None else times[kept], sums


def summed(rows: ArrowRows, types: Sequence[SqlType], times: Ints | None, diffs: Ints) -> tuple[Ints, Ints]:
    """As `merge_equal`. Texts are compared, not kept. Cost: reads and packs all columns, one access a row."""
    dictionary = TextDictionary()
    columns = [to_column(column, type_, dictionary) for column, type_ in zip(rows.columns, types, strict=True)]
    return merge_equal(columns, types, len(diffs), diffs, times)


def _are_few(diffs: Ints) -> bool:
    return bool(np.abs(diffs, dtype=np.float64).sum() <= len(diffs) + MOST_COPIES)


def _largest(diffs: Ints) -> int:
    return int(diffs[int(np.argmax(np.abs(diffs.astype(np.float64))))])


def _order(times: Ints | int, late: Bools) -> Ints | None:
    """The stable order by (time, late), with one `late` by time alone; None if it is so already."""
    if isinstance(times, int):
        return None if every(late[1:] >= late[:-1]) else np.argsort(late, kind="stable")
    if len(late) == 1:
        return None if ascend(times) else np.argsort(times, kind="stable")
    same = times[1:] == times[:-1]
    if every((times[1:] > times[:-1]) | (same & (late[1:] >= late[:-1]))):
        return None
    return np.lexsort((late, times))


def null_in_key(table: Table, data: ArrowRows, rows: Ints) -> ConstraintError:
    """The error for the rows of `data` at `rows`, which have NULL in a column of the primary key."""
    return _refusal(table, data, rows, "change", "has NULL", "give every key column a value")


def impossible_changes(table: Table, data: ArrowRows, changes: Changes, failed: Ints) -> ConstraintError:
    """The error for the changes at `failed` (not empty), whose rows are those of `data` at the same places.

    It says what the first one failed of, and names the rows that failed likewise.
    """
    if changes.inserts[failed[0]]:
        alike = failed[changes.inserts[failed]]
        return _refusal(table, data, alike, "insert into", "already has a row with", "upsert replaces rows")
    alike = failed[~changes.inserts[failed]]
    advice = "delete only rows that are there, or ignore the others (missing='ignore'; in apply mode='upsert')"
    return _refusal(table, data, alike, "delete from", "has no row with", advice)


def _refusal(table: Table, data: ArrowRows, rows: Ints, attempt: str, wrong: str, advice: str) -> ConstraintError:
    """`data` has the table's columns, or the primary key's alone."""
    keys = table.primary_key
    names = [field.name for field in table.fields]
    places = range(len(keys)) if data.num_columns != len(names) else table.key_indexes
    if not keys:
        places = range(len(names))
    values = [data.column(c).take(numbers_from(rows)).to_pylist() for c in places]
    shown = ", ".join(str(tuple(row)) for row in zip(*values, strict=True))
    what = f"PRIMARY KEY ({', '.join(keys)})" if keys else f"({', '.join(names)})"
    return ConstraintError(
        f"cannot {attempt} table {table.name}: it {wrong} {what} = {shown}; {advice}. Nothing was changed"
    )


class Applied:
    """What a sequence of changes did: rows inserted, rows killed and when, positions of changes that had to fail.

    It is made before, with room for `changes` of them, and known to whoever would have to undo them: the kernel that
    carries them out says here in the same call how far it came. Until then nothing was done.
    """

    __slots__ = ("_changes", "done")

    def __init__(self, changes: int, *, go_on: bool = False) -> None:
        self._changes = changes
        self.done: Ints = np.zeros(COUNTS + 2 * changes + (changes + 1 if go_on else _MAX_FAILURES), np.int64)
        """See `ivm.kernels.hashing.changes`."""

    @property
    def counts(self) -> list[int]:
        """What `done` counts."""
        return self.done[:COUNTS].tolist()

    @property
    def inserted(self) -> int:
        """How many rows were inserted."""
        return self.done.item(INSERTED)

    @property
    def dead(self) -> int:
        """How many rows died."""
        return self.done.item(KILLED)

    @property
    def killed(self) -> Ints:
        """The rows that died, in the order of the changes."""
        return self.done[COUNTS : COUNTS + self.dead]

    @property
    def killed_at(self) -> Ints:
        """When each of them died."""
        first = COUNTS + self._changes
        return self.done[first : first + self.dead]

    @property
    def failed(self) -> Ints:
        """The positions of changes that were not possible, the first few at least."""
        first = COUNTS + 2 * self._changes
        return self.done[first : first + self.done.item(FAILED)]


def deaths_of(rows: Ints, stamps: Ints) -> Applied:
    """What kills these rows, and nothing else."""
    applied = Applied(len(rows))
    applied.done[KILLED] = len(rows)
    applied.killed[:], applied.killed_at[:] = rows, stamps
    return applied
