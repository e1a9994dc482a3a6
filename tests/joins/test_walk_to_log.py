"""Walks that go on into the log of a view, through groups or not, against the same nodes one by one in Python."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from ivm.catalog.types import BIGINT, HUGEINT
from ivm.dataflow.graph import Graph
from ivm.kernels.groups.offer import IS_OFFERED, OPEN
from ivm.operators.ends import Feed, Sink
from ivm.operators.group_step import Output, OutputForm
from ivm.operators.join import DeltaJoin, Path
from ivm.operators.mfp import Mfp as MfpNode
from ivm.operators.multiplicities import Union
from ivm.operators.operator import Operator
from ivm.operators.reduce import Reduce
from ivm.operators.reduce_leg import ReduceLeg
from ivm.operators.sink_leg import SinkLeg
from ivm.operators.stage import Stage
from ivm.plan.mfp import Mfp
from ivm.render.scalars.program import MfpProgram
from ivm.trace import route
from ivm.trace.columns.column import Column as Values
from ivm.trace.concatenation import concat_deltas
from ivm.trace.delta import Columns, Delta, Group
from ivm.trace.keyed import groups
from ivm.trace.view_log import ViewLog
from tests.joins.test_walk import COMPILER, LAYOUT, TYPES, WIDTH, Case, by_python
from tests.joins.test_walk_to_groups import SPECS, joined, ones, shown, taken_back, want_memory

Rows = Counter[tuple[str | int, ...]]
SHOWN = (BIGINT, BIGINT, HUGEINT, HUGEINT)


class Chain:
    """A join, with or without a reduce behind it, and a view in a graph; and the same operators alone.

    `keys`: of the reduce, or None if there is none.
    """

    def __init__(self, case: Case, stages: list[Stage], keys: int | None) -> None:
        narrow = MfpProgram(Mfp(WIDTH, (), (), (0, 1, 2, 3)), case.dictionary, COMPILER)
        self.case, self.stages = case, [*stages, narrow]
        types = (BIGINT,) * 4 if keys is None else SHOWN[1 - keys :]
        self.log, self.twin = ViewLog(types, case.dictionary), ViewLog(types, case.dictionary)
        self.graph = Graph()
        self.source = self.graph.add("source", Feed(lambda time: iter(())))
        join = DeltaJoin([Path(0, 0, WIDTH, (), tuple(self.stages))])
        self.nodes = [self.graph.add("join", join, (self.source,))]
        self.reduces = [] if keys is None else [Reduce(TYPES[:keys], SPECS, case.dictionary) for _ in range(2)]
        operators: list[Operator] = [*self.reduces[:1], Sink(self.log)]
        for each in operators:
            self.nodes.append(self.graph.add("next", each, (self.nodes[-1],)))
        self.passed = [0] * len(self.nodes)

    def step(self, delta: Delta) -> None:
        """Carry a change through both."""
        self.graph.step({self.source: delta})
        whole = concat_deltas(by_python(self.stages, [delta]))
        for place in range(len(self.nodes) - 1):
            self.passed[place] += 0 if whole is None else len(whole)
            if whole is not None and place < len(self.reduces[1:]):
                whole = self.reduces[1].step([whole])
        self.passed[-1] = self.passed[-2]
        if whole is not None:
            self.twin.append(whole)

    def undo(self) -> None:
        """Take the commit back; what was counted stays."""
        self.graph.rollback()
        for each in self.reduces[1:]:
            each.groups.rollback(0)
        self.twin.rollback(0)

    def seal(self) -> None:
        """The commit is final; both have added the same, and each node has counted what has passed it."""
        time = self.case.time
        assert added(self.log) == added(self.twin)
        self.graph.seal(time, time)
        for state in (self.twin, *(each.groups for each in self.reduces[1:])):
            state.seal(time + 1, time)
        assert len(self.log) == len(self.twin)
        assert [node.updates_out for node in self.nodes] == self.passed
        assert [node.updates_in for node in self.nodes[1:]] == self.passed[:-1]
        if self.reduces:
            found, expected = (shown(concat_deltas([*each.contents([], time)])) for each in self.reduces)
            assert found == expected


def added(log: ViewLog) -> Rows:
    """What was added since the log was sealed, whatever the order."""
    columns, times, diffs = log.sealed.updates.part(log.sealed.length, len(log))
    values = [
        [str(value) if there else None for value, there in zip(each.values.tolist(), _mask(each), strict=True)]
        for each in columns
    ]
    return Counter(zip(*values, times.tolist(), diffs.tolist(), strict=True))


def _mask(column: Values) -> list[bool]:
    return [True] * len(column.values) if column.valid is None else column.valid.tolist()


class Counted:
    """How many walks have ended in a log, and how many in groups."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.sunk = self.grouped = 0
        sunk, grouped = SinkLeg.ended, ReduceLeg.ended

        def counting_sunk(leg, route, number, times):
            has_ended = sunk(leg, route, number, times)
            self.sunk += has_ended
            return has_ended

        def counting_grouped(leg, route, number, times):
            has_ended = grouped(leg, route, number, times)
            self.grouped += has_ended
            return has_ended

        monkeypatch.setattr(SinkLeg, "ended", counting_sunk)
        monkeypatch.setattr(ReduceLeg, "ended", counting_grouped)


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> Counted:
    return Counted(monkeypatch)


def histories(seeds: int) -> int:
    """Commits one after the other: rows come, go, and come back; some commits are taken back, or have two deltas."""
    rows = 0
    for seed in range(seeds):
        case = Case(seed)
        case.commit()
        chain = Chain(case, case.stages() if seed % 2 else joined(case), (0, 1, None)[seed % 3])
        gone: list[Delta] = []
        for _ in range(24):
            case.commit()
            chain.graph.seal(case.time, case.time)
            delta = case.delta()
            if gone and case.random.random() < 0.4:
                back = gone.pop()
                delta = taken_back(back, case.time)
            for _ in range(int(case.random.random() < 0.3)):
                chain.step(delta)
                chain.undo()
            for _ in range(int(case.random.integers(1, 3))):
                chain.step(delta)
                gone.append(delta)
            chain.seal()
        rows += chain.passed[-1]
    return rows


def test_a_walk_into_a_log_does_what_its_nodes_do(counted: Counted) -> None:
    assert histories(30) > 1000
    assert counted.sunk > 200
    assert counted.grouped > 100


@pytest.mark.parametrize("most", [1, 7])
def test_in_parts_it_leaves_the_log(monkeypatch: pytest.MonkeyPatch, most: int) -> None:
    monkeypatch.setattr(route, "MOST_FOUND", most)
    assert histories(15) > 300


def test_where_all_memory_is_wanting_at_first(monkeypatch: pytest.MonkeyPatch, counted: Counted) -> None:
    want_memory(monkeypatch)
    assert histories(15) > 300
    assert counted.sunk > 50


def settled(keys: int | None) -> tuple[Case, Chain]:
    """A chain whose changes go all the way in one walk."""
    case = Case(3)
    for _ in range(6):
        case.commit()
    chain = Chain(case, joined(case), keys)
    for _ in range(4):
        chain.step(ones(case))
        chain.seal()
    return case, chain


@pytest.mark.parametrize("keys", [None, 1])
def test_who_reads_the_view_gets_its_changes(counted: Counted, keys: int | None) -> None:
    case, chain = settled(keys)
    sunk = counted.sunk
    assert sunk
    sink = chain.nodes[-1]
    other = chain.graph.add("other", Union(), (sink,))
    changes = chain.graph.step({chain.source: ones(case)})
    assert changes[other] is changes[sink]
    assert len(changes[sink]) == len(chain.log) - chain.log.sealed.length > 0
    chain.graph.rollback()
    assert counted.sunk == sunk
    chain.graph.remove([other])
    for _ in range(5):
        changes = chain.graph.step({chain.source: ones(case)})
    assert sink not in changes
    assert counted.sunk > sunk


@pytest.mark.parametrize("keys", [None, 1])
def test_changes_of_views_are_told_where_that_is_asked(counted: Counted, keys: int | None) -> None:
    case = Case(3)
    for _ in range(6):
        case.commit()
    chain = Chain(case, joined(case), keys)
    chain.graph.gives = True
    for _ in range(5):
        length = len(chain.log)
        changes = chain.graph.step({chain.source: ones(case)})
        assert len(changes[chain.nodes[-1]]) == len(chain.log) - length > 0
    assert counted.sunk == 0


def test_what_only_places_columns_goes_on_too(counted: Counted) -> None:
    """It is no walk by itself."""
    case, number = Case(4), 0
    program = MfpProgram(Mfp(2, (), (), (1, 0, 1)), case.dictionary, COMPILER)
    reduces = [Reduce(TYPES[:1], SPECS, case.dictionary) for _ in range(2)]
    log, twin, graph = ViewLog(SHOWN, case.dictionary), ViewLog(SHOWN, case.dictionary), Graph()
    source = graph.add("source", Feed(lambda time: iter(())))
    mfp = graph.add("mfp", MfpNode(program.run, (BIGINT, BIGINT), program.stages, program.walk), (source,))
    reduce = graph.add("reduce", reduces[0], (mfp,))
    sink = graph.add("sink", Sink(log), (reduce,))
    for _ in range(40):
        case.commit()
        delta = case.delta()
        graph.step({source: delta})
        (part,) = program.passed(delta)
        whole = reduces[1].step([part.copied()])
        if whole is not None:
            twin.append(whole)
        number += len(delta)
        assert added(log) == added(twin)
        graph.seal(case.time, case.time)
        for state in (twin, reduces[1].groups):
            state.seal(case.time + 1, case.time)
        assert mfp.updates_out == reduce.updates_in == number
        assert reduce.updates_out == sink.updates_in == sink.updates_out == len(log)
    assert counted.sunk > 15


@pytest.mark.parametrize("keys", [None, 1])
def test_null_gets_a_mask_in_the_log(counted: Counted, keys: int | None) -> None:
    case, chain = settled(keys)
    sunk, values = counted.sunk, np.arange(60) % 7
    for _ in range(3):
        columns = [Values(values, values % 2 == 0), Values(np.arange(60))]
        delta = Delta([Group(Columns(columns))], LAYOUT, 60, case.time)
        if keys is not None:
            delta = ones(case)  # a key of this reduce is never NULL
        chain.step(delta)
        chain.seal()
    assert counted.sunk > sunk


@pytest.mark.parametrize("keys", [None, 1])
@pytest.mark.parametrize("failing", [(ReduceLeg, "ended"), (SinkLeg, "ended"), (groups.Groups, "has_ended")])
def test_what_fails_behind_the_walk_is_taken_back(
    monkeypatch: pytest.MonkeyPatch, keys: int | None, failing: tuple[type, str]
) -> None:
    """Though nobody has taken note yet of what the kernel has done."""
    case, chain = settled(keys)
    if keys is None and failing[0] is not SinkLeg:
        return
    before = len(chain.log), [len(each.groups) for each in chain.reduces[:1]]
    for delta in (ones(case, 2), ones(case, -4)):
        with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
            patched.setattr(*failing, _interrupted)
            chain.graph.step({chain.source: delta})
        assert not chain.reduces or len(chain.reduces[0].groups) >= before[1][0]
        chain.graph.rollback()
        assert (len(chain.log), [len(each.groups) for each in chain.reduces[:1]]) == before
        chain.passed = [node.updates_out for node in chain.nodes]
        for node, rows in zip(chain.nodes[1:], chain.passed, strict=False):
            node.taken = rows
        chain.step(ones(case))
        chain.undo()
    chain.passed = [node.updates_out for node in chain.nodes]
    chain.step(ones(case, -4))
    chain.seal()


def test_a_step_that_memory_was_refused_for_is_forgotten(monkeypatch: pytest.MonkeyPatch, counted: Counted) -> None:
    case, chain = settled(1)
    nobody = Delta([Group(Columns([Values(np.arange(3)), Values(np.full(3, 10**6))]))], LAYOUT, 3, case.time)
    for refused in (OutputForm.room, groups.Groups.block):
        chain.reduces[0].groups.offer[IS_OFFERED] = 0
        with monkeypatch.context() as patched, pytest.raises(MemoryError):
            patched.setattr(OutputForm if refused is OutputForm.room else groups.Groups, refused.__name__, _refused)
            chain.graph.step({chain.source: ones(case, 5)})
        chain.graph.rollback()
        grouped, taken = counted.grouped, chain.nodes[1].taken
        assert list(chain.graph.step({chain.source: nobody})) == [chain.source]
        assert not chain.graph.marks
        assert (counted.grouped, chain.nodes[1].taken) == (grouped, taken)
        changes = chain.graph.step({chain.source: ones(case)})
        assert counted.grouped == grouped + 1
        assert list(changes) == [chain.source]
        chain.graph.rollback()


def _refused(*_: object) -> None:
    raise MemoryError


def _interrupted(*_: object) -> None:
    raise KeyboardInterrupt


def test_where_nothing_comes_no_state_is_touched(counted: Counted) -> None:
    for keys in (None, 1):
        case, chain = settled(keys)
        sunk, edition = counted.sunk, chain.log.edition
        nobody = Delta([Group(Columns([Values(np.arange(3)), Values(np.full(3, 10**6))]))], LAYOUT, 3, case.time)
        for _ in range(3):
            chain.step(nobody)
            assert not chain.graph.marks
            chain.seal()
        assert counted.sunk == sunk
        assert chain.log.edition == edition


def test_groups_that_show_the_same_leave_the_log_alone() -> None:
    case, chain = settled(1)
    length = len(chain.log)
    zeros = np.zeros(60, np.int64)
    both = Delta(
        [Group(Columns([Values(np.concatenate([zeros, zeros])), Values(np.tile(np.arange(60), 2))]))], LAYOUT, 120,
        case.time, np.repeat([1, -1], 60),
    )  # fmt: skip
    chain.step(both)
    assert list(chain.graph.marks) == [chain.reduces[0].groups]
    assert len(chain.log) == length
    chain.seal()


def test_rows_that_somebody_holds_stay_as_they_are() -> None:
    """What a step made is not written to as long as somebody has it, though it is offered to the next one else."""
    case = Case(3)
    for _ in range(6):
        case.commit()
    chain = Chain(case, joined(case), 1)
    reduce, other = chain.nodes[1], chain.graph.add("other", Union(), (chain.nodes[1],))
    held: list[tuple[Delta, Rows]] = []
    for number in range(6):
        changes = chain.graph.step({chain.source: ones(case, number + 1)})
        assert isinstance(changes[reduce].groups[0].source, Output)
        held.append((changes[other], shown(changes[other])))
        del changes
        chain.graph.seal(case.time, case.time)
        if number == 3:
            del held[1:]
    assert all(shown(delta) == rows for delta, rows in held)


def test_a_step_of_which_nobody_took_note_is_taken_back(monkeypatch: pytest.MonkeyPatch, counted: Counted) -> None:
    """Who is interrupted just when the kernel has begun a step, and added to its groups, has it undone."""
    case, chain = settled(1)
    for _ in range(3):
        case.commit()
        chain.graph.seal(case.time, case.time)
        with monkeypatch.context() as patched:
            patched.setattr(groups.Groups, "has_ended", _interrupted)
            with pytest.raises(KeyboardInterrupt):
                chain.graph.step({chain.source: ones(case)})
            assert chain.reduces[0].groups.offer[OPEN], "the kernel has begun it"
        chain.graph.rollback()
        chain.step(ones(case))
        chain.seal()
    assert counted.grouped
