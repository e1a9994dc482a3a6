"""Any number of equal rows goes at a cost for each that does not depend on how many there are."""

from __future__ import annotations

import time

import pyarrow as pa
import pytest

import ivm

VIEWS = {
    "table": "SELECT count(*) AS n FROM t",
    "distinct": "SELECT DISTINCT i, s FROM t",
    "union_all": "SELECT i FROM t UNION ALL SELECT i FROM u",
    "except_all": "SELECT i FROM t EXCEPT ALL SELECT i FROM u",
    "derived": "SELECT a.i, b.j FROM u a JOIN (SELECT i + 1 AS i, length(s) AS j FROM t) b ON a.i = b.i",
    "extremes": "SELECT s, min(i) AS a, max(i) AS b, count(DISTINCT i) AS n FROM t GROUP BY s",
    "top": "SELECT i, s FROM t ORDER BY i LIMIT 10",
    "threshold": "SELECT i, s FROM t WHERE i >= (SELECT avg(i) FROM t)",
    "window": "SELECT i, rank() OVER (PARTITION BY i ORDER BY s) AS r FROM t",
}


def seconds(db: ivm.Database, count: int, commits: int) -> float:
    """Of the processor, to take out as many equal rows in so many commits; half of them are there before and after."""
    rows = pa.table({"i": pa.array([1] * 2 * count, pa.int32()), "s": ["x"] * 2 * count})
    db.apply({"t": rows})
    began = time.process_time()
    gone = rows.append_column("_diff", pa.array([-1] * 2 * count, pa.int64()))
    for at in range(0, count, count // commits):
        db.apply({"t": gone.slice(at, count // commits)})
    taken = time.process_time() - began
    db.verify()
    db.apply({"t": gone.slice(0, count)})
    return taken


@pytest.mark.parametrize("view", VIEWS)
def test_taking_out_equal_rows_is_linear(view: str) -> None:
    db = ivm.connect(compile="off")
    db.sql("CREATE TABLE t (i INTEGER, s VARCHAR)")
    db.sql("CREATE TABLE u (i INTEGER, s VARCHAR); INSERT INTO u VALUES (1, 'x'), (2, 'y')")
    db.sql(f"CREATE MATERIALIZED VIEW v AS {VIEWS[view]}")
    seconds(db, 1_000, 10)
    for commits in (1, 50):
        few = seconds(db, 8_000, commits)
        assert seconds(db, 32_000, commits) < 0.3 + 6 * few, f"in {commits} commits"
