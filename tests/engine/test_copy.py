"""COPY reads and writes files as DuckDB does, in one commit, and only where the application allows it."""

from __future__ import annotations

from decimal import Decimal

import duckdb
import pytest

import ivm

TABLE = "CREATE TABLE t (id INTEGER PRIMARY KEY, a DECIMAL(9, 2) DEFAULT 4, b VARCHAR, h HUGEINT CHECK (h < 100))"


@pytest.fixture
def db():
    db = ivm.connect(compile="off", external_access=True)
    db.sql(TABLE)
    db.sql("CREATE MATERIALIZED VIEW v AS SELECT count(*) AS n, sum(a) AS a FROM t")
    return db


def rows(db):
    return sorted(db.sql("FROM t").fetchall())


def test_a_file_goes_in_and_out(db, tmp_path):
    csv = tmp_path / "it's.csv"
    told: list[ivm.Progress] = []
    csv.write_text("id;a;b;h\n1;1.5;x;7\n2;2.25;NIL;8\n")
    name = str(csv).replace("'", "''")
    copied = db.sql(f"COPY t FROM '{name}' (FORMAT csv, HEADER, DELIMITER ';', NULL 'NIL')", progress=told.append)
    assert copied.fetchall() == [(2,)]
    assert (copied.rowcount, told[-1].view, told[-1].rows) == (2, "t", 2)
    first = [(1, Decimal("1.50"), "x", 7), (2, Decimal("2.25"), None, 8)]
    assert rows(db) == first
    for file, options in (
        ("o.parquet", "(COMPRESSION zstd)"),
        ("o.csv", "(HEADER false, DELIMITER '|')"),
        ("p.csv", ""),
    ):
        path = tmp_path / file
        assert db.sql(f"COPY t TO '{path}' {options}").fetchall() == [(2,)]
        db.sql("TRUNCATE t")
        db.sql(f"COPY t FROM '{path}' {options if 'csv' in file else ''}")
        assert rows(db) == first
    assert duckdb.execute(f"SELECT id, a, b, h FROM '{tmp_path}/o.parquet' ORDER BY id").fetchall() == first
    db.sql(f"COPY (SELECT id + 10, n FROM t, v) TO '{tmp_path}/q.parquet'")
    db.sql(f"COPY t (ID, b) FROM '{tmp_path}/q.parquet'")
    assert rows(db)[2:] == [(11, Decimal("4.00"), "2", None), (12, Decimal("4.00"), "2", None)]
    db.verify()


def test_a_file_that_does_not_fit_changes_nothing(db, tmp_path):
    db.sql("INSERT INTO t VALUES (1, 1, 'x', 1)")
    before, time = rows(db), db.time
    for text, error, message in (
        ("id,a,b,h\n2,1,x,1\nz,1,x,1\n", ivm.NumericError, "Could not convert string"),
        ("id,a,b,h\n2,1,x,1\n1,1,x,1\n", ivm.ConstraintError, "already has a row with PRIMARY KEY"),
        ("id,a,b,h\n2,1,x,100\n", ivm.ConstraintError, "CHECK"),
    ):
        (tmp_path / "x.csv").write_text(text)
        with pytest.raises(error, match=message):
            db.sql(f"COPY t FROM '{tmp_path}/x.csv'")
    db.sql(f"COPY (SELECT 1 AS a, 2 AS b) TO '{tmp_path}/two.parquet'")
    with pytest.raises(ivm.BindError, match="the file has 2 columns"):
        db.sql(f"COPY t (id) FROM '{tmp_path}/two.parquet'")
    with pytest.raises(ivm.BindError, match="no column 'zz'"):
        db.sql(f"COPY t (zz) FROM '{tmp_path}/two.parquet'")
    with pytest.raises(ivm.BindError, match="no table 'nope'"):
        db.sql(f"COPY nope FROM '{tmp_path}/two.parquet'")
    with pytest.raises(ivm.BindError, match="no table or view 'nope'"):
        db.sql(f"COPY nope TO '{tmp_path}/two.parquet'")
    (tmp_path / "x.csv").write_text("id,a,b,h\n2,1,x,1\n")

    def stop(progress):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        db.sql(f"COPY t FROM '{tmp_path}/x.csv'", progress=stop)
    assert (rows(db), db.time) == (before, time)


def test_a_row_far_down_that_does_not_fit_is_told_as_any_other(tmp_path):
    """By then Arrow asks for the rows, which makes errors of its own of DuckDB's."""
    (tmp_path / "x.csv").write_text("a,b\n" + "1,x\n" * 300_000 + "bad,x\n")
    with ivm.connect(compile="off", external_access=True) as db:
        db.sql("CREATE TABLE t (a BIGINT, b VARCHAR)")
        with pytest.raises(ivm.NumericError, match='Could not convert string "bad" to'):
            db.sql(f"COPY t FROM '{tmp_path}/x.csv' (HEADER)")
        assert (db.time, db.sql("FROM t").fetchall()) == (0, [])


def test_without_external_access_no_file_is_touched(tmp_path):
    db = ivm.connect(compile="off")
    db.sql("CREATE TABLE t (a INTEGER)")
    (tmp_path / "x.csv").write_text("a\n1\n")
    for text in (
        f"COPY t FROM '{tmp_path}/x.csv'",
        f"COPY t TO '{tmp_path}/y.csv'",
        f"COPY (SELECT 1) TO '{tmp_path}/y.csv'",
    ):
        with pytest.raises(ivm.AccessError, match="external_access=True"):
            db.sql(text)
    assert not (tmp_path / "y.csv").exists()


TYPES = """CREATE TABLE w (
    id INTEGER PRIMARY KEY, d DECIMAL(38, 5), s DECIMAL(9, 2), h HUGEINT, u UBIGINT, f DOUBLE, b VARCHAR, l BLOB, a DATE,
    ts TIMESTAMP, tz TIMESTAMPTZ, ti TIME, bo BOOLEAN, en ENUM('x', 'it''s'), uu UUID)"""
VALUES = (
    r"(1, 1234567890.12345, 1.05, 12345678901234567890123456789012345678, 18446744073709551615, 0.1, 'a""b é', "
    r"'\xAA\x00b'::BLOB, '2020-01-01', '2020-01-01 00:00:00.123456', '2020-01-01 00:00:00.5+00', '12:00:00.25', true, "
    r"'it''s', 'bfecdbc9-a37f-4245-8d84-519f1fde2e8e'), (2, -0.5, NULL, -7, 0, 'nan', 'q', " + ", ".join(["NULL"] * 8) + ")"
)  # fmt: skip


@pytest.mark.parametrize("shards", [None, 2])
def test_every_kind_of_file_is_what_its_name_says(tmp_path, shards):
    with ivm.connect(compile="off", external_access=True, shards=shards) as db:
        db.sql(f"{TYPES}; {TYPES.replace('TABLE w', 'TABLE back')}; INSERT INTO w VALUES {VALUES}")
        for file, options, begins in (
            ("x.json", "", b'{"id":'),
            ("x.jsonl", "", b'{"id":'),
            ("x.NDJSON", "", b'{"id":'),
            ("x.json.gz", "", b"\x1f\x8b"),
            ("y.json", "(ARRAY true)", b"[\n\t{"),
            ("x.data", "(FORMAT json)", b'{"id":'),
            ("x.csv", "", b"id,d,"),
            ("x.txt", "", b"id,d,"),
            ("x.csv.gz", "", b"\x1f\x8b"),
            ("x.tsv", "(DELIMITER '\t')", b"id\td\t"),
            ("x.parquet", "", b"PAR1"),
        ):
            assert db.sql(f"COPY w TO '{tmp_path}/{file}' {options}").fetchall() == [(2,)]
            assert (tmp_path / file).read_bytes().startswith(begins), file
            db.sql("TRUNCATE back")
            assert db.sql(f"COPY back FROM '{tmp_path}/{file}' {options}").fetchall() == [(2,)]
            for one, other in (("w", "back"), ("back", "w")):
                assert db.sql(f"FROM {one} EXCEPT FROM {other}").fetchall() == [], file
        for file in ("x", "x.xlsx", "x.csv.bz2"):
            for text in (f"COPY w TO '{tmp_path}/{file}'", f"COPY back FROM '{tmp_path}/{file}'"):
                with pytest.raises(ivm.UnsupportedError, match="does not say what it holds; add FORMAT"):
                    db.sql(text)
        with pytest.raises(ivm.UnsupportedError, match="would write commas"):
            db.sql(f"COPY w TO '{tmp_path}/z.tsv'")
        with pytest.raises(ivm.UnsupportedError, match="HEADER is not supported"):
            db.sql(f"COPY w TO '{tmp_path}/z.json' (HEADER)")
        assert not any((tmp_path / name).exists() for name in ("x", "x.xlsx", "z.tsv", "z.json"))


def test_objects_of_json_go_by_the_names_of_columns(db, tmp_path):
    file = tmp_path / "x.json"
    for text, expected in (
        ('[{"B": "x", "ID": 1}, {"ids": 0}]', "objects with 'ids', which is no column; did you mean 'id'"),
        ('{"a": 1, "id": 1, "A": 2}', "objects with 'A' and with 'a', one column"),
        ('{"id": 1}\n[2]', "no objects; write rows such as"),
        ("1\n2", "no objects; write rows such as"),
        ('{"id": "x"}', 'Failed to cast value to numerical: "x"$'),
        ('{"id": 1}\n{"id"', "Malformed JSON"),
        ('{"id": 1, "id": 2}', 'duplicate key "id"$'),
        ('{"b": "x"}', "NULL"),
    ):
        file.write_text(text)
        with pytest.raises(ivm.Error, match=expected):
            db.sql(f"COPY t FROM '{file}'")
    assert rows(db) == []
    file.write_text('[{"B": {"x": [1, "y"]}, "ID": 1, "A": "2.345"}, {"ID": 2, "B": 7, "A": 1.005}]')
    db.sql(f"COPY t FROM '{file}'")
    assert rows(db) == [(1, Decimal("2.35"), '{"x":[1,"y"]}', None), (2, Decimal("1.01"), "7", None)]
    file.write_text('{"id": 3, "other": true}')
    db.sql(f"COPY t (id) FROM '{file}' (FORMAT json)")
    assert rows(db)[2:] == [(3, Decimal("4.00"), None, None)]
    for nothing in ("", "[]", "\n"):
        file.write_text(nothing)
        assert db.sql(f"COPY t FROM '{file}'").fetchall() == [(0,)]


def test_a_number_of_json_is_read_exactly_or_refused(db, tmp_path):
    db.sql("CREATE TABLE n (d DECIMAL(38, 2))")
    file = tmp_path / "x.jsonl"
    for number in ("1234567890123456.78", "1e30", "-10000000000000.01"):
        file.write_text(f'{{"d": {number}}}')
        with pytest.raises(
            ivm.TypeMismatchError, match=r"^cannot put a JSON number of more than 15 digits into column d"
        ):
            db.sql(f"COPY n FROM '{file}'")
    exact = ("9999999999999.99", "1e-2", "123456789012345678901234567890", '"1234567890123456.78"', "-0.5", "null")
    file.write_text("\n".join(f'{{"d": {number}}}' for number in exact))
    db.sql(f"COPY n FROM '{file}'")
    found = [Decimal("9999999999999.99"), Decimal("0.01"), Decimal("123456789012345678901234567890.00")]
    assert [d for (d,) in db.sql("FROM n").fetchall()] == [
        *found,
        Decimal("1234567890123456.78"),
        Decimal("-0.50"),
        None,
    ]


def test_a_whole_number_keeps_its_digits_in_parquet(db, tmp_path):
    """DuckDB would write a HUGEINT, such as every sum of integers, as a DOUBLE."""
    db.sql(f"COPY (SELECT 12345678901234567890123456789::HUGEINT AS h, 1 AS h) TO '{tmp_path}/x.parquet'")
    assert duckdb.execute(f"SELECT COLUMNS(*)::VARCHAR FROM '{tmp_path}/x.parquet'").fetchall() == [
        ("12345678901234567890123456789", "1")
    ]
