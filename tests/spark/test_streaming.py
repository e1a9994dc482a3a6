"""Structured Streaming into a database and out of it: streams that are ended at any place and begun again."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

import ivm
from ivm.spark import ViewChanges

SCHEMA = "id BIGINT, city STRING, price DECIMAL(9,2), seen TIMESTAMP, raw BINARY, place STRUCT<x: FLOAT, y: SMALLINT>"
TABLE = """
    CREATE TABLE sale (id BIGINT PRIMARY KEY, city VARCHAR NOT NULL, price DECIMAL(9,2) NOT NULL,
                       seen TIMESTAMPTZ, raw BLOB, place_x FLOAT, place_y SMALLINT);
    CREATE MATERIALIZED VIEW revenue AS
    SELECT city, sum(price) AS total, count(*) AS n, max(seen) AS last, min(place_y) AS y FROM sale GROUP BY city
"""
ROWS = """
    SELECT id, if(id % 3 = 0, 'Bern', 'Oslo') AS city, CAST(id % 7 AS DECIMAL(9,2)) AS price,
           timestamp_seconds(id * 1000) AS seen, CAST(CAST(id AS STRING) AS BINARY) AS raw,
           struct(CAST(id / 2 AS FLOAT) AS x, CAST(id % 5 AS SMALLINT) AS y) AS place
    FROM range({start}, {end})
"""
BY_DUCKDB = "SELECT city, sum(price), count(*), max(seen), min(place.y) FROM '{}/*.parquet' GROUP BY city"
REVENUE = "CREATE MATERIALIZED VIEW revenue AS SELECT city, sum(price) AS total, count(*) AS n FROM sale GROUP BY city"
Commit = Callable[[DataFrame, int], None]


class Killed(Exception):
    """What ends a query where a test wants it."""


@pytest.fixture
def landed(spark: SparkSession, tmp_path: Path) -> Path:
    """A folder in which three files have landed, each of them a micro-batch."""
    for number in range(3):
        rows = spark.sql(ROWS.format(start=number * 100, end=number * 100 + 100))
        rows.coalesce(1).write.mode("append").parquet(str(tmp_path / "landed"))
    return tmp_path / "landed"


def run(spark: SparkSession, landed: Path, commit: Commit) -> None:
    """Run a query over what has landed, from its checkpoint to the end."""
    rows = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", "1").parquet(str(landed))
    writer = rows.writeStream.foreachBatch(commit).option("checkpointLocation", str(landed.parent / "checkpoint"))
    query = writer.trigger(availableNow=True).start()
    try:
        query.awaitTermination()
    finally:
        query.stop()


def test_a_query_that_ends_between_the_commit_and_its_own(spark: SparkSession, landed: Path, tmp_path: Path) -> None:
    """Before the commit, after it, and after one of a process that ended: each batch counts once."""
    calls: list[int] = []
    for dies_at, after in ((0, True), (1, False), (1, True), (9, True)):
        with ivm.connect(tmp_path / "db", compile="off") as db:
            if not db.tables():
                db.sql(TABLE)
            sink = db.sink("sale", mode="append")

            def commit(batch: DataFrame, number: int, sink: Commit = sink, dies: Any = (dies_at, after)) -> None:
                calls.append(number)
                if (number, False) == dies:
                    raise Killed("before")
                sink(batch, number)
                if (number, True) == dies:
                    raise Killed("after")

            if dies_at < 9:
                with pytest.raises(PySparkException, match="Killed"):
                    run(spark, landed, commit)
            else:
                run(spark, landed, commit)
    assert calls == [0, 0, 1, 1, 1, 2]
    with ivm.connect(tmp_path / "db", compile="off") as db:
        found = [
            (city, total, n, last.replace(tzinfo=None), y) for city, total, n, last, y in db.view("revenue").fetchall()
        ]
        assert sorted(found) == sorted(duckdb.execute(BY_DUCKDB.format(landed)).fetchall())
        db.verify()
        ((source, last),) = db.batches().items()
        assert (source[:12], last, db.time) == ("spark query ", 2, 3)


def test_errors_of_the_engine_end_the_query_and_change_nothing(spark: SparkSession, landed: Path) -> None:
    with ivm.connect(compile="off") as db:
        db.sql(TABLE.replace("place_x FLOAT", "place_z FLOAT"))
        with pytest.raises(PySparkException, match="there is no column 'place_x'"):
            run(spark, landed, db.sink("sale", mode="append"))
        checked = TABLE.replace("place_y SMALLINT)", "place_y SMALLINT, CHECK (id <> 77))")
        db.sql("DROP TABLE sale CASCADE; " + checked)
        db.sql("CREATE TABLE refused (source VARCHAR, batch BIGINT, error VARCHAR, data VARCHAR)")
        assert db.time == 0
        run(spark, landed, db.sink("sale", mode="upsert", on_error="quarantine", quarantine="refused"))
        ((data,),) = db.sql("SELECT data FROM refused").fetchall()
        assert '"id": 77,' in data
        assert '"raw": "3737"' in data
        assert db.sql("SELECT count(*), sum(id) FROM sale").fetchall() == [(299, sum(range(300)) - 77)]


def test_one_database_follows_a_view_of_another(spark: SparkSession, tmp_path: Path) -> None:
    """Through Spark, with a query that is ended and begun again, checkpoints and a writer that is opened again."""
    spark.dataSource.register(ViewChanges)
    first, second = tmp_path / "first", ivm.connect(compile="off")
    second.sql("CREATE TABLE copy (city VARCHAR, total DECIMAL(38,2), n BIGINT)")
    second.sql("CREATE MATERIALIZED VIEW v AS SELECT * FROM copy")
    sink, dies = second.sink("copy"), True

    def commit(batch: DataFrame, number: int) -> None:
        sink(batch, number)
        if dies:
            raise Killed("after")

    def follow() -> None:
        options = {"path": str(first), "view": "revenue", "readChangeFeed": "true"}
        writer = spark.readStream.format("ivm").options(**options).load().writeStream.foreachBatch(commit)
        query = writer.option("checkpointLocation", str(tmp_path / "checkpoint")).trigger(availableNow=True).start()
        query.awaitTermination()

    for step in range(2):
        with ivm.connect(first, history=100, compile="off") as db:
            if not db.tables():
                db.sql("CREATE TABLE sale (id BIGINT PRIMARY KEY, city VARCHAR, price DECIMAL(9,2))")
                db.sql(REVENUE)
            for number in range(4):
                row = {"id": step * 3 + number, "city": "Bern" if number % 2 else "Oslo", "price": Decimal(number)}
                db.apply({"sale": [row]}, mode="upsert")
            wanted = sorted(db.view("revenue").fetchall())
            if step == 0:
                with pytest.raises(PySparkException, match="Killed"):
                    follow()
                dies = False
            else:
                follow()
        if step:
            assert sorted(second.view("v").fetchall()) == wanted
    with ivm.connect(first, compile="off") as db:
        found = spark.read.format("ivm").option("view", "revenue").load(str(first)).orderBy("city").collect()
        assert [tuple(row) for row in found] == wanted
    second.verify()
    second.close()


def test_what_cannot_be_read_is_said(spark: SparkSession, tmp_path: Path) -> None:
    spark.dataSource.register(ViewChanges)
    with pytest.raises(PySparkException, match="there is no database"):
        spark.read.format("ivm").option("view", "v").load(str(tmp_path))
    with ivm.connect(tmp_path / "db", compile="off") as db:
        db.sql("CREATE TABLE t (id BIGINT); CREATE MATERIALIZED VIEW v AS SELECT id FROM t; INSERT INTO t VALUES (1)")
        db.sql("INSERT INTO t VALUES (2); CHECKPOINT")
        options = {"view": "v", "readChangeFeed": "true", "startingVersion": "1"}
        with pytest.raises(PySparkException, match="times from 2 to 2 can be read"):
            spark.read.format("ivm").options(**options).load(str(tmp_path / "db")).collect()
