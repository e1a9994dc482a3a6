"""Rows that go and come back, over tables that had rows in the order of their keys when the views were made."""

from __future__ import annotations

import ivm

VIEWS = {
    "counted": "SELECT k, count(*) AS n FROM t GROUP BY k",
    "distinct_keys": "SELECT DISTINCT k FROM t",
    "extremes": "SELECT k, min(b) AS least, max(e) AS most FROM t GROUP BY k",
    "partners": "SELECT t.k, r.k AS other FROM t LEFT JOIN t AS r ON t.b < r.e AND t.k + r.k < 10",
    "first_rows": "SELECT k, b FROM (SELECT k, b, row_number() OVER (PARTITION BY k ORDER BY b) AS n FROM t) WHERE n = 1",
}
HISTORIES = (
    [("delete", [8]), ("delete", [7]), ("insert", [8]), ("insert", [7])],
    [("delete", [7, 4]), ("insert", [7]), ("insert", [4])],
    [("delete", [8, 7, 6]), ("insert", [7]), ("delete", [7]), ("insert", [6, 8]), ("insert", [7])],
    [("delete", list(range(1, 9))), ("insert", [5, 3]), ("insert", [8, 1]), ("insert", [2, 4, 6, 7])],
)


def test_a_row_that_comes_back_is_there_once() -> None:
    rows = {key: {"k": key, "b": key, "e": key + 1} for key in range(1, 9)}
    for history in HISTORIES:
        with ivm.connect(compile="off") as db:
            db.sql("CREATE TABLE t (k INTEGER, b INTEGER, e INTEGER)")
            db.apply({"t": list(rows.values())})
            for name, query in VIEWS.items():
                db.sql(f"CREATE MATERIALIZED VIEW {name} AS {query}")
            for what, keys in history:
                with db.transaction() as tx:
                    getattr(tx, what)("t", [rows[key] for key in keys])
                db.verify()
            assert len(db.view("counted").fetchall()) == len(rows)
