"""Reading a stream: batches hold exactly the changes of their times, and a damaged directory is refused."""

from __future__ import annotations

import json
import shutil
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ivm.tpch import manifest
from ivm.tpch.errors import StreamError
from ivm.tpch.options import STREAMS
from ivm.tpch.reader import open_stream, short_columns
from ivm.tpch.schema import relations
from tests.tpch.test_streams import stored

DECLARED = {field.name: field.type for relation in relations().values() for field in relation.schema}


def plain(table: pa.Table) -> pa.Table:
    """The table in the types that are declared, without dictionaries and short numbers."""
    fields = [(column.name, DECLARED.get(column.name, column.type)) for column in table.schema]
    return table.cast(pa.schema(fields)).combine_chunks()


@pytest.mark.parametrize("stream", STREAMS)
@pytest.mark.parametrize("times", [7, 1_000, 1_000_000])
def test_batches_hold_the_changes_of_consecutive_times(streams: Path, stream: str, times: int) -> None:
    opened = open_stream(streams / stream)
    wanted = ["orders", "lineitem", "nation"]
    taken: dict[str, list[pa.Table]] = {}
    expected_first = opened.manifest.first_time
    for batch in opened.batches(times, wanted):
        assert batch.first_time == expected_first
        assert batch.last_time == min(expected_first + times - 1, opened.manifest.last_time)
        expected_first = batch.last_time + 1
        assert batch.rows == sum(len(table) for table in batch.tables.values())
        for name, table in batch.tables.items():
            stamps = table["_time"].to_numpy()
            assert batch.first_time <= stamps.min() <= stamps.max() <= batch.last_time
            taken.setdefault(name, []).append(table)
    assert expected_first == opened.manifest.last_time + 1
    base = opened.base(wanted)
    for name in wanted:
        changes = [plain(table) for table in taken.get(name, [])]
        expected = stored(streams / stream, name)
        columns = list(relations()[name].columns)
        if name in base:
            assert plain(base[name]).equals(plain(expected.slice(0, len(base[name])).select(columns)))
        if changes:
            assert plain(pa.concat_tables(changes)).equals(plain(expected.slice(len(base.get(name, ())))))


def test_few_valued_text_comes_as_dictionaries(streams: Path) -> None:
    batch = next(iter(open_stream(streams / "load").batches(5_000)))
    flags = batch.tables["lineitem"]["l_returnflag"]
    assert pa.types.is_dictionary(flags.type)
    assert set(flags.to_pylist()) == {"A", "N", "R"}
    assert pa.types.is_string(batch.tables["lineitem"]["l_comment"].type)


def test_numbers_come_in_4_bytes_where_all_of_a_stream_fit(streams: Path) -> None:
    opened = open_stream(streams / "refresh")
    lineitem = opened.base(["lineitem"])["lineitem"].schema
    changes = next(batch.tables["lineitem"] for batch in opened.batches(50) if "lineitem" in batch.tables).schema
    for schema in (lineitem, changes):
        assert schema.field("l_suppkey").type == pa.int32()
        assert schema.field("l_extendedprice").type == pa.decimal32(9, 2)
    assert changes.field("_time").type == pa.int64()


@pytest.mark.parametrize("most", [2**31 - 1, 2**31, -(2**31)])
@pytest.mark.parametrize("told", [True, False])
def test_what_the_footers_do_not_say_is_not_short(tmp_path: Path, most: int, told: bool) -> None:
    table = pa.table({"a": [1, most], "x": pa.array([Decimal(1), Decimal(10**7 - 1)], pa.decimal128(15, 2))})
    for name in ("one", "two"):
        pq.write_table(table.slice(0, 1 if name == "one" else 2), tmp_path / name, write_statistics=told)
    footers = [pq.read_metadata(tmp_path / name) for name in ("one", "two")]
    found = short_columns(footers, table.schema)
    assert found == ({"x"} | ({"a"} if most == 2**31 - 1 else set()) if told else set())


def test_coalescing_drops_the_times_and_the_diffs_of_pure_inserts(streams: Path) -> None:
    load = next(iter(open_stream(streams / "load").batches(100, coalesce=True)))
    assert all(table.column_names == list(relations()[name].columns) for name, table in load.tables.items())
    churn = next(iter(open_stream(streams / "churn").batches(100, coalesce=True)))
    assert churn.tables
    assert all(table.column_names == [*relations()[name].columns, "_diff"] for name, table in churn.tables.items())


def test_an_iterator_that_is_left_early_ends_its_thread(streams: Path) -> None:
    batches = open_stream(streams / "load").batches(1)
    assert next(batches).rows == len(relations())
    batches.close()  # type: ignore[attr-defined]


def test_empty_batches_are_refused(streams: Path) -> None:
    with pytest.raises(ValueError, match="at least 1"):
        open_stream(streams / "load").batches(0)


@pytest.fixture
def copy(streams: Path, tmp_path: Path) -> Path:
    """A copy of a stream to be damaged."""
    return Path(shutil.copytree(streams / "churn", tmp_path / "churn"))


def rewrite(directory: Path, **changes: Any) -> None:
    """Change top-level values of a manifest."""
    path = directory / manifest.NAME
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def test_a_truncated_file_is_named(copy: Path) -> None:
    victim = copy / "changes/lineitem/00000.parquet"
    victim.write_bytes(victim.read_bytes()[:-100])
    with pytest.raises(StreamError, match=r"changes/lineitem/00000\.parquet has \d+ bytes, the manifest says"):
        open_stream(copy)


def test_a_damaged_file_of_the_right_size_is_named(copy: Path) -> None:
    victim = copy / "changes/lineitem/00000.parquet"
    victim.write_bytes(b"x" * victim.stat().st_size)
    with pytest.raises(StreamError, match=r"changes/lineitem/00000\.parquet is not a readable Parquet file"):
        open_stream(copy)


def test_damage_inside_the_data_is_found_when_it_is_read(copy: Path) -> None:
    victim = copy / "changes/lineitem/00000.parquet"
    data = bytearray(victim.read_bytes())
    data[4:400] = b"\xff" * 396
    victim.write_bytes(bytes(data))
    with pytest.raises(StreamError, match=r"changes/lineitem/00000\.parquet cannot be decoded"):
        list(open_stream(copy).batches(1_000))


def test_a_missing_file_is_named(copy: Path) -> None:
    (copy / "base/nation/00000.parquet").unlink()
    with pytest.raises(StreamError, match=r"base/nation/00000\.parquet is missing"):
        open_stream(copy)


def test_a_missing_manifest_says_how_to_make_a_stream(tmp_path: Path) -> None:
    with pytest.raises(StreamError, match=r"no manifest\.json; make one with `ivm tpch generate`"):
        open_stream(tmp_path)


def test_a_truncated_manifest_is_refused(copy: Path) -> None:
    path = copy / manifest.NAME
    path.write_text(path.read_text()[:-50])
    with pytest.raises(StreamError, match="cannot be read"):
        open_stream(copy)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"format": 99}, "format version 99"),
        ({"relations": {}}, "does not have the columns of region"),
        ({"relations": None}, "damaged"),
        ({"sf": "large"}, "damaged"),
    ],
)
def test_a_manifest_that_does_not_fit_is_refused(copy: Path, changes: dict[str, Any], said: str) -> None:
    rewrite(copy, **changes)
    with pytest.raises(StreamError, match=said):
        open_stream(copy)


def test_a_file_with_other_columns_is_refused(copy: Path) -> None:
    victim = copy / "base/region/00000.parquet"
    pq.write_table(pq.read_table(victim).rename_columns(["r_regionkey", "name", "r_comment", "_time", "_diff"]), victim)
    data = json.loads((copy / manifest.NAME).read_text())
    data["relations"]["region"]["base"][0]["bytes"] = victim.stat().st_size
    rewrite(copy, relations=data["relations"])
    with pytest.raises(StreamError, match=r"base/region/00000\.parquet does not have the columns"):
        open_stream(copy)


def test_other_rows_than_the_manifest_says_are_refused(copy: Path) -> None:
    data = json.loads((copy / manifest.NAME).read_text())
    data["relations"]["region"]["base"][0]["rows"] += 1
    rewrite(copy, relations=data["relations"])
    with pytest.raises(StreamError, match="has 5 rows, the manifest says 6"):
        open_stream(copy)


def test_rows_out_of_order_are_refused(copy: Path) -> None:
    victim = copy / "changes/orders/00000.parquet"
    table = pq.read_table(victim)
    pq.write_table(table.sort_by([("_time", "descending")]), victim)
    data = json.loads((copy / manifest.NAME).read_text())
    data["relations"]["orders"]["changes"][0]["bytes"] = victim.stat().st_size
    rewrite(copy, relations=data["relations"])
    with pytest.raises(StreamError, match="not in order of time"):
        list(open_stream(copy).batches(1_000_000))
