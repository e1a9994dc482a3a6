"""Base tables against a dictionary and a Counter: contents, deltas, errors and undo, with many times in a batch."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ivm.catalog.errors import ConstraintError
from ivm.trace.rows.table_store import TableStore
from ivm.trace.text.dictionary import TextDictionary
from tests.trace_state.tables import (
    BATCH,
    KEYED,
    MULTISET,
    Contents,
    Refused,
    Row,
    apply_keyed,
    apply_multiset,
    arrow_of,
    assert_arrangements_agree,
    net,
    possible,
    rows_of,
    run,
    timed,
    updates_of,
)


@given(batches=st.lists(st.tuples(BATCH, st.booleans()), max_size=12), hot=st.booleans())
def test_a_keyed_table_is_a_dictionary(batches, hot):
    dictionary = TextDictionary()
    store = TableStore(KEYED, dictionary)
    if hot:
        store.arrangement((2,))
    contents: Contents = {}
    time = 0
    history: dict[int, Contents] = {0: {}}
    for (batch, mode, one_time, keep), only_possible in batches:
        time += 10
        changes = timed(batch, time, one_time)
        if only_possible:
            changes = possible(contents, changes, mode)
        mark = store.mark()
        try:
            expected, updates = apply_keyed(contents, changes, mode)
        except Refused:
            with pytest.raises(ConstraintError):
                run(store, changes, one_time, mode)
        else:
            delta = run(store, changes, one_time, mode)
            assert net(updates_of(delta, dictionary)) == updates
            if keep:
                contents = expected
        if keep:
            store.seal(time + 10, -1)
        else:
            store.rollback(mark)
        history[time + 9] = contents
        assert sorted(rows_of(store.arrow()), key=repr) == sorted(contents.values(), key=repr)
        assert store.count == len(contents)
    for moment, then in history.items():
        assert sorted(rows_of(store.arrow(moment)), key=repr) == sorted(then.values(), key=repr)
    assert_arrangements_agree(store, time + 9)


@given(batches=st.lists(BATCH, max_size=12))
def test_a_table_without_a_key_is_a_multiset(batches):
    dictionary = TextDictionary()
    store = TableStore(MULTISET, dictionary)
    contents: Counter[Row] = Counter()
    time = 0
    for batch, _, one_time, keep in batches:
        time += 10
        changes = timed(batch, time, one_time)
        mark = store.mark()
        try:
            expected, updates = apply_multiset(contents, changes)
        except Refused:
            with pytest.raises(ConstraintError):
                run(store, changes, one_time)
        else:
            assert net(updates_of(run(store, changes, one_time), dictionary)) == updates
            if keep:
                contents = expected
        if keep:
            store.seal(time + 10, time + 9)
        else:
            store.rollback(mark)
        assert Counter(rows_of(store.arrow())) == contents


@given(batches=st.lists(BATCH, min_size=1, max_size=6))
def test_several_batches_of_one_commit_are_undone_together(batches):
    dictionary = TextDictionary()
    store = TableStore(KEYED, dictionary)
    store.arrangement((0,))
    store.apply(arrow_of([(a, 0, "first", a) for a in range(4)]), None, 1)
    store.seal(2, 1)
    before, mark = rows_of(store.arrow()), store.mark()
    for batch, mode, _, _ in batches:
        try:
            run(store, timed(batch, 5, True), True, mode)
        except ConstraintError:
            continue
        store.arrangement((0,)).catch_up()
    store.rollback(mark)
    assert rows_of(store.arrow()) == before
    assert_arrangements_agree(store, 99)
    store.apply(arrow_of([(9, 9, "after", 1)]), None, 5)
    store.seal(6, 5)
    assert rows_of(store.arrow()) == [*before, (9, 9, "after", 1)]
    assert_arrangements_agree(store, 99)
