"""Reading a view by Spark's interface of data sources, without Spark: what Spark calls, in the order it does."""

from __future__ import annotations

import pickle
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.streaming.datasource import ReadAllAvailable
from pyspark.sql.types import StructType

import ivm
from ivm.durable.outline import outline
from ivm.spark import ViewChanges
from ivm.spark.source import Stream

VIEW = "CREATE MATERIALIZED VIEW v AS SELECT name, count(*) AS n FROM t GROUP BY name"
COLUMNS = from_arrow_schema(pa.schema({"name": pa.string(), "n": pa.int64()}))
CHANGES = from_arrow_schema(
    pa.schema({"name": pa.string(), "n": pa.int64(), "_change_type": pa.string(), "_commit_version": pa.int64()})
)


@pytest.fixture
def path(tmp_path) -> Path:
    return tmp_path / "db"


@pytest.fixture
def db(path) -> Iterator[ivm.Database]:
    with ivm.connect(path, history=4, compile="off") as made:
        made.sql("CREATE TABLE t (id BIGINT PRIMARY KEY, name VARCHAR); CREATE VIEW registered AS SELECT id FROM t")
        made.sql(VIEW)
        made.sql("INSERT INTO t VALUES (1, 'a'), (2, 'a'), (3, 'b')")
        yield made


def source(path: Path, **options: Any) -> ViewChanges:
    return ViewChanges({"path": str(path), "view": "v"} | options)


def stream(path: Path, **options: Any) -> Stream:
    made = source(path, readChangeFeed="true", **options).streamReader(CHANGES)
    assert isinstance(made, Stream)
    return made


def read(reader: Any, parts: Any) -> list[tuple[Any, ...]]:
    reader = pickle.loads(pickle.dumps(reader))  # as it gets to another process
    batches = [batch for part in parts for batch in reader.read(pickle.loads(pickle.dumps(part)))]
    return [tuple(row.values()) for batch in batches for row in batch.to_pylist()]


def between(made: Stream, start: dict[str, int]) -> tuple[list[tuple[Any, ...]], dict[str, int]]:
    """One micro-batch: its rows and where it ends."""
    end = made.latestOffset(start, ReadAllAvailable())
    return read(made, made.partitions(start, end)), end


def batch(path: Path, schema: StructType = COLUMNS, **options: Any) -> list[tuple[Any, ...]]:
    reader = source(path, **options).reader(schema)
    return read(reader, reader.partitions())


def test_it_is_found_by_its_name_and_not_imported_before():
    assert ViewChanges.name() == "ivm"
    script = "import sys, ivm, ivm.spark; assert 'pyspark' not in sys.modules; ivm.spark.ViewChanges; assert 'pyspark' in sys.modules"
    subprocess.run([sys.executable, "-c", script], check=True)
    with pytest.raises(AttributeError, match="Views"):
        ivm.spark.Views  # noqa: B018


def test_the_contents(db, path):
    assert source(path).schema() == "`name` STRING, `n` BIGINT"
    assert sorted(batch(path)) == [("a", 2), ("b", 1)]
    db.sql("DELETE FROM t")
    assert batch(path) == []


def test_a_stream_begins_with_what_there_is(db, path):
    assert source(path, readChangeFeed="TRUE").schema() == (
        "`name` STRING, `n` BIGINT, `_change_type` STRING, `_commit_version` BIGINT"
    )
    made = stream(path)
    rows, end = between(made, made.initialOffset())
    assert sorted(rows) == [("a", 2, "insert", 1), ("b", 1, "insert", 1)]
    assert made.partitions(end, end) == []
    db.sql("INSERT INTO t VALUES (4, 'b')")
    db.sql("DELETE FROM t WHERE name = 'a'")
    rows, end = between(made, end)
    assert rows == [("b", 1, "delete", 2), ("b", 2, "insert", 2), ("a", 2, "delete", 3)]
    assert between(stream(path), end) == ([], end)


def test_a_batch_that_is_read_again_is_the_same(db, path):
    made = stream(path)
    start, middle = made.initialOffset(), made.latestOffset(made.initialOffset(), ReadAllAvailable())
    first = read(made, made.partitions(start, middle))
    db.sql("INSERT INTO t VALUES (4, 'b')")
    db.sql("CHECKPOINT")
    second, end = between(made, middle)
    db.sql("INSERT INTO t VALUES (5, 'c')")
    again = stream(path)
    assert sorted(read(again, again.partitions(start, middle))) == sorted(first)
    assert read(again, again.partitions(middle, end)) == second


def test_where_a_stream_may_begin(db, path):
    db.sql("INSERT INTO t VALUES (4, 'b')")
    assert stream(path, startingVersion="latest").initialOffset()["time"] == 2
    made = stream(path, startingVersion="2")
    assert between(made, made.initialOffset())[0] == [("b", 1, "delete", 2), ("b", 2, "insert", 2)]
    made = stream(path, startingVersion="0")
    assert len(between(made, made.initialOffset())[0]) == 4


def test_changes_of_a_batch(db, path):
    db.sql("INSERT INTO t VALUES (4, 'b')")
    db.sql("INSERT INTO t VALUES (5, 'c')")
    assert batch(path, CHANGES, readChangeFeed="true", startingVersion="2", endingVersion="2") == [
        ("b", 1, "delete", 2),
        ("b", 2, "insert", 2),
    ]
    assert len(batch(path, CHANGES, readChangeFeed="true", startingVersion="2")) == 3


def test_rows_that_occur_twice_come_twice(path, db):
    db.sql("CREATE MATERIALIZED VIEW names AS SELECT name FROM t")
    assert source(path, view="NAMES").schema() == "`name` STRING"
    made = ViewChanges({"path": str(path), "view": "names", "readChangeFeed": "true"}).streamReader(
        StructType([CHANGES["name"], CHANGES["_change_type"], CHANGES["_commit_version"]])
    )
    assert isinstance(made, Stream)
    rows, end = between(made, made.initialOffset())
    assert sorted(rows) == [("a", "insert", 1)] * 2 + [("b", "insert", 1)]
    db.sql("DELETE FROM t WHERE name = 'a'")
    assert between(made, end)[0] == [("a", "delete", 2)] * 2


def test_a_time_that_is_no_longer_held(db, path):
    made = stream(path)
    end = made.latestOffset(made.initialOffset(), ReadAllAvailable())
    for number in range(10, 20):
        db.sql(f"INSERT INTO t VALUES ({number}, 'c')")
    assert len(between(made, end)[0]) == 19  # the log goes back so far
    db.sql("CHECKPOINT")
    with pytest.raises(ivm.BindError, match="view v as of time 1: times from 7 to 11 can be read"):
        between(made, end)


def test_a_view_that_is_new_since_the_checkpoint(db, path):
    db.sql("CREATE MATERIALIZED VIEW late AS SELECT name, count(*) AS n FROM t WHERE id > 1 GROUP BY name")
    made = stream(path, view="late")
    rows, end = between(made, made.initialOffset())
    assert len(rows) == 2
    db.sql("INSERT INTO t VALUES (4, 'c')")
    assert between(made, end)[0] == [("c", 1, "insert", 2)]
    early = stream(path, view="late", startingVersion="1")
    with pytest.raises(ivm.BindError, match="times from 1 to 2"):
        between(early, early.initialOffset())


def test_another_database_in_its_place(db, path, tmp_path):
    made = stream(path)
    with pytest.raises(ivm.StorageError, match=r"after time 7: its last commit has time 1.*checkpoint"):
        made.latestOffset({**made.initialOffset(), "time": 7}, ReadAllAvailable())


def test_a_view_that_was_created_anew(db, path):
    made = stream(path)
    start = made.initialOffset()
    end = made.latestOffset(start, ReadAllAvailable())
    db.sql("CREATE OR REPLACE " + VIEW.removeprefix("CREATE "))
    with pytest.raises(ivm.BindError, match=r"created anew.*empty checkpoint"):
        between(made, start)
    with pytest.raises(ivm.BindError, match="created anew"):
        read(made, made.partitions(start, end))
    db.sql("DROP TABLE t CASCADE; CREATE TABLE t (id BIGINT PRIMARY KEY, name VARCHAR)")
    db.sql(VIEW)
    assert end["time"] == db.time
    with pytest.raises(ivm.BindError, match="created anew"):
        made.latestOffset(end, ReadAllAvailable())
    with pytest.raises(ivm.BindError, match=r"columns are name, n.*leave the schema out"):
        batch(path, StructType([CHANGES["name"]]))
    db.sql("DROP VIEW v")
    with pytest.raises(ivm.BindError, match="v"):
        made.latestOffset(start, ReadAllAvailable())


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"view": "w"}, "w"),
        ({"view": "t"}, "t"),
        ({"view": "registered"}, "registered, not maintained"),
        ({"colour": "red"}, "no option 'colour'"),
        ({"readChangeFeed": "maybe"}, "'true' or 'false'"),
        ({"startingVersion": "soon"}, "'soon', and must be a logical time"),
        ({"endingVersion": "-1"}, "'-1', and must be a logical time"),
    ],
)
def test_options(db, path, options, told):
    with pytest.raises(ivm.BindError, match=told):
        source(path, **options).schema()


def test_options_that_do_not_go_together(db, path):
    for options, told in (({}, "readChangeFeed"), ({"readChangeFeed": "true", "endingVersion": "1"}, "no end")):
        with pytest.raises(ivm.BindError, match=told):
            source(path, **options).streamReader(CHANGES)
    for options, told in (
        ({"startingVersion": "1"}, "times are for changes"),
        ({"readChangeFeed": "true"}, "startingVersion"),
    ):
        with pytest.raises(ivm.BindError, match=told):
            source(path, **options).reader(CHANGES)
    with pytest.raises(ivm.BindError, match="option 'view' is missing"):
        ViewChanges({"path": str(path)}).schema()
    db.sql("CREATE MATERIALIZED VIEW taken AS SELECT name AS _Change_Type FROM t")
    with pytest.raises(ivm.BindError, match="has a column _change_type"):
        source(path, view="taken", readChangeFeed="true").schema()


def test_a_path_that_is_no_database(tmp_path):
    with pytest.raises(ivm.StorageError, match="there is no database"):
        source(tmp_path).schema()
    with pytest.raises(ivm.StorageError, match="there is no database"):
        source(tmp_path / "nowhere").schema()


def test_trigger_available_now_reads_no_further(db, path):
    made = stream(path)
    made.prepareForTriggerAvailableNow()
    db.sql("INSERT INTO t VALUES (4, 'c')")
    assert made.latestOffset(made.initialOffset(), ReadAllAvailable())["time"] == 1
    assert made.latestOffset({**made.initialOffset(), "time": 2}, ReadAllAvailable())["time"] == 2


def test_the_outline_is_what_opening_finds(db, path):
    for statement in (
        "CHECKPOINT",
        "INSERT INTO t VALUES (9, 'z')",
        "CREATE TABLE u (id BIGINT)",
        "DROP VIEW registered",
    ):
        db.sql(statement)
        time, catalog = outline(path)
        assert time == db.time
        assert [each.name for each in catalog.tables] == [each.name for each in db.tables()]
        assert [each.name for each in catalog.views] == [each.name for each in db.views()]


def test_a_log_that_is_damaged_is_an_error(db, path):
    db.close()
    (path / "MANIFEST").write_bytes(b"nothing")
    with pytest.raises(ivm.StorageError, match="MANIFEST"):
        outline(path)
