"""HUGEINT comes back as int, DECIMAL(38,0) as Decimal, from tables, views and SELECTs alike (to pandas as in DuckDB)."""

from __future__ import annotations

from decimal import Decimal

import ivm


def test_huge_integers_are_integers():
    db = ivm.connect(compile="off")
    db.sql("CREATE TABLE t (k INTEGER, h HUGEINT, d DECIMAL(38,0))")
    db.sql("CREATE MATERIALIZED VIEW v AS SELECT k, sum(k) AS s, max(h) AS h, max(d) AS d FROM t GROUP BY k ORDER BY k")
    db.sql("INSERT INTO t VALUES (1, 170141183460469231731687303715884, 5), (1, 2, 6), (2, NULL, NULL)")
    rows = [(1, 2, 170141183460469231731687303715884, Decimal(6)), (2, 2, None, None)]
    queries = (
        "SELECT * FROM v ORDER BY k",
        "SELECT k, sum(k) AS s, max(h) AS h, max(d) AS d FROM t GROUP BY k ORDER BY k",
    )
    for result in (db.view("v"), *map(db.sql, queries)):
        found = result.fetchall()
        assert found == rows
        assert [type(value) for value in found[0]] == [int, int, int, Decimal]
    assert db.sql("SELECT DISTINCT typeof(h), typeof(s), typeof(d) FROM v").fetchall() == [
        ("HUGEINT", "HUGEINT", "DECIMAL(38,0)")
    ]
    db.sql("UPDATE t SET h = h + 1 WHERE k = 1")
    db.sql("DELETE FROM t WHERE h = 3")
    assert db.sql("SELECT h FROM t ORDER BY h").fetchall() == [(170141183460469231731687303715885,), (None,)]
    assert len(db.verify()) == 1
