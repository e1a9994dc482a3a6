"""CREATE OR REPLACE VIEW in the middle of a stack: what reads it goes on, at one time, or the error says what breaks."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

import ivm
from ivm.session.core import engine_of
from ivm.session.database import Database, core_of

_STACK = """
    CREATE TABLE t (id INTEGER PRIMARY KEY, a INTEGER, b VARCHAR);
    INSERT INTO t VALUES (1, 10, 'x'), (2, 20, 'y'), (3, 30, 'x');
    CREATE MATERIALIZED VIEW base AS SELECT id, a, b FROM t WHERE a > 5;
    CREATE VIEW registered AS SELECT b, a FROM base;
    CREATE MATERIALIZED VIEW sums AS SELECT b, sum(a) AS s FROM registered GROUP BY b;
    CREATE MATERIALIZED VIEW top AS SELECT * FROM sums WHERE s > 15;
    CREATE TABLE later (id INTEGER PRIMARY KEY);
    CREATE MATERIALIZED VIEW chosen AS SELECT id FROM later;
    INSERT INTO later VALUES (1), (3)
"""
_CHOSEN = "CREATE OR REPLACE MATERIALIZED VIEW base AS SELECT id, a, b FROM t JOIN chosen USING (id)"


@pytest.fixture
def db() -> Iterator[Database]:
    with ivm.connect(compile="off") as made:
        made.sql(_STACK)
        yield made


def changes(table: pa.Table) -> list[tuple[object, ...]]:
    return sorted((*row.values(),) for row in table.drop_columns(["_time"]).to_pylist())


def test_what_reads_it_changes_with_it(db: Database) -> None:
    with db.subscribe("sums") as sums, db.subscribe("top") as top, db.subscribe("base") as base:
        reader = db.view("top")
        db.sql(_CHOSEN)
        assert changes(base.fetch()) == [(2, 20, "y", -1)]
        assert changes(sums.fetch()) == [("y", 20, -1)]
        assert changes(top.fetch()) == [("y", 20, -1)]
        assert reader.fetchall() == [("x", 40)]
        db.sql("INSERT INTO later VALUES (2)")
        assert changes(top.fetch()) == [("y", 20, 1)]
        db.sql("DELETE FROM later")
        db.verify()
        db.sql("CREATE OR REPLACE VIEW registered AS SELECT b, a * 2 AS a FROM base")
        db.sql("INSERT INTO later VALUES (1)")
        assert ("x", 20, 1) in changes(sums.fetch())
        db.sql("CREATE OR REPLACE VIEW base AS SELECT id, a, b FROM t")  # which is not maintained any more
        db.sql("INSERT INTO t VALUES (4, 40, 'z')")
        db.verify()
        assert sorted(reader.fetchall()) == [("x", 80), ("y", 40), ("z", 80)]
        db.sql(
            "CREATE OR REPLACE MATERIALIZED VIEW registered AS SELECT b, a * 3 AS a FROM base"
        )  # which is from now on
        db.verify()
        with pytest.raises(ivm.ViewDroppedError, match="not MATERIALIZED"):
            for _ in range(3):
                base.fetch()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("SELECT id, a FROM t", "would break views 'registered', 'sums', 'top', which read it: .*'b'"),
        ("SELECT id, a::BIGINT AS a, b FROM t", "would break views 'registered', .*BIGINT"),
        ("SELECT id, a, b FROM top", "no table or view 'top'"),
        ("SELECT id, a // (id - 1) AS a, b FROM t", "division by zero"),
    ],
)
def test_what_cannot_be_replaced_stays(db: Database, text: str, said: str) -> None:
    nodes, entries = set(engine_of(core_of(db)).renderer.graph.nodes), dict(core_of(db).catalog.content)
    with pytest.raises(ivm.Error, match=f"(?s){said}"):
        db.sql(f"CREATE OR REPLACE MATERIALIZED VIEW base AS {text}")
    assert set(engine_of(core_of(db)).renderer.graph.nodes) == nodes
    assert dict(core_of(db).catalog.content) == entries
    db.sql("INSERT INTO t VALUES (5, 50, 'x')")
    db.verify()


def test_others_commit_while_it_is_filled(db: Database) -> None:
    db.apply({"t": pa.table({"id": range(10, 60_000), "a": range(10, 60_000), "b": ["w"] * 59_990})})
    seen = list[tuple[str, list[tuple[object, ...]]]]()

    def progress(told: ivm.Progress) -> None:
        db.sql("INSERT INTO later VALUES (?)", [20_000 + len(seen)])
        seen.append((told.view, db.sql("SELECT s FROM top WHERE b = 'x'").fetchall()))

    db.sql(_CHOSEN, progress=progress)
    assert {view for view, _ in seen} >= {"base", "sums", "top"}
    assert all(rows == [(40,)] for _, rows in seen)
    assert db.sql("SELECT count(*) FROM base").fetchall() == [(2 + len(seen),)]
    db.verify()


def test_it_is_found_again(tmp_path: Path) -> None:
    for ends in (True, False):
        path = tmp_path / str(ends)
        with ivm.connect(path, compile="off") as db:
            db.sql(_STACK)
            if ends:
                db.sql("CHECKPOINT")
            db.sql(_CHOSEN)
            db.sql("INSERT INTO t VALUES (7, 70, 'k'); INSERT INTO later VALUES (7)")
            core_of(db).checkpoints = None  # what is in the log stays there
            expected = sorted(db.view("top").fetchall())
        with ivm.connect(path, compile="off") as db:
            assert sorted(db.view("top").fetchall()) == expected
            db.verify()
