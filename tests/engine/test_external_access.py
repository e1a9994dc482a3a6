"""SQL text reaches nothing outside the database unless the application allows it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

import ivm
from ivm.duck import Use, answer, connection, define
from ivm.session.database import core_of
from tests.house.modules import ROOT

HIDDEN = 40_302_020_101
visible_to_nobody = pa.table({"n": [HIDDEN]})  # as a variable of this module, and of a frame below

# Each reads a file, a directory, the network, or loads code; {} is a directory in which lie plain.csv and secret.txt.
REACHING = (
    "FROM 'plain.csv'",
    "FROM '{}/plain.csv'",
    'SELECT * FROM "plain.csv"',
    "SELECT * FROM t, 'plain.csv'",
    "SELECT * FROM t JOIN (FROM 'plain.csv') ON true",
    "WITH c AS (SELECT * FROM 'plain.csv') SELECT * FROM c",
    "SELECT id, (SELECT content FROM read_text('secret.txt')) FROM t",
    "SELECT * FROM t WHERE id IN (SELECT n FROM read_csv('plain.csv'))",
    "SELECT 1 UNION ALL SELECT n FROM read_csv_auto('plain.csv')",
    "SELECT * FROM read_text('/etc/passwd')",
    "SELECT * FROM read_text('{}/../../../../../../../../etc/passwd')",
    "SELECT * FROM read_text('file:///etc/passwd')",
    "SELECT * FROM read_text(['secret.txt', 'plain.csv'])",
    "SELECT * FROM read_blob('secret.txt')",
    "SELECT * FROM read_csv('/proc/self/environ')",
    "SELECT * FROM read_text('.tmp/x')",
    "SELECT * FROM sniff_csv('plain.csv')",
    "SELECT * FROM read_json('secret.txt')",
    "SELECT * FROM read_ndjson_objects('secret.txt')",
    "SELECT * FROM read_parquet('*.parquet')",
    "SELECT * FROM parquet_metadata('x.parquet')",
    "SELECT * FROM parquet_schema('x.parquet')",
    "SELECT * FROM read_duckdb('x.db')",
    "FROM 'x.db'",
    "FROM glob('*')",
    "FROM glob('/etc/*')",
    "FROM query('FROM ''plain.csv''')",
    "FROM query_table('plain.csv')",
    "FROM json_execute_serialized_sql(json_serialize_sql('FROM read_text(''secret.txt'')'))",
    "FROM (PIVOT 'plain.csv' ON n USING count(*))",
    "FROM (SUMMARIZE FROM 'plain.csv')",
    "FROM (DESCRIBE FROM 'plain.csv')",
    "FROM 'https://127.0.0.1:9/x.csv'",
    "FROM 's3://bucket/x.parquet'",
    "FROM duckdb_extensions()",
    "FROM sqlite_scan('x.db', 'x')",
    "FROM st_read('x.shp')",
    "FROM delta_scan('x')",
    "FROM enable_logging(storage='file', storage_path='{}/log')",
    "INSERT INTO t SELECT n, 'a' FROM 'plain.csv'",
    "INSERT INTO t SELECT 7, content FROM read_text('secret.txt')",
    "INSERT INTO t VALUES (7, (SELECT content FROM read_text('secret.txt')))",
    "DELETE FROM t WHERE id NOT IN (SELECT n FROM 'plain.csv')",
    "UPDATE t SET name = (SELECT content FROM read_text('secret.txt'))",
    "COPY t TO '{}/out.csv'",
    "COPY (SELECT 1) TO '{}/out.csv'",
    "COPY t FROM 'plain.csv'",
    "ATTACH '{}/x.db'",
    "INSTALL httpfs",
    "LOAD httpfs",
    "IMPORT DATABASE '{}'",
)
# Each is refused too; what it wants is not to be had with external access either.
REFUSED = (
    "SET http_proxy = 'somewhere'",
    "SET allow_unsigned_extensions = true",
    "SET file_search_path = '/'",
    "SET enable_external_access = true",
    "PRAGMA autoinstall_known_extensions = true",
    "CALL read_text('secret.txt')",
    "SET VARIABLE x = (SELECT content FROM read_text('secret.txt'))",
    "EXPORT DATABASE '{}/out'",
    "CREATE SECRET s (TYPE s3)",
    "CREATE TABLE u AS FROM 'plain.csv'",
    "CREATE MATERIALIZED VIEW v AS SELECT * FROM 'plain.csv'",
    "CREATE MATERIALIZED VIEW v AS SELECT * FROM read_text('secret.txt')",
    "CREATE VIEW v AS SELECT id, (SELECT content FROM read_text('secret.txt')) AS c FROM t",
    "EXPLAIN SELECT * FROM read_csv('plain.csv')",
    "FROM visible_to_nobody",
    "FROM relations",  # a variable of the engine's own
    "FROM pandas_scan(1::POINTER)",
    "FROM arrow_scan(1, 2, 3)",
    "SELECT getenv('HOME')",
    "SELECT nextval('s')",
    "WITH x AS (CREATE TABLE u (n INT)) SELECT 1",
    "WITH x AS (COPY (SELECT 1) TO '{}/out.csv') SELECT * FROM x",
    "FROM query('WITH x AS (COPY (SELECT 1) TO ''{}/out.csv'') FROM x')",
    "FROM query('CREATE TABLE u (n INT)')",
    "FROM query('SELECT 1; SELECT 2')",
)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    (tmp_path / "plain.csv").write_text(f"n\n{HIDDEN}\n")
    (tmp_path / "secret.txt").write_text(str(HIDDEN))
    monkeypatch.chdir(tmp_path)
    yield tmp_path
    assert sorted(os.listdir(tmp_path)) == ["plain.csv", "secret.txt"]


def database(*, external_access: bool = False) -> ivm.Database:
    db = ivm.connect(compile="off", external_access=external_access)
    db.sql("CREATE TABLE t (id BIGINT PRIMARY KEY, name VARCHAR)")
    db.sql("INSERT INTO t VALUES (1, 'a')")
    return db


@pytest.mark.parametrize(("texts", "advises"), [(REACHING, True), (REFUSED, False)])
def test_sql_text_reaches_nothing_outside(folder: Path, texts: tuple[str, ...], advises: bool) -> None:
    visible_to_nobody = pa.table({"n": [HIDDEN]})
    db = database()
    before = (db.time, core_of(db).catalog.tables, core_of(db).catalog.views)
    for text in texts:
        with pytest.raises(ivm.Error) as refused:
            print(text, db.sql(text.replace("{}", str(folder))).fetchall())  # to be seen if it is not refused
        words = str(refused.value)
        assert not advises or "external_access" in words, f"{text}: {words}"
        assert str(HIDDEN) not in words, text
    assert db.sql("FROM t").fetchall() == [(1, "a")]
    assert (db.time, core_of(db).catalog.tables, core_of(db).catalog.views) == before
    assert visible_to_nobody.num_rows == 1


def test_the_error_names_what_was_reached_for_and_how_to_allow_it(folder: Path) -> None:
    with pytest.raises(ivm.AccessError, match=r'"secret\.txt".*with ivm\.connect\(external_access=True\)$'):
        database().sql("SELECT * FROM read_text('secret.txt')")


@pytest.mark.parametrize(
    "text", ["SELECT 1; SELECT 2", "SELECT 1; COPY (SELECT 1) TO 'x'", "COPY (SELECT 1) TO 'x'", ""]
)
def test_duckdb_is_given_one_query_at_a_time(folder: Path, text: str) -> None:
    with connection(Use.OPEN) as duck:
        with pytest.raises(ivm.BindError, match="one SELECT"):
            answer(duck, text)
        with pytest.raises((ivm.BindError, duckdb.ParserException)):
            define(duck, "v", text)


def test_settings_tell_no_directory_that_could_be_read() -> None:
    settings = database().sql(
        "SELECT value FROM duckdb_settings() WHERE name IN ('temp_directory', 'allowed_directories')"
    )
    assert sorted(settings.fetchall()) == [("",), ("[]",)]


def test_a_query_leaves_nothing_to_the_next() -> None:
    db, other = database(), database()
    assert db.sql("FROM (PIVOT t ON name USING max(id))").fetchall() == [(1,)]
    assert db.sql("SELECT * FROM duckdb_types() WHERE NOT internal").fetchall() == []
    other.sql("INSERT INTO t VALUES (2, 'b')")
    assert db.sql("FROM t").fetchall() == [(1, "a")]
    assert other.sql("SELECT count(*) FROM t").fetchall() == [(2,)]
    assert db.sql("SELECT view_name FROM duckdb_views() WHERE NOT internal").fetchall() == []


def test_an_application_may_allow_it(folder: Path) -> None:
    db = database(external_access=True)
    assert db.sql("FROM 'plain.csv'").fetchall() == [(HIDDEN,)]
    assert db.sql("SELECT content FROM read_text('secret.txt')").fetchall() == [(str(HIDDEN),)]
    db.sql("INSERT INTO t SELECT n, 'b' FROM read_csv('plain.csv')")
    assert db.sql("SELECT count(*) FROM t").fetchall() == [(2,)]
    with pytest.raises(ivm.BindError, match=r"No files found.*nothing\.csv"):
        db.sql("FROM read_csv('nothing.csv')")
    with pytest.raises(ivm.AccessError, match="cannot change DuckDB's configuration"):
        db.sql("FROM enable_logging(storage='file', storage_path='log')")
    with pytest.raises(ivm.BindError, match="no table or view 'visible_to_nobody'"):
        db.sql("FROM visible_to_nobody")


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("COPY t TO 'no_such/folder.csv'", ivm.StorageError),
        ("COPY t TO 'folder.csv'", ivm.StorageError),
        ("COPY t FROM 'none.parquet'", ivm.StorageError),
        ("COPY t FROM 'empty.parquet'", ivm.StorageError),
        ("INSERT INTO t SELECT * FROM 'none.parquet'", ivm.StorageError),
        ("FROM 'half.json'", ivm.StorageError),
        ("FROM read_csv('latin.csv')", ivm.StorageError),
        ("COPY t FROM 'missing.csv'", ivm.BindError),
        ("FROM 'missing.parquet'", ivm.BindError),
        ("COPY t FROM 'words.csv'", ivm.NumericError),
    ],
)
def test_a_file_that_cannot_be_read_or_written_is_a_storage_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, error: type[ivm.Error]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("folder.csv").mkdir()
    Path("none.parquet").write_text("not a Parquet file at all")
    Path("empty.parquet").write_text("")
    Path("half.json").write_text('{"n": ')
    Path("latin.csv").write_bytes(b"n,s\n1,\xe9\n")
    Path("words.csv").write_text("n,s\nx,y\n")
    with pytest.raises(error) as told:
        database(external_access=True).sql(text)
    assert type(told.value) is error


def test_one_database_does_not_open_another(folder: Path) -> None:
    opened, closed = database(external_access=True), database()
    assert opened.sql("FROM 'plain.csv'").fetchall() == [(HIDDEN,)]
    with pytest.raises(ivm.AccessError):
        closed.sql("FROM 'plain.csv'")
    with pytest.raises(ivm.AccessError):
        ivm.connect(compile="off").sql("FROM 'plain.csv'")


@pytest.mark.parametrize("use", [Use.OWN, Use.ASIDE, Use.CLOSED, Use.FEW])
def test_the_engine_itself_and_shards_ask_without_access(use: Use, folder: Path) -> None:
    with connection(use) as duck, pytest.raises(Exception, match="disabled by configuration"):
        duck.sql("FROM 'plain.csv'").fetchall()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
def test_a_forked_child_asks_for_itself() -> None:
    db = database()
    assert db.sql("SELECT 1").fetchall() == [(1,)]
    child = os.fork()
    if child == 0:
        os._exit(0 if db.sql("SELECT id + 1 FROM t").fetchall() == [(2,)] else 1)
    assert os.waitpid(child, 0)[1] == 0


def test_connections_are_made_in_one_place() -> None:
    makes = re.compile(r"\bduckdb\.(connect|sql\b|query|execute|from_|read_|default_connection)")
    places = [
        path.relative_to(ROOT).as_posix()
        for package in ("ivm", "sql", "catalog", "tpch")
        for path in sorted((ROOT / package).rglob("*.py"))
        if makes.search(path.read_text(encoding="utf-8"))
    ]
    assert places == ["ivm/duck.py"]
