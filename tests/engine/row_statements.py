"""Tables and views, and random statements over their single rows."""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import cache

import pyarrow as pa

import ivm
from tests.random.literals import random_literal

TYPES = {
    "a": "INTEGER", "b": "BIGINT", "n": "SMALLINT", "d": "DECIMAL(9,2)", "f": "DOUBLE", "r": "FLOAT", "s": "VARCHAR",
    "x": "DATE", "m": "TIMESTAMP", "t": "BOOLEAN", "h": "HUGEINT", "w": "DECIMAL(30,4)",
}  # fmt: skip
KINDS = {
    "a": "INT", "b": "INT", "n": "INT", "d": "DEC", "f": "DBL", "r": "DBL", "s": "STR", "x": "DATE", "m": "TS", "t": "BOOL",
    "h": "INT", "w": "DEC",
}  # fmt: skip
COLUMNS = ", ".join(f"{name} {type_}" for name, type_ in TYPES.items())
TABLES = f"""
    CREATE TABLE one (id BIGINT PRIMARY KEY, k INTEGER UNIQUE, {COLUMNS});
    CREATE TABLE two (p VARCHAR, q DECIMAL(4,1), {COLUMNS}, PRIMARY KEY (p, q), CHECK (b < 90));
    CREATE TABLE bag (u DATE UNIQUE, {COLUMNS}, note VARCHAR DEFAULT 'none');
    CREATE MATERIALIZED VIEW seen AS SELECT a, b, n, d, f, r, s, x, m, t, h, w FROM one;
    CREATE MATERIALIZED VIEW ordered AS SELECT a, s, d, x, count(*) AS c FROM one GROUP BY ALL ORDER BY sum(b) DESC, s
"""
KEYS = {"one": ("id", "k"), "two": ("p", "q"), "bag": ("u",)}
KEY_VALUES: dict[str, Callable[[random.Random], str]] = {
    "id": lambda rng: str(rng.choice((0, 1, 2, 3, 4, 5, 6, 7, "'3'", "2.0", "2.5", "NULL", "-1", 4000000000, "1e0"))),
    "k": lambda rng: str(rng.choice((10, 11, 12, 13, "'12'", "11.5", "NULL", 4000000000))),
    "p": lambda rng: rng.choice(("'a'", "'b'", "'it''s'", "''", "NULL", "'nobody'")),
    "q": lambda rng: rng.choice(("1", "1.5", "2.0", "'1.5'", "1.55", "NULL", "1.5::DOUBLE")),
    "u": lambda rng: rng.choice(("DATE '2020-01-01'", "'2020-01-02'", "'2020-01-03'::DATE", "NULL", "'nonsense'")),
}


@cache
def rows() -> dict[str, pa.Table]:
    """What the tables hold at first."""
    rng = random.Random(5)
    found = {}
    for table, keys in (
        ("one", [f"{i}, {10 + i if i % 3 else 'NULL'}" for i in range(8)]),
        ("two", ["'a', 1", "'a', 1.5", "'b', 1.5", "'it''s', 2", "'', 2"]),
        ("bag", ["DATE '2020-01-01'", "DATE '2020-01-02'", "NULL", "NULL"]),
    ):
        each = [f"({key}, {', '.join(random_literal(rng, KINDS[c]) for c in TYPES)})" for key in keys]
        values = f"SELECT * FROM (VALUES {', '.join(each)}) AS v({', '.join((*KEYS[table], *TYPES))})"
        typed = ", ".join(f"{column}::{type_} AS {column}" for column, type_ in TYPES.items())
        note = ", 'none' AS note" if table == "bag" else ""
        given = f"SELECT * REPLACE ({typed}){note} FROM ({values})"
        found[table] = ivm.connect(compile="off").sql(given).arrow()
    return found


def filled() -> ivm.Database:
    db = ivm.connect(compile="off")
    db.sql(TABLES)
    db.apply(rows())
    return db


class Statements:
    """Random statements over the tables and views."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.columns = list(TYPES)

    def value(self, kind: str, depth: int) -> str:
        rng = self.rng
        roll = rng.random()
        if depth <= 0 or roll < 0.4:
            named = [c for c in self.columns if KINDS[c.rpartition(".")[2]] == kind]
            return rng.choice(named) if named and rng.random() < 0.6 else random_literal(rng, kind)
        if roll < 0.5:
            return f"coalesce({self.value(kind, depth - 1)}, {self.value(kind, depth - 1)})"
        if roll < 0.6:
            return f"CASE WHEN {self.condition(depth - 1)} THEN {self.value(kind, depth - 1)} ELSE {self.value(kind, 0)} END"
        if roll < 0.7:
            return self.called(kind, depth - 1)
        if kind in ("INT", "DEC", "DBL"):
            signs = "+-*" if rng.random() < 0.9 else ("/", "//", "%")
            other = kind if rng.random() < 0.7 else rng.choice(("INT", "DEC", "DBL"))
            return f"({self.value(kind, depth - 1)} {rng.choice(signs)} {self.value(other, depth - 1)})"
        return self.value(kind, 0)

    def called(self, kind: str, depth: int) -> str:
        """What a function gives."""
        rng, one, other = self.rng, self.value(kind, depth), self.value(kind, depth)
        if kind == "STR" and rng.random() < 0.6:
            return rng.choice((f"{one} || {other}", f"upper({one})", f"lower({one})", f"concat({one}, {other})"))
        if kind == "INT" and rng.random() < 0.3:
            return f"length({self.value('STR', depth)})"
        if kind in ("INT", "DEC", "DBL") and rng.random() < 0.3:
            return f"abs({one})"
        return f"{rng.choice(('greatest', 'least', 'nullif'))}({one}, {other})"

    def condition(self, depth: int) -> str:
        rng = self.rng
        kind = rng.choice(("INT", "INT", "DEC", "DBL", "STR", "DATE", "TS", "BOOL"))
        one, other = self.value(kind, depth), self.value(kind, depth)
        match rng.randrange(9) if depth > 0 else rng.randrange(4):
            case 0:
                return f"{one} IS {rng.choice(('', 'NOT '))}NULL"
            case 1:
                return f"{one} {rng.choice(('', 'NOT '))}IN ({other}, {random_literal(rng, kind)}, {random_literal(rng, kind)})"
            case 2:
                return f"{one} {rng.choice(('', 'NOT '))}BETWEEN {other} AND {self.value(kind, 0)}"
            case 4:
                return f"NOT ({self.condition(depth - 1)})"
            case 5 | 6:
                return f"({self.condition(depth - 1)} {rng.choice(('AND', 'OR'))} {self.condition(depth - 1)})"
            case 7:
                return f"{one} IS {rng.choice(('', 'NOT '))}DISTINCT FROM {other}"
            case _:
                return f"{one} {rng.choice(('=', '<>', '<', '<=', '>', '>='))} {other}"

    def where(self, table: str) -> str:
        rng = self.rng
        keys = KEYS[table] if table == "two" else (rng.choice(KEYS[table]),)
        parts = []
        for column in keys:
            make = KEY_VALUES[column]
            if rng.random() < 0.7:
                parts.append(f"{column} = {make(rng)}" if rng.random() < 0.8 else f"{make(rng)} = {column}")
            else:
                parts.append(f"{column} IN ({', '.join(make(rng) for _ in range(rng.randint(1, 3)))})")
        parts += [self.condition(1) for _ in range(rng.choice((0, 0, 1, 2)))]
        rng.shuffle(parts)
        return " AND ".join(parts)

    def statement(self) -> str:
        rng = self.rng
        roll = rng.random()
        table = rng.choice(("one", "one", "two", "bag"))
        if roll < 0.35:
            self.columns = list(TYPES)
            view = "seen"
            if rng.random() < 0.3:
                view, self.columns = "ordered", ["a", "s", "d", "x"]
            items = ", ".join(self.item(place) for place in range(rng.randint(1, 4)))
            where = f" WHERE {self.condition(2)}" if rng.random() < 0.8 else ""
            items = rng.choice((items, items, "*"))
            order = f" ORDER BY {', '.join(rng.sample(self.columns, len(self.columns)))}" if rng.random() < 0.3 else ""
            limit = rng.choice(("", "", " LIMIT 3", " LIMIT 2 OFFSET 1")) if order or view == "ordered" else ""
            return f"SELECT {items} FROM {view}{where}{order}{limit}"
        self.columns = list(TYPES)
        if roll < 0.5:
            items = ", ".join(self.item(place) for place in range(rng.randint(1, 4)))
            return f"SELECT {rng.choice((items, '*'))} FROM {table} WHERE {self.where(table)}"
        if roll < 0.7:
            return self.by_key(rng.choice(("one", "two")))
        returning = rng.choice(("", "", " RETURNING *", " RETURNING a, s AS text, d"))
        if roll < 0.8:
            return self.insert(table, returning)
        if roll < 0.83:
            return f"DELETE FROM {table} WHERE {self.where(table)}{returning}"
        columns = rng.sample(list(TYPES), rng.randint(1, 3))
        sets = [f"{column} = {self.value(self.kind_for(column), 2)}" for column in columns]
        if rng.random() < 0.15:
            key = rng.choice(KEYS[table])
            sets.append(f"{key} = {KEY_VALUES[key](rng)}")
        return f"UPDATE {table} SET {', '.join(sets)} WHERE {self.where(table)}{returning}"

    def insert(self, table: str, returning: str) -> str:
        """An INSERT of values that are computed, whose row may meet another one, from which then some are computed."""
        rng, keys = self.rng, KEYS[table][:1] if table == "one" else KEYS[table]
        columns = rng.sample(list(TYPES), rng.randint(1, 3))
        self.columns = []  # of which VALUES know none
        values = [KEY_VALUES[key](rng) for key in keys]
        values += [rng.choice(("DEFAULT", *[self.value(self.kind_for(column), 1)] * 4)) for column in columns]
        self.columns = [f"{table}.{c}" for c in TYPES] + [f"excluded.{c}" for c in columns]
        sets = ", ".join(f"{column} = {self.value(self.kind_for(column), 2)}" for column in columns)
        where = f" WHERE {self.condition(1)}" if rng.random() < 0.4 else ""
        update = f" ON CONFLICT ({', '.join(keys)}) DO UPDATE SET {sets}{where}"
        self.columns = list(TYPES)
        if returning and rng.random() < 0.5:
            returning = f" RETURNING {self.item(0)}, {self.item(1)}"
        head, end = rng.choice((("INSERT", update),) * 4 + (("INSERT", ""), ("INSERT OR REPLACE", "")))
        return f"{head} INTO {table} ({', '.join((*keys, *columns))}) VALUES ({', '.join(values)}){end}{returning}"

    def by_key(self, table: str) -> str:
        """A statement over the row of a primary key that literals say all of."""
        rng = self.rng
        keys = KEYS[table] if table == "two" else ("id",)
        where = " AND ".join(f"{column} = {KEY_VALUES[column](rng)}" for column in keys)
        if rng.random() < 0.2:
            return f"DELETE FROM {table} WHERE {where}"
        columns = rng.sample(list(TYPES), rng.randint(1, 3))
        sets = (f"{column} = {random_literal(rng, self.kind_for(column))}" for column in columns)
        return f"UPDATE {table} SET {', '.join(sets)} WHERE ({where})"

    def kind_for(self, column: str) -> str:
        return KINDS[column] if self.rng.random() < 0.85 else self.rng.choice(("INT", "DEC", "DBL", "STR", "BOOL"))

    def item(self, place: int) -> str:
        if self.rng.random() < 0.5:
            return f"{self.rng.choice(self.columns)} AS i{place}"
        return f"{self.value(self.rng.choice(list(KINDS.values())), 2)} AS i{place}"
