"""Several updates of one row at one time: their order is irrelevant, and what cancels was never there."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pyarrow as pa
import pytest

from ivm.catalog.errors import ConstraintError
from ivm.catalog.schema import Table
from ivm.trace.rows.table_store import TableStore
from ivm.trace.text.dictionary import TextDictionary
from tests.trace_state.tables import (
    KEYED,
    MULTISET,
    Contents,
    Row,
    Update,
    apply_keyed,
    arrow_of,
    assert_arrangements_agree,
    net,
    rows_of,
    run,
    updates_of,
)

A: Row = (1, 1, "a", 0)
B: Row = (1, 1, "b", 0)
C: Row = (1, 1, "c", 0)
NEW: Row = (3, 3, None, None)


def store_of(*rows: Row, table: Table = KEYED) -> TableStore:
    """A store that holds `rows` since time 1."""
    store = TableStore(table, TextDictionary())
    store.apply(arrow_of(rows), None, 1)
    store.seal(2, 1)
    return store


def applied(store: TableStore, changes: list[Update]) -> list[Update]:
    one_time = len({time for _, time, _ in changes}) == 1
    return updates_of(run(store, changes, one_time), store._dictionary)


@pytest.mark.parametrize("order", list(permutations([(A, 2, -1), (B, 2, 1), (B, 2, -1), (C, 2, 1)])))
def test_a_row_updated_twice_goes_straight_to_its_last_version(order):
    store = store_of(A)
    assert applied(store, list(order)) == [(A, 2, -1), (C, 2, 1)]
    store.seal(3, 2)
    assert rows_of(store.arrow()) == [C]
    assert_arrangements_agree(store, 2)


@pytest.mark.parametrize("table", [KEYED, MULTISET])
@pytest.mark.parametrize("diffs", [(1, -1), (-1, 1), (2, -2), (1, 1, -2), (-1, 2, -1)])
def test_a_row_that_comes_and_goes_at_one_time_was_never_there(table, diffs):
    store = store_of(A, table=table)
    rows = arrow_of([NEW] * len(diffs))
    assert store.apply(rows, np.array(diffs), 2) is None
    assert store.apply(rows, np.array(diffs), np.full(len(diffs), 3)) is None
    store.seal(4, 3)
    assert rows_of(store.arrow()) == [A]
    assert store.count == 1


def test_versions_that_lead_back_to_the_first_change_nothing():
    store = store_of(A)
    assert applied(store, [(A, 2, -1), (B, 2, 1), (B, 2, -1), (A, 2, 1)]) == []
    assert rows_of(store.arrow()) == [A]


def test_diffs_beyond_one_cancel_in_part():
    store = store_of(A)
    assert applied(store, [(NEW, 2, 2), (NEW, 2, -1)]) == [(NEW, 2, 1)]
    assert applied(store, [(NEW, 3, -2), (NEW, 3, 1)]) == [(NEW, 3, -1)]


def test_each_time_of_a_batch_has_its_own_net_change():
    store = store_of(A)
    changes = [
        (C, 4, -1), (A, 3, 1), (NEW, 4, -1), (B, 2, -1), (NEW, 2, 1), (B, 3, 1), (C, 2, 1),
        (A, 2, -1), (B, 3, -1), (C, 3, -1), (B, 2, 1), (C, 3, 1), (A, 3, -1), (NEW, 3, 1), (NEW, 3, -1),
    ]  # fmt: skip
    assert applied(store, changes) == [(A, 2, -1), (NEW, 2, 1), (C, 2, 1), (C, 4, -1), (NEW, 4, -1)]
    store.seal(2, 1)
    assert [sorted(rows_of(store.arrow(time))) for time in (1, 2, 3, 4)] == [[A], [C, NEW], [C, NEW], []]
    assert_arrangements_agree(store, 4)


def test_rows_that_differ_in_a_null_do_not_cancel():
    store = store_of(A)
    other: Row = (3, 3, None, 0)
    with pytest.raises(ConstraintError, match=r"has no row with PRIMARY KEY \(a, b\) = \(3, 3\)"):
        applied(store, [(NEW, 2, 1), (other, 2, -1)])


def test_only_what_is_wrong_after_cancelling_is_named():
    store = store_of(A, (2, 2, "x", 0))
    by_name = store.arrangement((2,))
    chain: list[Update] = [(A, 2, -1), (B, 2, 1), (B, 2, -1), (C, 2, 1), (NEW, 2, 1), (NEW, 2, -1)]
    with pytest.raises(ConstraintError, match=r"cannot delete from .* = \(9, 9\), \(7, 7\); delete only") as missing:
        applied(store, [*chain, ((9, 9, "x", 0), 2, -1), ((7, 7, "x", 0), 2, -1)])
    assert missing.value.__context__ is None
    with pytest.raises(ConstraintError, match=r"cannot insert into .* = \(2, 2\); upsert"):
        applied(store, [*chain, ((2, 2, "y", 0), 2, 1)])
    with pytest.raises(ConstraintError, match=r"cannot delete from .* = \(1, 1\), \(3, 3\); delete only"):
        applied(store, [(A, 2, -1), (B, 2, -1), ((3, 3, "x", 0), 2, -1), (NEW, 2, 1)])
    assert rows_of(store.arrow()) == [A, (2, 2, "x", 0)]
    by_name.catch_up()
    assert_arrangements_agree(store, 2)
    mark = store.mark()
    assert applied(store, chain) == [(A, 2, -1), (C, 2, 1)]
    store.rollback(mark)
    assert rows_of(store.arrow()) == [A, (2, 2, "x", 0)]
    assert_arrangements_agree(store, 2)


def test_rows_of_a_multiset_cancel_before_any_is_missed():
    store = store_of(A, A, table=MULTISET)
    assert applied(store, [(A, 2, -3), (NEW, 2, -1), (A, 2, 2), (NEW, 2, 2), (B, 2, -1), (B, 2, 1)]) == [
        (A, 2, -1),
        (NEW, 2, 1),
    ]
    with pytest.raises(ConstraintError, match=r"delete from table m: it has no row with .* = \(1, 1, 'b'"):
        applied(store, [(C, 3, 1), (C, 3, -1), (B, 3, -1)])
    store.seal(4, 3)
    assert rows_of(store.arrow()) == [A, NEW]


def test_keys_alone_cancel_nothing():
    store = store_of(A)
    keys = pa.table({"a": pa.array([1, 1]), "b": pa.array([1, 1], pa.int32())})
    with pytest.raises(ConstraintError, match=r"has no row with PRIMARY KEY \(a, b\) = \(1, 1\); "):
        store.apply(keys, np.array([-1, -1]), 2)
    assert rows_of(store.arrow()) == [A]


def test_upserts_do_not_cancel():
    store = store_of(A)
    with pytest.raises(ConstraintError, match="has no row"):
        store.apply(arrow_of([NEW, NEW]), np.array([-1, 1]), 2, "upsert")


def test_texts_that_cancel_are_not_kept():
    store = store_of(A)
    known = len(store._dictionary)
    passing: Row = (1, 1, "seen by nobody", 0)
    store.apply(arrow_of([A, passing, passing, C]), np.array([-1, 1, -1, 1]), 2)
    assert len(store._dictionary) == known


def test_many_rows_of_many_versions():
    rng = np.random.default_rng(5)
    contents: Contents = {(k, 0): (k, 0, "first", 0) for k in range(0, 3000, 2)}
    store = store_of(*contents.values())
    changes: list[Update] = []
    for k in range(3000):
        row = contents.get((k, 0))
        for time in range(2, 5):
            for version in range(int(rng.integers(0, 4))):
                changes += [] if row is None else [(row, time, -1)]
                row = None if row is not None and rng.random() < 0.3 else (k, 0, f"{time}.{version}", k % 5)
                changes += [] if row is None else [(row, time, 1)]
    changes = [changes[i] for i in rng.permutation(len(changes))]
    expected, updates = apply_keyed(contents, changes, "diff")
    assert net(applied(store, changes)) == updates
    store.seal(5, 4)
    assert sorted(rows_of(store.arrow()), key=repr) == sorted(expected.values(), key=repr)
