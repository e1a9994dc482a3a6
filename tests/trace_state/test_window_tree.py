"""Readers of windows, and segments, while one commit takes several steps."""

from __future__ import annotations

import pytest

from ivm.trace.columns.segment import Segment
from ivm.trace.text.dictionary import TextDictionary
from tests.contract.ordered import WindowKind

FIRST = [((1, "a", 1.0), 1), ((1, "b", 2.0), 1)]
COMES, GOES = ((1, "aa", 4.0), 1), ((1, "aa", 4.0), -1)
LARGE = ((1, "c", 1e200), 1)  # for which sums of doubles need another layout
SMALL = ((1, "c", 1e-200), 1)  # and one in which what they have moves


@pytest.mark.parametrize("steps", [[[COMES], [LARGE]], [[COMES, GOES], [COMES]], [[COMES], [GOES], [LARGE]]])
def test_a_reader_sees_none_of_the_steps_of_a_commit(steps: list[list[tuple[tuple[int, str, float], int]]]) -> None:
    kind = WindowKind()
    state = kind.new(TextDictionary())
    for time, commit in enumerate(([FIRST], steps)):
        before, seen = kind.contents(state), kind.reader(state, time)
        for step in commit:
            kind.step(state, step, time + 1)
        for each in reversed(kind.states(state)):
            each.seal(time + 2, time + 1)
        assert seen() == before
    assert kind.contents(state) != before


@pytest.mark.parametrize("far", [LARGE, SMALL])
def test_segments_are_of_before_the_steps_of_a_commit(far: tuple[tuple[int, str, float], int]) -> None:
    kind = WindowKind()
    state, restored = kind.new(TextDictionary()), kind.new(TextDictionary())
    kind.step(state, FIRST, 1)
    for each in kind.states(state):
        each.seal(2, 1)
    before, segments = kind.contents(state), [each.segments() for each in kind.states(state)]
    for step in ([(FIRST[1][0], -1)], [far]):
        kind.step(state, step, 2)
    for each in kind.states(state):
        each.seal(3, 2)
    for each, some in zip(kind.states(restored), segments, strict=True):
        each.restore(Segment(segment.batch) for segment in some)
    assert kind.contents(restored) == before
