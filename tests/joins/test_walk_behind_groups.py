"""Walks that go on behind groups through programs, into logs or other groups, against the same nodes one by one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from contextlib import suppress

import pytest

from ivm.catalog.errors import NumericError
from ivm.catalog.types import BIGINT, BOOLEAN, HUGEINT, SqlType
from ivm.dataflow.graph import Graph
from ivm.operators.accumulable import AggregateSpec
from ivm.operators.ends import Feed, Sink
from ivm.operators.join import DeltaJoin, Path
from ivm.operators.mfp import Mfp as MfpNode
from ivm.operators.mfp_leg import MfpLeg
from ivm.operators.multiplicities import Union
from ivm.operators.operator import Operator
from ivm.operators.reduce import Reduce
from ivm.operators.sink_leg import SinkLeg
from ivm.operators.stage import Stage
from ivm.operators.walk import Walk
from ivm.plan.mfp import Mfp
from ivm.render.scalars.program import MfpProgram
from ivm.sql.ir.scalar import Call, Column, Literal, Scalar
from ivm.trace import route
from ivm.trace.concatenation import concat_deltas
from ivm.trace.delta import Delta
from ivm.trace.view_log import ViewLog
from tests.joins.test_walk import COMPILER, TYPES, WIDTH, Case
from tests.joins.test_walk_to_groups import SPECS, joined, ones, taken_back, want_memory
from tests.joins.test_walk_to_log import added

SHOWN = (BIGINT, HUGEINT, HUGEINT)
COUNT, SUM = Column(0, BIGINT, False), Column(1, HUGEINT, True)
MANY = Call("lt", (Literal(3, BIGINT), COUNT), BOOLEAN, False)
MORE = Call("add", (SUM, Literal(1, HUGEINT)), HUGEINT, True)
TOO_MANY = Call("add", (COUNT, Literal(2**63 - 150, BIGINT)), BIGINT, False)
PROGRAMS: list[tuple[tuple[Scalar, ...], tuple[Scalar, ...], tuple[int, ...], tuple[SqlType, ...]]] = [
    ((), (MANY,), (0, 1, 2), SHOWN),
    ((MORE,), (), (3, 0), (HUGEINT, BIGINT)),
    ((MORE,), (MANY,), (0, 3, 1), (BIGINT, HUGEINT, HUGEINT)),
    ((), (), (2, 0, 2), (HUGEINT, BIGINT, HUGEINT)),
    ((TOO_MANY,), (), (3, 1), (BIGINT, HUGEINT)),
]
"""Maps and predicates over the aggregates, and which of these columns are kept, with their types."""


class Chain:
    """A join, groups, a program, other groups if that is asked, and a view, in a graph."""

    def __init__(
        self, case: Case, stages: list[Stage], number: int, keys: int, *, again: bool, alone: bool, apart: bool = False
    ) -> None:
        """`alone`: each node is stepped by itself. `apart`: a union is between the join and the groups."""
        maps, predicates, kept, types = PROGRAMS[number % len(PROGRAMS)]
        mfp = Mfp(keys + 3, (), (), tuple(range(keys, keys + 3))).map(maps).filter(predicates).project(kept)
        program = MfpProgram(mfp, case.dictionary, COMPILER)
        self.reduces = [Reduce(TYPES[:keys], SPECS, case.dictionary)]
        read = (BIGINT,) * keys + SHOWN
        operators: list[Operator] = [self.reduces[0], MfpNode(program.run, read, program.stages, program.walk)]
        if again:
            spec = AggregateSpec("count_star", None, None, False, BIGINT)
            self.reduces.append(Reduce(((types[0], True),), (spec,), case.dictionary))
            operators.append(self.reduces[1])
            types = (types[0], BIGINT)
        self.log, self.graph = ViewLog(types, case.dictionary), Graph()
        self.source = self.graph.add("source", Feed(lambda time: iter(())))
        join = DeltaJoin([Path(0, 0, WIDTH, (), tuple(stages))])
        self.nodes = [self.graph.add("join", join, (self.source,))]
        for each in [*((Union(),) if apart else ()), *operators, Sink(self.log)]:
            self.nodes.append(self.graph.add("next", each, (self.nodes[-1],)))
        for node in self.nodes if alone else ():
            node.owners["another"] = None

    def step(self, delta: Delta) -> bool:
        """Whether a change has gone through."""
        with suppress(NumericError):
            self.graph.step({self.source: delta})
            return True
        return False

    def counts(self) -> list[tuple[int, int]]:
        """How many rows have come to each node, and from it."""
        return [(node.updates_in, node.updates_out) for node in self.nodes]


Both = Sequence[Chain]


def pair(case: Case, stages: list[Stage], number: int, keys: int, *, again: bool = False, apart: bool = False) -> Both:
    """A chain, and the same with each node by itself."""
    return [Chain(case, stages, number, keys, again=again, alone=alone, apart=apart) for alone in (False, True)]


def step(both: Both, delta: Delta) -> None:
    """Carry a change through both, which have added the same then; what fails is taken back."""
    went = [chain.step(delta) for chain in both]
    assert went[0] == went[1]
    if not went[0]:
        for chain in both:
            chain.graph.rollback()
    assert added(both[0].log) == added(both[1].log)


def seal(both: Both, time: int) -> None:
    """The commit is final: both have counted the same."""
    counts = [chain.counts() for chain in both]
    assert counts[0] == counts[1]
    for chain in both:
        chain.graph.seal(time, time)
    assert len(both[0].log) == len(both[1].log)


class Counted:
    """How many walks have passed a program behind groups, how many have ended in a log, and what was cut."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.passed = self.sunk = self.led = self.cut = 0
        for kind, name, what in (
            (MfpLeg, "ended", "passed"), (SinkLeg, "ended", "sunk"), (MfpLeg, "led_on", "led"), (Walk, "_cut", "cut"),
        ):  # fmt: skip
            monkeypatch.setattr(kind, name, self._counting(getattr(kind, name), what))

    def _counting(self, run, what):
        def counting(*arguments):
            said = run(*arguments)
            setattr(self, what, getattr(self, what) + (said is not False))
            return said

        return counting


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> Counted:
    return Counted(monkeypatch)


def histories(seeds: int) -> int:
    """Commits one after the other: rows come, go, and come back; some commits are taken back, or have two deltas."""
    rows = 0
    for seed in range(seeds):
        case = Case(seed)
        case.commit()
        both = pair(case, case.stages() if seed % 4 == 0 else joined(case), seed, seed % 2, again=seed % 3 == 0)
        gone: list[Delta] = []
        for _ in range(20):
            case.commit()
            for chain in both:
                chain.graph.seal(case.time, case.time)
            delta = case.delta() if case.random.random() < 0.5 else ones(case)
            if gone and case.random.random() < 0.5:
                back = gone.pop()
                delta = taken_back(back, case.time)
            for _ in range(int(case.random.random() < 0.3)):
                step(both, delta)
                for chain in both:
                    chain.graph.rollback()
            for _ in range(int(case.random.integers(1, 3))):
                step(both, delta)
                gone.append(delta)
            seal(both, case.time)
        rows += len(both[0].log)
    return rows


def test_a_walk_behind_groups_does_what_its_nodes_do(counted: Counted) -> None:
    assert histories(30) > 500
    assert counted.passed > 100
    assert counted.sunk > 100


@pytest.mark.parametrize("most", [1, 7])
def test_in_parts_it_leaves_them(monkeypatch: pytest.MonkeyPatch, most: int) -> None:
    monkeypatch.setattr(route, "MOST_FOUND", most)
    assert histories(10) > 100


def test_where_all_memory_is_wanting_at_first(monkeypatch: pytest.MonkeyPatch, counted: Counted) -> None:
    want_memory(monkeypatch)
    assert histories(15) > 200
    assert counted.sunk > 30


def settled(number: int, keys: int = 1, *, again: bool = False) -> tuple[Case, Both]:
    """Chains whose changes go all the way in one walk, where they may."""
    case = Case(3)
    for _ in range(6):
        case.commit()
    both = pair(case, joined(case), number, keys, again=again)
    for _ in range(6):
        step(both, ones(case))
        seal(both, case.time)
    return case, both


def test_null_comes_and_goes_without_end(counted: Counted) -> None:
    """The sum of no rows is NULL: columns lie in another way each time, and in the end the program is a node again."""
    case, both = settled(1, 0)
    for _ in range(40):
        for times in (-6, 6, 1, -1):
            step(both, ones(case, times))
            seal(both, case.time)
    assert 10 < counted.cut < 40
    assert both[0].nodes[2].updates_in > 300


def test_who_reads_the_program_gets_its_changes(counted: Counted) -> None:
    for number in range(4):
        case, both = settled(number)
        led = counted.led
        for chain in both:
            chain.graph.add("other", Union(), (chain.nodes[-2],))
        for sign in (1, 1, -1, 1):
            delta = ones(case)
            delta = Delta(delta.groups, delta.layout, delta.length, delta.times, sign * delta.diff_array())
            changes = [chain.graph.step({chain.source: delta}) for chain in both]
            for place in (-1, -2):
                found, expected = (
                    _rows(each.get(chain.nodes[place])) for each, chain in zip(changes, both, strict=True)
                )
                assert found == expected
            seal(both, case.time)
        assert counted.led > led


def _rows(delta: Delta | None) -> Counter[tuple[object, ...]]:
    if delta is None:
        return Counter()
    columns = [delta.column(c) for c in range(len(delta.layout))]
    values = [map(str, each.values.tolist()) for each in columns]
    there = [each.valid.tolist() if each.valid is not None else [True] * delta.length for each in columns]
    return Counter(zip(*values, *there, delta.time_array().tolist(), delta.diff_array().tolist(), strict=True))


def test_a_row_that_raises_is_for_the_program(counted: Counted) -> None:
    """The walk has stepped the groups by then; the error undoes them."""
    case, both = settled(4)
    for times in (200, 1, 200, -1, 200):
        for _ in range(2):
            step(both, ones(case, times))
            for chain in both:
                chain.graph.rollback()
        assert len(both[0].log) == both[0].log.sealed.length
    passed = counted.passed
    assert not both[0].step(ones(case, 200))
    assert counted.passed == passed
    both[0].graph.rollback()
    assert both[0].step(ones(case))
    assert counted.passed > passed


@pytest.mark.parametrize("failing", [(MfpLeg, "ended"), (MfpLeg, "led_on"), (SinkLeg, "ended"), (SinkLeg, "come")])
def test_what_fails_behind_the_walk_is_taken_back(monkeypatch: pytest.MonkeyPatch, failing: tuple[type, str]) -> None:
    case, both = settled(1)
    if failing[1] == "led_on":
        for chain in both:
            chain.graph.add("other", Union(), (chain.nodes[-2],))
        for _ in range(4):
            step(both, ones(case))
            seal(both, case.time)
    before = len(both[0].log), len(both[0].reduces[0].groups)
    for diff in (2, -4):
        delta = ones(case, diff)
        with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
            patched.setattr(*failing, _interrupted)
            both[0].graph.step({both[0].source: delta})
        both[0].graph.rollback()
        assert (len(both[0].log), len(both[0].reduces[0].groups)) == before
        for chain in both:
            assert chain.step(delta)
        assert added(both[0].log) == added(both[1].log)
        for chain in both:
            chain.graph.rollback()


def _interrupted(*_: object) -> None:
    raise KeyboardInterrupt


@pytest.mark.parametrize("number", range(len(PROGRAMS)))
def test_groups_that_read_no_walk_begin_one(counted: Counted, number: int) -> None:
    """Behind a union, for changes of one time; of several each node is stepped by itself."""
    case, grouped = Case(number), 0
    for _ in range(6):
        case.commit()
    both = pair(case, joined(case), number, number % 2, again=number == 1, apart=True)
    gone: list[Delta] = []
    for _ in range(30):
        case.commit()
        for chain in both:
            chain.graph.seal(case.time, case.time)
        delta = case.delta() if case.random.random() < 0.3 else ones(case)
        if gone and case.random.random() < 0.5:
            back = gone.pop()
            delta = taken_back(back, case.time)
        step(both, delta)
        for chain in both:
            chain.graph.rollback()
        step(both, delta)
        gone.append(delta)
        seal(both, case.time)
        found, expected = (_rows(concat_deltas([*chain.reduces[0].contents([], case.time)])) for chain in both)
        assert found == expected
        grouped += isinstance(delta.times, int)
    assert grouped > 15
    assert counted.sunk > 8
