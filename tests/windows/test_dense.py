"""Small changes to partitions of some dozen rows, with many ties, for every function over every kind of frame."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from random import Random

import pytest

from ivm.catalog.schema import Field
from ivm.catalog.types import BIGINT, DOUBLE, HUGEINT
from ivm.sql.ir.relation import Get, Order, Window
from ivm.sql.ir.scalar import Column, Literal
from ivm.sql.ir.window_function import Frame, WindowFunction
from tests.reduce.model import Update
from tests.windows.worlds import Bag, Driver, applied, close

VALUE = Column(1, BIGINT)
FRAMES = [
    *(Frame(start, end, True) for start in (None, 0) for end in (None, 0)),
    *(Frame(start, end) for start in (None, -2, -1, 0, 1) for end in (None, -1, 0, 1, 3)),
]


STARTS, ENDS = (None, -2, 0, 1), (None, -1, 0, 2)
HOLES = ("", "current row", "group", "ties")
KEYS = (None, 0, 1, 2, 4, 7)
AWAY = (-2, -1, 1, 2)
"""How far from its key a row's bounds are, which are its columns from the third on."""


def _functions(frame: Frame) -> list[WindowFunction]:
    found = _unframed()
    return found + _framed(frame)


def _unframed() -> list[WindowFunction]:
    one, two, none = Literal(1, BIGINT), Literal(2, BIGINT), Literal(None, BIGINT)
    found = [WindowFunction(name, (), BIGINT, False) for name in ("row_number", "rank", "dense_rank")]
    found += [WindowFunction(name, (), DOUBLE, False) for name in ("percent_rank", "cume_dist")]
    found.append(WindowFunction("ntile", (Literal(3, BIGINT),), BIGINT, False))
    for name in ("lag", "lead"):
        for offset in (one, two):
            for skips in (False, True):
                found.append(WindowFunction(name, (VALUE, offset, none), BIGINT, ignore_nulls=skips))
    return found


def _framed(frame: Frame) -> list[WindowFunction]:
    found = []
    for name in ("first_value", "last_value"):
        found += [WindowFunction(name, (VALUE,), BIGINT, True, frame, skips) for skips in (False, True)]
    found += [WindowFunction("nth_value", (VALUE, Literal(n, BIGINT)), BIGINT, True, frame) for n in (1, 2, 7)]
    found += [WindowFunction(name, (VALUE,), BIGINT, True, frame) for name in ("min", "max", "count")]
    return [*found, WindowFunction("sum", (VALUE,), HUGEINT, True, frame)]


def _changes(random: Random, held: Bag, time: int) -> list[Update]:
    """Mostly one change, sometimes an update in place or a few at once."""
    changes: Bag = Counter()
    for _ in range(random.choice([1, 1, 1, 2, 4])):
        rows = [row for row in held if held[row] + changes[row] > 0]
        if rows and random.random() < 0.5:
            gone = random.choice(rows)
            changes[gone] -= 1
            if random.random() < 0.3:
                changes[gone[0], random.choice([None, 0, 1, 2])] += 1
        else:
            changes[random.randrange(5), random.choice([None, None, 0, 1, 2])] += 1
    return [(row, time, n) for row, n in changes.items() if n]


@pytest.mark.parametrize("seed", range(len(FRAMES)))
def test_small_changes(seed: int) -> None:
    random = Random(seed)
    frame = FRAMES[seed]
    chosen = _functions(frame)
    table = Get("t", (Field("k", BIGINT, False), Field("v", BIGINT)))
    names = tuple(f"w{i}" for i in range(len(chosen)))
    # One window for each function, since each must find by itself what a change concerns.
    windows = [
        Window(table, (), (Order(0, seed % 2 == 1),), (f,), (name,)) for f, name in zip(chosen, names, strict=True)
    ]
    start = [((random.randrange(5), random.choice([None, 0, 1, 2])), 1, 1) for _ in range(20)]
    steps: list[list[Update]] = [start]
    held = applied(Counter(), start)
    bags = [held]
    for time in range(2, 13):
        steps.append(_changes(random, held, time))
        held = applied(held, steps[-1])
        bags.append(held)
    for window in windows:
        _follow(window, steps, bags)


def _follow(window: Window, steps: list[list[Update]], bags: list[Bag]) -> None:
    driver = Driver(window)
    out: Bag = Counter()
    for step, bag in zip(steps, bags, strict=True):
        if step:
            out = applied(out, driver.commit(step))
        assert close(out, driver.expected(bag)), window.functions


@pytest.mark.parametrize("by_value", [False, True])
@pytest.mark.parametrize("start", STARTS)
@pytest.mark.parametrize("end", ENDS)
def test_frames_by_groups_and_by_values(start: int | None, end: int | None, by_value: bool) -> None:
    random = Random(f"{start} {end} {by_value}")
    descending = random.random() < 0.5

    def row() -> tuple[int | None, ...]:
        key = random.choice(KEYS)
        away = (-each if descending else each for each in AWAY)
        return key, random.choice([None, 0, 1, 2]), *(None if key is None else key + each for each in away)

    bag = Counter(row() for _ in range(12))
    steps, bags = [[(row, 1, n) for row, n in bag.items()]], [bag]
    for time in range(2, 8):
        gone = random.sample(sorted(bag.elements(), key=repr), random.choice([0, 1, 1, 3]))
        step = Counter(row() for _ in range(random.choice([0, 1, 2])))
        step.subtract(gone)
        steps.append([(row, time, n) for row, n in step.items() if n])
        bag = applied(bag, steps[-1])
        bags.append(bag)
    table = Get("t", tuple(Field(f"c{i}", BIGINT) for i in range(2 + len(AWAY))))
    low, high = (Column(2 + AWAY.index(each), BIGINT) if by_value and each else None for each in (start, end))
    order = (Order(0, descending, random.random() < 0.5),)
    for f in _framed(Frame(start, end, True)):
        framed = replace(f, frame=Frame(start, end, True, random.choice(HOLES)), bounds=(low, high))
        _follow(Window(table, (), order, (framed,), ("w",)), steps, bags)
