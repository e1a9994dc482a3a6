"""Subscriptions by a name over Spark: what was acknowledged outlives the driver, and what was not is there again."""

from __future__ import annotations

import os
import signal

import pytest

import ivm.spark
from ivm.catalog.errors import StorageError


def told(subscription):
    return sorted((row["_diff"], row["city"], int(row["total"])) for row in subscription.fetch().to_pylist())


def test_one_goes_on_behind_what_it_has_acknowledged(spark, tmp_path):
    first = ivm.spark.connect(spark, tmp_path / "shop", shards=3)
    first.sql("""
        CREATE TABLE sale (id BIGINT PRIMARY KEY, city VARCHAR NOT NULL, price INTEGER NOT NULL);
        CREATE MATERIALIZED VIEW revenue AS SELECT city, sum(price) AS total FROM sale GROUP BY city;
        INSERT INTO sale VALUES (1, 'Bern', 2), (2, 'Oslo', 4)
    """)
    etl = first.subscribe("revenue", name="etl", snapshot=True)
    assert told(etl) == [(1, "Bern", 2), (1, "Oslo", 4)]
    etl.acknowledge()
    first.apply({"sale": spark.createDataFrame([(3, "Rome", 1)], "id long, city string, price int")})
    os.kill(int(first.places[1].rpartition("/")[2]), signal.SIGKILL)
    first.sql("DELETE FROM sale WHERE id = 1")
    expected = [(-1, "Bern", 2), (1, "Rome", 1)]
    assert told(etl) == expected
    with ivm.spark.connect(spark, tmp_path / "shop") as second:  # the first is as if it had been killed
        again = second.subscribe("revenue", name="etl", snapshot=True)
        assert told(again) == expected
        again.acknowledge()
        with pytest.raises(StorageError, match="open the database anew"):
            etl.acknowledge()
        second.sql("DELETE FROM sale WHERE id = 2")
    first.close()
    with ivm.spark.connect(spark, tmp_path / "shop") as third:
        assert told(third.subscribe("revenue", name="etl")) == [(-1, "Oslo", 4)]
        assert third.sql("SELECT name, behind FROM ivm_subscriptions").fetchall() == [("etl", 1)]
        third.forget_subscription("etl")
