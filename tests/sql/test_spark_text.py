"""Queries in DuckDB's dialect as Spark's."""

from __future__ import annotations

import pytest

from ivm.catalog.errors import UnsupportedError
from ivm.sql.spark_text import spark_text


@pytest.mark.parametrize(
    ("duckdb", "spark"),
    [
        ('SELECT "a" / 2 FROM "t"', "SELECT CAST(`a` AS DOUBLE) / CAST(2 AS DOUBLE) FROM `t`"),
        ('SELECT a // 2, avg("a") FROM t', "SELECT a DIV 2, AVG(CAST(`a` AS DOUBLE)) FROM t"),
        ("SELECT avg(DISTINCT a / b) FROM t",
         "SELECT AVG(DISTINCT CAST(CAST(a AS DOUBLE) / CAST(b AS DOUBLE) AS DOUBLE)) FROM t"),
        ("SELECT a FROM t ORDER BY a", "SELECT a FROM t ORDER BY a NULLS LAST"),
    ],
)  # fmt: skip
def test_a_query_means_the_same(duckdb, spark):
    assert spark_text(duckdb) == spark


def test_what_spark_has_not_is_refused():
    with pytest.raises(UnsupportedError, match="Spark SQL has no such thing"):
        spark_text("SELECT FROM WHERE")
