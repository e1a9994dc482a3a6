"""What EXPLAIN says that a view would add is near what it adds, and decides within a memory limit."""

from __future__ import annotations

import re

import pyarrow as pa
import pytest

import ivm
from ivm.plan.estimate import Estimate, bytes_text, rounded, total
from ivm.plan.lower import lower
from ivm.session.core import engine_of
from ivm.session.database import core_of
from ivm.sql.bind import bind
from ivm.transform.pipeline import optimize

ROWS = 50_000
VIEWS = {
    "joined": "SELECT t.v, u.w FROM t JOIN u ON t.a = u.a",
    "summed": "SELECT b, sum(v) AS s, count(*) AS c, avg(v) AS m FROM t GROUP BY b",
    "extreme": "SELECT b, max(v) AS m FROM t GROUP BY b",
    "first": "SELECT * FROM t ORDER BY v LIMIT 5",
    "different": "SELECT DISTINCT id, b FROM t",
    "above": "SELECT u.w, g.s FROM u JOIN (SELECT a, sum(v) AS s FROM t GROUP BY a) g ON u.a = g.a",
    "over": "SELECT id FROM t WHERE v > (SELECT avg(v) FROM t)",
    "summed_over": "SELECT a, s FROM (SELECT a, sum(v) AS s FROM t GROUP BY a) WHERE s > (SELECT avg(v) FROM t)",
    "numbered": "SELECT id, row_number() OVER (PARTITION BY a ORDER BY v) AS r FROM t",
}


def _database(rows: int = ROWS, memory_limit: int | None = None) -> ivm.Database:
    db = ivm.connect(compile="off", memory_limit=memory_limit)
    db.sql("CREATE TABLE t (id BIGINT PRIMARY KEY, a BIGINT NOT NULL, b BIGINT NOT NULL, v BIGINT NOT NULL)")
    db.sql("CREATE TABLE u (a BIGINT PRIMARY KEY, w BIGINT NOT NULL)")
    ids = list(range(rows))
    if rows:
        columns = {"id": ids, "a": [i * 7 % (rows // 5) for i in ids], "b": [i * 11 % (rows // 10) for i in ids]}
        db.apply({"t": pa.table({**columns, "v": [i * 7919 % 100_003 for i in ids]})})
        db.apply({"u": pa.table({"a": ids[: rows // 5], "w": ids[: rows // 5]})})
    return db


def _estimate(db: ivm.Database, query: str) -> Estimate:
    relation = bind(query, core_of(db).catalog, "duckdb", (1, 1)).relation
    return total(engine_of(core_of(db)).estimate(lower(optimize(relation), engine_of(core_of(db)).existing())).values())


@pytest.mark.parametrize("name", VIEWS)
def test_the_estimate_is_near_what_is_added(name: str) -> None:
    db = _database()
    expected = _estimate(db, VIEWS[name])
    before = engine_of(core_of(db)).state_bytes()
    db.sql(f"CREATE MATERIALIZED VIEW {name} AS {VIEWS[name]}")
    added = engine_of(core_of(db)).state_bytes() - before
    assert added / 4 < expected.bytes < added * 4


def test_explain_shows_it_for_each_piece_of_state_and_in_all() -> None:
    db = _database()
    text = db.explain(VIEWS["joined"])
    assert re.search(r"index t\(a\): new, about 50,000 rows, [0-9.]+ kB", text)
    assert "view contents: new, about 50,000 rows, 1.6 MB" in text
    assert "added in all: about" in text
    db.sql(f"CREATE MATERIALIZED VIEW one AS {VIEWS['joined']}")
    text = db.explain(VIEWS["joined"])
    assert "index t(a): shared, 50000 rows" in text
    assert "added in all: about 50,000 rows, 1.6 MB" in text  # the contents alone


def test_nothing_is_said_of_empty_tables() -> None:
    assert "about" not in _database(0).explain(VIEWS["joined"])


def test_a_view_beyond_the_limit_is_refused_and_leaves_nothing() -> None:
    db = _database(memory_limit=engine_of(core_of(_database())).state_bytes() + 2_000_000)
    nodes = len(engine_of(core_of(db)).renderer.graph.nodes)
    with pytest.raises(ivm.MemoryLimitError, match=r"cannot create view numbered: .* about .* rows, .* MB"):
        db.sql(f"CREATE MATERIALIZED VIEW numbered AS {VIEWS['numbered']}")
    assert len(engine_of(core_of(db)).renderer.graph.nodes) == nodes
    assert db.sql("SELECT count(*) FROM ivm_views").fetchall() == [(0,)]
    db.sql(f"CREATE MATERIALIZED VIEW extreme AS {'SELECT max(w) AS m FROM u'}")
    db.sql(f"CREATE VIEW numbered AS {VIEWS['numbered']}")  # only registered


def test_what_is_shared_counts_once() -> None:
    """The second view of a text needs no more than its contents, which are small here."""
    query = "SELECT a, max(v) AS m FROM t WHERE v < 0 GROUP BY a"
    wide = "SELECT count(*) AS c FROM (SELECT a, max(v) AS m FROM t GROUP BY a) x JOIN u ON x.a = u.a"
    db = _database()
    first = _estimate(db, wide)
    db.sql(f"CREATE MATERIALIZED VIEW one AS {wide}")
    assert _estimate(db, wide).bytes < first.bytes / 100
    assert _estimate(db, query).bytes > 0


def test_numbers_are_written_as_guesses() -> None:
    assert [rounded(x) for x in (0, 7, 1234, 987654)] == ["0", "7", "1,200", "990,000"]
    assert [bytes_text(x) for x in (0, 999, 1500, 250e3, 7.25e6, 3e9)] == [
        "0 bytes", "999 bytes", "1.5 kB", "250 kB", "7.2 MB", "3.0 GB",
    ]  # fmt: skip
