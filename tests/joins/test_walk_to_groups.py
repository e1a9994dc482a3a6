"""Walks that go on through the groups of a reduce, against the same stages one by one in Python, then the reduce."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from ivm.catalog.errors import NumericError
from ivm.catalog.types import BIGINT, HUGEINT
from ivm.dataflow.graph import Graph
from ivm.dataflow.node import Node
from ivm.operators.accumulable import AggregateSpec
from ivm.operators.ends import Feed
from ivm.operators.half_join import HalfJoin
from ivm.operators.join import DeltaJoin, Path
from ivm.operators.multiplicities import Union
from ivm.operators.reduce import Reduce
from ivm.operators.reduce_leg import ReduceLeg
from ivm.operators.stage import Stage
from ivm.trace import route
from ivm.trace.columns import growable
from ivm.trace.columns.column import Column as Values
from ivm.trace.columns.column import Ints
from ivm.trace.concatenation import concat_deltas
from ivm.trace.delta import Columns, Delta, Group
from ivm.trace.keyed import group_table, groups
from tests.joins.test_walk import LAYOUT, TYPES, WIDTH, Case, by_python

SPECS = (
    AggregateSpec("count_star", None, None, False, BIGINT),
    AggregateSpec("sum", 2, BIGINT, False, HUGEINT),
    AggregateSpec("sum", 0, BIGINT, False, HUGEINT),
)
Row = tuple[str | int, ...]


class Counted:
    """How many walks have ended in groups, and how many have left them."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.ended = self.left = 0
        ended, leave = ReduceLeg.ended, ReduceLeg.leave

        def counting_ended(leg, route, number, times):
            has_ended = ended(leg, route, number, times)
            self.ended += has_ended
            return has_ended

        def counting_leave(*arguments):
            self.left += 1
            return leave(*arguments)

        monkeypatch.setattr(ReduceLeg, "ended", counting_ended)
        monkeypatch.setattr(ReduceLeg, "leave", counting_leave)


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> Counted:
    return Counted(monkeypatch)


class Pair:
    """A join and a reduce of it in a graph, and the reduce's twin, which all stages have been gone through before."""

    def __init__(self, case: Case, stages: list[Stage], keys: int) -> None:
        self.case, self.stages = case, stages
        self.twin = Reduce(TYPES[:keys], SPECS, case.dictionary)
        self.graph = Graph()
        self.source = self.graph.add("source", Feed(lambda time: iter(())))
        path = Path(0, 0, WIDTH, (), tuple(stages))
        self.join = self.graph.add("join", DeltaJoin([path]), (self.source,))
        self.operator = Reduce(TYPES[:keys], SPECS, case.dictionary)
        self.reduce = self.graph.add("reduce", self.operator, (self.join,))
        self.passed = 0

    def step(self, delta: Delta) -> dict[Node, Delta]:
        """Carry a change through both, and compare what comes of it."""
        changes = self.graph.step({self.source: delta})
        parts = by_python(self.stages, [delta])
        self.passed += sum(map(len, parts))
        whole = concat_deltas(parts)
        expected = None if whole is None else self.twin.step([whole])
        assert shown(changes.get(self.reduce)) == shown(expected)
        return changes

    def undo(self) -> None:
        """Take the commit back."""
        self.graph.rollback()
        self.twin.groups.rollback(0)

    def seal(self) -> None:
        """The commit is final; both have the same contents then, and the same work was counted."""
        time = self.case.time
        self.graph.seal(time, time)
        self.twin.groups.seal(time + 1, time)
        found, expected = (shown(concat_deltas([*each.contents([], time)])) for each in (self.operator, self.twin))
        assert found == expected
        assert len(self.operator.groups) == len(self.twin.groups)
        assert self.join.updates_out == self.reduce.updates_in == self.passed


def shown(delta: Delta | None) -> Counter[Row]:
    """What a delta adds up to, each time by itself."""
    found: Counter[Row] = Counter()
    if delta is None:
        return found
    columns = [delta.column(c).values.tolist() for c, place in enumerate(delta.layout.places) if place is not None]
    for number, (time, diff) in enumerate(zip(delta.time_array().tolist(), delta.diff_array().tolist(), strict=True)):
        found[(*(str(column[number]) for column in columns), time)] += diff
    return Counter({row: diff for row, diff in found.items() if diff})


def taken_back(delta: Delta, time: int) -> Delta:
    """The same rows, which come at a time if they went, and go if they came."""
    return Delta(delta.groups, delta.layout, delta.length, time, -delta.diff_array())


def want_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have walks, groups and all that grows begin without memory."""
    for where, name, value in (
        (route, "_LEAST", 1), (route, "_SPARE", 0), (groups, "_SMALL", 0),
        (groups, "_MOST_SPARE", 0), (group_table, "_SMALLEST", 2), (group_table, "_LARGEST", 2), (growable, "_START", 1),
    ):  # fmt: skip
        monkeypatch.setattr(where, name, value)


def histories(seeds: int) -> int:
    """Commits one after the other: rows come, go, and come back; some commits are taken back, or have two deltas."""
    rows = 0
    for seed in range(seeds):
        case = Case(seed)
        case.commit()
        pair = Pair(case, case.stages(), seed % 2)
        gone: list[Delta] = []
        for _ in range(30):
            case.commit()
            pair.graph.seal(case.time, case.time)
            delta = case.delta()
            if gone and case.random.random() < 0.4:
                back = gone.pop()
                delta = taken_back(back, case.time)
            if case.random.random() < 0.3:
                pair.step(delta)
                pair.undo()
                pair.passed = pair.join.updates_out
            pair.step(delta)
            gone.append(delta)
            pair.seal()
        rows += pair.passed
    return rows


def test_a_walk_through_groups_does_what_its_stages_do(counted: Counted) -> None:
    assert histories(30) > 1000
    assert counted.ended > 80


@pytest.mark.parametrize("most", [1, 7])
def test_in_parts_it_leaves_the_groups(monkeypatch: pytest.MonkeyPatch, counted: Counted, most: int) -> None:
    monkeypatch.setattr(route, "MOST_FOUND", most)
    assert histories(15) > 300
    assert counted.left > 10


def test_where_all_memory_is_wanting_at_first(monkeypatch: pytest.MonkeyPatch, counted: Counted) -> None:
    want_memory(monkeypatch)
    assert histories(15) > 300
    assert counted.ended > 50


def joined(case: Case) -> list[Stage]:
    """One look-up, and nothing else: a row for each row that is found."""
    return [HalfJoin(case.arranged[0], (1,), 2, 2, True, (), (), case.arranged[0].unique)]


def settled(seed: int, keys: int = 1) -> tuple[Case, Pair]:
    """A pair whose changes go through the groups in one walk."""
    case = Case(seed)
    for _ in range(6):
        case.commit()
    pair = Pair(case, joined(case), keys)
    for _ in range(4):
        pair.step(ones(case))
        pair.seal()
    return case, pair


def ones(case: Case, diff: int = 1) -> Delta:
    """A row for each key."""
    return rows(case, np.arange(60) % 7, diff)


def rows(case: Case, values: Ints, diff: int) -> Delta:
    """So many rows with these values, of the keys from 0 on."""
    columns = [Values(values), Values(np.arange(len(values)))]
    return Delta([Group(Columns(columns))], LAYOUT, len(values), case.time, np.full(len(values), diff))


def test_another_reader_gets_the_changes_themselves(counted: Counted) -> None:
    case, pair = settled(3)
    ended = counted.ended
    assert ended
    other = pair.graph.add("other", Union(), (pair.join,))
    changes = pair.step(ones(case))
    assert shown(changes[other]) == shown(concat_deltas(by_python(pair.stages, [ones(case)])))
    pair.seal()
    assert counted.ended == ended
    pair.graph.remove([other])
    for _ in range(3):
        pair.step(ones(case))
        pair.seal()
    assert counted.ended > ended


def test_a_view_that_owns_the_node_in_between_sees_its_changes(counted: Counted) -> None:
    case, pair = settled(3)
    pair.join.owners["view"] = None
    ended = counted.ended
    assert pair.join in pair.step(ones(case))
    assert counted.ended == ended


@pytest.mark.parametrize("keys", [0, 1])
def test_what_does_not_fit_is_raised_by_the_reduce(counted: Counted, keys: int) -> None:
    """As the last node that was reached, and the commit can be taken back."""
    case, pair = settled(5, keys)
    large = rows(case, np.full(60, 1 << 62), 1 << 62)
    for _ in range(3):
        left = counted.left
        with pytest.raises(NumericError):
            pair.graph.step({pair.source: large})
        assert counted.left > left
        assert pair.graph.last is pair.reduce
        pair.graph.rollback()
        ended, pair.passed = counted.ended, pair.join.updates_out
        for _ in range(2):
            pair.reduce.taken = pair.passed
            pair.step(ones(case))
            pair.seal()
        assert counted.ended > ended


def test_groups_that_return_in_one_commit(counted: Counted) -> None:
    case, pair = settled(4)
    gone = ones(case, -4)
    changes = pair.step(gone)
    assert changes[pair.reduce].diff_array().tolist() == [-1] * len(changes[pair.reduce])
    pair.step(ones(case, 3))
    pair.undo()
    pair.passed = pair.join.updates_out
    pair.step(gone)
    pair.step(ones(case, 4))
    pair.seal()
    assert counted.ended > 6


def test_nothing_that_is_found_changes_nothing(counted: Counted) -> None:
    case, pair = settled(4)
    nobody = Delta([Group(Columns([Values(np.arange(3)), Values(np.full(3, 10**6))]))], LAYOUT, 3, case.time)
    ended, edition = counted.ended, pair.operator.groups.edition
    for _ in range(3):
        assert pair.reduce not in pair.step(nobody)
        pair.seal()
    assert counted.ended == ended
    pair.step(ones(case))
    pair.seal()
    assert counted.ended == ended + 1
    assert pair.operator.groups.edition > edition
