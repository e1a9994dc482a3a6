"""`ivm_dataflow`: the nodes that run, what they read, hold and share, and what has gone through them."""

from __future__ import annotations

import ivm

VIEWS = """
CREATE TABLE sale (id BIGINT PRIMARY KEY, city VARCHAR NOT NULL, price DECIMAL(9,2));
CREATE TABLE town (city VARCHAR PRIMARY KEY, land VARCHAR);
CREATE TABLE edge (a INTEGER, b INTEGER);
CREATE MATERIALIZED VIEW revenue AS SELECT city, sum(price) AS total FROM sale GROUP BY city;
CREATE MATERIALIZED VIEW lands AS SELECT land, sum(price) AS total FROM sale JOIN town USING (city) GROUP BY land;
CREATE MATERIALIZED VIEW reach AS WITH RECURSIVE r AS (
    SELECT a, b FROM edge UNION SELECT r.a, edge.b FROM r JOIN edge ON r.b = edge.a) SELECT * FROM r;
"""


def nodes(db):
    return {row["node"]: row for row in db.sql("FROM ivm_dataflow").arrow().to_pylist()}


def test_nodes_read_those_before_them_and_count_what_goes_through():
    with ivm.connect(compile="off") as db:
        db.sql(VIEWS)
        empty = nodes(db)
        db.sql("INSERT INTO sale VALUES (1, 'Bern', 1), (2, 'Bern', 2); INSERT INTO town VALUES ('Bern', 'CH')")
        db.sql("INSERT INTO edge VALUES (1, 2), (2, 3)")
        found = nodes(db)
        assert list(found) == list(empty)
        seen: set[str] = set()
        for name, node in found.items():
            assert {*node["reads"], *node["looks_up"]} <= seen
            seen.add(name)
            within = [each for each in found.values() if each["within"] == name]
            assert bool(within) == (node["operator"] == "loop")
        by_operator = {node["operator"]: node for node in found.values() if not node["within"]}
        sale = by_operator["table sale"]
        assert (sale["rows"], sale["updates_out"], sale["views"]) == (2, 2, ["lands", "revenue"])
        assert sale["bytes"] >= empty[sale["node"]]["bytes"] > 0
        join = by_operator["join"]
        assert join["views"] == ["lands"]
        assert len(join["reads"]) == len(join["looks_up"]) == 2
        assert {found[each]["what"] for each in join["looks_up"]} == {"sale(city)", "town(city)"}
        assert join["updates_in"] == 3
        assert by_operator["view reach"]["updates_in"] == 3
        told = db.sql("SELECT sum(updates_in), sum(visited) FROM ivm_operators WHERE view = 'lands'").fetchall()
        assert (
            told
            == db.sql(
                "SELECT sum(updates_in), sum(visited) FROM ivm_dataflow WHERE list_contains(views, 'lands')"
            ).fetchall()
        )
        db.sql("DROP VIEW lands")
        assert not {"table town", "join"} & {node["operator"] for node in nodes(db).values() if not node["within"]}


def test_rows_come_and_go():
    with ivm.connect(compile="off") as db:
        db.sql("CREATE TABLE t (id BIGINT PRIMARY KEY, g INTEGER)")
        assert nodes(db) == {}
        db.sql("CREATE MATERIALIZED VIEW v AS SELECT id FROM t WHERE g > 0")
        assert {node["rows"] for node in nodes(db).values()} == {0}
        db.sql("INSERT INTO t VALUES (1, 1)")
        assert [node["rows"] for node in nodes(db).values() if node["operator"] == "view v"] == [1]
        db.sql("DELETE FROM t")
        assert [node["updates_out"] for node in nodes(db).values() if node["operator"] == "table t"] == [2]


def test_what_is_not_shared_is_listed_for_each_view():
    with ivm.connect(compile="off", sharing=False) as db:
        db.sql(VIEWS)
        db.sql("CREATE MATERIALIZED VIEW again AS SELECT city, sum(price) AS total FROM sale GROUP BY city")
        shared = [node for node in nodes(db).values() if len(node["views"]) > 1]
        assert {node["operator"] for node in shared} <= {"table sale", "table town", "table edge"}
        assert all(node["what"] for node in nodes(db).values() if node["operator"] == "reduce")
