"""A filter stands where a join has the least to do, and the answers are the same."""

from __future__ import annotations

import random

import pyarrow as pa
import pytest

import ivm

GROUPED = "SELECT k, count(*) AS n, sum(v) AS s FROM t GROUP BY k"
QUERIES = {
    "few": (f"SELECT u.w, g.s FROM u JOIN ({GROUPED}) g ON u.k = g.k WHERE g.s > 30", True),
    "one": (f"SELECT u.w FROM u JOIN ({GROUPED}) g ON u.k = g.k WHERE g.s = 7 AND g.n < 3", True),
    "computed": (f"SELECT u.w, g.s + 1 AS x FROM u JOIN ({GROUPED}) g ON u.k = g.k WHERE g.s * 2 > 30 + g.n", False),
    "in": ("SELECT w FROM u WHERE k IN (SELECT k FROM t GROUP BY k HAVING sum(v) > 20)", True),
    "part": (
        "SELECT u.w FROM u JOIN (SELECT k, v, count(*) AS n FROM t GROUP BY k, v) g ON u.k = g.k WHERE g.n <> 1",
        True,
    ),
    "most": (f"SELECT u.w, g.s FROM u JOIN ({GROUPED}) g ON u.k = g.k WHERE g.s <> 30", False),
    "raises": (f"SELECT u.w FROM u JOIN ({GROUPED}) g ON u.k = g.k WHERE 100 // (g.n - 50) > 3", False),
    "all": (f"SELECT u.w, g.s FROM u JOIN ({GROUPED}) g ON u.k = g.k", False),
    "keys": (f"SELECT u.w FROM u JOIN ({GROUPED}) g ON u.k = g.k WHERE g.k > 3", False),
    "range": ("SELECT u.w, t.v FROM u JOIN t ON u.k = t.k WHERE t.v >= 3 AND t.v < 9", False),
    "by_key": ("SELECT u.w + t.v AS x FROM u JOIN t ON u.id = t.id WHERE t.v >= 3 AND t.v < 9", False),
    "ranges": ("SELECT u.w + t.v FROM u JOIN t ON u.k = t.k WHERE t.v IN (3, 5) AND t.id > 0 AND u.w < 9", False),
}
IN_TABLE = "SELECT u.w FROM u JOIN t ON u.k = t.k WHERE {}"


def _database() -> ivm.Database:
    db = ivm.connect(compile="off")
    db.sql("CREATE TABLE t (id BIGINT PRIMARY KEY, k BIGINT, v BIGINT NOT NULL)")
    db.sql("CREATE TABLE u (id BIGINT PRIMARY KEY, k BIGINT, w BIGINT NOT NULL)")
    return db


@pytest.mark.parametrize("name", QUERIES)
def test_where_it_stands(name: str) -> None:
    query, first = QUERIES[name]
    assert ("derived filtered reduce of t" in _database().explain(query)) == first


def test_few_groups_are_looked_up_as_they_are() -> None:
    db = _database()
    db.apply({"t": pa.table({"id": range(5000), "k": [i % 7 for i in range(5000)], "v": [1] * 5000})})
    db.apply({"u": pa.table({"id": range(5000), "k": [i % 7 for i in range(5000)], "w": [1] * 5000})})
    assert "groups reduce of t(k): the reduce's own" in db.explain(QUERIES["few"][0])


@pytest.mark.parametrize(
    ("query", "found"),
    [
        (IN_TABLE.format("t.v >= 3 AND t.v < 9"), "derived mfp of t(k)"),
        (IN_TABLE.format("t.v = 3"), "derived mfp of t(k)"),
        (IN_TABLE.format("t.v < 9"), "index t(k)"),
        (IN_TABLE.format("100 // t.v = 3 AND t.id < 9"), "index t(k)"),
        ("SELECT u.w FROM u JOIN t ON u.k = t.id WHERE t.v = 3", "derived mfp of t(id)"),
        ("SELECT u.w FROM u JOIN t ON u.k = t.id WHERE t.v < 3", "index t(id)"),
        ("SELECT u.w FROM u JOIN t ON u.k = t.k AND u.w = t.v WHERE t.id >= 3 AND t.id < 9", "index t(k, v)"),
    ],
)
def test_rare_rows_of_a_table(query: str, found: str) -> None:
    db = _database()
    assert found in db.explain(query)
    db.sql(f"CREATE MATERIALIZED VIEW other AS {IN_TABLE.format('u.w <> t.v')}")
    assert ("derived" in db.explain(query)) == (found == "derived mfp of t(id)")


@pytest.mark.parametrize("seed", range(3))
def test_groups_that_pass_and_fail_in_turn(seed: int) -> None:
    rng = random.Random(seed)
    db = _database()
    late = sorted(QUERIES)[seed::3]
    for name, (query, _) in QUERIES.items():
        if name not in late:
            db.sql(f"CREATE MATERIALIZED VIEW v_{name} AS {query}")
    present: dict[str, dict[int, tuple[int, int | None, int]]] = {"t": {}, "u": {}}
    time = 0
    for step in range(15):
        changes: dict[str, list[tuple[int, int | None, int, int, int]]] = {"t": [], "u": []}
        for _ in range(rng.randrange(1, 4)):
            time += 1
            for _ in range(rng.randrange(1, 12)):
                table = rng.choice(["t", "t", "u"])
                rows = present[table]
                if rows and rng.random() < 0.45:
                    key = rng.choice(list(rows))
                    changes[table].append((*rows.pop(key), time, -1))
                else:
                    key = 1000 * time + len(changes[table])
                    rows[key] = (key, rng.choice([None, 1, 2, 3, 4, 5]), rng.randrange(12))
                    changes[table].append((*rows[key], time, 1))
        db.apply(
            {
                name: pa.table(
                    [pa.array(column, pa.int64()) for column in zip(*rows, strict=True)],
                    ["id", "k", "v" if name == "t" else "w", "_time", "_diff"],
                )
                for name, rows in changes.items()
                if rows
            }
        )
        if step == 7:
            for name in late:
                db.sql(f"CREATE MATERIALIZED VIEW v_{name} AS {QUERIES[name][0]}")
        db.verify()
