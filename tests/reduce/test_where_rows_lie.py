"""Operators give the same rows in the same order wherever those of their input lie."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ivm.catalog.schema import Field
from ivm.catalog.types import BIGINT
from ivm.operators.multiplicities import Threshold
from ivm.operators.operator import Operator
from ivm.operators.reduce import Reduce
from ivm.operators.top_k import AppendOnlyTopK, TopK
from ivm.operators.window import Window as WindowOperator
from ivm.plan.lower import lower
from ivm.plan.window import WindowPlan
from ivm.render.ordered import window_operator
from ivm.sql.ir.relation import Get, Order, Window
from ivm.sql.ir.window_function import WindowFunction
from ivm.trace.columns.column import Column
from ivm.trace.delta import Columns, Delta, Group, Layout
from ivm.trace.text.dictionary import TextDictionary
from ivm.trace.view_log import ViewLog
from tests.reduce.model import from_delta, to_delta
from tests.reduce.test_reduce import worlds
from tests.reduce.test_top_k import worlds as top_k_worlds
from tests.states import rollback, seal, step
from tests.trace_state.test_appended_rows import TYPES, Given, refs_of


def scattered(delta: Delta, refs: Any, rows: Any) -> Delta:
    """The delta with each column in a source of its own, by `refs`, where `rows` of what there was lie."""
    groups = [Group(Columns([column.take(rows)]), refs) for column in delta.columns()]
    return Delta(groups, Layout((group, 0) for group in range(len(groups))), len(delta), delta.times, delta.diffs)


def apart(array: Any) -> Any:
    """The same numbers, not one behind the other."""
    return np.repeat(array, 2)[::2]


def ways(delta: Delta) -> list[Delta]:
    """The delta, lying otherwise."""
    every = np.arange(len(delta))
    times = delta.times if isinstance(delta.times, int) else apart(delta.times)
    diffs = None if delta.diffs is None else apart(delta.diffs)
    strided = [
        Column(apart(c.values) if c.values.ndim == 1 else np.repeat(c.values, 2, axis=0)[::2], c.valid)
        for c in delta.columns()
    ]
    return [
        scattered(delta, every[::-1].copy(), every[::-1]),
        scattered(delta, every[::-1], every[::-1]),
        scattered(delta, every.astype(np.int32), every),
        Delta([Group(Columns(strided))], delta.layout, len(delta), times, diffs),
    ]


def assert_the_same(made: Callable[[TextDictionary], Operator], types: Any, out_types: Any, batches: Any) -> None:
    """Operators that are `made` alike put out the same, and a log takes it as it is, wherever the rows of batches lie.

    Each batch is taken back once, in which the rows came to lie in another way.
    """
    found = []
    for way in range(5):
        dictionary = TextDictionary()
        operator, log = made(dictionary), ViewLog(out_types, dictionary)
        rows: list[str] = []
        for batch in batches:
            delta = to_delta(batch, types, dictionary)
            lying = [delta, *ways(delta)] if delta.groups else [delta] * 5
            step(operator, [lying[way - 1]])
            rollback(operator)
            out = step(operator, [lying[way]])
            seal(operator)
            rows += map(repr, from_delta(out, out_types, dictionary))
            if out is not None:
                log.append(out)
        log.seal(1 << 40, 0)
        columns, each_time, diffs = log.sealed.updates.part(0, len(log))
        logged = Delta(
            [Group(Columns(columns))], Layout((0, i) for i in range(len(columns))), len(log), each_time, diffs
        )
        assert [repr(each) for each in from_delta(logged, out_types, dictionary)] == rows
        found.append(rows)
    assert all(rows == found[0] for rows in found)


def batches_of(updates: list[Any], at_once: bool) -> list[list[Any]]:
    """The updates of each time, or all together."""
    times = sorted({time for _, time, _ in updates})
    return [updates] if at_once else [[each for each in updates if each[1] == time] for time in times]


@settings(max_examples=60)
@given(worlds(), st.booleans())
def test_groups(world: Any, at_once: bool) -> None:
    keys, arguments, specs, updates = world
    out_types = [type_ for type_, _ in keys] + [spec.type for spec in specs]
    assert_the_same(
        lambda dictionary: Reduce(keys, tuple(specs), dictionary),
        (*keys, *arguments), out_types, batches_of(updates, at_once),
    )  # fmt: skip


@settings(max_examples=60)
@given(top_k_worlds(), st.booleans())
def test_windows_and_multiplicities(world: Any, at_once: bool) -> None:
    types, group, order, limit, offset, ties, updates = world
    out_types, batches = [type_ for type_, _ in types], batches_of(updates, at_once)
    assert_the_same(
        lambda dictionary: TopK(types, group, order, limit, offset, dictionary, ties), types, out_types, batches
    )
    assert_the_same(lambda dictionary: Threshold(types, dictionary), types, out_types, batches)


def numbered(dictionary: TextDictionary) -> Operator:
    """Rows with their number among those that have the same value of the fourth column."""
    table = Get("t", tuple(Field(f"c{i}", each) for i, each in enumerate(TYPES)))
    function = WindowFunction("row_number", (), BIGINT, False)
    plan = lower(Window(table, (3,), (Order(1),), (function,), ("n",)))
    assert isinstance(plan, WindowPlan)
    return window_operator(plan, dictionary)


@pytest.mark.parametrize("nulls", [False, True])
@pytest.mark.parametrize("refs", ["none", "side by side", "far apart", "short"])
@pytest.mark.parametrize("kind", ["batch", "columns", "pieces"])
def test_rows_that_came_in_and_rows_of_a_store(kind: str, refs: str, nulls: bool) -> None:
    """They come and go, twice in one delta, and are taken back; bits or bytes say what is NULL."""
    given, types = Given(), [(type_, True) for type_ in TYPES]
    made: list[Callable[[], Operator]] = [
        lambda: Threshold(types, given.dictionary),
        lambda: TopK(tuple(types), (), ((1, True, False), (4, False, True)), 40, 5, given.dictionary),
        lambda: TopK(tuple(types), (3, 0), ((2, True, True),), 1, 0, given.dictionary, ties=True),
        lambda: TopK(tuple(types), (), ((5, True, True), (6, False, False)), None, 20, given.dictionary),
        lambda: numbered(given.dictionary),
        lambda: AppendOnlyTopK(tuple(types), (3,), ((4, True, True), (1, False, False)), 20, 5, given.dictionary),
    ]
    source, other = getattr(given, kind)(700, 5, nulls), given.columns(700, 77, nulls)
    layout = Layout([*((0, i) for i in range(len(TYPES) - 1)), (1, len(TYPES) - 1)])
    random, deltas = np.random.default_rng(7), list[Delta]()
    for time in range(1, 5):
        count = 700 if refs == "none" else 600
        taken, of_other = refs_of(700, count, refs), refs_of(700, count, "side by side")
        diffs = None if time == 1 else random.integers(0, 3, count)
        times = time if time % 2 else np.sort(random.integers(time, time + 2, count))
        deltas.append(Delta([Group(source, taken), Group(other, of_other)], layout, count, times, diffs))
    a, b, c, d = (each.with_diffs(-each.diff_array()) for each in deltas)
    coming, deltas = deltas, [*deltas[:2], a, deltas[2], b, deltas[3], d, c]
    for each in made:
        one, two = each(), each()
        only_come = isinstance(one, AppendOnlyTopK)
        for delta in coming if only_come else deltas:
            step(one, [delta])
            rollback(one)
            found, wanted = step(one, [delta]), step(two, [delta.copied()])
            seal(one)
            seal(two)
            types_out = [*TYPES, *([BIGINT] if isinstance(one, WindowOperator) else [])]
            rows, wanted_rows = (from_delta(out, types_out, given.dictionary) for out in (found, wanted))
            assert repr(rows) == repr(wanted_rows)
        left = from_delta(next(one.contents([], 9), None), types_out, given.dictionary)
        assert bool(left) == only_come
