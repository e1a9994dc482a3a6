"""Groups by round do what their slow obvious twin does, over many times, some of which are undone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import product
from random import Random
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ivm.catalog.errors import NumericError
from ivm.catalog.types import BIGINT, BOOLEAN, DOUBLE, HUGEINT, VARCHAR
from ivm.operators.accumulable import Accumulators
from ivm.operators.round_reduce import RoundReduce
from ivm.trace.columns import growable
from ivm.trace.columns.growable import Growable
from ivm.trace.keyed import group_table, round_groups, round_reader
from ivm.trace.text.dictionary import TextDictionary
from tests.found_rounds import Cells, Row, found_cells, found_values
from tests.loops.rounds import Change, Extremes, Rounds, Slowly, pass_over, read_slowly, summed, without_nothing
from tests.reduce.model import Types

KEYS: dict[str, Types] = {
    "nothing": (),
    "a number": ((BIGINT, False),),
    "a number or NULL": ((BIGINT, True),),
    "a text or NULL and a number": ((VARCHAR, True), (BIGINT, False)),
    "a wide number and a flag or NULL": ((HUGEINT, False), (BOOLEAN, True)),
    "a double or NULL and two texts": ((DOUBLE, True), (VARCHAR, False), (VARCHAR, True)),
}
_VALUES: dict[Any, list[Any]] = {
    BIGINT: [0, 1, -(2**63)],
    VARCHAR: ["", "ant", "a text that is longer than the others are"],
    HUGEINT: [0, 1, -(2**100)],
    BOOLEAN: [False, True],
    DOUBLE: [0.5, -2.0],
}
FORMS = {"sums": {"sums": True}, "rows": {}, "multiplicities": {"clamps": True}}
_MOST_ROUNDS = 5
_FEWER = settings(max_examples=(settings.default or settings()).max_examples // 3)
"""Examples for each kind of groups."""


class Commit(NamedTuple):
    """The changes of its times; how many of the last are undone, all others sealed."""

    times: list[Change]
    undone: int


def _commits(keys: Types, sums: bool, spread: int) -> st.SearchStrategy[list[Commit]]:
    """Histories over a few keys, or over as many numbers as `spread` says."""
    columns = [st.sampled_from([*_VALUES[type_], *[None] * nullable]) for type_, nullable in keys]
    if spread:
        columns[-1] = st.integers(0, spread)
    values = [st.sampled_from([None, 1, 5, -(2**62)])] * sums
    row = st.tuples(*columns, *values, st.integers(0, _MOST_ROUNDS))

    @st.composite
    def change(draw: st.DrawFn) -> tuple[Row, int, int]:
        found = draw(row)
        return found, draw(st.sampled_from([1, 1, 2, -1, -1])), draw(st.integers(0, found[-1]))

    times = st.lists(st.lists(change(), max_size=30 if spread else 8), min_size=1, max_size=3)
    return st.lists(st.builds(Commit, times, st.integers(0, 2)), max_size=8)


@pytest.fixture(params=["as they are", "full"], autouse=True)
def capacities(request: pytest.FixtureRequest) -> Iterator[None]:
    """Also with rooms that are exactly full, and tables that grow all the time; readers see a few groups at a time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(round_reader, "_CHUNK", 2)
        if request.param == "full":
            grow = Growable._grow

            def exactly(array: Growable[Any], length: int) -> None:
                grow(array, length)
                array.array = array.array[:length]
                if array._block is not None:
                    array._block[array._room] = length

            patch.setattr(Growable, "_grow", exactly)
            patch.setattr(growable, "_START", 1)
            patch.setattr(round_groups, "_LEAST_ROOM", 0)
            patch.setattr(round_groups, "_MORE_ROOM", 0)
            patch.setattr(group_table, "_SMALLEST", 1)
            patch.setattr(group_table, "_LARGEST", 2)
        yield


def _run(groups: Rounds, commits: list[Commit]) -> None:
    """All commits, each time held against the twin."""
    (state,), rows, tick = groups.states, Counter[Row](), 1
    groups.begin()
    assert groups.change() == ({} if groups.keys else {0: groups.shown((), {}, 0)})
    state.seal(2, 1)
    for commit in commits:
        there, reading, shown = [(state.mark(), rows)], _read_slowly(groups), groups.end(groups.cells(rows))
        for change in commit.times:
            tick += 1
            after = _with(rows, change)
            before, cells = groups.cells(rows), groups.cells(after)
            assert groups.change(change, tick) == groups.changes(before, cells)
            rows = after
            assert _held(groups) == cells
            there.append((state.mark(), rows))
        mark, rows = there[max(0, len(commit.times) - commit.undone)]
        state.rollback(mark)
        state.rollback(mark)  # after an interruption
        assert _held(groups) == groups.cells(rows)
        state.seal(tick + 1, tick)
        held = groups.cells(rows)
        assert _held(groups, sealed=True) == held
        assert state.size().rows == sum(map(len, held.values()))
        if reading is not None:
            assert reading() == shown, "what is read is what was sealed"
    groups.change([(row, -n, 0) for row, n in rows.items()], tick + 1)
    state.seal(tick + 2, tick + 1)
    assert state.size().rows == 0
    assert _held(groups, sealed=True) == ({} if groups.keys else {(): {}})


def _read_slowly(groups: Rounds) -> Slowly | None:
    return read_slowly(groups, groups.made[:-1], groups.dictionary) if groups.shows_all else None


def _with(rows: Counter[Row], change: Change) -> Counter[Row]:
    after = Counter(rows)
    for row, diff, _ in change:
        after[row] += diff
    return Counter({row: n for row, n in after.items() if n})


def _held(groups: Rounds, *, sealed: bool = False) -> Cells:
    found = found_cells(groups.groups)
    found = summed(found) if groups.sums else found
    held = without_nothing(found, stays=not groups.keys)
    assert not sealed or held == found, "what holds nothing goes"
    return held


@pytest.mark.parametrize(
    ("keys", "form"), [each for each in product(KEYS, FORMS) if KEYS[each[0]] or each[1] == "sums"]
)
def test_groups_change_as_their_twin_does(keys: str, form: str) -> None:
    @_FEWER
    @given(_commits(KEYS[keys], form == "sums", 0))
    def run(commits: list[Commit]) -> None:
        _run(Rounds(KEYS[keys], TextDictionary(), **FORMS[form]), commits)

    run()


@pytest.mark.parametrize("form", FORMS)
def test_so_do_many_groups(form: str) -> None:
    @_FEWER
    @given(_commits(KEYS["a number"], form == "sums", 500))
    def run(commits: list[Commit]) -> None:
        _run(Rounds(KEYS["a number"], TextDictionary(), **FORMS[form]), commits)

    run()


@pytest.mark.parametrize("many", [3, 3000])
def test_groups_that_come_at_once_are_undone_and_come_again(many: int) -> None:
    groups = Rounds(KEYS["a number"], TextDictionary(), sums=True)
    (state,) = groups.states
    change = [((number, 1, number % 7), 1, number % 3 * (number % 7 > 1)) for number in range(many)]
    more = [((number, 5, number % 5), 1, 0) for number in range(many // 2, 2 * many)]
    first, both = groups.cells(_with(Counter(), change)), groups.cells(_with(_with(Counter(), change), more))
    for _ in range(2):
        begun = state.mark()
        assert groups.change(change, 1) == groups.changes({}, first)
        middle = state.mark()
        assert groups.change(more, 2) == groups.changes(first, both)
        state.rollback(middle)
        assert _held(groups) == first
        assert groups.change(more, 3) == groups.changes(first, both)
        state.rollback(begun)
        assert _held(groups, sealed=True) == {}
    groups.change(change, 4)
    state.seal(5, 4)
    assert groups.change(more, 5) == groups.changes(first, both)


def test_a_sum_that_overflows_is_undone() -> None:
    groups = Rounds(KEYS["a number"], TextDictionary(), sums=True)
    (state,) = groups.states
    groups.change([((1, 1, 0), 1, 0)])
    state.seal(2, 1)
    held, mark = _held(groups), state.mark()
    with pytest.raises(NumericError):  # more than the 38 digits of the result
        groups.change([*[((1, 2**62, 2), 2**63 - 1, 0)] * 3, ((2, 5, 2), 1, 1)])
    state.rollback(mark)
    groups.forget()
    assert groups.due is None
    assert _held(groups, sealed=True) == held
    assert groups.change([((1, 1, 1), 1, 0)], 3) == {1: Counter({(1, 1): -1, (1, 2): 1})}


@pytest.mark.parametrize("undone", [False, True])
def test_a_settled_group_forgets_the_cell_that_goes(undone: bool) -> None:
    dictionary, keys = TextDictionary(), KEYS["a number"]
    groups = RoundReduce(keys, Accumulators([]), 1, dictionary, settled=True)
    state, tick = groups.groups, 0

    def change(*rows: tuple[Row, int]) -> None:
        nonlocal tick
        tick += 1
        for _ in pass_over(groups, (*keys, (BIGINT, False)), dictionary, [(row, diff, 0) for row, diff in rows], tick):
            pass

    change(((1, 0), 1))
    state.seal(tick + 1, tick)
    mark = state.mark()
    change(((1, 2), 1))  # its cell is the one that was touched last
    if undone:
        state.rollback(mark)
    else:
        state.seal(tick + 1, tick)
        change(((1, 2), -1))
    state.seal(tick + 1, tick)
    change(((2, 2), 1))  # another group has that cell
    state.seal(tick + 1, tick)
    change(((1, 3), 1))
    state.seal(tick + 1, tick)
    assert found_cells(state) == {(1,): {0: (1,), 3: (1,)}, (2,): {2: (1,)}}


@pytest.mark.parametrize("largest", [False, True])
@pytest.mark.parametrize("name", [name for name in KEYS if KEYS[name]])
def test_least_values_do_what_their_twin_does(name: str, largest: bool) -> None:
    keys = KEYS[name]
    for seed in range(10):
        random, rows = Random(seed), Counter[Row]()
        groups = Extremes(keys, TextDictionary(), largest=largest)
        state = groups.groups
        for time in range(1, 25):
            before, change = Counter(rows), list[tuple[Row, int, int]]()
            for row, n in before.items():
                if random.random() < (1 if time % 8 == 0 else 0.3):
                    change.append((row, -random.randint(1, n), random.randint(0, row[-1])))
            for _ in range(random.randint(0, 6)):
                key = [random.choice([*_VALUES[type_], *[None] * nullable]) for type_, nullable in keys]
                row = (*key, random.choice([-(2**63), -1, 0, 1, 2**63 - 1]), random.randint(0, _MOST_ROUNDS))
                change.append((row, random.randint(1, 2), random.randint(0, row[-1])))
            for row, diff, _ in change:
                rows[row] += diff
            rows = +rows
            mark, reading = (
                state.mark(),
                read_slowly(groups, [type_ for type_, _ in groups.given[:-1]], groups.dictionary),
            )
            assert groups.change(change, time) == groups.changes(before, rows)
            assert +found_values(state) == rows
            if random.random() < 0.3:
                state.rollback(mark)
                rows = before
                assert +found_values(state) == rows
            else:
                state.seal(time, time)
            assert reading() == groups.end(before), "what is read is what was sealed"


@pytest.mark.parametrize("most", [3, 12])
@pytest.mark.parametrize("largest", [False, True])
def test_so_do_those_that_stay_for_some_rounds_alone(largest: bool, most: int) -> None:
    for seed in range(20):
        random, stays, time = Random(seed), Counter[Row](), 0
        groups = Extremes(KEYS["a number"], TextDictionary(), largest=largest)
        state = groups.groups
        for commit in range(1, 16):
            mark, before = state.mark(), stays
            reading = read_slowly(groups, [BIGINT, BIGINT], groups.dictionary)
            for _ in range(random.randint(1, 3)):
                time, was, change = time + 1, stays, list[tuple[Row, int, int]]()
                stays = _moved(was, random, most, all_go=commit % 8 == 0)
                rows, now = _by_round(was), _by_round(stays)
                for row in {*rows, *now}:
                    if rows[row] != now[row]:
                        change.append((row, now[row] - rows[row], random.randint(0, row[-1])))
                assert groups.change(change, time) == groups.changes(rows, now)
                assert _without_zeros(found_values(state)) == now
            if random.random() < 0.3:
                state.rollback(mark)
                stays = before
            else:
                state.seal(time, time)
                assert _without_zeros(found_values(state)) == found_values(state), "what holds nothing goes"
            assert _without_zeros(found_values(state)) == _by_round(stays)
            assert reading() == groups.end(_by_round(before)), "what is read is what was sealed"


def _moved(stays: Counter[Row], random: Random, most: int, *, all_go: bool) -> Counter[Row]:
    """Rows of a key, a value, the round in which it comes and that in which it goes, some of which are others now."""
    moved = Counter({row: n for row, n in stays.items() if not all_go and random.random() < 0.7})
    for _ in range(random.randint(0, 5)):
        first = random.randint(0, most)
        moved[random.randrange(2), random.randrange(6), first, random.randint(first + 1, most + 3)] += 1
    return moved


def _by_round(stays: Counter[Row]) -> Counter[Row]:
    """What each round changes of rows that stay from one round to another."""
    rows = Counter[Row]()
    for (*row, first, last), n in stays.items():
        rows[*row, first] += n
        rows[*row, last] -= n
    return _without_zeros(rows)


def _without_zeros(rows: Counter[Row]) -> Counter[Row]:
    return Counter({row: n for row, n in rows.items() if n})
