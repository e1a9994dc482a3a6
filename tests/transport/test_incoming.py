"""What comes into a database on a cluster without passing through its driver: files that SQL loads, and streams."""

from __future__ import annotations

import dataclasses
import json
import logging
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import ivm
import ivm.spark
from ivm.cluster.queries import csv_pieces, file_parts
from ivm.session.database import core_of
from ivm.spark import loader
from ivm.spark.cluster import OnSpark
from ivm.spark.database import SparkDatabase

TABLES = """
    CREATE TABLE sale (id BIGINT PRIMARY KEY, city VARCHAR NOT NULL, price DECIMAL(9,2) NOT NULL DEFAULT 1);
    CREATE TABLE city (name VARCHAR PRIMARY KEY) REPLICATED;
    CREATE TABLE refused (source VARCHAR, batch BIGINT, error VARCHAR, data VARCHAR);
    CREATE MATERIALIZED VIEW revenue AS SELECT city, count(*) AS n, sum(price) AS total FROM sale GROUP BY city
"""


@pytest.fixture(scope="module")
def shop(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkDatabase]:
    with ivm.spark.connect(spark, str(tmp_path_factory.mktemp("shop")), shards=2, external_access=True) as db:
        db.sql(TABLES)
        yield db


@pytest.fixture
def here(shop: SparkDatabase, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """How many rows the driver has had on their way to shards, of each change. The tables are empty afterwards."""
    monkeypatch.setattr(loader, "LARGE_FILES", 0)
    monkeypatch.setattr(file_parts, "_LEAST_BYTES", 1)
    found, run = list[int](), OnSpark.run

    def counted(carrier, order, given, *more):
        found.extend(change.data.num_rows for change in given if change.data.num_rows)
        return run(carrier, order, given, *more)

    monkeypatch.setattr(OnSpark, "run", counted)
    yield found
    shop.verify()
    monkeypatch.undo()
    for table in ("sale", "city", "refused"):
        shop.sql(f"DELETE FROM {table}")


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four files of rows of sales; one with a city for each of 100; one of CSV."""
    found = tmp_path_factory.mktemp("files")
    with ivm.connect(external_access=True) as db:
        for part in range(4):
            rows = (
                f"SELECT i AS id, 'Bern' AS city, 0.5::DECIMAL(9,2) AS price FROM range({part}000, {part + 1}000) t(i)"
            )
            db.sql(f"COPY ({rows}) TO '{found}/{part}.parquet' (ROW_GROUP_SIZE 2048)")
        db.sql(f"COPY (SELECT 'c' || i AS name FROM range(100) t(i)) TO '{found}/city.csv' (HEADER)")
    return found


def told(db: SparkDatabase) -> list[tuple[object, ...]]:
    return db.sql("SELECT * FROM revenue").fetchall()


def test_copy_and_insert_of_files(shop, here, files):
    times, begin = list[int](), shop.time
    for text, count in (
        (f"COPY sale FROM '{files}/0.parquet'", 1000),
        (f"COPY sale (id, city) FROM '{files}/more.csv' (HEADER, DELIMITER ';')", 2),
        (f"INSERT INTO sale BY NAME SELECT 'Oslo' AS city, id FROM read_parquet('{files}/[12].parquet')", 2000),
        (f"INSERT INTO sale SELECT id, city, price FROM '{files}/3.parquet' WHERE id % 2 = 0", 500),
        (f"COPY city FROM '{files}/city.csv'", 100),
    ):
        (files / "more.csv").write_text("id;city\n-1;a,b\n-2;c\n")
        assert shop.sql(text).fetchall() == [(count,)]
        times.append(shop.time)
    assert here == []
    assert times == [*range(begin + 1, begin + 6)]
    assert sorted(told(shop)) == [
        ("Bern", 1500, Decimal("750.00")),
        ("Oslo", 2000, Decimal("2000.00")),
        ("a,b", 1, Decimal("1.00")),
        ("c", 1, Decimal("1.00")),
    ]


def test_one_large_file_of_csv_is_read_in_pieces(shop, here, files, monkeypatch):
    monkeypatch.setattr(csv_pieces, "_TIMES", 1)
    parts_of, pieces = file_parts.parts_of, list[int]()

    def counted(text, readers):
        found = parts_of(text, readers)
        pieces.append(0 if found is None else len(found.arguments))
        return found

    monkeypatch.setattr(loader, "parts_of", counted)
    with ivm.connect(external_access=True) as one:
        rows = "SELECT i AS id, 'Bern, \"B' || i AS city, i / 100 AS price FROM range(70000) t(i)"
        one.sql(f"COPY ({rows}) TO '{files}/large.csv' (HEADER)")
    for text in (
        f"COPY sale FROM '{files}/large.csv' (HEADER)",
        f"INSERT INTO sale SELECT -1 - id, city, price FROM '{files}/large.csv'",
    ):
        assert shop.sql(text).fetchall() == [(70000,)]
    assert here == []
    assert min(pieces) > 1
    assert shop.sql("SELECT count(*), sum(id), sum(price), count(DISTINCT city) FROM sale").fetchall() == [
        (140000, -70000, Decimal("48999300.00"), 70000)
    ]


def test_a_table_of_files(shop, here, files):
    time = shop.time
    text = f"SELECT id, city AS town, price * 2 AS price FROM read_parquet('{files}/*.parquet')"
    assert shop.sql(f"CREATE TABLE made (key) AS {text}").fetchall() == [(4000,)]
    assert shop.time == time + 1
    assert shop.sql("SELECT count(*), sum(key), sum(price) FROM made").fetchall() == [
        (4000, 7998000, Decimal("4000.00"))
    ]
    assert [(row[0], row[1]) for row in shop.sql("DESCRIBE made").fetchall()] == [
        ("key", "BIGINT"), ("town", "VARCHAR"), ("price", "DECIMAL(18,2)")
    ]  # fmt: skip
    shop.sql(f"CREATE OR REPLACE TABLE made AS FROM '{files}/city.csv'")
    assert here == []
    assert shop.sql("SELECT count(*), max(name) FROM made").fetchall() == [(100, "c99")]
    shop.sql("DROP TABLE made")


def test_what_is_wrong_with_files_is_told_as_on_one_machine(shop, here, files):
    begin, version = shop.time, shop._driver.version.version
    with ivm.connect(external_access=True) as one:
        one.sql(TABLES.replace("REPLICATED", ""))
        for text in (
            f"INSERT INTO sale SELECT id % 10, city, price FROM read_parquet('{files}/*.parquet')",
            f"INSERT INTO sale SELECT id, nullif(city, 'Bern'), price FROM read_parquet('{files}/0.parquet')",
            f"INSERT INTO sale SELECT id, city FROM read_parquet('{files}/0.parquet')",
            f"INSERT INTO sale SELECT id, city, CAST(city AS INTEGER) FROM read_parquet('{files}/0.parquet')",
            f"COPY sale (id) FROM '{files}/0.parquet'",
            f"COPY sale FROM '{files}/city.csv'",
            f"COPY sale FROM '{files}/nowhere.parquet'",
            f"CREATE TABLE sale AS FROM '{files}/0.parquet'",
        ):
            errors = []
            for db in (one, shop):
                with pytest.raises(ivm.Error) as caught:
                    db.sql(text)
                errors.append(caught.value)
            assert type(errors[0]) is type(errors[1])
            assert str(errors[0])[:60] == str(errors[1])[:60]
    assert shop.time == begin
    assert shop._driver.version.version == version
    assert told(shop) == []


def test_files_that_workers_do_not_see_are_read_by_the_driver(shop, here, files, monkeypatch, caplog):
    parts_of = file_parts.parts_of

    def elsewhere(text, readers):
        found = parts_of(text, readers)
        assert found is not None
        others = [json.dumps(json.loads(each) | {"files": [("/x", 1, 1)]}).encode() for each in found.arguments]
        return dataclasses.replace(found, arguments=others)

    monkeypatch.setattr(loader, "parts_of", elsewhere)
    begin = shop.time
    with caplog.at_level(logging.WARNING, "ivm"):
        assert shop.sql(f"COPY sale FROM '{files}/0.parquet'").fetchall() == [(1000,)]
        assert shop.sql(f"CREATE TABLE made AS FROM '{files}/1.parquet'").fetchall() == [(1000,)]
    assert caplog.text.count("the files are not those that the parts are of; so the driver reads them") == 2
    assert here == [1000, 1000]
    assert shop.time == begin + 2
    shop.sql("DROP TABLE made")


def test_statements_that_need_the_driver(shop, here, files):
    read = f"SELECT id, city, price FROM read_parquet('{files}/0.parquet')"
    shop.sql(f"INSERT INTO sale {read} WHERE id < 10 ON CONFLICT DO NOTHING")
    assert len(shop.sql(f"INSERT INTO sale {read} WHERE id >= 10 AND id < 20 RETURNING id").fetchall()) == 10
    shop.sql(f"INSERT INTO sale {read} ORDER BY id DESC LIMIT 10")
    shop.sql("INSERT INTO city SELECT DISTINCT city FROM sale")
    shop.sql(f"CREATE TABLE \"{files}/0.parquet\" AS SELECT 'Oslo' AS city")
    shop.sql(f"INSERT INTO city SELECT city FROM '{files}/0.parquet'")
    shop.sql(f'DROP TABLE "{files}/0.parquet"')
    assert here == [10, 10, 10, 1, 1]  # the last one goes from shard to shard
    core = core_of(shop)
    core.external_access = False
    try:
        for text in (f"INSERT INTO sale {read}", f"CREATE TABLE made AS {read}", f"COPY sale FROM '{files}/0.parquet'"):
            with pytest.raises(ivm.AccessError, match="external_access"):
                shop.sql(text)
    finally:
        core.external_access = True


def test_dataframes_with_columns_in_folders_filters_or_a_cache(spark, shop, here, files, tmp_path):
    (tmp_path / "by city" / "city=Bern").mkdir(parents=True)
    with ivm.connect(external_access=True) as one:
        rows = f"SELECT id, price FROM read_parquet('{files}/0.parquet')"
        one.sql(f"COPY ({rows}) TO '{tmp_path}/by city/city=Bern/0.parquet'")
    shop.apply({"sale": spark.read.parquet(str(tmp_path / "by city")).select("id", "city", "price")})
    shop.apply({"sale": spark.read.parquet(f"{files}/1.parquet").where("id < 1500")})
    held = spark.read.parquet(f"{files}/2.parquet").cache()
    shop.apply({"sale": held})
    held.unpersist()
    assert here == []
    assert told(shop) == [("Bern", 2500, Decimal("1250.00"))]


def test_of_a_stream_with_quarantine_only_refused_batches_pass_through_the_driver(spark, shop, here):
    sink = shop.sink("sale", mode="append", source="s", on_error="quarantine", quarantine="refused")
    good = spark.range(100).selectExpr("id", "'Bern' AS city", "0.50BD AS price")
    bad = good.selectExpr("id + 99 AS id", "if(id = 7, NULL, 'Oslo') AS city", "price")
    begin = shop.time
    for batch, number in (
        (good, 0),
        (good, 0),
        (bad, 1),
        (bad, 1),
        (good.selectExpr("id + 500 AS id", "city", "price"), 2),
    ):
        sink(batch, number)
    assert here[-2:] == [98, 2], "what is left of the second batch, and what is put aside"
    assert shop.time == begin + 3
    assert shop.batches()["s"] == 2
    assert sorted(told(shop)) == [("Bern", 200, Decimal("100.00")), ("Oslo", 98, Decimal("49.00"))]
    refused = shop.sql("SELECT batch, data FROM refused").fetchall()
    assert sorted((batch, json.loads(data)["id"]) for batch, data in refused) == [(1, 99), (1, 106)]
    with pytest.raises(ivm.TypeMismatchError, match="there is no column 'tax'"):
        sink(good.selectExpr("*", "1 AS tax"), 3)
    assert shop.batches()["s"] == 2
