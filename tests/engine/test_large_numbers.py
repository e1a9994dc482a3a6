"""Numbers near 2^63 in a text: they mean what they say, or are refused by name."""

from __future__ import annotations

import pytest

import ivm

MOST = 2**63 - 1
MEANT = [
    f"SELECT a FROM t ORDER BY a LIMIT {MOST} OFFSET 1",
    f"SELECT a FROM t ORDER BY a LIMIT {MOST} OFFSET {MOST}",
    f"SELECT a, lag(a, {MOST}) OVER (ORDER BY a) AS x, lead(a, {-MOST - 1}) OVER (ORDER BY a) AS y FROM t",
    f"SELECT a, sum(a) OVER (ORDER BY a ROWS BETWEEN {MOST} PRECEDING AND {MOST} FOLLOWING) AS x FROM t",
    f"SELECT a, sum(a) OVER (ORDER BY a ROWS BETWEEN {MOST} FOLLOWING AND {MOST} FOLLOWING) AS x FROM t",
    f"SELECT a, ntile({MOST}) OVER (ORDER BY a) AS x, nth_value(a, {MOST}) OVER (ORDER BY a) AS y FROM t",
]


def test_as_large_as_it_may_be():
    db = ivm.connect(compile="off")
    db.sql("CREATE TABLE t (a INTEGER)")
    for number, query in enumerate(MEANT):
        db.sql(f"CREATE MATERIALIZED VIEW v{number} AS {query}")
    for values in ("(1), (2), (NULL)", "(3)"):
        db.sql(f"INSERT INTO t VALUES {values}")
        assert len(db.verify()) == len(MEANT)


@pytest.mark.parametrize(
    "end",
    [
        f"ORDER BY a LIMIT {MOST + 1}",
        "ORDER BY a LIMIT 1 OFFSET 99999999999999999999999",
    ],
)
def test_larger(end):
    db = ivm.connect(compile="off")
    db.sql("CREATE TABLE t (a INTEGER)")
    with pytest.raises(ivm.TypeMismatchError, match="out of the range of BIGINT"):
        db.sql(f"CREATE MATERIALIZED VIEW v AS SELECT a FROM t {end}")


def test_a_frame_of_more_rows_than_there_can_be():
    db = ivm.connect(compile="off")
    db.sql("CREATE TABLE t (a INTEGER)")
    with pytest.raises(ivm.TypeMismatchError, match="out of the range of BIGINT"):
        db.sql(f"CREATE MATERIALIZED VIEW v AS SELECT sum(a) OVER (ORDER BY a ROWS {MOST + 1} PRECEDING) AS s FROM t")
