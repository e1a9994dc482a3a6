"""EXPLAIN says what a change of each table costs, and what becomes of views that are only registered."""

from __future__ import annotations

import pyarrow as pa
import pytest

import ivm
from ivm.session.core import engine_of
from ivm.session.database import core_of

ROWS = 20_000
JOINED = "SELECT n, s, k FROM c JOIN recent r ON r.c = c.id"


def _database(rows: int = ROWS) -> ivm.Database:
    db = ivm.connect(compile="off")
    db.sql("CREATE TABLE c (id BIGINT PRIMARY KEY, n VARCHAR NOT NULL)")
    db.sql("CREATE TABLE o (id BIGINT PRIMARY KEY, c BIGINT NOT NULL, v BIGINT NOT NULL)")
    db.sql("CREATE VIEW recent AS SELECT c, sum(v) AS s, count(*) AS k FROM o GROUP BY c")
    db.sql("CREATE VIEW some AS SELECT * FROM o WHERE v > 3")
    if rows:
        ids = list(range(rows))
        parents = ids[: rows // 10]
        db.apply({"c": pa.table({"id": parents, "n": [f"n{i}" for i in parents]})})
        db.apply({"o": pa.table({"id": ids, "c": [i % len(parents) for i in ids], "v": ids})})
    return db


def _section(db: ivm.Database, query: str, title: str) -> list[str]:
    text = db.explain(query).split(f"\n{title}:\n")[1].split("\n\n")[0]
    return [line.strip() for line in text.splitlines()]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("SELECT * FROM o WHERE v > 3", ["a changed row of o: no lookup"]),
        (
            "SELECT c.n, o.v FROM o JOIN c ON o.c = c.id",
            [
                "a changed row of o: about 1 lookup, 1 row visited, 1 change of the view",
                "a changed row of c: about 1 lookup, 10 rows visited, 10 changes of the view",
            ],
        ),
        ("SELECT sum(v) FROM o", ["a changed row of o: about 1 lookup, 1 row visited, 2 changes of the view"]),
        (
            "SELECT x.v FROM o x, c WHERE x.v < c.id",
            [
                "a changed row of o: about 1 lookup, 1,000 rows visited, 1,000 changes of the view",
                "a changed row of c: about 1 lookup, 10,000 rows visited, 10,000 changes of the view",
            ],
        ),
        (
            "SELECT * FROM o ORDER BY v LIMIT 10000",
            ["a changed row of o: about 1 lookup, 15 rows visited, 1 change of the view"],
        ),
        (
            "SELECT ntile(4) OVER (PARTITION BY c ORDER BY v) AS t FROM o",
            [
                "a changed row of o: about 1 lookup, 17 rows visited, 27 changes of the view; "
                "visits a whole partition of o"
            ],
        ),
    ],
)
def test_a_line_for_each_table(query: str, expected: list[str]) -> None:
    assert _section(_database(), query, "changes") == expected


def test_the_first_of_rows_that_only_come_are_read_whole() -> None:
    db = ivm.connect(compile="off")
    db.sql("CREATE TABLE e (id BIGINT PRIMARY KEY, v BIGINT NOT NULL) WITH (append_only = true)")
    db.apply({"e": pa.table({"id": range(ROWS), "v": range(ROWS)})})
    found = _section(db, "SELECT * FROM e ORDER BY v LIMIT 20", "changes")
    assert found == ["a changed row of e: about 1 lookup, 24 rows visited, 0 changes of the view"]


def test_empty_tables_give_the_lookups_alone() -> None:
    assert _section(_database(0), JOINED, "changes") == [
        "a changed row of c: 1 lookup if each finds one row",
        "a changed row of o: 2 lookups if each finds one row",
    ]


def test_a_registered_view_is_a_collection_or_merged_and_it_is_said_which() -> None:
    db = _database()
    nodes = len(engine_of(core_of(db)).renderer.graph.nodes)
    alone = "view recent: a collection, so far of this plan alone"
    assert nodes == 0  # registering cost nothing
    assert alone in _section(db, JOINED, "state")
    db.sql(f"CREATE MATERIALIZED VIEW v1 AS {JOINED}")
    db.sql("CREATE MATERIALIZED VIEW v2 AS SELECT max(s) AS s, max(k) AS k FROM recent")
    assert "view recent: shared as a collection, with v1, v2" in _section(db, JOINED, "state")
    merged = "view some: merged into the plan; indexes of its tables are shared"
    assert merged in _section(db, "SELECT n, v FROM c JOIN some ON some.c = c.id", "state")
    # Of a narrower one the aggregates that nobody reads are not kept, so that it is another collection.
    assert "view recent: merged into the plan; indexes of its tables are shared" in _section(
        db, "SELECT s FROM recent", "state"
    )


def test_registered_views_within_registered_views_are_listed_too() -> None:
    db = _database()
    db.sql("CREATE VIEW above AS SELECT c, s FROM recent WHERE s > 10 AND k > 1")
    found = [line for line in _section(db, "SELECT * FROM above", "state") if line.startswith("view ")]
    assert found[:2] == [
        "view recent: a collection, so far of this plan alone",
        "view above: a collection, so far of this plan alone",
    ]


def test_a_shared_collection_is_one_node() -> None:
    db = _database()
    db.sql(f"CREATE MATERIALIZED VIEW v1 AS {JOINED}")
    db.sql("CREATE MATERIALIZED VIEW v2 AS SELECT max(s) AS s, max(k) AS k FROM recent")
    found = db.sql("SELECT views FROM ivm_arrangements WHERE collection = 'reduce of o' AND rows > 1").fetchall()
    assert found == [(["v1", "v2"],)]


def test_the_dataflow_says_what_runs_already() -> None:
    db = _database()
    query = "SELECT c.id, count(*) AS n FROM o JOIN c ON o.c = c.id WHERE o.v > 3 GROUP BY c.id"
    assert _section(db, query, "dataflow") == [
        "1 table o: new",
        "2 table c: new",
        "3 index c(id) of 2: new",
        "4 index o(c) of 1: new",
        "5 join of 1, 2, looking up 3, 4: new",
        "6 reduce of 5: new",
        "7 view of 6: new",
    ]
    db.sql("CREATE MATERIALIZED VIEW one AS SELECT o.v, c.id FROM o JOIN c ON o.c = c.id")
    runs = [line for line in _section(db, query, "dataflow") if line.endswith(": runs")]
    assert runs == ["1 table o: runs", "2 table c: runs", "3 index c(id) of 2: runs", "4 index o(c) of 1: runs"]


@pytest.mark.parametrize("shards", [None, 2])
def test_analyze_says_what_operators_have_done(shards: int | None) -> None:
    with ivm.connect(compile="off", shards=shards) as db:
        db.sql("CREATE SCHEMA s; CREATE TABLE s.t (k INTEGER, v INTEGER)")
        db.sql("CREATE MATERIALIZED VIEW s.v AS SELECT k, sum(v) AS v FROM s.t GROUP BY k")
        db.sql("INSERT INTO s.t VALUES (1, 1), (2, 2), (2, 3)")
        (said,) = db.sql("EXPLAIN ANALYZE VIEW s.v").fetchone() or ("",)
        lines = said.splitlines()
        assert lines[0].startswith("view s.v at time 1: ")
        assert lines[1].split() == ["operator", "updates", "in", "updates", "out", "visited", "ms"]
        assert sum(int(line.split()[1]) for line in lines if "  reduce " in line) == 3
        assert "Total Time" in str(db.sql("EXPLAIN ANALYZE SELECT * FROM s.v").fetchall())
        with pytest.raises(ivm.BindError, match="is a table"):
            db.sql("EXPLAIN ANALYZE VIEW s.t")
        with pytest.raises(ivm.ParseError, match="EXPLAIN ANALYZE VIEW name"):
            db.sql("EXPLAIN ANALYZE VIEW")
