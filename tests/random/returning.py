"""Histories of few rows, which are all there at first: they go and return, one by one and as whole groups."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from random import Random
from typing import Any

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


def lead_of(table: Table) -> int:
    """The place of the column in whose order rows come, by which views group more often than by others."""
    return min(table.keys, len(table.columns) - 1)


def _order(value: Any) -> Any:
    """What values of one column are put in order by; lists and structs, which may hold None, by their texts."""
    return repr(value) if isinstance(value, tuple) else value


def _first_rows(rng: Random, table: Table, state: State) -> list[Row]:
    """Rows of four or five values of the leading column, in its order; or first one for each value, then the others."""
    at, some = lead_of(table), [random_row(rng, table, state) for _ in range(20)]
    leads: list[Any] = list(dict.fromkeys(row[at] for row in some if row[at] is not None))[: rng.choice((4, 4, 5))]
    leads.sort(key=_order)
    more = [rng.choice(leads) for _ in range(rng.randint(1, 4)) if leads]
    found = []
    for lead in sorted(leads + more, key=_order) if rng.random() < 0.2 else leads + more:
        row = [*random_row(rng, table, state)[: table.keys], *rng.choice(some[:3])[table.keys :]]
        row[at] = lead
        found.append(tuple(row))
    return list({row[: table.keys]: row for row in found}.values()) if table.keys else found


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
