"""A reduce gives the same rows in the same order wherever those of its input lie."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from ivm.operators.reduce import Reduce
from ivm.trace.columns.column import Column
from ivm.trace.delta import Columns, Delta, Group, Layout
from ivm.trace.text.dictionary import TextDictionary
from ivm.trace.view_log import ViewLog
from tests.reduce.model import from_delta, to_delta
from tests.reduce.test_reduce import worlds
from tests.states import step


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


@settings(max_examples=60)
@given(worlds(), st.booleans())
def test_the_same_rows_come_wherever_those_of_the_input_lie(world: Any, at_once: bool) -> None:
    keys, arguments, specs, updates = world
    dictionary, types = TextDictionary(), (*keys, *arguments)
    out_types = [type_ for type_, _ in keys] + [spec.type for spec in specs]
    times = sorted({time for _, time, _ in updates})
    batches = [updates] if at_once else [[each for each in updates if each[1] == time] for time in times]
    found = []
    for way in range(5):
        reduce, log = Reduce(keys, tuple(specs), dictionary), ViewLog(out_types, dictionary)
        rows: list[str] = []
        for batch in batches:
            delta = to_delta(batch, types, dictionary)
            out = step(reduce, [[delta, *ways(delta)][way] if delta.groups else delta])
            rows += map(repr, from_delta(out, out_types, dictionary))
            if out is not None:
                log.append(out)
        log.seal(len(updates) + 1, 0)
        columns, each_time, diffs = log.sealed.updates.part(0, len(log))
        logged = Delta(
            [Group(Columns(columns))], Layout((0, i) for i in range(len(columns))), len(log), each_time, diffs
        )
        assert [repr(each) for each in from_delta(logged, out_types, dictionary)] == rows
        found.append(rows)
    assert all(rows == found[0] for rows in found)
