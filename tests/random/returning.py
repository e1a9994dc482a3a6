"""Histories of few rows, which are all there at first: they go and return, one by one and as whole groups."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from random import Random

from tests.random.changes import Batch, Change, State, free_rows, random_row
from tests.random.tables import Row, Table


def returning_batches(rng: Random, tables: Sequence[Table]) -> tuple[Batch, ...]:
    """Rows that come in the order of a column, then go and come back in any order, few at once, in 6 to 12 commits."""
    state: State = {table.name: [] for table in tables}
    for table in tables:
        state[table.name] = _first_rows(rng, table, state)
    all_rows = {name: Counter(rows) for name, rows in state.items()}
    batches: list[Batch] = [(tuple((name, row, 1) for name, rows in state.items() for row in rows),)]
    for _ in range(rng.randint(6, 12)):
        time: list[Change] = []
        for table in tables:
            present = state[table.name]
            missing = list((all_rows[table.name] - Counter(present)).elements())
            roll = rng.random()
            taken = _gone(rng, free_rows(table, tables, state)) if roll < 0.55 else []
            back = [row for row in _few(rng, missing) if _refers(table, row, state)] if roll > 0.45 else []
            for row in taken:
                present.remove(row)
            present += back
            time += [(table.name, row, -1) for row in taken] + [(table.name, row, 1) for row in back]
        batches.append((tuple(time),))
    return tuple(batch for batch in batches if any(batch))


def _first_rows(rng: Random, table: Table, state: State) -> list[Row]:
    """Four to nine rows of few values, in the order of a column; or first one for each of its values, then the others."""
    some = [random_row(rng, table, state) for _ in range(rng.randint(3, 5))]
    found = []
    for _ in range(rng.randint(4, 9)):
        key = random_row(rng, table, state)[: table.keys]
        found.append((*key, *(rng.choice(some)[at] for at in range(table.keys, len(table.columns)))))
    if table.keys:
        found = list({row[: table.keys]: row for row in found}.values())
    at = rng.randrange(len(table.columns))
    found.sort(key=lambda row: [(value is None, value) for value in (*row[at:], *row[:at])])
    if rng.random() < 0.3:
        return found
    firsts = {row[at]: number for number, row in reversed(list(enumerate(found)))}.values()
    return [found[number] for number in sorted(range(len(found)), key=lambda number: number not in firsts)]


def _gone(rng: Random, free: list[Row]) -> list[Row]:
    """A few rows; or also all that have one of them's value in a column, or now and then all rows."""
    taken = _few(rng, free)
    if not taken or rng.random() < 0.4:
        return taken
    if rng.random() < 0.1:
        return free
    like, at = taken[0], rng.randrange(len(taken[0]))
    group = [row for row in free if row[at] == like[at]]
    return list((Counter(group) | Counter(taken)).elements())


def _few(rng: Random, rows: list[Row]) -> list[Row]:
    return rng.sample(rows, min(len(rows), rng.randint(1, 3)))


def _refers(table: Table, row: Row, state: State) -> bool:
    """Whether what a row refers to is there."""
    return all(
        not column.target or row[at] is None or any(row[at] == other[0] for other in state[column.target])
        for at, column in enumerate(table.columns)
    )
