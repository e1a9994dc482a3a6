"""A small world for whole-engine tests: three tables of many types, views over them, and random valid changes."""

from __future__ import annotations

import datetime
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

import ivm

TABLES = {
    "customers": """CREATE TABLE customers (
        id BIGINT PRIMARY KEY, name VARCHAR NOT NULL, city VARCHAR, balance DECIMAL(15,2) NOT NULL, score DOUBLE)""",
    "orders": """CREATE TABLE orders (
        id BIGINT PRIMARY KEY, customer BIGINT, day DATE NOT NULL, total DECIMAL(12,2), urgent BOOLEAN, quantity INTEGER)""",
    "events": "CREATE TABLE events (customer BIGINT, kind VARCHAR, size INTEGER, at TIMESTAMP)",
}

Row = dict[str, Any]

VIEWS = {
    "plain": "SELECT id, name, balance * 2 AS twice FROM customers WHERE balance > 10 AND city IS NOT NULL",
    "global_sum": "SELECT count(*) AS n, sum(total) AS total, avg(total) AS mean, min(day) AS first_day FROM orders",
    "by_city": """SELECT city, count(*) AS n, sum(balance) AS money, avg(score) AS mean, stddev(score) AS deviation
        FROM customers GROUP BY city""",
    "extremes": """SELECT customer, max(total) AS top, min(total) AS bottom, min(day) AS first_day, max(quantity) AS q
        FROM orders GROUP BY customer""",
    "text_extremes": "SELECT customer, min(kind) AS first_kind, max(kind) AS last_kind FROM events GROUP BY customer",
    "joined": """SELECT c.name, o.day, o.total FROM customers c, orders o
        WHERE c.id = o.customer AND (o.urgent OR c.balance < o.total)""",
    "three_way": """SELECT c.city, e.kind, count(*) AS n, sum(o.total * (1 + c.balance)) AS weight
        FROM customers c JOIN orders o ON o.customer = c.id JOIN events e ON e.customer = c.id
        WHERE o.day >= DATE '2020-01-03' GROUP BY c.city, e.kind HAVING count(*) > 1""",
    "self_join": """SELECT a.id AS a, b.id AS b FROM orders a, orders b
        WHERE a.customer = b.customer AND a.id < b.id AND a.day = b.day""",
    "product": "SELECT c.id, e.size FROM customers c, events e WHERE c.balance < e.size",
    "case_when": """SELECT CASE WHEN urgent THEN 'urgent' WHEN quantity > 3 THEN 'large' ELSE 'normal' END AS class,
        sum(CASE WHEN total IS NULL THEN 0 ELSE 1 END) AS known, count(total) AS n, sum(quantity) AS q
        FROM orders GROUP BY 1""",
    "top": "SELECT id, total, day FROM orders WHERE total IS NOT NULL ORDER BY total DESC, day LIMIT 3",
    "top_offset": "SELECT name, city FROM customers ORDER BY city NULLS FIRST, name LIMIT 4 OFFSET 1",
    "from_subquery": """SELECT c.city, sum(s.n) AS orders, max(s.spent) AS top FROM customers c,
        (SELECT customer, count(*) AS n, sum(total) AS spent FROM orders GROUP BY customer) s
        WHERE s.customer = c.id GROUP BY c.city""",
    "beside_groups": """SELECT o.id, o.total, s.n, s.mean, s.kinds, k.first_kind, g.top FROM orders o,
        (SELECT customer, count(*) AS n, avg(size) AS mean, string_agg(kind, ',' ORDER BY kind) AS kinds
            FROM events GROUP BY customer) s,
        (SELECT customer, size, min(kind) AS first_kind FROM events GROUP BY customer, size) k,
        (SELECT max(balance) AS top FROM customers) g
        WHERE s.customer = o.customer AND k.customer = o.customer AND k.size = o.quantity""",
    "over_view": "SELECT city, n FROM by_city WHERE n > 1",
    "like_in": "SELECT kind, size FROM events WHERE kind LIKE 'a%' OR size IN (1, 3) OR kind NOT LIKE '%c'",
    "dates": "SELECT extract(year FROM day) AS y, extract(month FROM day) AS m, count(*) AS n FROM orders GROUP BY 1, 2",
    "within": "SELECT count(*) AS n FROM orders WHERE total BETWEEN 1 AND 5 AND day < DATE '2020-01-01' + INTERVAL 10 DAY",
}


def connect(**options: Any) -> ivm.Database:
    """A database with the tables and no view."""
    db = ivm.connect(**options)
    for text in TABLES.values():
        db.sql(text)
    return db


def install(db: ivm.Database, names: list[str] | None = None) -> None:
    """Install the views, or those named."""
    for name in names if names is not None else VIEWS:
        db.sql(f"CREATE MATERIALIZED VIEW {name} AS {VIEWS[name]}")


_CENTS = st.one_of(st.integers(-500, 2000).map(lambda v: Decimal(v) / 100), st.just(Decimal("999999.99")))
_TEXT = st.sampled_from(["", "a", "ab", "abc", "b", "a long text beyond eight bytes", "é"])
_CUSTOMER = st.integers(1, 5)

ROWS: dict[str, st.SearchStrategy[Row]] = {
    "customers": st.fixed_dictionaries(
        {
            "id": _CUSTOMER,
            "name": _TEXT,
            "city": st.none() | _TEXT,
            "balance": _CENTS,
            "score": st.none() | st.sampled_from([0.1, 0.2, 1e16, -1e16, 3.5, 1e-300]),
        }
    ),
    "orders": st.fixed_dictionaries(
        {
            "id": st.integers(1, 8),
            "customer": st.none() | _CUSTOMER,
            "day": st.dates(datetime.date(2019, 12, 30), datetime.date(2020, 1, 6)),
            "total": st.none() | _CENTS,
            "urgent": st.none() | st.booleans(),
            "quantity": st.none() | st.integers(-3, 6),
        }
    ),
    "events": st.fixed_dictionaries(
        {
            "customer": st.none() | _CUSTOMER,
            "kind": st.none() | _TEXT,
            "size": st.none() | st.integers(0, 4),
            "at": st.none() | st.datetimes(datetime.datetime(2020, 1, 1), datetime.datetime(2020, 1, 3)),
        }
    ),
}

Step = dict[str, list[tuple[Row, int]]]


@dataclass
class Tables:
    """The rows of each table, as a slow model: by primary key, or a list for the multiset `events`."""

    keyed: dict[str, dict[int, Row]] = field(default_factory=lambda: {"customers": {}, "orders": {}})
    events: list[Row] = field(default_factory=list)

    def draw_step(self, data: st.DataObject) -> Step:
        """A random valid step: deletes of present rows, then inserts of absent keys."""
        step: Step = {}
        for name, present in self.keyed.items():
            gone: set[int] = data.draw(st.sets(st.sampled_from(sorted(present)), max_size=3)) if present else set()
            changes: list[tuple[Row, int]] = [(present.pop(key), -1) for key in sorted(gone)]
            rows: list[Row] = data.draw(st.lists(ROWS[name], max_size=4))
            for row in rows:
                if row["id"] not in present:
                    present[row["id"]] = row
                    changes.append((row, 1))
            step[name] = changes
        step["events"] = []
        for _ in range(data.draw(st.integers(0, min(2, len(self.events))))):
            step["events"].append((self.events.pop(data.draw(st.integers(0, len(self.events) - 1))), -1))
        new: list[Row] = data.draw(st.lists(ROWS["events"], max_size=4))
        for row in new:
            self.events.append(row)
            step["events"].append((row, 1))
        return step

    def clear_step(self) -> Step:
        """The step that takes every row away."""
        step: Step = {name: [(row, -1) for row in present.values()] for name, present in self.keyed.items()}
        step["events"] = [(row, -1) for row in self.events]
        self.keyed, self.events = {"customers": {}, "orders": {}}, []
        return step


def batch(db: ivm.Database, name: str, changes: list[tuple[Row, int]], times: list[int] | None = None) -> pa.Table:
    """Changes as an Arrow table with `_diff`, and `_time` if times are given."""
    schema = db.sql(f"SELECT * FROM {name}").schema
    table = pa.Table.from_pylist([row for row, _ in changes], schema=schema)
    table = table.append_column("_diff", pa.array([diff for _, diff in changes], pa.int64()))
    return table if times is None else table.append_column("_time", pa.array(times, pa.int64()))


def apply_step(db: ivm.Database, step: Step) -> int:
    """Commit one step at one logical time."""
    return db.apply({name: batch(db, name, changes) for name, changes in step.items() if changes})
