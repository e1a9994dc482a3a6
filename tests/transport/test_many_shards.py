"""64 shards on two executors of Spark's: what few shards have in the end is brought together in two steps."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator

import pytest

import ivm.spark
from ivm.spark.database import SparkDatabase

pytestmark = pytest.mark.slow
SHARDS = 64


@pytest.fixture(scope="module")
def shop(spark, tmp_path_factory) -> Iterator[SparkDatabase]:
    with ivm.spark.connect(spark, str(tmp_path_factory.mktemp("many") / "shop"), shards=SHARDS) as db:
        db.sql("""
            CREATE TABLE city (name VARCHAR PRIMARY KEY, country VARCHAR) REPLICATED;
            CREATE TABLE sale (id BIGINT PRIMARY KEY, city VARCHAR, price DECIMAL(9,2));
            CREATE MATERIALIZED VIEW revenue AS
                SELECT country, sum(price) AS total, count(*) AS n FROM sale JOIN city ON sale.city = city.name
                GROUP BY country;
            CREATE MATERIALIZED VIEW whole AS SELECT sum(price) AS total, max(price) AS most FROM sale;
            CREATE MATERIALIZED VIEW dearest AS SELECT id, price FROM sale ORDER BY price DESC, id LIMIT 3;
            INSERT INTO city VALUES ('Bern', 'CH'), ('Oslo', 'NO'), ('Rome', 'IT')
        """)
        yield db


def test_groups_and_first_rows_meet_in_two_steps(spark, shop):
    said = shop.explain("SELECT city, sum(price) AS total FROM sale GROUP BY city")
    assert "on one shard for each" in said
    rows = spark.range(3000).selectExpr(
        "id", "element_at(array('Bern', 'Oslo', 'Rome'), CAST(id % 3 AS INT) + 1) AS city",
        "CAST(id % 500 AS DECIMAL(9,2)) AS price",
    )  # fmt: skip
    shop.apply({"sale": rows})
    assert [row[0] for row in shop.view("dearest").fetchall()] == [499, 999, 1499]
    shop.sql("DELETE FROM sale WHERE id % 500 = 499; UPDATE sale SET price = price + 1 WHERE id < 30")
    assert [row[0] for row in shop.view("dearest").fetchall()] == [498, 998, 1498]
    assert len(shop.verify()) == 3


def test_they_are_loaded_again_and_brought_to_fewer(shop):
    os.kill(int(shop.places[0].split("/")[2]), signal.SIGKILL)
    shop.sql("INSERT INTO sale VALUES (5000, 'Rome', 1000.00)")
    assert shop.view("dearest").fetchall()[0][0] == 5000
    assert len(shop.verify()) == 3
    shop.rescale(3)
    shop.sql("DELETE FROM sale WHERE id = 5000")
    assert shop.view("dearest").fetchall()[0][0] == 498
    assert len(shop.verify()) == 3
