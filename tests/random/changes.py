"""Random sequences of changes: batches of logical times, each a list of rows that come and go."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from tests.random.kinds import TYPES, Value
from tests.random.tables import Column, Row, Table

Change = tuple[str, Row, int]
Time = tuple[Change, ...]
Batch = tuple[Time, ...]
State = dict[str, list[Row]]

NULLS = 0.2


def random_batches(rng: Random, tables: Sequence[Table]) -> tuple[Batch, ...]:
    """Three to six batches of one to three times; references hold at the end of every time."""
    state: State = {table.name: [] for table in tables}
    batches = []
    for number in range(rng.randint(3, 6)):
        times = [_time(rng, tables, state, number == 0) for _ in range(rng.choice((1, 1, 2, 3)))]
        batches.append(tuple(time for time in times if time))
    if rng.random() < 0.3:
        batches.append((_clear(tables, state),))
        batches.append((_time(rng, tables, state, True),))
    return tuple(batch for batch in batches if any(batch))


def after(state: State, time: Time) -> State:
    """The rows of every table once `time` has happened."""
    rows = {name: list(present) for name, present in state.items()}
    for name, row, diff in time:
        if diff > 0:
            rows[name].append(row)
        else:
            rows[name].remove(row)
    return rows


def _clear(tables: Sequence[Table], state: State) -> Time:
    time = tuple((table.name, row, -1) for table in tables for row in state[table.name])
    for table in tables:
        state[table.name] = []
    return time


def _time(rng: Random, tables: Sequence[Table], state: State, first: bool) -> Time:
    """The changes of one time, which are also made in `state`: tables in order, so that what is referred to is there."""
    changes: list[Change] = []
    for table in tables:
        if not first and rng.random() < 0.35:
            continue
        present = state[table.name]
        taken = [] if first else _goes(rng, table, tables, state)
        for row in taken:
            present.remove(row)
        replaced = [random_row(rng, table, state, row) for row in taken if rng.random() < 0.5]
        new = [random_row(rng, table, state) for _ in range(rng.choice((0, 1, 2, 4, 8) if not first else (2, 5, 9)))]
        repeated = [rng.choice(new) for _ in range(2) if new and not table.keys and rng.random() < 0.4]
        came: list[Row] = []
        for row in [*replaced, *new, *repeated]:
            if not table.keys or all(row[: table.keys] != other[: table.keys] for other in [*present, *came]):
                came.append(row)
        present += came
        changes += [(table.name, row, -1) for row in taken] + [(table.name, row, 1) for row in came]
    return tuple(changes)


def _goes(rng: Random, table: Table, tables: Sequence[Table], state: State) -> list[Row]:
    """Rows that no other refers to: a few, or now and then all."""
    free = free_rows(table, tables, state)
    count = len(free) if rng.random() < 0.1 else min(len(free), rng.randint(0, 4))
    return rng.sample(free, count)


def free_rows(table: Table, tables: Sequence[Table], state: State) -> list[Row]:
    """Rows that no other refers to."""
    held = {
        row[at]
        for other in tables
        for at, column in enumerate(other.columns)
        if column.target == table.name
        for row in state[other.name]
    }
    return [row for row in state[table.name] if row[0] not in held]


def random_row(rng: Random, table: Table, state: State, like: Row | None = None) -> Row:
    """A random row; one that replaces `like` keeps its key and about half of its other values."""
    values = []
    for at, column in enumerate(table.columns):
        if like is not None and (at < table.keys or rng.random() < 0.5) and not column.target:
            values.append(like[at])
        else:
            values.append(_value(rng, column, state, key=at < table.keys))
    return tuple(values)


def _value(rng: Random, column: Column, state: State, key: bool) -> Value:
    if column.target:
        keys = [row[0] for row in state[column.target]]
        if keys and (not column.nullable or rng.random() > NULLS):
            return rng.choice(keys)
        if column.nullable:
            return None
        return 0  # its table is empty: the row refers to nothing, as tables that do not check it allow
    if column.nullable and rng.random() < NULLS:
        return None
    return rng.randint(0, 9) if key else rng.choice(TYPES[column.type].domain)
