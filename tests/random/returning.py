"""Histories of few rows, which are all there at first: they go and return, one by one and as whole groups."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from random import Random

from tests.random.changes import Batch, Change, State, free_rows, random_row
from tests.random.tables import Row, Table


def returning_batches(rng: Random, tables: Sequence[Table]) -> tuple[Batch, ...]:
    """Rows that come in the order of a column, then go and come back in any order, in four to eight commits."""
    state: State = {table.name: [] for table in tables}
    for table in tables:
        state[table.name] = _first_rows(rng, table, state)
    all_rows = {name: Counter(rows) for name, rows in state.items()}
    batches: list[Batch] = [(tuple((name, row, 1) for name, rows in state.items() for row in rows),)]
    for _ in range(rng.randint(4, 8)):
        time: list[Change] = []
        for table in tables:
            present = state[table.name]
            taken = _gone(rng, table, free_rows(table, tables, state))
            missing = list((all_rows[table.name] - Counter(present)).elements())
            back = [row for row in missing if rng.random() < 0.5 and _refers(table, row, state)]
            rng.shuffle(back)
            for row in taken:
                present.remove(row)
            present += back
            time += [(table.name, row, -1) for row in taken] + [(table.name, row, 1) for row in back]
        batches.append((tuple(time),))
    return tuple(batch for batch in batches if any(batch))


def _first_rows(rng: Random, table: Table, state: State) -> list[Row]:
    """Three to nine rows, in the order of a column: as a view that is filled from them meets its groups."""
    found = [random_row(rng, table, state) for _ in range(rng.randint(3, 9))]
    if table.keys:
        found = list({row[: table.keys]: row for row in found}.values())
    at = rng.randrange(len(table.columns))
    found.sort(key=lambda row: [(value is None, value) for value in (*row[at:], *row[:at])])
    return found if table.keys else found + rng.choices(found, k=rng.randint(0, 2))


def _gone(rng: Random, table: Table, free: list[Row]) -> list[Row]:
    """Some of the rows, or all that have one of some values in a column."""
    if rng.random() < 0.4:
        return [row for row in free if rng.random() < 0.35]
    at = rng.randrange(len(table.columns))
    values = {row[at] for row in free}
    emptied = {value for value in sorted(values, key=repr) if rng.random() < 0.35}
    return [row for row in free if row[at] in emptied]


def _refers(table: Table, row: Row, state: State) -> bool:
    """Whether what a row refers to is there."""
    return all(
        not column.target or row[at] is None or any(row[at] == other[0] for other in state[column.target])
        for at, column in enumerate(table.columns)
    )
