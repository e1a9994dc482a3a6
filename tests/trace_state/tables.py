"""Two tables, a model of each (a dictionary, a Counter), and batches of changes to draw."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np
import pyarrow as pa
from hypothesis import strategies as st

from ivm.catalog.schema import Field, Table
from ivm.catalog.types import BIGINT, INTEGER, VARCHAR, decimal
from ivm.trace.columns.arrow import to_arrow
from ivm.trace.delta import Delta
from ivm.trace.rows.table_store import Mode, TableStore
from ivm.trace.text.dictionary import TextDictionary
from ivm.trace.time import stamp

Row = tuple[int, int, str | None, int | None]
Update = tuple[Row, int, int]
Net = dict[tuple[Row, int], int]
Contents = dict[tuple[int, int], Row]

FIELDS = (
    Field("a", BIGINT, False),
    Field("b", INTEGER, False),
    Field("name", VARCHAR),
    Field("price", decimal(15, 2)),
)
KEYED = Table("t", FIELDS, ("a", "b"))
MULTISET = Table("m", FIELDS)


def arrow_of(rows: Sequence[Row]) -> pa.Table:
    columns = list(zip(*rows, strict=True)) if rows else [()] * 4
    types = [pa.int64(), pa.int32(), pa.string(), pa.decimal128(15, 2)]
    arrays = [
        pa.array(list(c), pa.int64() if i == 3 else t) for i, (c, t) in enumerate(zip(columns, types, strict=True))
    ]
    arrays[3] = arrays[3].cast(pa.decimal128(19, 0)).cast(pa.decimal128(21, 2)).cast(types[3])
    return pa.table(arrays, names=[f.name for f in FIELDS])


def rows_of(table: pa.Table) -> list[Row]:
    """The rows as tuples, prices as whole numbers."""
    columns = [table.column(i).to_pylist() for i in range(3)]
    prices = [None if p is None else int(p) for p in table.column(3).to_pylist()]
    return list(zip(*columns, prices, strict=True))


def updates_of(delta: Delta | None, dictionary: TextDictionary) -> list[Update]:
    if delta is None:
        return []
    assert list(delta.time_array()) == sorted(delta.time_array())
    columns = [to_arrow(delta.column(i), f.type, dictionary.now()) for i, f in enumerate(FIELDS)]
    rows = rows_of(pa.table(columns, names=[f.name for f in FIELDS]))
    return list(zip(rows, delta.time_array().tolist(), delta.diff_array().tolist(), strict=True))


def net(updates: Iterable[Update]) -> Net:
    total: Counter[tuple[Row, int]] = Counter()
    for row, time, diff in updates:
        total[row, time] += diff
    return {u: d for u, d in total.items() if d}


class Refused(Exception):
    pass


def apply_keyed(contents: Contents, changes: Sequence[Update], mode: Mode) -> tuple[Contents, Net]:
    """The dictionary after `changes`, and the net updates; Refused if neither they nor their net can be."""
    try:
        return carried_out(contents, changes, mode)
    except Refused:
        if mode == "upsert":
            raise
        return carried_out(contents, [(row, time, diff) for (row, time), diff in net(changes).items()], mode)


def carried_out(contents: Contents, changes: Sequence[Update], mode: Mode) -> tuple[Contents, Net]:
    contents = dict(contents)
    updates: list[Update] = []
    singles = [(time, diff > 0, i, row) for i, (row, time, diff) in enumerate(changes) for _ in range(abs(diff))]
    for time, insert, _, row in sorted(singles, key=lambda s: (s[0], mode == "diff" and s[1], s[2])):
        key = row[:2]
        old = contents.pop(key, None)
        if old is None and not insert and mode == "upsert":
            continue
        if insert == (old is not None) and not (insert and mode == "upsert"):
            raise Refused
        if old is not None:
            updates.append((old, time, -1))
        if insert:
            contents[key] = row
            updates.append((row, time, 1))
    return contents, net(updates)


def apply_multiset(contents: Counter[Row], changes: Sequence[Update]) -> tuple[Counter[Row], Net]:
    contents = Counter(contents)
    updates = net(changes)
    for (row, _), diff in sorted(updates.items(), key=lambda u: u[0][1]):
        contents[row] += diff
        if contents[row] < 0:
            raise Refused
    return +contents, updates


KEY = st.tuples(st.integers(0, 5), st.integers(0, 2))
REST = st.tuples(st.sampled_from([None, "", "x", "a longer text"]), st.integers(0, 1))
CHANGE = st.tuples(
    st.builds(lambda key, rest: (*key, *rest), KEY, REST),
    st.integers(0, 3),
    st.sampled_from([1, 1, 1, 1, -1, -1, 0, 2]),
)


def versions(
    key: tuple[int, int], time: int, rests: Sequence[tuple[str | None, int]], ends: Sequence[bool]
) -> list[Update]:
    """A row that takes these values one after the other at one time; `ends`: it was there before, is there after."""
    rows: list[Row] = [(*key, *rest) for rest in rests]
    came, went = rows if not ends[0] else rows[1:], rows if not ends[1] else rows[:-1]
    return [(row, time, 1) for row in came] + [(row, time, -1) for row in went]


VERSIONS = st.builds(
    versions, KEY, st.integers(0, 3), st.lists(REST, min_size=1, max_size=4), st.tuples(st.booleans(), st.booleans())
)
CHANGES = (
    st.lists(st.one_of(CHANGE.map(lambda change: [change]), VERSIONS), min_size=1, max_size=4)
    .map(lambda parts: [change for part in parts for change in part])
    .filter(bool)
    .flatmap(st.permutations)
)
BATCH = st.tuples(CHANGES, st.sampled_from(["diff", "diff", "upsert"]), st.booleans(), st.booleans())


def timed(batch: Sequence[Update], time: int, one_time: bool) -> list[Update]:
    """The updates of `batch` at their times from `time` on, or all at it."""
    return [(row, time if one_time else time + offset, diff) for row, offset, diff in batch]


def possible(contents: Contents, changes: Sequence[Update], mode: Mode) -> list[Update]:
    """The changes of those keys whose changes are not refused."""
    kept = set()
    for key in {row[:2] for row, _, _ in changes}:
        try:
            apply_keyed(contents, [change for change in changes if change[0][:2] == key], mode)
        except Refused:
            continue
        kept.add(key)
    return [change for change in changes if change[0][:2] in kept]


def run(store: TableStore, changes: Sequence[Update], one_time: bool, mode: Mode = "diff") -> Delta | None:
    rows = [row for row, _, _ in changes]
    times = np.array([time for _, time, _ in changes], np.int64)
    diffs = np.array([diff for _, _, diff in changes], np.int64)
    at = int(times[0]) if one_time and len(times) else times
    return store.apply(arrow_of(rows), diffs, at, mode, "ignore" if mode == "upsert" else "error")


def assert_arrangements_agree(store: TableStore, time: int) -> None:
    """Each arrangement finds, for each living row, the rows of its key and no others."""
    died = store.store.died
    live = [r for r in range(store.store.rows) if len(died) == 0 or died[r] > stamp(time)]
    for arrangement in store.arrangements():
        columns = [store.store.columns.column(c).take(np.array(live, np.int64)) for c in arrangement.key]
        words, dropped = arrangement.layout.pack(columns, len(live))
        positions, rows = arrangement.probe(words, dropped, time, True)
        found = sorted(zip(positions.tolist(), rows.tolist(), strict=True))
        keys = [tuple(w) for w in words.reshape(-1, arrangement.layout.words).tolist()]
        usable = [dropped is None or not dropped[i] for i in range(len(live))]
        expected = sorted(
            (i, live[j])
            for i in range(len(live))
            for j in range(len(live))
            if usable[i] and usable[j] and keys[i] == keys[j]
        )
        assert found == expected
