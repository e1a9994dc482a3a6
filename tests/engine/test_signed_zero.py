"""Zero keeps its sign where DuckDB keeps it, and the two zeros are equal wherever values are compared."""

from __future__ import annotations

import pyarrow as pa

import ivm


def test_zero_keeps_its_sign_and_is_equal_to_the_other():
    db = ivm.connect(compile="off")
    db.sql("CREATE TABLE t (k INTEGER, x DOUBLE)")
    db.sql(
        "CREATE MATERIALIZED VIEW signs AS SELECT k, x, -x AS minus, x::VARCHAR AS s, '-0.0'::DOUBLE AS z, try_cast('-0' AS DOUBLE)::VARCHAR AS y FROM t"
    )
    db.sql("CREATE MATERIALIZED VIEW groups AS SELECT x, count(*) AS n FROM t GROUP BY x")
    db.sql("CREATE MATERIALIZED VIEW pairs AS SELECT a.k, b.k AS other FROM t a JOIN t b ON a.x = b.x")
    db.sql("CREATE MATERIALIZED VIEW one AS SELECT DISTINCT x FROM t UNION SELECT -x FROM t")
    db.apply({"t": pa.table({"k": pa.array([1, 2], pa.int32()), "x": [-0.0, 0.0]})})
    assert [repr(row) for row in sorted(db.view("signs").fetchall())] == [
        "(1, -0.0, 0.0, '-0.0', -0.0, '-0.0')",
        "(2, 0.0, -0.0, '0.0', -0.0, '-0.0')",
    ]
    assert db.view("groups").fetchall() == [(0.0, 2)]
    assert sorted(db.view("pairs").fetchall()) == [(1, 1), (1, 2), (2, 1), (2, 2)]
    assert db.view("one").fetchall() == [(0.0,)]
    assert len(db.verify()) == 4
