"""The four streams: what they contain, that they are consistent at every time, and that only the seed decides."""

from __future__ import annotations

import dataclasses
import subprocess
from functools import cache
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from ivm.tpch import manifest
from ivm.tpch.errors import GenerateError
from ivm.tpch.generate import generate
from ivm.tpch.options import STREAMS, Options
from ivm.tpch.schema import relations, update_schema
from ivm.tpch.source import generator
from ivm.tpch.streams.refresh import permutation
from tests.tpch.conftest import OPTIONS, SEED, SF

ORDERS = 1_500


def stored(directory: Path, relation: str) -> pa.Table:
    """All updates of a relation, base and changes, in the order of the files."""
    entry = manifest.read(directory).relations[relation]
    files = [pq.read_table(directory / file.path) for file in (*entry.base, *entry.changes)]
    return pa.concat_tables(file.cast(update_schema(relations()[relation])) for file in files)


@cache
def database(directory: Path) -> duckdb.DuckDBPyConnection:
    """DuckDB with the updates of each relation as a table of its name, for all tests that read them."""
    db = duckdb.connect()
    for name in relations():
        updates = stored(directory, name)
        db.register("updates", updates)
        db.execute(f"CREATE TABLE {name} AS SELECT * FROM updates")
    return db


def lowest_and_highest(db: duckdb.DuckDBPyConnection, relation: str, columns: tuple[str, ...]) -> tuple[int, int]:
    """The bounds of the multiplicity of any value of `columns`, over all times."""
    names = ", ".join(columns)
    found = db.execute(
        f"SELECT min(n), max(n) FROM (SELECT sum(diff) OVER (PARTITION BY {names} ORDER BY _time) AS n"
        f" FROM (SELECT {names}, _time, sum(_diff) AS diff FROM {relation} GROUP BY ALL))"
    ).fetchone()
    assert found is not None
    return int(found[0]), int(found[1])


@pytest.fixture(scope="module")
def generated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the generator itself writes, in one piece."""
    out = tmp_path_factory.mktemp("generated")
    subprocess.run([generator(), "parquet", "-s", str(SF), "-q", "-o", str(out)], check=True)
    return out


@pytest.mark.parametrize("stream", STREAMS)
@pytest.mark.parametrize("relation", list(relations()))
def test_deletes_hit_exactly_the_current_row_at_every_time(streams: Path, stream: str, relation: str) -> None:
    db = database(streams / stream)
    declared = relations()[relation]
    assert lowest_and_highest(db, relation, declared.columns) in ((1, 1), (0, 1))
    assert lowest_and_highest(db, relation, declared.primary_key) in ((1, 1), (0, 1))


@pytest.mark.parametrize("relation", list(relations()))
def test_load_brings_row_i_at_time_i_plus_1(streams: Path, generated: Path, relation: str) -> None:
    columns = list(relations()[relation].columns)
    loaded = stored(streams / "load", relation)
    expected = pq.read_table(generated / f"{relation}.parquet").cast(relations()[relation].schema)
    if relation == "partsupp":  # its formula repeats keys at this scale factor; the first of each stays
        keys = {(row["ps_partkey"], row["ps_suppkey"]): row for row in reversed(expected.to_pylist())}
        expected = expected.from_pylist(list(reversed(keys.values())), expected.schema)
        by_key = [("ps_partkey", "ascending"), ("ps_suppkey", "ascending")]
        assert loaded.select(columns).sort_by(by_key).cast(expected.schema).equals(expected.sort_by(by_key))
    else:
        assert loaded.select(columns).cast(expected.schema).equals(expected)
    assert loaded["_time"].to_pylist() == list(range(1, loaded.num_rows + 1))
    assert set(loaded["_diff"].to_pylist()) == {1}


@pytest.mark.parametrize("stream", STREAMS)
def test_text_has_no_padding(streams: Path, stream: str) -> None:
    db = database(streams / stream)
    for name, relation in relations().items():
        for field in relation.schema:
            if pa.types.is_string(field.type) and not field.name.endswith(("_comment", "_address")):  # free text
                padded = db.execute(f"SELECT count(*) FROM {name} WHERE {field.name} <> rtrim({field.name})").fetchone()
                assert padded == (0,)


@pytest.mark.parametrize("stream", STREAMS)
def test_the_manifest_tells_rows_and_times(streams: Path, stream: str) -> None:
    found = manifest.read(streams / stream)
    times: set[int] = set()
    for name, entry in found.relations.items():
        assert entry.base_rows + sum(file.rows for file in entry.changes) == stored(streams / stream, name).num_rows
        for file in entry.changes:
            times.update(pq.read_table(streams / stream / file.path)["_time"].to_pylist())
    assert times == set(range(found.first_time, found.last_time + 1))
    assert len(times) == found.times


def test_the_number_of_parts_changes_nothing(spark: SparkSession, streams: Path, tmp_path: Path) -> None:
    generate(SF, STREAMS, tmp_path, SEED, dataclasses.replace(OPTIONS, parts=3))
    for stream in STREAMS:
        for relation in relations():
            assert stored(tmp_path / stream, relation).equals(stored(streams / stream, relation)), (stream, relation)


def test_another_seed_gives_other_changes(spark: SparkSession, streams: Path, tmp_path: Path) -> None:
    generate(SF, ["refresh", "churn"], tmp_path, SEED + 1, OPTIONS)
    assert not stored(tmp_path / "refresh", "orders").equals(stored(streams / "refresh", "orders"))
    assert not stored(tmp_path / "churn", "orders").equals(stored(streams / "churn", "orders"))


def test_refresh_moves_whole_orders_one_per_time(streams: Path) -> None:
    db = database(streams / "refresh")
    per_time = db.execute("SELECT DISTINCT n FROM (SELECT count(*) AS n FROM orders WHERE _time > 1 GROUP BY _time)")
    assert per_time.fetchall() == [(1,)]
    orders = "SELECT o_orderkey, _time, _diff FROM orders"
    lines = "SELECT DISTINCT l_orderkey, _time, _diff FROM lineitem"
    for left, right in ((orders, lines), (lines, orders)):
        assert db.execute(f"{left} EXCEPT {right}").fetchall() == []
    new = db.execute("SELECT count(*), count(DISTINCT o_orderkey) FROM orders WHERE _time > 1 AND _diff = 1").fetchone()
    assert new == (OPTIONS.pairs * 2, OPTIONS.pairs * 2)  # two orders a function at this scale factor


def test_refresh_refers_to_what_exists(streams: Path) -> None:
    db = database(streams / "refresh")
    assert db.execute("SELECT count(*) FROM orders ANTI JOIN customer ON o_custkey = c_custkey").fetchone() == (0,)
    pairs = "(l_partkey, l_suppkey) = (ps_partkey, ps_suppkey)"
    assert db.execute(f"SELECT count(*) FROM lineitem ANTI JOIN partsupp ON {pairs}").fetchone() == (0,)


def test_refresh_deletes_new_orders_once_the_old_ones_are_gone(streams: Path) -> None:
    db = database(streams / "refresh")
    gone = "FROM orders o JOIN orders d USING (o_orderkey) WHERE o._time = 1 AND d._diff = -1"
    assert db.execute(f"SELECT count(*) {gone}").fetchone() == (ORDERS,)
    left = db.execute("SELECT sum(_diff) FROM orders").fetchone()
    assert left == (ORDERS,)


def test_churn_changes_one_attribute_of_one_row_per_time(streams: Path) -> None:
    db = database(streams / "churn")
    changed: dict[str, int] = {}
    for name, relation in relations().items():
        key = " AND ".join(f"o.{column} = n.{column}" for column in relation.primary_key)
        differs = ", ".join(f"sum((o.{column} <> n.{column})::INT) AS {column}" for column in relation.columns)
        pairs = f"FROM {name} o JOIN {name} n ON {key} AND o._time = n._time AND o._diff = -1 AND n._diff = 1"
        count, *counts = db.execute(f"SELECT count(*), {differs} {pairs}").fetchall()[0]
        assert count * 2 == db.execute(f"SELECT count(*) FROM {name} WHERE _time > 1").fetchall()[0][0]
        changed |= {column: int(n) for column, n in zip(relation.columns, counts, strict=True) if n}
    assert changed.pop("l_receiptdate") == changed["l_shipdate"]
    assert sum(changed.values()) == OPTIONS.updates
    assert set(changed) == {
        "c_acctbal", "c_mktsegment", "s_nationkey", "p_retailprice", "ps_supplycost", "o_orderstatus",
        "o_orderpriority", "l_shipdate",
    }  # fmt: skip


def test_churn_changes_some_rows_several_times(streams: Path) -> None:
    db = database(streams / "churn")
    most = db.execute("SELECT max(n) FROM (SELECT count(*) AS n FROM supplier WHERE _diff = -1 GROUP BY s_suppkey)")
    assert most.fetchall()[0][0] > 1


def test_the_window_slides_over_lineitem(streams: Path) -> None:
    db = database(streams / "window")
    present = db.execute(
        "SELECT DISTINCT n FROM (SELECT _time, sum(sum(_diff)) OVER (ORDER BY _time) AS n FROM lineitem GROUP BY _time)"
        " WHERE _time > 600"
    )
    assert present.fetchall() == [(OPTIONS.window,)]
    stays = db.execute(
        "SELECT DISTINCT g._time - c._time FROM lineitem c JOIN lineitem g USING (l_orderkey, l_linenumber)"
        " WHERE c._diff = 1 AND g._diff = -1"
    )
    assert stays.fetchall() == [(OPTIONS.window,)]


@pytest.mark.parametrize("count", [1, 2, 10, 1_500, 1_997])
@pytest.mark.parametrize("seed", [0, 42])
def test_a_permutation_visits_every_place_once(count: int, seed: int) -> None:
    multiplier, offset = permutation(count, seed)
    assert sorted((place * multiplier + offset) % count for place in range(count)) == list(range(count))


@pytest.mark.parametrize(
    ("sf", "wanted", "options", "said"),
    [
        (0.0001, ["load"], OPTIONS, "smallest is 0.001"),
        (SF, ["flood"], OPTIONS, "flood is not a stream"),
        (SF, [], OPTIONS, "nothing is not a stream"),
        (SF, ["refresh"], Options(pairs=3_000), "at most 2250"),
        (SF, ["churn"], Options(updates=0), "at least 1"),
        (SF, ["window"], Options(window=0), "at least 1"),
    ],
)
def test_bad_parameters_leave_nothing_behind(
    spark: SparkSession, tmp_path: Path, sf: float, wanted: list[str], options: Options, said: str
) -> None:
    with pytest.raises(GenerateError, match=said):
        generate(sf, wanted, tmp_path, SEED, options)
    assert list(tmp_path.iterdir()) == []


def test_an_existing_stream_is_not_overwritten(streams: Path) -> None:
    with pytest.raises(GenerateError, match="exists already"):
        generate(SF, ["load"], streams, SEED, OPTIONS)
