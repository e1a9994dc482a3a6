"""Recursive queries as people write them, over changing tables, against DuckDB: in memory, spread, and opened again."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pyarrow as pa
import pytest

import ivm
from tests.more import with_more

TABLES = {
    "edge": "CREATE TABLE edge (s BIGINT NOT NULL, d BIGINT NOT NULL, w INTEGER, CHECK (w >= 0))",
    "root": "CREATE TABLE root (v BIGINT NOT NULL)",
    "person": "CREATE TABLE person (id BIGINT PRIMARY KEY, boss BIGINT, name VARCHAR)",
}
QUERIES = {
    "reach": "WITH RECURSIVE r(v) AS (SELECT v FROM root UNION SELECT d FROM r JOIN edge ON v = s) SELECT * FROM r",
    "closure": """WITH RECURSIVE t(s, d) AS (SELECT s, d FROM edge UNION SELECT t.s, edge.d FROM t JOIN edge ON t.d = edge.s)
        SELECT * FROM t""",
    "from_one": """WITH RECURSIVE t(s, d) AS (SELECT s, d FROM edge UNION
        SELECT t.s, edge.d FROM t JOIN edge ON t.d = edge.s) SELECT d FROM t WHERE s = 2""",
    "twice": """WITH RECURSIVE t(s, d) AS (SELECT s, d FROM edge UNION SELECT a.s, b.d FROM t a JOIN t b ON a.d = b.s)
        SELECT * FROM t""",
    "generation": """WITH RECURSIVE g(x, y) AS (SELECT a.d, b.d FROM edge a JOIN edge b ON a.s = b.s AND a.d <> b.d
        UNION SELECT a.d, b.d FROM g JOIN edge a ON g.x = a.s JOIN edge b ON g.y = b.s) SELECT * FROM g""",
    "paths": """WITH RECURSIVE p(s, d, hops) AS (SELECT s, d, 1 FROM edge WHERE s < d UNION ALL
        SELECT p.s, e.d, hops + 1 FROM p JOIN edge e ON p.d = e.s WHERE e.s < e.d)
        SELECT s, d, count(*) AS n, min(hops) AS least FROM p GROUP BY s, d""",
    "chain": """WITH RECURSIVE above(id, boss, depth, line) AS (SELECT id, boss, 0, name FROM person WHERE boss IS NULL
        UNION ALL SELECT p.id, p.boss, depth + 1, line || '/' || p.name FROM above a JOIN person p ON p.boss = a.id)
        SELECT * FROM above""",
    "within": """WITH RECURSIVE r(v, k) AS (SELECT v, 0 FROM root UNION SELECT d, k + 1 FROM r JOIN edge ON v = s WHERE k < 3)
        SELECT v, min(k) AS k FROM r GROUP BY v""",
    "numbers": "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 6) SELECT i, v FROM n JOIN root ON i = v",
    "not_reached": """WITH RECURSIVE r(v) AS (SELECT v FROM root UNION SELECT d FROM r JOIN edge ON v = s)
        SELECT DISTINCT s FROM edge WHERE s NOT IN (SELECT v FROM r)""",
    "two": """WITH RECURSIVE a(v) AS (SELECT v FROM root UNION SELECT d FROM a JOIN edge ON v = s),
        b(v) AS (SELECT v FROM a UNION SELECT s FROM b JOIN edge ON v = d) SELECT a.v AS x, b.v AS y FROM a FULL JOIN b USING (v)""",
    "within_another": """WITH RECURSIVE z AS (SELECT s, d FROM edge WHERE w > 0), q(s, d) AS (SELECT s, d FROM z UNION
        SELECT q.s, x.d FROM q JOIN (WITH RECURSIVE t AS (FROM z UNION SELECT t.s, z.d FROM t JOIN z ON t.d = z.s) FROM t) x
        ON q.d = x.s) SELECT * FROM q""",
    "within_one_of_its_name": """WITH RECURSIVE q(s, d) AS (SELECT s, d FROM edge UNION SELECT q.s, x.v FROM q JOIN (
        WITH RECURSIVE q(v) AS (SELECT v FROM root UNION SELECT d FROM q JOIN edge ON v = s) SELECT v FROM q) x ON q.d = x.v)
        SELECT * FROM q""",
    "reads_around": """WITH RECURSIVE r(v) AS (SELECT v FROM root UNION SELECT x FROM (WITH RECURSIVE q(x) AS (
        SELECT d FROM r JOIN edge ON v = s UNION SELECT boss FROM q JOIN person ON id = x) SELECT x FROM q WHERE x < 9))
        SELECT * FROM r""",
    "two_read_around": """WITH RECURSIVE r(v) AS (SELECT v FROM root UNION SELECT x FROM ((WITH RECURSIVE q(x) AS (
        SELECT v FROM r UNION SELECT d FROM q JOIN edge ON x = s WHERE w > 1) SELECT x FROM q) UNION ALL (WITH RECURSIVE q(x) AS (
        SELECT v FROM r UNION SELECT boss FROM q JOIN person ON id = x) SELECT x + 1 FROM q WHERE x < 7)) u(x)) SELECT * FROM r""",
    "reads_all_around": """WITH RECURSIVE r(v) AS (SELECT v FROM root UNION SELECT x FROM (WITH RECURSIVE q(x) AS (
        SELECT v FROM r UNION SELECT y FROM (WITH RECURSIVE z(y) AS (SELECT d FROM q JOIN edge ON x = s UNION
        SELECT boss FROM z JOIN person ON id = y) SELECT y FROM z UNION ALL SELECT v FROM r WHERE v > 2) z(y))
        SELECT x FROM q)) SELECT * FROM r""",
    "base_reads_around": """WITH RECURSIVE r(v, k) AS (SELECT v, 0 FROM root UNION SELECT x, 1 FROM (WITH RECURSIVE q(x) AS (
        (WITH RECURSIVE q(x) AS (SELECT v FROM r WHERE k < 2 UNION SELECT d FROM q JOIN edge ON x = s) SELECT x FROM q) UNION
        SELECT boss FROM q JOIN person ON id = x) SELECT x FROM q)) SELECT * FROM r""",
    "beside_the_row": """SELECT id, (WITH RECURSIVE r(v, k) AS (SELECT v, 0 FROM root UNION SELECT d, k + 1 FROM r JOIN edge ON v = s
        WHERE k < 3) SELECT count(*) FROM r WHERE r.v = person.boss) AS n FROM person""",
    "below_each": """SELECT p.id, q.id AS below FROM person p, LATERAL (WITH RECURSIVE b(id) AS (
        SELECT x.id FROM person x WHERE x.boss = p.id UNION SELECT x.id FROM b JOIN person x ON x.boss = b.id) SELECT id FROM b) q""",
    "not_under": """SELECT p.id, p.name FROM person p WHERE NOT EXISTS (WITH RECURSIVE up(id) AS (
        SELECT p.boss UNION SELECT x.boss FROM up JOIN person x ON x.id = up.id) SELECT 1 FROM up WHERE id = 2)""",
    "count_each": """SELECT root.v, (WITH RECURSIVE r(v) AS (SELECT root.v UNION SELECT d FROM r JOIN edge ON r.v = s)
        SELECT count(*) FROM r WHERE v > 1) AS n FROM root""",
    "by_light_edges": """SELECT a.s, a.w, r.v FROM edge a LEFT JOIN LATERAL (WITH RECURSIVE r(v) AS (SELECT v FROM root UNION
        SELECT d FROM r JOIN edge ON r.v = s WHERE edge.w <= a.w) SELECT v FROM r) r ON TRUE""",
    "counted_up": """SELECT root.v, n.i FROM root, LATERAL (WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL
        SELECT i + 1 FROM n WHERE i < root.v) SELECT i FROM n) n""",
    "twice_each": """SELECT root.v, t.d FROM root, LATERAL (WITH RECURSIVE t(s, d) AS (SELECT s, d FROM edge WHERE s >= root.v
        UNION SELECT a.s, b.d FROM t a JOIN t b ON a.d = b.s) SELECT d FROM t) t""",
    "two_each": """SELECT p.id, (SELECT sum(e.w) FROM edge e WHERE e.s = p.id AND EXISTS (WITH RECURSIVE r(v) AS (
        SELECT e.d UNION SELECT d FROM r JOIN edge ON r.v = s AND d <> p.id) SELECT 1 FROM r JOIN root USING (v))) AS w FROM person p""",
    "over_null": """WITH RECURSIVE r(v, w) AS (SELECT v, NULL::INTEGER FROM root UNION SELECT d, edge.w FROM r JOIN edge ON v = s)
        SELECT * FROM r""",
}


def _database(where: Path | None = None, **options: object) -> ivm.Database:
    db = ivm.connect(where, compile="off", **options)  # type: ignore[arg-type]
    for text in TABLES.values():
        db.sql(text)
    return db


class _History:
    """Random changes of the tables, which stay small, and are all gone at the end."""

    def __init__(self, seed: int) -> None:
        self._random = Random(seed)
        self._nodes = self._random.choice([3, 5, 8])
        self._rows: dict[str, list[tuple[object, ...]]] = {"edge": [], "root": [], "person": []}

    def step(self, *, last: bool = False) -> dict[str, pa.Table]:
        """One commit; with `last` everything goes."""
        return {name: table for name in self._rows if (table := self._changes(name, last)) is not None}

    def _changes(self, name: str, last: bool) -> pa.Table | None:
        random, rows = self._random, self._rows[name]
        going = list(rows) if last else [row for row in rows if random.random() < 0.2]
        coming = [] if last else [self._row(name) for _ in range(random.choice([0, 1, 1, self._nodes]))]
        if name == "person":
            there = {row[0] for row in rows} - {row[0] for row in going}
            coming = [row for i, row in enumerate(coming) if row[0] not in there | {each[0] for each in coming[:i]}]
        for row in going:
            rows.remove(row)
        rows += coming
        changes = [(*row, -1) for row in going] + [(*row, 1) for row in coming]
        if not changes:
            return None
        random.shuffle(changes)
        columns = {"edge": ("s", "d", "w"), "root": ("v",), "person": ("id", "boss", "name")}[name]
        types = {"w": pa.int32(), "name": pa.string()}
        arrays = zip((*columns, "_diff"), zip(*changes, strict=True), strict=True)
        return pa.table({column: pa.array(values, types.get(column, pa.int64())) for column, values in arrays})

    def _row(self, name: str) -> tuple[object, ...]:
        random, node = self._random, lambda: self._random.randrange(self._nodes)
        if name == "edge":
            return node(), node(), random.choice([None, 0, 1, 4])
        if name == "root":
            return (node(),)
        own = node()
        return own, random.choice([None, own + 1, own + 2]), random.choice([None, "a", "bb"])


@pytest.mark.parametrize("seed", with_more([0, 1], [2]))
def test_recursive_queries_are_right_after_every_commit(seed: int) -> None:
    db, history = _database(sharing=seed != 1), _History(seed)
    names = list(QUERIES)
    for name in names[: len(names) // 2]:
        db.sql(f"CREATE MATERIALIZED VIEW {name} AS {QUERIES[name]}")
    for _ in range(3):
        db.apply(history.step() or {"root": pa.table({"v": pa.array([0], pa.int64())})})
        db.verify()
    for name in names[len(names) // 2 :]:
        db.sql(f"CREATE MATERIALIZED VIEW {name} AS {QUERIES[name]}")
    for _ in range(9):
        changes = history.step()
        if changes:
            db.apply(changes)
        db.verify()
    _end(db, history)


EACH = """SELECT a.v AS root, d.v, d.x FROM root a, LATERAL (
    WITH MUTUALLY RECURSIVE
        d(v BIGINT, x BIGINT) AS (SELECT v, min(x) FROM (SELECT a.v, 0 AS x UNION ALL SELECT v, x FROM n) GROUP BY v),
        n(v BIGINT, x BIGINT) AS (SELECT e.d, d.x + e.w FROM d JOIN edge e ON d.v = e.s WHERE e.d <> a.v)
    SELECT * FROM d) d"""
ALL_AT_ONCE = """WITH MUTUALLY RECURSIVE
        d(root BIGINT, v BIGINT, x BIGINT) AS (
            SELECT root, v, min(x) FROM (SELECT v AS root, v, 0 AS x FROM root UNION ALL SELECT * FROM n) GROUP BY root, v),
        n(root BIGINT, v BIGINT, x BIGINT) AS (
            SELECT d.root, e.d, d.x + e.w FROM d JOIN edge e ON d.v = e.s WHERE e.d <> d.root)
    SELECT root.v, d.v, d.x FROM root JOIN d ON root.v = d.root"""


@pytest.mark.parametrize("limit", ["", "(RETURN AT RECURSION LIMIT 3)"])
def test_a_loop_for_each_row_is_one_loop_that_carries_it_along(limit: str) -> None:
    db, history = _database(), _History(5)
    for name, text in {"each": EACH, "at_once": ALL_AT_ONCE}.items():
        db.sql(
            f"CREATE MATERIALIZED VIEW {name} AS {text}".replace("MUTUALLY RECURSIVE", f"MUTUALLY RECURSIVE {limit}")
        )
    seen = 0
    for number in range(12):
        changes = history.step(last=number == 11)
        if changes:
            db.apply(changes)
        found = [sorted(db.view(name).fetchall(), key=repr) for name in ("each", "at_once")]
        assert found[0] == found[1]
        seen += len(found[0])
    assert seen > 20
    assert not found[0]


def test_a_loop_that_would_not_end_for_a_row_that_is_not_there_ends() -> None:
    db = ivm.connect(recursion_limit=50)
    db.sql("CREATE TABLE t (a BIGINT PRIMARY KEY, step BIGINT NOT NULL)")
    db.sql("CREATE TABLE begin (a BIGINT NOT NULL, n BIGINT NOT NULL)")
    db.sql("""CREATE MATERIALIZED VIEW v AS SELECT t.a, c.n FROM t, LATERAL (WITH RECURSIVE c(n) AS (
        SELECT n FROM begin WHERE begin.a = t.a UNION ALL SELECT n + t.step FROM c WHERE n < 9) SELECT n FROM c) c""")
    db.sql("INSERT INTO begin VALUES (1, 0), (2, 5)")
    db.sql("INSERT INTO t VALUES (1, 4)")
    assert sorted(db.view("v").fetchall()) == [(1, 0), (1, 4), (1, 8), (1, 12)]
    with pytest.raises(ivm.RecursionLimitError, match="view v"):
        db.sql("INSERT INTO t VALUES (2, 0)")
    db.sql("UPDATE t SET step = 9 WHERE a = 1")
    assert sorted(db.view("v").fetchall()) == [(1, 0), (1, 9)]
    db.verify()


def _end(db: ivm.Database, history: _History) -> None:
    """All rows go, and of no view anything is left."""
    changes = history.step(last=True)
    if changes:
        db.apply(changes)
    db.sql("DELETE FROM root")
    assert {found.rows for found in db.verify()} == {0}


def test_they_are_so_over_shards() -> None:
    db, history = _database(shards=3), _History(7)
    for name in ("reach", "twice", "paths", "not_reached", "below_each", "count_each"):
        db.sql(f"CREATE MATERIALIZED VIEW {name} AS {QUERIES[name]}")
    for _ in range(5):
        changes = history.step()
        if changes:
            db.apply(changes)
        db.verify()


def test_they_go_on_where_a_database_is_opened_again(tmp_path: Path) -> None:
    db, history = _database(tmp_path / "loops.ivm"), _History(11)
    for name, text in QUERIES.items():
        db.sql(f"CREATE MATERIALIZED VIEW {name} AS {text}")
    for number in range(3):
        changes = history.step()
        if changes:
            db.apply(changes)
        if number % 2:
            db.sql("CHECKPOINT")
        db.close()
        db = ivm.connect(tmp_path / "loops.ivm", compile="off")
        db.verify()
    _end(db, history)
