"""A database in one piece, spread over the executors of Spark's, and over others: rows come in stretches."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import ivm.spark
from ivm.cluster.driver import stretches

pytestmark = pytest.mark.slow
TABLES = """
CREATE TABLE city (name VARCHAR PRIMARY KEY, country VARCHAR) REPLICATED;
CREATE TABLE sale (id BIGINT PRIMARY KEY, city VARCHAR REFERENCES city, price BIGINT)
    WITH (check_foreign_keys = true);
CREATE MATERIALIZED VIEW revenue AS
    SELECT country, sum(price) AS total FROM sale JOIN city ON sale.city = city.name GROUP BY country;
INSERT INTO city VALUES ('Bern', 'CH'), ('Oslo', 'NO');
INSERT INTO sale SELECT i, ['Bern', 'Oslo'][i % 2 + 1], i FROM range(600) r(i);
DELETE FROM sale WHERE id % 7 = 3;
"""


def contents(db: ivm.Database) -> list[Any]:
    found: list[Any] = [sorted(db.sql(f"FROM {name}").fetchall()) for name in ("city", "sale", "revenue")]
    return [*found, db.time, db.batches()]


def test_rows_come_in_stretches(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stretches, "BYTES", 1 << 13)
    monkeypatch.setattr(stretches, "ROWS", 200)
    monkeypatch.setattr(stretches, "_PIECE", 64)
    with ivm.connect(tmp_path / "one.ivm") as one:
        one.sql(TABLES)
        one.apply({"city": [{"name": "Rome", "country": "IT"}]}, batch=("cities", 7))
        expected = contents(one)
    told: list[ivm.Progress] = []
    db = ivm.spark.connect(spark, tmp_path / "shop", shards=2)
    with db:
        db.restore(tmp_path / "one.ivm", progress=told.append)
        assert contents(db) == expected
        assert len([each for each in told if each.view == "sale"]) > 1
        told.clear()
        db.rescale(3, progress=told.append)
        assert contents(db) == expected
        assert [each.rows for each in told if each.view == "sale"][-1] == 514
        assert len([each for each in told if each.view == "sale"]) > 1
        with pytest.raises(ivm.ConstraintError, match="refer to no row"):
            db.sql("INSERT INTO sale VALUES (7000, 'Nowhere', 1)")
        assert len(db.verify()) == 1
    shards = [ivm.connect(tmp_path / "shop", read_only=True, shard=number) for number in range(3)]
    assert sorted(row for each in shards for row in each.sql("FROM sale").fetchall()) == expected[1]
    for each in shards:
        each.close()
