"""Rows that come to a table by one call, held against what was done one after the other, and what is refused."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ivm.catalog.errors import ConstraintError
from ivm.catalog.schema import Field, Table
from ivm.catalog.types import BIGINT, DATE, INTEGER, VARCHAR
from ivm.kernels.hashing.block import FINAL, LAST, LINKED, NONE, OWES, SINCE, STOP
from ivm.kernels.hashing.seal import seal_runs
from ivm.kernels.memory.append import DONE, GIVEN
from ivm.kernels.memory.in_place import COUNT, PAGE_BITS, PAGES, STARTS
from ivm.kernels.memory.places import WORDS
from ivm.kernels.step import state
from ivm.kernels.step.append import TIMELESS, WANTING, append_rows
from ivm.trace.columns.in_place import Pieces
from ivm.trace.rows.table_store import TableStore
from ivm.trace.text.dictionary import TextDictionary
from ivm.trace.time import BEGINNING, Births

NOTHING = np.zeros(0, np.int64)
NO_PLACES = np.zeros((0, WORDS), np.int64)
NO_COLUMNS = np.zeros((0, 2), np.int64)


@settings(deadline=None, max_examples=60)
@given(st.lists(st.tuples(st.integers(1, 3000), st.integers(0, 2), st.integers(0, 70)), max_size=12))
def test_pieces_and_times_are_written_as_they_would_be_one_by_one(coming: list[tuple[int, int, int]]) -> None:
    """Rows come later by so much than those before, all at once or, if more, at up to so many times."""
    words, births, pieces = np.zeros(state.ROWS_OF, np.int64), Births(), Pieces()
    words[state.LAST], words[state.TIMES :] = BEGINNING, births.told(words, state.TIMES)
    twin_births, twin_pieces, rows, time = Births(), Pieces(), 0, 1
    for count, later, more in coming:
        time += later
        listed, times = [NO_PLACES, None], time + np.arange(count) * more // count
        given_words = np.array([rows, count, time, id(times) if more else 0, 0, id(listed), id(None)], np.int64)
        assert len(given_words) == GIVEN
        said = WANTING
        while said != DONE:
            said = append_rows(words, NOTHING, NO_PLACES, NO_COLUMNS, given_words, pieces.block, NOTHING, NO_PLACES)
            if said == WANTING:
                pieces.make_room(count)
            elif said == TIMELESS:
                births.make_room(count if more else 1)
        if words[state.LAST] != births.last:
            births.came(int(words[state.LAST]), int(words[state.KNOWN]))
        for row, time in enumerate(times.tolist(), rows):
            twin_births.reach(time, row)
        twin_pieces.push(count)
        rows += count
        assert words[state.ROWS] == rows
        assert words[state.LAST] == twin_births.last == time
        assert words[state.KNOWN] == twin_births.times.length
        assert births.times.view().tolist() == twin_births.times.view().tolist()
        assert pieces.starts.tolist() == twin_pieces.starts.tolist()
        assert [pieces.piece_of(row) for row in range(0, rows, 97)] == [
            int(np.searchsorted(twin_pieces.starts, row, side="right")) - 1 for row in range(0, rows, 97)
        ]
    pages = -(-rows >> PAGE_BITS)
    assert pieces.arguments[0][:pages].tolist() == twin_pieces.arguments[0][:pages].tolist()
    assert pieces.block[COUNT] == len(coming)
    assert pieces.block[PAGES] != pieces.block[STARTS] or not coming


@pytest.mark.parametrize("seed", range(5))
def test_indexes_that_owe_nothing_are_sealed(seed: int) -> None:
    random = np.random.default_rng(seed)
    blocks = [random.integers(0, 100, LAST) for _ in range(int(random.integers(0, 6)))]
    for block in blocks:
        block[OWES] = random.integers(0, 2)
    before = [block.copy() for block in blocks]
    owing = seal_runs(np.array([block.ctypes.data for block in blocks], np.int64), 7)
    assert owing == sum(int(block[OWES]) for block in before)
    for block, was in zip(blocks, before, strict=True):
        if not was[OWES]:
            was[SINCE], was[FINAL], was[LINKED] = 7, was[STOP], NONE
        assert block.tolist() == was.tolist()


def rows_of(keys: list[int | None], random: np.random.Generator) -> pa.RecordBatch:
    """Rows of these keys, and of anything else."""
    names = pa.array([None if random.random() < 0.1 else f"name {random.integers(0, 9)}" for _ in keys])
    days = pa.array([None if random.random() < 0.1 else int(random.integers(0, 9)) for _ in keys], pa.int32())
    numbers = pa.array([int(random.integers(0, 9)) for _ in keys], pa.int32())
    return pa.record_batch(
        {"id": pa.array(keys, pa.int64()), "n": numbers, "name": names, "day": days.cast(pa.date32())}
    )


def said_of(store: TableStore) -> list[object]:
    """All that kernels are told of a store, of its columns, and of its arrangements, but for room."""
    pieces = store.store.columns._cold.batches.pieces
    told: list[object] = [store.store.words[2 : state.TIMES].tolist(), pieces.starts.tolist(), store.count]
    for each in store.arrangements():
        told.append((each.index.rows, each.block[[STOP, FINAL]].tolist()))
    return told


@pytest.mark.parametrize("seed", range(12))
def test_what_is_refused_leaves_nothing(seed: int) -> None:
    random = np.random.default_rng(seed)
    fields = (Field("id", BIGINT), Field("n", INTEGER), Field("name", VARCHAR), Field("day", DATE))
    store = TableStore(Table("t", fields, ("id",)), TextDictionary())
    others = [store.arrangement((1,)), store.arrangement((2, 3))]
    kept: dict[int, tuple[object, ...]] = {}
    time, newest = 0, 0
    for _ in range(40):
        time += 1
        keys: list[int | None] = [newest + 1 + i for i in range(int(random.integers(1, 5)))]
        what = random.choice(["ascending", "between", "twice", "null", "undone"])
        if what == "between":
            keys = [-int(random.integers(1, 10**9))]
        elif what == "twice":
            keys += [random.choice([*kept, newest + 1])]
        elif what == "null":
            keys[int(random.integers(0, len(keys)))] = None
        batch, mark, before = rows_of(keys, random), store.mark(), said_of(store)
        try:
            store.apply(batch, None, time)
        except ConstraintError:
            assert what in ("twice", "null")
            assert said_of(store) == before
        else:
            if what == "undone":
                store.rollback(mark)
                assert said_of(store)[1:3] == before[1:3]
            else:
                rows = list(zip(*batch.to_pydict().values(), strict=True))
                kept |= {row[0]: row for row in rows}
                newest = max(newest, *(row[0] for row in rows))
        if random.random() < 0.7:
            for each in others:
                each.catch_up()
        store.seal(time + 1, time)
        assert sorted(zip(*store.arrow().to_pydict().values(), strict=True)) == sorted(kept.values())
    for each in others:
        each.catch_up()
        words, dropped = each.layout.pack([store.store.gather(c, np.arange(store.count)) for c in each.key])
        positions, found = each.probe(words, dropped, time, True)
        assert set(found.tolist()) == set(np.flatnonzero(~dropped) if dropped is not None else range(store.count))
        assert np.isin(positions, found).all()
