"""What a kernel asks for before it changes an index: until it has it, no change is made."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from ivm.kernels.hashing.changes import COUNTS, KILLED, apply_changes
from ivm.kernels.hashing.insert import insert_rows
from ivm.kernels.hashing.settle import ABSENT, LEAVING, MOST, NO_ROOM, SETTLED
from ivm.trace.index.index import Index
from ivm.trace.rows.changes import Applied
from tests.trace_state.words import KeysOf

NOBODY = np.empty(0, np.int64)
ROWS, ALL_KEYS = 100, 1 << 30


def _index():
    """An index with a run of rows of even keys, and nothing in its table."""
    words = np.arange(0, 2 * ROWS, 2).reshape(-1, 1)
    index = Index(1, True, KeysOf(lambda rows: words[rows]))
    assert index.extend(words, None)
    index.seal(0, NOBODY)
    index._chains.lengthen(ROWS, ROWS)
    return index


def _image(index):
    return [each.tobytes() for each in (index.block, *index._chains.tables, index._chains.following.array)]


def test_changes_wait_for_what_they_ask_for():
    index, died, times = _index(), np.zeros(2 * ROWS, np.int64), np.array([-5])
    before = _image(index)

    def changed(keys, most):
        words, applied = np.array(keys, np.int64).reshape(-1, 1), Applied(len(keys))
        frame, inserts = index._run.settling(1, most), np.zeros(len(keys), np.bool_)
        said = apply_changes(index.block, frame, died, words, inserts, times, ROWS, True, False, applied.done)
        return said, frame.item(ABSENT), applied

    for keys, most, said, absent, is_linked in (
        ([4, 8, 160], 2, LEAVING, 3, False),  # rows are to leave the run first
        ([4, 8, 160, 1000], 2, LEAVING, 3, False),  # the last key is above all of the run
        ([*range(0, 14, 2)], ALL_KEYS, NO_ROOM, 7, False),  # of 16 slots so many may not be used
        ([4, *range(1001, 1007)], ALL_KEYS, NO_ROOM, 7, True),  # nor by keys that might come
    ):
        found, wanted, applied = changed(keys, most)
        assert (found, wanted) == (said, absent)
        assert not applied.done[:COUNTS].any()
        assert not died.any()
        assert (_image(index) != before) == is_linked

    said, absent, applied = changed([160, 8], 2)
    assert (said, absent) == (SETTLED, 2)
    assert applied.done[KILLED] == 2
    assert applied.killed.tolist() == [80, 4] == np.flatnonzero(died).tolist()[::-1]
    for key, row in ((8, 4), (160, 80), (10, 5), (11, None)):
        assert index.newest(np.array([[key]]), NOBODY) == row


def test_rows_that_come_wait_for_room_in_the_table_for_the_keys_of_the_run():
    index = _index()
    before = _image(index)
    words = np.array([[2 * row] for row in range(0, ROWS, 10)])
    frame, hashes = index._run.settling(1, ALL_KEYS), np.empty(2 * len(words), np.uint64)

    def inserted():
        return insert_rows(index.block, frame, NOBODY, words, hashes, np.empty(0, np.bool_), 0, ROWS)

    assert inserted() == NO_ROOM
    assert frame.item(ABSENT) == len(words)
    assert _image(index) == before
    frame[MOST] = len(words) - 1
    assert inserted() == LEAVING
    frame[MOST] = len(words)
    index._chains.ensure(len(words), len(words), NOBODY, 0)
    assert inserted() == len(words)
    following = index._chains.following.array
    assert following[ROWS : ROWS + len(words)].tolist() == [*range(0, ROWS, 10)]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(1, 700), min_size=1, max_size=8), st.booleans(), st.data())
def test_the_first_keys_of_a_run(repeats, unique, data):
    words = np.repeat(np.arange(len(repeats)) * 7 - 9, 1 if unique else repeats).reshape(-1, 1)
    words = np.column_stack([words, words * 3]) if unique else words
    index = Index(words.shape[1], unique, KeysOf(lambda rows: words[rows]))
    assert index.extend(words, None)
    start = data.draw(st.sampled_from([0, *np.flatnonzero(np.diff(words[:, 0]) > 0) + 1]))
    rows = data.draw(st.integers(1, len(words) - start))
    index._run.start = int(start)

    keys, firsts, counts = index._run.keys(rows, words.shape[1])

    wanted = sorted({int(word) for word in words[start : start + rows, 0]})
    assert keys[:, 0].tolist() == wanted
    assert keys.tolist() == words[firsts].tolist()
    assert [(words[:, 0] == word).sum() for word in wanted] == counts.tolist()
    assert firsts.tolist() == [int(np.flatnonzero(words[:, 0] == word)[0]) for word in wanted]
