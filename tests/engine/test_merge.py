"""MERGE leaves in a table, and in the views over it, what the same statement leaves in DuckDB."""

from __future__ import annotations

import threading
from collections import Counter
from random import Random

import duckdb
import pytest

import ivm
from tests.more import with_more

TABLES = (
    "CREATE TABLE t ({}, a INTEGER DEFAULT 7 CHECK (a < 100), b VARCHAR)",
    "CREATE TABLE s (k INTEGER, a INTEGER, c VARCHAR)",
)
KEYS = ("k INTEGER PRIMARY KEY", "k INTEGER")
VIEWS = {
    "grouped": "SELECT a, count(*) AS n, min(k) AS least, max(b) AS most FROM t GROUP BY a",
    "joined": "SELECT t.k, t.b, s.c FROM t LEFT JOIN s ON t.k = s.k",
    "absent": "SELECT k, a FROM s WHERE k NOT IN (SELECT k FROM t WHERE k IS NOT NULL)",
    "firsts": "SELECT a, k FROM (SELECT a, k, row_number() OVER (PARTITION BY a ORDER BY k, b) AS n FROM t) WHERE n = 1",
}
SOURCES = (
    "s",
    "s AS s",
    "(SELECT k, max(a) AS a, min(c) AS c FROM s GROUP BY k) AS s",
    "(SELECT k + 1 AS k, a, b AS c FROM t) AS s",
    "(VALUES (1, 5, 'v'), (3, 6, 'w'), (9, 7, NULL)) AS s(k, a, c)",
)
PAIRS = ("ON t.k = s.k", "USING (k)", "ON t.k = s.k AND s.a > 2", "ON t.k = s.k + 1 OR t.a = s.a")
OF_TARGET, OF_SOURCE = ("t.a > 3", "t.b IS NULL", "t.k % 2 = 0"), ("s.a > 3", "s.c IS NULL", "s.k % 2 = 1")
UPDATES = ("a = 3", "a = t.a + 1, b = DEFAULT", "b = t.b || '!'", "(a, b) = (t.a, 'z')", "a = DEFAULT", "k = t.k + 10")
UPDATES_OF_PAIRS = ("a = s.a", "(b, a) = ROW(s.c, t.a + s.a)", "k = s.k + 5", "b = s.c")
INSERTS = (
    "(k, a) VALUES (s.k, s.a)",
    "(k, b) VALUES (s.k, s.c)",
    "",
    "VALUES (s.k + 3, DEFAULT, s.c)",
    "(k) VALUES (2)",
)


def clauses(rng: Random) -> list[str]:
    """Some clauses, of which no one comes after one of its kind that takes everything."""
    found, full = [], set()
    for _ in range(rng.randint(1, 5)):
        kind = rng.choice(["MATCHED", "NOT MATCHED", "NOT MATCHED BY SOURCE"])
        known = {"MATCHED": OF_TARGET + OF_SOURCE, "NOT MATCHED": OF_SOURCE}.get(kind, OF_TARGET)
        actions = ["DO NOTHING"]
        if kind == "NOT MATCHED":
            actions += [f"INSERT {rng.choice(INSERTS)}"] * 4
        else:
            sets = UPDATES + (UPDATES_OF_PAIRS if kind == "MATCHED" else ())
            actions += ["DELETE", "DELETE", *(f"UPDATE SET {rng.choice(sets)}" for _ in range(3))]
        condition = rng.choice(["", *known])
        if kind not in full:
            found.append(f"WHEN {kind}{' AND ' * bool(condition)}{condition} THEN {rng.choice(actions)}")
            full |= set() if condition else {kind}
    return found


def merge(rng: Random) -> str:
    parts = ("MERGE INTO t USING", rng.choice(SOURCES), rng.choice(PAIRS), *clauses(rng))
    return " ".join(parts)


def rows(rng: Random, keys: list[int | None]) -> list[str]:
    def some(of: list[str]) -> str:
        return rng.choice(["NULL", *of])

    texts = [some(["'x'", "'y'"]) for _ in keys]
    return [
        f"({'NULL' if k is None else k}, {some(list('12345'))}, {text})" for k, text in zip(keys, texts, strict=True)
    ]


def changes(rng: Random) -> list[str]:
    """Statements between two merges, with which rows go and come back."""
    coming = rows(rng, [rng.choice([None, 1, 2, 3, 4, 5]) for _ in range(rng.randint(1, 3))])
    return [
        rng.choice([f"DELETE FROM s WHERE k = {rng.randint(1, 5)}", "DELETE FROM t WHERE k > 6"]),
        f"INSERT INTO s VALUES {', '.join(coming)}",
    ]


def contents(engine: object, text: str) -> Counter[tuple[object, ...]]:
    answer = engine.sql(text) if isinstance(engine, ivm.Database) else engine.execute(text)  # type: ignore[attr-defined]
    return Counter(answer.fetchall())


@pytest.mark.parametrize("seed", with_more(range(4), range(4, 12)))
def test_histories_are_duckdbs(seed: int) -> None:
    rng = Random(seed)
    with ivm.connect(compile="off") as db, duckdb.connect() as duck:
        key = KEYS[seed % 2]
        for text in TABLES:
            db.sql(text.format(key))
            duck.execute(text.format(key))
        for name, query in VIEWS.items():
            db.sql(f"CREATE MATERIALIZED VIEW {name} AS {query}")
        first = [
            f"INSERT INTO t VALUES {', '.join(rows(rng, [1, 2, 3, 4, 5, 6]))}",
            f"INSERT INTO s VALUES {', '.join(rows(rng, [1, 2, 4, 7, 8]))}",
        ]
        for text in first:
            db.sql(text)
            duck.execute(text)
        taken = 0
        for _ in range(14):
            taken += same_merge(db, duck, merge(rng), keyed=seed % 2 == 0)
            for text in changes(rng):
                db.sql(text)
                duck.execute(text)
        assert taken > 2


def same_merge(db: ivm.Database, duck: duckdb.DuckDBPyConnection, text: str, keyed: bool) -> bool:
    """Whether both carry it out; then with the same answer. If one fails, so does the other, and nothing changes."""
    before = contents(db, "SELECT * FROM t")
    answered = f"{text} RETURNING merge_action, *"
    try:
        expected = contents(duck, answered)
    except duckdb.Error as error:
        expected = None
        failure = str(error)
    if expected is not None:
        assert contents(db, answered) == expected, text
    else:
        # DuckDB holds a key that moves against rows that go or move themselves; what is there in the end counts here.
        try:
            db.sql(text)
        except ivm.Error:
            assert contents(db, "SELECT * FROM t") == before, text
        else:
            assert keyed, (text, failure)
            assert "Duplicate key" in failure, (text, failure)
            found = contents(db, "SELECT * FROM t")
            assert len({row[0] for row in found.elements()}) == found.total(), text
            duck.execute("DELETE FROM t")
            duck.executemany("INSERT INTO t VALUES (?, ?, ?)", list(found.elements()))
    assert contents(db, "SELECT * FROM t") == contents(duck, "SELECT * FROM t"), text
    for name, query in VIEWS.items():
        assert contents(db, f"SELECT * FROM {name}") == contents(duck, query), (name, text)
    return expected is not None


def test_a_change_in_between_is_not_lost() -> None:
    """What was computed of rows that have changed since is computed again."""
    with ivm.connect(compile="off") as db:
        db.sql("CREATE TABLE t (k INTEGER PRIMARY KEY, n INTEGER)")
        text = "MERGE INTO t USING (VALUES (1)) AS s(k) USING (k) WHEN MATCHED THEN UPDATE SET n = n + 1"
        text += " WHEN NOT MATCHED THEN INSERT VALUES (k, 1)"
        threads = [threading.Thread(target=lambda: [db.sql(text) for _ in range(5)]) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert db.sql("FROM t").fetchall() == [(1, 15)]


def test_a_subscriber_hears_of_a_merge_at_once() -> None:
    with ivm.connect(compile="off") as db:
        db.sql("CREATE TABLE t (k INTEGER PRIMARY KEY, n INTEGER)")
        db.sql("INSERT INTO t VALUES (1, 1), (2, 2)")
        db.sql("CREATE MATERIALIZED VIEW total AS SELECT sum(n) AS n FROM t")
        with db.subscribe("total") as subscription:
            done = db.sql(
                "MERGE INTO t USING (VALUES (1, 10), (3, 30)) AS s(k, n) USING (k) WHEN MATCHED THEN UPDATE SET n = s.n"
                " WHEN NOT MATCHED THEN INSERT VALUES (k, n) WHEN NOT MATCHED BY SOURCE THEN DELETE"
            )
            assert done.rowcount == 3
            subscription.close()
            assert [len(changes) for changes in subscription] == [2]
        assert db.view("total").fetchall() == [(40,)]
