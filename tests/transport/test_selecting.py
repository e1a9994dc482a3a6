"""What is inserted of tables and views on Spark: as on one engine, from worker to worker, whatever dies meanwhile."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

import ivm
import ivm.spark
from ivm.cluster.driver import loader
from ivm.session.database import core_of
from ivm.spark.cluster import carrier_of
from ivm.spark.database import SparkDatabase
from ivm.subscriptions.unnamed import unnamed
from tests.cluster import test_writing as writing
from tests.cluster.test_joined import OF_SHARDS as JOINED
from tests.cluster.test_selecting import OF_ALL, OF_SHARDS, TABLES, WRONG, nothing_comes_here, said, same

MANY = "INSERT INTO bag SELECT 'x' || a, b + 1 FROM bag"


@pytest.fixture(scope="module")
def pair(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[ivm.Database, SparkDatabase]]:
    folder = str(tmp_path_factory.mktemp("shop"))
    with (
        ivm.connect(compile="off", external_access=True) as one,
        ivm.spark.connect(spark, folder, shards=3, external_access=True) as db,
    ):
        for each in (one, db):
            each.sql(TABLES)
        yield one, db


def test_each_shard_answers_from_its_own_rows(pair):
    one, db = pair
    for text in (*OF_SHARDS[::2], f"INSERT INTO bag {JOINED[0]}", f"INSERT INTO bag {JOINED[12]}"):
        with nothing_comes_here(db):
            found = said(db, text)
        assert found == said(one, text), text
    same(one, db)


def test_it_takes_no_job_where_the_processes_of_shards_are_reached(pair, spark, monkeypatch):
    def jobs() -> set[int]:
        return set(spark.sparkContext.statusTracker().getJobIdsForGroup(None))

    one, db = pair
    transport, text = carrier_of(db._driver)._spark, "INSERT INTO bag SELECT city, id FROM sale WHERE id < 7"
    until = time.monotonic() + 30
    while transport._reached() is None:
        assert time.monotonic() < until
        time.sleep(0.01)
    before = jobs()
    assert said(db, text) == said(one, text)
    created = "CREATE OR REPLACE TABLE made_anew AS SELECT id, city FROM sale"
    assert said(db, created) == said(one, created)
    assert jobs() == before
    monkeypatch.setattr(transport, "_reached", lambda: None)
    assert said(db, text) == said(one, text)
    assert len(jobs()) > len(before)
    same(one, db)


def test_shards_exchange_the_rows_of_joins_that_read_many(pair, monkeypatch):
    one, db = pair
    monkeypatch.setattr(loader, "MANY", 1)
    for text in ("INSERT INTO bag {}", "CREATE OR REPLACE TABLE joined (x, y) AS {}"):
        statement = text.format("SELECT a.city, b.id FROM sale AS a JOIN sale AS b ON a.price = b.id")
        with nothing_comes_here(db):
            found = said(db, statement)
        assert found == said(one, statement)
    assert not unnamed(core_of(db).catalog)
    same(one, db)


def test_what_is_wrong_changes_nothing(pair):
    one, db = pair
    time, version = db.time, db._driver.version.version
    for text in WRONG[::3]:
        assert said(db, text) == said(one, text), text
    assert (db.time, db._driver.version.version) == (time, version)
    assert said(db, OF_ALL[0]) == said(one, OF_ALL[0])
    same(one, db)


def test_all_shards_write(pair, tmp_path):
    how = writing.FORMATS[0]
    for what in (writing.OF_SHARDS[0], writing.OF_SHARDS[2], writing.OF_ALL[0]):
        found = []
        for each in pair:
            folder = tmp_path / f"{len(os.listdir(tmp_path))}"
            count = each.sql(f"COPY {what} TO '{folder}' ({how}, PER_THREAD_OUTPUT)").fetchall()
            found.append((count, writing.rows(folder, how)))
        assert found[0] == found[1], what
        assert what not in writing.OF_SHARDS or len(os.listdir(folder)) == 3


def test_many_rows_go_by_files_and_a_worker_that_is_killed_is_made_up_for(pair):
    one, db = pair
    for each in pair:
        each.sql("DELETE FROM bag; INSERT INTO bag SELECT 'some text', i FROM range(30000) r(i)")
    assert said(db, MANY) == said(one, MANY)
    same(one, db)
    timer = threading.Timer(0.2, os.kill, [int(db.places[1].split("/")[2]), signal.SIGKILL])
    timer.start()
    with nothing_comes_here(db):
        found = said(db, MANY)
    timer.join()
    assert found == said(one, MANY) == [(60000,)]
    same(one, db)
