"""COPY to a folder: over shards each writes a file, and the folder is there whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest

import ivm
from ivm.catalog.errors import AccessError, NumericError, StorageError, UnsupportedError
from ivm.cluster.shard import selecting
from tests.cluster.test_selecting import TABLES, nothing_comes_here

OF_SHARDS = [
    "sale",
    "sale (id, city)",
    "(SELECT id * 2 AS i, city || '{}' AS c FROM sale WHERE price > 3)",
    "revenue",
    "(SELECT name FROM city UNION ALL SELECT city FROM sale)",
    "(FROM dear)",
    "(SELECT id::HUGEINT AS h, at, NULL AS n FROM sale)",
    "(SELECT id FROM sale WHERE id < 0)",
    "(SELECT s.id, c.country FROM sale AS s JOIN city AS c ON s.city = c.name)",
    "(SELECT count(*) AS n FROM city)",
]
OF_ALL = ["(SELECT city, count(*) AS n FROM sale GROUP BY city)", "(SELECT id FROM sale ORDER BY id LIMIT 3)"]
FORMATS = ["FORMAT parquet", "FORMAT csv", "FORMAT csv, HEADER, DELIMITER ';'", "FORMAT parquet, ROW_GROUP_SIZE 2048"]  # fmt: skip


@pytest.fixture(scope="module")
def pair() -> Iterator[tuple[ivm.Database, ivm.Database]]:
    with (
        ivm.connect(compile="off", external_access=True) as one,
        ivm.connect(compile="off", external_access=True, shards=3) as db,
    ):
        for each in (one, db):
            each.sql(TABLES)
        yield one, db


def rows(folder: Path, how: str) -> list[Any]:
    kind = "parquet" if "parquet" in how else "csv"
    assert all(name.startswith("data_") and name.endswith(f".{kind}") for name in os.listdir(folder))
    with duckdb.connect() as duck:
        delimiter = ";" if ";" in how else ","
        options = f", all_varchar = true, header = true, delim = '{delimiter}'" if kind == "csv" else ""
        found = duck.sql(f"DESCRIBE FROM read_{kind}('{folder}/*.{kind}'{options})").fetchall()
        return [*found, *sorted(duck.sql(f"FROM read_{kind}('{folder}/*.{kind}'{options})").fetchall(), key=repr)]


def test_all_shards_write(pair, tmp_path):
    for at, what in enumerate((*OF_SHARDS, *OF_ALL)):
        how, found = FORMATS[at % len(FORMATS)], []
        for number, db in enumerate(pair):
            folder = tmp_path / f"{at} {{}} {number}"
            text = f"COPY {what} TO '{folder}' ({how}, PER_THREAD_OUTPUT)"
            if number and what in OF_SHARDS:
                with nothing_comes_here(db):
                    said = db.sql(text).fetchall()
                kind = "csv" if "csv" in how else "parquet"
                assert sorted(os.listdir(folder)) == [f"data_{shard}.{kind}" for shard in range(3)]
            else:
                said = db.sql(text).fetchall()
            found.append((said, rows(folder, how)))
        assert found[0] == found[1], what
    assert not [name for name in os.listdir(tmp_path) if name.endswith(".part")]


def test_what_is_wrong_leaves_nothing(pair, tmp_path):
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "a").write_text("a")
    (tmp_path / "file.csv").write_text("a")
    (tmp_path / "empty").mkdir()
    for number, db in enumerate(pair):
        for name, what, error in (
            ("there", "sale", StorageError),
            ("file.csv", "sale", StorageError),
            ("none/there", "sale", StorageError),
            ("new", "(SELECT city::INTEGER AS c FROM sale)", NumericError),
        ):
            with pytest.raises(error):
                db.sql(f"COPY {what} TO '{tmp_path}/{name}' (FORMAT csv, PER_THREAD_OUTPUT true)")
        with pytest.raises(UnsupportedError, match="PER_THREAD_OUTPUT is not supported"):
            db.sql(f"COPY sale FROM '{tmp_path}/file.csv' (PER_THREAD_OUTPUT)")
        db.sql(f"COPY sale TO '{tmp_path}/one {number}.csv' (PER_THREAD_OUTPUT false)")
        db.sql(f"COPY sale TO '{tmp_path}/empty/{number}/' (FORMAT csv, PER_THREAD_OUTPUT)")
    assert sorted(os.listdir(tmp_path)) == ["empty", "file.csv", "one 0.csv", "one 1.csv", "there"]
    with ivm.connect(shards=2) as db:
        db.sql("CREATE TABLE t (a BIGINT)")
        with pytest.raises(AccessError):
            db.sql(f"COPY t TO '{tmp_path}/new' (FORMAT csv, PER_THREAD_OUTPUT)")


def test_what_is_interrupted_leaves_nothing(pair, tmp_path, monkeypatch):
    _, db = pair

    def interrupted(*given: Any, **file: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(selecting, "written", interrupted)
    with pytest.raises(KeyboardInterrupt):
        db.sql(f"COPY sale TO '{tmp_path}/new' (FORMAT csv, PER_THREAD_OUTPUT)")
    assert os.listdir(tmp_path) == []


def test_one_that_was_lost_and_one_that_does_not_see_the_folder(pair, tmp_path, monkeypatch, caplog):
    _, db = pair
    written, isdir = selecting.written, os.path.isdir

    def again(resident: Any, query: Any, folder: str, **file: Any) -> Any:
        """As it is where a task writes twice, and has died once."""
        (Path(folder) / "part of one who died").write_text("id")
        for _ in range(2):
            found = written(resident, query, folder=folder, **file)
        return found

    monkeypatch.setattr(selecting, "written", again)
    assert db.sql(f"COPY sale TO '{tmp_path}/twice' (FORMAT csv, PER_THREAD_OUTPUT)").fetchall() == [(40,)]
    assert len(os.listdir(tmp_path / "twice")) == 3
    assert len(rows(tmp_path / "twice", "csv")) == 44

    def elsewhere(resident: Any, query: Any, folder: str, **file: Any) -> Any:
        monkeypatch.setattr(os.path, "isdir", lambda path: resident.number != 1 and isdir(path))
        return written(resident, query, folder=folder, **file)

    monkeypatch.setattr(selecting, "written", elsewhere)
    db.sql(f"COPY sale TO '{tmp_path}/here' (FORMAT csv, PER_THREAD_OUTPUT)")
    assert "so the driver writes them" in caplog.text
    assert rows(tmp_path / "here", "csv") == rows(tmp_path / "twice", "csv")
