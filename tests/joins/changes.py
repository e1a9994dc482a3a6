"""Random valid changes of the tables of `queries`: inserts, deletes, updates, bursts and clean-ups."""

from __future__ import annotations

from decimal import Decimal
from random import Random
from typing import Any

import pyarrow as pa

import ivm
from tests.joins.queries import TABLES

Row = tuple[Any, ...]
Step = dict[str, list[tuple[Row, int]]]
_NUMBERS = (0, 1, 1, 2, 2, 3, 4, None)
_TEXTS = ("x", "y", "xz", "", None)


class Rows:
    """The rows of each table as they should be, and steps that change them."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.bags: dict[str, list[Row]] = {"a": [], "b": []}
        self.keyed: dict[int, Row] = {}

    def step(self, most: int = 4) -> Step:
        """Deletes of rows that are there, then inserts; a row that is deleted and inserted anew is an update."""
        choose = self.random
        step: Step = {"a": [], "b": [], "d": []}
        for name, rows in self.bags.items():
            for _ in range(choose.randint(0, min(most - 1, len(rows)))):
                step[name].append((rows.pop(choose.randrange(len(rows))), -1))
            for _ in range(choose.randint(0, most)):
                row = choose.choice(rows) if rows and choose.random() < 0.3 else self._row()
                rows.append(row)
                step[name].append((row, 1))
        for key in choose.sample(range(6), choose.randint(0, 3)):
            if key in self.keyed:
                step["d"].append((self.keyed.pop(key), -1))
            if choose.random() < 0.7:
                value = choose.choice((None, Decimal("1.50"), Decimal("0.00"), Decimal("102.25")))
                self.keyed[key] = (key, choose.choice(_NUMBERS), value)
                step["d"].append((self.keyed[key], 1))
        return step

    def clear(self) -> Step:
        """The step that takes every row away."""
        step: Step = {name: [(row, -1) for row in rows] for name, rows in self.bags.items()}
        step["d"] = [(row, -1) for row in self.keyed.values()]
        self.bags, self.keyed = {"a": [], "b": []}, {}
        return step

    def _row(self) -> Row:
        choose = self.random
        return choose.choice(_NUMBERS), choose.choice(_NUMBERS), choose.choice(_TEXTS)


def connect(**options: Any) -> ivm.Database:
    """A database with the tables."""
    db = ivm.connect(**options)
    for text in TABLES.values():
        db.sql(text)
    return db


def install(db: ivm.Database, queries: dict[str, str]) -> None:
    """Each query as a maintained view."""
    for name, text in queries.items():
        db.sql(f'CREATE MATERIALIZED VIEW "v_{name}" AS {text}')


def commit(db: ivm.Database, steps: list[Step], first: int | None = None) -> None:
    """The steps in one call: at one logical time each if the `first` is given, else all at one."""
    db.apply({name: table for name in TABLES if (table := _table(db, name, steps, first)) is not None})


def _table(db: ivm.Database, name: str, steps: list[Step], first: int | None) -> pa.Table | None:
    changes = [(row, diff, number) for number, step in enumerate(steps) for row, diff in step[name]]
    if not changes:
        return None
    schema = db.sql(f"SELECT * FROM {name}").schema
    columns = [pa.array([row[i] for row, _, _ in changes], field.type) for i, field in enumerate(schema)]
    table = pa.table(columns, names=schema.names).append_column(
        "_diff", pa.array([d for _, d, _ in changes], pa.int64())
    )
    if first is None:
        return table
    return table.append_column("_time", pa.array([first + n for _, _, n in changes], pa.int64()))
