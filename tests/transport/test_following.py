"""Other jobs of Spark's follow a view of a database on a cluster: by files alone, and from where they were."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

import ivm
import ivm.spark
from ivm.spark import ViewChanges
from ivm.spark.database import SparkDatabase

SHOP = """
CREATE TABLE city (name VARCHAR PRIMARY KEY, country VARCHAR) REPLICATED;
CREATE TABLE sale (id BIGINT PRIMARY KEY, city VARCHAR NOT NULL, price DECIMAL(9,2) NOT NULL);
INSERT INTO city VALUES ('Bern', 'CH'), ('Oslo', 'NO'), ('Rome', 'IT');
INSERT INTO sale VALUES (1, 'Bern', 2.50), (2, 'Oslo', 4.25);
CREATE MATERIALIZED VIEW revenue WITH (change_feed = true) AS
SELECT country, sum(price) AS total, count(*) AS n FROM sale JOIN city ON sale.city = city.name GROUP BY country;
CREATE MATERIALIZED VIEW prices AS SELECT price FROM sale;
"""
COLUMNS = "country VARCHAR, total DECIMAL(38,2), n BIGINT"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("followed") / "shop"


@pytest.fixture(scope="module")
def shop(spark: SparkSession, folder: Path) -> Iterator[SparkDatabase]:
    spark.dataSource.register(ViewChanges)
    with ivm.spark.connect(spark, str(folder), shards=2) as db:
        db.sql(SHOP)
        yield db


def test_a_stream_follows_a_view_from_its_checkpoint(
    spark: SparkSession, shop: SparkDatabase, folder: Path, tmp_path: Path
) -> None:
    """A query is ended and begun again, between commits and before its own is done, also over other shards."""
    copy, dies = ivm.connect(compile="off"), [True]
    copy.sql(f"CREATE TABLE copy ({COLUMNS}); CREATE MATERIALIZED VIEW v AS SELECT * FROM copy")
    sink, sizes = copy.sink("copy"), list[int]()

    def commit(batch: DataFrame, number: int) -> None:
        sizes.append(batch.count())
        sink(batch, number)
        if dies:
            raise InterruptedError(dies.pop())

    def follow() -> None:
        options = {"path": f"file://{folder}", "view": "revenue", "readChangeFeed": "true"}
        stream = spark.readStream.format("ivm").options(**options).load()
        writer = stream.writeStream.foreachBatch(commit).option("checkpointLocation", str(tmp_path / "checkpoint"))
        writer.trigger(availableNow=True).start().awaitTermination()

    with pytest.raises(PySparkException, match="InterruptedError"):
        follow()
    shop.sql("INSERT INTO sale VALUES (3, 'Bern', 1.00)")
    for number in range(2):
        follow()
        assert sorted(copy.view("v").fetchall()) == sorted(shop.view("revenue").fetchall())
        shop.sql(f"INSERT INTO sale VALUES ({10 + number}, 'Rome', 1.00); DELETE FROM sale WHERE id = 2")
        if number == 0:
            shop.rescale(3)
            shop.sql("UPDATE sale SET price = price + 1 WHERE id = 3")
    follow()
    assert sorted(copy.view("v").fetchall()) == sorted(shop.view("revenue").fetchall())
    copy.verify()
    copy.close()
    assert sizes == [2, 2, 2, 4, 2], "what there was, twice, and then what changed"


def test_what_a_view_holds_and_what_changed(spark: SparkSession, shop: SparkDatabase, folder: Path) -> None:
    def read(**options: str) -> DataFrame:
        return spark.read.format("ivm").options(view="revenue", **options).load(str(folder))

    assert sorted(map(tuple, read().collect())) == sorted(shop.view("revenue").fetchall())
    begin = shop.time
    shop.sql("INSERT INTO sale VALUES (20, 'Oslo', 9.00)")
    changed = read(readChangeFeed="true", startingVersion=str(begin + 1)).where("country = 'NO'").collect()
    assert [tuple(row) for row in changed] == [("NO", Decimal("9.00"), 1, "insert", begin + 1)]
    with pytest.raises(PySparkException, match=f"times from .* to {begin + 1} can be read"):
        read(readChangeFeed="true", startingVersion="1", endingVersion="999").collect()
    with pytest.raises(
        PySparkException, match=r"create it by CREATE OR REPLACE MATERIALIZED VIEW prices WITH \(change"
    ):
        spark.read.format("ivm").option("view", "prices").load(str(folder))
    with pytest.raises(PySparkException, match="there is no database in file:"):
        spark.read.format("ivm").option("view", "prices").load(f"file://{folder.parent}")
