"""A database on a Spark cluster of two executors: it does what one in a process does, whatever is killed."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from shutil import rmtree

import pytest

import ivm
import ivm.spark
from ivm.cluster.driver.driver import Driver
from ivm.cluster.driver.filler import Pace
from ivm.cluster.files.logs import LARGE
from ivm.cluster.protocol.terms import Unlike
from ivm.session.database import core_of
from ivm.session.oracle import VerificationError
from ivm.spark.cluster import OnSpark
from ivm.spark.database import SparkDatabase
from ivm.spark.parquet import argument_of
from ivm.spark.scans import parts, rows_as
from ivm.spark.tasks import rows_of_files
from ivm.tpch.queries import NAMES, view_sql
from ivm.tpch.reader import open_stream
from ivm.tpch.schema import ddl
from tests.more import with_more
from tests.transport.test_kills import executor_of

SHOP = (
    "CREATE TABLE city (name VARCHAR PRIMARY KEY, country VARCHAR) REPLICATED;"
    "CREATE TABLE sale (id BIGINT PRIMARY KEY, city VARCHAR NOT NULL, price DECIMAL(9,2) NOT NULL);"
    "CREATE MATERIALIZED VIEW revenue AS SELECT country, sum(price) AS total, avg(price) AS mean, max(price) AS most "
    "FROM sale JOIN city ON sale.city = city.name GROUP BY country ORDER BY country"
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("shop")


@pytest.fixture(scope="module")
def shop(spark, folder) -> Iterator[SparkDatabase]:
    with ivm.spark.connect(spark, str(folder), shards=2) as db:
        db.sql(SHOP)
        db.sql("INSERT INTO city VALUES ('Bern', 'CH'), ('Oslo', 'NO'), ('Rome', 'IT')")
        yield db


FEED = "id bigint, city string, price decimal(9,2), _change_type string"


def sales(spark, rows, types="id bigint, city string, price decimal(9,2)"):
    return spark.createDataFrame(rows, types)


def test_rows_of_this_process_and_dataframes_are_committed(spark, shop):
    shop.sql("INSERT INTO sale VALUES (1, 'Bern', 2.50), (2, 'Oslo', 4.25)")
    assert shop.apply({"sale": sales(spark, [(3, "Bern", Decimal("1.00")), (4, "Rome", Decimal("3.00"))])}) == shop.time
    assert shop.view("revenue").fetchall() == [
        ("CH", Decimal("3.50"), 1.75, Decimal("2.50")),
        ("IT", Decimal("3.00"), 3.0, Decimal("3.00")),
        ("NO", Decimal("4.25"), 4.25, Decimal("4.25")),
    ]
    frame = shop.view("revenue").dataframe()
    assert sorted(row.country for row in frame.collect()) == ["CH", "IT", "NO"]
    assert frame.schema.names == ["country", "total", "mean", "most"]
    shop.verify()
    shop.sql("INSERT INTO sale VALUES (5, 'Bern', 0.50)")
    shop.sql("DELETE FROM sale WHERE id = 5")
    assert sorted(row.country for row in frame.collect()) == ["CH", "IT", "NO"], "it stays what it was"


def test_spark_is_the_oracle_where_the_tables_stay(shop):
    assert shop.verify(by="spark") == shop.verify(by="duckdb")
    texts = core_of(shop).engine.oracle_sql
    right, wrong = texts["revenue"], "SELECT 'CH' AS country, 1.0 AS total, 1.0 AS mean, 1.0 AS most"
    try:
        texts["revenue"] = wrong
        with pytest.raises(
            VerificationError, match=r"3 rows against 1; only in the view: .*only in Spark SQL: .'CH', "
        ):
            shop.verify(["revenue"], by="spark")
        texts["revenue"] = "SELECT no_such_function(name) FROM city"
        with pytest.raises(
            VerificationError, match=r"cannot compare revenue: Spark SQL does not compute it: .*routine"
        ):
            shop.verify(["revenue"], by="spark")
    finally:
        texts["revenue"] = right
    with pytest.raises(ivm.Error, match="by is 'sqlite'"):
        shop.verify(by="sqlite")


def test_a_dataframe_has_every_type(shop):
    """Spark knows no unsigned numbers, and no ENUM."""
    columns = {
        "e": ("ENUM('low', 'high')", "'high'", "high"),
        "u1": ("UTINYINT", "200", 200),
        "u2": ("USMALLINT", "60000", 60000),
        "u4": ("UINTEGER", "4000000000", 4000000000),
        "u8": ("UBIGINT", "18000000000000000000", Decimal(18000000000000000000)),
        "h": ("HUGEINT", "-5", Decimal(-5)),
        "i": ("UUID", "'6ccd780c-baba-1026-9564-5b8c656024db'", "6ccd780c-baba-1026-9564-5b8c656024db"),
        "t": ("TIME", "'12:30:00'", "12:30:00.000000"),  # which a session has to allow
        "s": ("TIMESTAMP", "'2026-01-02 03:04:05'", datetime(2026, 1, 2, 3, 4, 5)),
        "b": ("BLOB", "'ab'::BLOB", bytearray(b"ab")),
        "f": ("FLOAT", "1.5", 1.5),
    }
    shop.sql(f"CREATE TABLE many ({', '.join(f'{name} {each[0]}' for name, each in columns.items())})")
    shop.sql("CREATE MATERIALIZED VIEW all_types AS SELECT * FROM many")
    shop.sql(f"INSERT INTO many VALUES ({', '.join(each[1] for each in columns.values())})")
    (row,) = shop.view("all_types").dataframe().collect()
    assert list(row) == [each[2] for each in columns.values()]
    shop.verify(["all_types"], by="spark")
    shop.sql("DROP VIEW all_types; DROP TABLE many")


def test_rows_of_dataframes_have_times_of_their_own(spark, shop):
    timed = "id bigint, city string, price decimal(9,2), _time bigint, _diff bigint"
    begin, price, told = shop.time, Decimal("1.00"), shop.subscribe("revenue")

    def apply(rows, types=timed):
        return shop.apply({"sale": spark.createDataFrame(rows, types)})

    rows = [(500, "Bern", price, begin + 2, 1), (501, "Bern", price, begin + 5, 1), (500, "Bern", price, begin + 7, -1)]
    assert apply(rows) == shop.time == begin + 7
    assert [row["_time"] for row in told.fetch().to_pylist() if row["_diff"] > 0] == [begin + 2, begin + 5, begin + 7]
    for wrong, types, message in (
        ([(502, "Bern", price, begin + 7, 1)], timed, f"_time {begin + 7} is not later than the last commit's"),
        ([(502, "Bern", price, None, 1)], timed, "_time is NULL in 1 rows"),
        ([(502, "Bern", price, "9", 1)], timed.replace("_time bigint", "_time string"), "must be a whole number"),
    ):
        with pytest.raises(ivm.Error, match=message):
            apply(wrong, types)
    assert apply([]) == begin + 8
    assert apply([(501, "Bern", price, begin + 10, -1)]) == begin + 10
    shop.verify(by="duckdb")


def test_a_batch_counts_once(spark, shop):
    rows = sales(spark, [(20, "Oslo", Decimal("1.00"))])
    time = shop.apply({"sale": rows}, batch=("stream", 7))
    assert shop.apply({"sale": rows}, batch=("stream", 7)) == time
    assert shop.batches() == {"stream": 7}


def test_many_rows_come_by_files_that_logs_name(spark, shop, folder):
    old = spark.range(1000, 41_000).selectExpr("id", "'Rome' AS city", "CAST(id % 100 AS DECIMAL(9,2)) AS price")
    shop.apply({"sale": old})
    logs = folder / "logs"
    newest = max(each.name.partition(".")[0] for each in logs.iterdir())
    sizes = sorted(each.stat().st_size for each in logs.glob(f"{newest}.001.*"))
    assert len(sizes) > 4, "each shard has a log, and a file of each task"
    assert sizes[1] < 1_000, "which the logs name"
    assert sizes[2] >= LARGE
    # Rows that come, and those that go for them, are in different tasks.
    new = old.selectExpr("id", "'Oslo' AS city", "price", "1 AS _diff")
    shop.apply({"sale": new.union(old.selectExpr("*", "-1 AS _diff"))})
    for place in shop.places.values():
        os.kill(int(place.split("/")[2]), signal.SIGKILL)
    shop.verify()
    shop.sql("DELETE FROM sale WHERE id >= 1000")
    shop.verify()


def test_files_are_read_by_tasks_where_a_dataframe_is_nothing_else(spark, shop, tmp_path):
    frame = spark.range(1000, 5000).selectExpr("id", "'Bern' AS city", "CAST(id % 100 AS DECIMAL(9,2)) AS price")
    frame.write.parquet(str(tmp_path / "a b"))
    frame.selectExpr("CAST(id AS INT) AS id", "city", "price").write.parquet(str(tmp_path / "narrow"))
    frame.write.partitionBy("city").parquet(str(tmp_path / "parts"))
    read = spark.read.parquet(str(tmp_path / "a b"))
    found = parts(read)
    assert found is not None
    read_by_tasks = (rows_of_files(argument_of(each, rows_as(read))) for each in found)
    assert sum(batch.num_rows for each in read_by_tasks for batch in each) == 4000
    others = [frame, read.where("id > 2000"), read.limit(5), read.union(read), read.selectExpr("id + 1 AS id")]
    others += [spark.read.parquet(str(tmp_path / "parts")), read.selectExpr("*", "-1 AS _diff")]
    assert [parts(each) for each in others] == [None] * len(others)
    shop.apply({"sale": read})
    assert shop.sql("SELECT count(*), sum(price) FROM sale WHERE id >= 1000").fetchall() == [
        (4000, Decimal("198000.00"))
    ]
    shop.sql("DELETE FROM sale WHERE id >= 1000")
    # Spark reads these as wider numbers, and does so here.
    wide = spark.read.schema(read.schema).parquet(str(tmp_path / "narrow"))
    found = parts(wide)
    assert found is not None
    with pytest.raises(Unlike, match="column id is not int64"):
        list(rows_of_files(argument_of(found[0], rows_as(wide))))
    shop.apply({"sale": wide})
    assert shop.sql("SELECT count(*), sum(price) FROM sale WHERE id >= 1000").fetchall() == [
        (4000, Decimal("198000.00"))
    ]
    read.cache().count()
    assert parts(spark.read.parquet(str(tmp_path / "a b"))) is None, "what is cached counts, whatever files are"
    read.unpersist()
    shop.sql("DELETE FROM sale WHERE id >= 1000")
    shop.verify()


def test_a_stream_counts_each_batch_once(spark, shop, tmp_path):
    rows = [(200 + i, "Rome", Decimal("0.50"), "insert") for i in range(4)]
    feed = sales(spark, rows, FEED)
    for part in range(2):
        feed.where(f"id % 2 = {part}").coalesce(1).write.parquet(str(tmp_path / "feed" / str(part)))
    stream = spark.readStream.schema(feed.schema).option("maxFilesPerTrigger", 1).option("recursiveFileLookup", "true")
    sink, again = shop.sink("sale", source="feed"), []

    def committed(batch, number):
        sink(batch, number)
        sink(batch, number)  # as after a crash before Spark knew
        again.append(number)

    writing = stream.parquet(str(tmp_path / "feed")).writeStream.foreachBatch(committed)
    writing.option("checkpointLocation", str(tmp_path / "where")).trigger(availableNow=True).start().awaitTermination()
    assert again == [0, 1]
    assert shop.batches()["feed"] == 1
    assert shop.sql("SELECT count(*) FROM sale WHERE id >= 200").fetchall() == [(4,)]


def test_a_stream_goes_on_over_other_shards(spark, shop, tmp_path):
    for part in range(4):
        rows = [(300 + 10 * part + i, "Oslo", Decimal("0.25")) for i in range(5)]
        sales(spark, rows).coalesce(1).write.parquet(str(tmp_path / "rows" / str(part)))
    stream = spark.readStream.schema("id bigint, city string, price decimal(9,2)").option("maxFilesPerTrigger", 1)
    sink, subscription, told = shop.sink("sale", mode="append", source="rows"), shop.subscribe("revenue"), []
    frame, before = shop.view("revenue").dataframe(), shop.view("revenue").fetchall()
    shards = {0: 3, 1: 2}

    def committed(batch, number):
        sink(batch, number)
        if number in shards:
            time = shop.time
            shop.rescale(shards[number])
            assert len(shop.places) == shards[number]
            sink(batch, number)  # as after a crash before Spark knew
            assert shop.time == time
            shop.verify()
        told.extend(subscription.fetch().to_pylist())

    writing = stream.option("recursiveFileLookup", "true").parquet(str(tmp_path / "rows")).writeStream
    writing = writing.foreachBatch(committed).option("checkpointLocation", str(tmp_path / "where"))
    writing.trigger(availableNow=True).start().awaitTermination()
    subscription.close()
    assert shop.sql("SELECT count(*) FROM sale WHERE id >= 300").fetchall() == [(20,)]
    assert shop.batches()["rows"] == 3
    assert len(told) == 8, "each commit replaces a row"
    assert sorted(row.country for row in frame.collect()) == sorted(row[0] for row in before), "it stays what it was"
    assert {row.country for row in shop.view("revenue").dataframe().collect()} == {"CH", "IT", "NO"}
    shop.verify()


def test_what_is_wrong_with_rows_is_told_as_on_one_machine(spark, shop):
    before = shop.view("revenue").fetchall()
    with pytest.raises(ivm.ConstraintError, match="already has a row with PRIMARY KEY"):
        shop.apply({"sale": sales(spark, [(7, "Bern", Decimal("1.00")), (7, "Bern", Decimal("2.00"))])})
    with pytest.raises(ivm.ConstraintError, match="NULL"):
        shop.apply({"sale": sales(spark, [(6, None, Decimal("1.00"))])})
    with pytest.raises(ivm.Error, match="prize"):
        shop.apply({"sale": sales(spark, [(6, "Bern", Decimal("1.00"))], "id bigint, city string, prize decimal(9,2)")})
    with pytest.raises(ivm.NumericError, match="view broken"):
        shop.sql("CREATE MATERIALIZED VIEW broken AS SELECT sum(CAST(city AS INTEGER)) AS n FROM sale")
    feed = sales(spark, [(6, "Bern", Decimal("1.00"), "insert")], FEED)
    for mode in ("append", "upsert"):
        with pytest.raises(ivm.Error, match="use mode 'changes'"):
            shop.sink("sale", mode=mode, source="plain")(feed, 0)
    assert shop.view("revenue").fetchall() == before
    shop.apply({"sale": sales(spark, [(6, "Bern", Decimal("1.00"))])}, mode="upsert")
    shop.verify()


def test_subscribers_are_told(shop):
    with shop.subscribe("revenue") as subscription:
        shop.sql("INSERT INTO sale VALUES (50, 'Rome', 9.00)")
        assert {(row["country"], row["_diff"]) for row in subscription.fetch().to_pylist()} == {("IT", 1), ("IT", -1)}


def test_what_changed_is_a_dataframe(spark, tmp_path):
    with ivm.spark.connect(spark, str(tmp_path / "root"), shards=2, history=5) as db:
        db.sql(SHOP)
        before = db.time
        db.sql("INSERT INTO city VALUES ('Bern', 'CH'), ('Oslo', 'NO')")
        db.sql("INSERT INTO sale VALUES (1, 'Bern', 2.50), (2, 'Oslo', 4.25), (3, 'Bern', 1.00)")
        view = db.view("revenue")
        told = view.changes(before)
        rows = zip(*told.to_pydict().values(), strict=True)
        assert sorted(view.changes_dataframe(before).collect()) == sorted(rows)
        assert told.num_rows == 2
        assert not view.changes_dataframe(db.time).collect()


def test_commits_are_published_while_a_view_is_filled(shop, monkeypatch):
    monkeypatch.setattr(OnSpark, "pace", Pace(0, 2, 50))
    there, done, killed = threading.Event(), list[int](), list[int]()

    def commit() -> None:
        while not there.is_set():
            number = 1_000 + len(done)
            shop.sql(f"INSERT INTO sale VALUES ({number}, 'Rome', 1.00)")
            done.append(number)

    def progress(_: ivm.Progress) -> None:
        if len(done) > 1 and not killed:
            killed.append(int(shop.places[0].split("/")[2]))
            os.kill(killed[0], signal.SIGKILL)

    thread = threading.Thread(target=commit)
    thread.start()
    try:
        text = "SELECT price, count(*) AS n, min(city) AS first FROM sale GROUP BY price"
        shop.sql(f"CREATE MATERIALIZED VIEW prices AS {text}", progress=progress)
    finally:
        there.set()
        thread.join()
    assert killed
    assert len(done) > 2
    assert [each.view for each in shop.verify()] == ["revenue", "prices"]
    shop.sql("INSERT INTO sale VALUES (999, 'Bern', 1.00)")
    shop.verify()
    shop.sql("DROP VIEW prices")


def test_a_worker_is_killed_between_commits(shop):
    place = shop.places[1]
    os.kill(int(place.split("/")[2]), signal.SIGKILL)
    shop.sql("INSERT INTO sale VALUES (60, 'Bern', 1.00)")
    shop.verify()


@pytest.mark.slow
def test_an_executor_is_killed_between_commits(shop):
    os.kill(executor_of(shop.places[0]), signal.SIGKILL)
    shop.sql("INSERT INTO sale VALUES (61, 'Bern', 1.00)")
    shop.verify()


def test_it_is_opened_again_and_of_two_drivers_one_goes_on(spark, tmp_path, monkeypatch):
    def progress(_: ivm.Progress) -> None:
        if first._driver.version.version > 6:
            raise InterruptedError  # here it dies

    first = ivm.spark.connect(spark, str(tmp_path / "root"), shards=2)
    first.sql(SHOP)
    first.sql("INSERT INTO city VALUES ('Bern', 'CH')")
    with monkeypatch.context() as context, pytest.raises(InterruptedError):
        context.setattr(OnSpark, "pace", Pace(-1, 2, 50))  # also over no rows
        context.setattr(Driver, "sweep", lambda self: None)
        first.sql(
            "CREATE MATERIALIZED VIEW v AS SELECT price, count(*) AS n FROM sale GROUP BY price", progress=progress
        )
    second = ivm.spark.connect(spark, str(tmp_path / "root"))
    assert first._driver.version.filling
    assert not second._driver.version.filling
    assert [table.name for table in second.tables()] == ["city", "sale"]
    second.sql("INSERT INTO sale VALUES (1, 'Bern', 2.50)")
    assert second.view("revenue").fetchall() == [("CH", Decimal("2.50"), 2.5, Decimal("2.50"))]
    with pytest.raises(ivm.StorageError, match="driver"):
        first.sql("INSERT INTO sale VALUES (2, 'Bern', 2.50)")
    assert [each.view for each in second.verify()] == ["revenue"]
    workers = {*first.places.values(), *second.places.values()}
    first.close()
    second.close()
    rmtree(tmp_path / "root")
    with ivm.spark.connect(spark, str(tmp_path / "root"), shards=2) as third:
        assert workers.issuperset(third.places.values()), "they have imported everything"
        third.sql(SHOP)
        third.sql("INSERT INTO city VALUES ('Bern', 'CH'); INSERT INTO sale VALUES (1, 'Bern', 1.50)")
        assert third.view("revenue").fetchall() == [("CH", Decimal("1.50"), 1.5, Decimal("1.50"))]


@pytest.mark.parametrize("names", with_more([NAMES[::3]], [NAMES]), ids=["a third", "all"])
def test_the_delivered_views_equal_duckdb(spark, streams, tmp_path, names):
    stream = open_stream(streams / "refresh")
    with ivm.spark.connect(spark, str(tmp_path / "root"), shards=2) as db:
        db.sql(ddl())
        for name in names:
            db.sql(view_sql(name))
        db.apply(stream.base())
        times = stream.manifest.last_time - stream.manifest.first_time + 1
        filled: set[str] = set()
        for batch in stream.batches(-(-times // 2), coalesce=True):
            db.apply(batch.tables)
            filled |= {verified.view for verified in db.verify() if not verified.empty}
        assert filled == set(names)
        some = [name for name in ("q1", "q15", "q22") if name in names]
        assert [each.view for each in db.verify(some, by="spark")] == some
