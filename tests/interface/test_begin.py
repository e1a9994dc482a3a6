"""BEGIN .. COMMIT: histories as DuckDB has them, what others see, who was first, and what is left of what failed."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import duckdb
import pytest

import ivm

Rows = list[tuple[Any, ...]]
CREATE = """
    CREATE TABLE t (id INTEGER PRIMARY KEY, x INTEGER CHECK (x < 50), u VARCHAR UNIQUE);
    CREATE TABLE k (x INTEGER, s VARCHAR);
    CREATE TABLE r (id INTEGER PRIMARY KEY, t INTEGER REFERENCES t (id)) WITH (check_foreign_keys = true);
    CREATE MATERIALIZED VIEW v AS SELECT x, count(*) AS n, min(u) AS u FROM t GROUP BY x;
    CREATE MATERIALIZED VIEW w AS SELECT k.s, sum(t.x) AS x FROM k JOIN t ON k.x = t.id GROUP BY k.s;
    CREATE VIEW p AS SELECT count(*) AS n, sum(x) AS x FROM w;
"""
READ = (
    "SELECT * FROM t",
    "SELECT * FROM k",
    "SELECT * FROM v",
    "SELECT * FROM w",
    "SELECT * FROM p",
    "SELECT * FROM t WHERE id = 3",
    "SELECT u, x + 1 AS x FROM t WHERE id IN (1, 4, 12) AND x > 1",
)
PLACES = ("memory", "disk", "shards")


@pytest.fixture
def db() -> ivm.Database:
    return made("memory")


@pytest.fixture
def other() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(1) as threads:
        yield threads


def made(place: str, path: Path | None = None) -> ivm.Database:
    where = {"memory": {}, "disk": {"path": path}, "shards": {"shards": 3}}[place]
    db = ivm.connect(compile="off", **where)  # type: ignore[arg-type]
    db.sql(CREATE)
    return db


def rows(db: ivm.Database, text: str = "SELECT * FROM t") -> Rows:
    return in_order(db.sql(text).fetchall())


def in_order(found: Rows) -> Rows:
    return sorted(found, key=repr)


def statements(dice: random.Random) -> str:
    """One that changes t or k, which may fail."""
    one, two, three = (dice.randrange(9) for _ in range(3))
    text = dice.choice(["NULL", f"'{one}{two}'", f"'{three}'"])
    return dice.choice(
        [
            f"INSERT INTO t VALUES ({one}, {two}, {text})",
            f"INSERT INTO t VALUES ({one + 10}, {two}, NULL), ({two + 20}, {one}, {text})",
            f"INSERT INTO t VALUES ({one}, {two}, {text}) ON CONFLICT (id) DO UPDATE SET x = excluded.x + t.x",
            f"INSERT INTO t VALUES ({one}, {two}, {text}) ON CONFLICT DO NOTHING",
            f"UPDATE t SET x = x + {one} WHERE id % 4 = {two % 4}",
            f"UPDATE t SET u = {text} WHERE id = {one}",
            f"DELETE FROM t WHERE id = {one}",
            f"DELETE FROM t WHERE x < {two}",
            "DELETE FROM t",
            f"INSERT INTO k VALUES ({one}, {text}), (NULL, NULL), ({one}, {text})",
            f"INSERT INTO k SELECT id, u FROM t WHERE x > {one}",
            f"UPDATE k SET x = {two} WHERE x IS NULL OR x = {one}",
            f"DELETE FROM k WHERE s IS NOT DISTINCT FROM {text}",
            f"DELETE FROM k WHERE x = {one}",
            "TRUNCATE k",
        ]
    )


@pytest.mark.parametrize("place", PLACES)
def test_histories_are_duckdbs(place: str, tmp_path: Path, other: ThreadPoolExecutor) -> None:
    dice, path = random.Random(place), tmp_path / "db.ivm"
    db, model = made(place, path), duckdb.connect()
    model.execute(CREATE.replace(" WITH (check_foreign_keys = true)", "").replace("MATERIALIZED ", ""))
    outside = model.cursor()
    for _ in range(24 if place == "memory" else 8):
        db.begin()
        model.begin()
        before = db.time
        for _ in range(dice.randrange(1, 8)):
            text = statements(dice)
            wanted, found = outcome(lambda: model.execute(text).fetchall()), outcome(lambda: db.sql(text).fetchall())  # noqa: B023
            assert found == wanted, text
            if wanted is None:
                break
            text = dice.choice(READ)
            assert rows(db, text) == in_order(model.execute(text).fetchall())
        assert db.time == before
        if dice.randrange(4) == 0:
            text = dice.choice(READ)
            assert other.submit(rows, db, text).result() == in_order(outside.execute(text).fetchall())
        if wanted is None or dice.randrange(3) == 0:
            db.rollback()
            model.rollback()
        else:
            db.commit()
            model.commit()
            assert db.time <= before + 1
        if place == "disk" and dice.randrange(4) == 0:
            db.begin()
            db.sql("INSERT INTO k VALUES (1, 'left')")
            db.close()
            db = ivm.connect(path, compile="off")
        for text in READ:
            assert rows(db, text) == in_order(model.execute(text).fetchall())
        db.verify()
    db.close()


def outcome(run: Callable[[], Rows]) -> Rows | None:
    """What a change answers; None if it fails."""
    try:
        return run()
    except (duckdb.Error, ivm.Error):
        return None


def test_one_commit_is_seen_told_and_logged(tmp_path: Path, other: ThreadPoolExecutor) -> None:
    db = made("disk", tmp_path / "db.ivm")
    with db.subscribe("v") as told:
        db.begin()
        for number in range(5):
            db.sql(f"INSERT INTO t VALUES ({number}, 1, NULL)")
        assert other.submit(rows, db).result() == []
        assert db.view("v").fetchall() == []
        assert db.in_transaction
        assert not other.submit(lambda: db.in_transaction).result()
        db.commit()
        assert [row[-2:] for row in told.fetch().to_pylist() for row in [tuple(row.values())]] == [(1, 1)]
    assert db.time == 1
    db.close()
    db = ivm.connect(tmp_path / "db.ivm", compile="off")
    assert db.time == 1
    assert len(rows(db)) == 5
    db.close()


def test_what_changes_nothing_is_no_commit(db: ivm.Database) -> None:
    db.sql("BEGIN; INSERT INTO t VALUES (1, 1, 'a'); UPDATE t SET x = 2; DELETE FROM t; COMMIT")
    assert db.time == 0
    db.sql("INSERT INTO t VALUES (1, 1, 'a')")
    db.sql("BEGIN; UPDATE t SET x = 2; DELETE FROM t; INSERT INTO t VALUES (1, 1, 'a'); COMMIT")
    db.sql("BEGIN; COMMIT; BEGIN; SELECT * FROM t; END")
    assert db.time == 1


def test_others_commit_meanwhile_and_are_not_seen(db: ivm.Database, other: ThreadPoolExecutor) -> None:
    db.sql("INSERT INTO t VALUES (1, 1, 'a'), (2, 2, 'b'); INSERT INTO k VALUES (1, 'x')")
    db.sql("BEGIN; SELECT 1")
    for number in range(3, 40):
        other.submit(
            db.sql, f"INSERT INTO t VALUES ({number}, {number}, NULL); UPDATE t SET x = 9 WHERE id = 2"
        ).result()
    other.submit(db.sql, "DELETE FROM k").result()
    assert rows(db) == [(1, 1, "a"), (2, 2, "b")]
    assert rows(db, "SELECT * FROM v") == [(1, 1, "a"), (2, 1, "b")]
    assert rows(db, "SELECT * FROM w") == [("x", 1)]
    db.sql("UPDATE t SET x = 5 WHERE id = 1")
    assert rows(db, "SELECT * FROM w") == [("x", 5)]
    db.sql("INSERT INTO k VALUES (2, 'y')")
    db.commit()
    assert rows(db, "SELECT * FROM t WHERE id < 4") == [(1, 5, "a"), (2, 9, "b"), (3, 3, None)]
    assert rows(db, "SELECT * FROM k") == [(2, "y")]
    db.verify()


@pytest.mark.parametrize(
    ("place", "ours", "theirs"),
    [
        ("memory", "UPDATE t SET x = x + 1 WHERE id = 1", "UPDATE t SET x = x + 1 WHERE id = 1"),
        ("shards", "UPDATE t SET x = x + 1 WHERE id = 1", "UPDATE t SET x = x + 1 WHERE id = 1"),
        ("memory", "UPDATE t SET x = x + 1 WHERE id = 1", "DELETE FROM t WHERE id = 1"),
        ("memory", "DELETE FROM t WHERE id = 1", "UPDATE t SET x = 7 WHERE id = 1"),
        ("memory", "INSERT INTO t VALUES (5, 1, NULL)", "INSERT INTO t VALUES (5, 2, NULL)"),
        ("memory", "INSERT INTO t VALUES (5, 1, 'z')", "INSERT INTO t VALUES (6, 2, 'z')"),
        (
            "memory",
            "INSERT INTO t VALUES (1, 0, 'a') ON CONFLICT (id) DO UPDATE SET x = 3",
            "UPDATE t SET x = 7 WHERE id = 1",
        ),
        ("shards", "INSERT INTO t VALUES (5, 1, NULL)", "INSERT INTO t VALUES (5, 2, NULL)"),
        ("shards", "UPDATE k SET s = 'p'", "UPDATE k SET s = 'q'"),
        ("memory", "UPDATE k SET s = 'p'", "UPDATE k SET s = 'q'"),
        ("memory", "DELETE FROM k", "DROP VIEW p; DROP VIEW w; DROP TABLE k"),
    ],
)
def test_who_commits_first_wins(place: str, ours: str, theirs: str, other: ThreadPoolExecutor) -> None:
    db = made(place)
    db.sql("INSERT INTO t VALUES (1, 1, 'a'); INSERT INTO k VALUES (1, 'x')")
    db.sql(f"BEGIN; {ours}")
    other.submit(db.sql, theirs).result()
    with pytest.raises(ivm.TransactionError, match=r"others|Others"):
        db.commit()
    assert not db.in_transaction
    assert rows(db) == other.submit(rows, db).result()
    db.sql(
        f"BEGIN; {ours if 'INSERT' not in ours else 'DELETE FROM t'}; COMMIT" if "DROP" not in theirs else "SELECT 1"
    )
    if "DROP" not in theirs:
        db.verify()


def test_others_that_change_other_rows_do_not_matter(db: ivm.Database, other: ThreadPoolExecutor) -> None:
    db.sql("INSERT INTO t VALUES (1, 1, 'a'), (2, 2, 'b')")
    db.sql("BEGIN; UPDATE t SET x = x + 10 WHERE id = 1; INSERT INTO t VALUES (3, 3, NULL)")
    other.submit(
        db.sql, "BEGIN; UPDATE t SET x = x + 10 WHERE id = 2; INSERT INTO t VALUES (4, 4, NULL); COMMIT"
    ).result()
    db.commit()
    assert rows(db) == [(1, 11, "a"), (2, 12, "b"), (3, 3, None), (4, 4, None)]


def test_foreign_keys_are_of_the_commit(db: ivm.Database) -> None:
    db.sql("BEGIN; INSERT INTO r VALUES (1, 1); INSERT INTO t VALUES (1, 1, NULL); COMMIT")
    db.sql("BEGIN; DELETE FROM t; DELETE FROM r; INSERT INTO r VALUES (2, 7)")
    with pytest.raises(ivm.ConstraintError, match="FOREIGN KEY"):
        db.commit()
    assert not db.in_transaction
    assert rows(db, "SELECT * FROM r") == [(1, 1)]


STEPS = (
    "INSERT INTO t VALUES (1, 10, 'a'), (2, 20, 'b')",
    "UPDATE t SET x = x + 1 WHERE id = 1",
    "INSERT INTO k SELECT id, u FROM t",
    "DELETE FROM t WHERE id = 9",
    "INSERT INTO t VALUES (9, 0, 'a') ON CONFLICT (u) DO UPDATE SET x = 40",
    "MERGE INTO t USING k ON t.id = k.x WHEN MATCHED THEN UPDATE SET x = 3",
)
FAILING = ("INSERT INTO t VALUES (1, 1, 'c')", "SELECT error('no')", "SELECT nope FROM t", "UPDATE t SET x = 50")


@pytest.mark.parametrize("failing", FAILING)
def test_an_error_at_every_statement(db: ivm.Database, failing: str) -> None:
    db.sql("INSERT INTO t VALUES (9, 9, 'i'); INSERT INTO k VALUES (9, 'i')")
    before = [rows(db, text) for text in READ]
    for after in range(1, len(STEPS) + 1):
        db.begin()
        for step in STEPS[:after]:
            db.sql(step)
        with pytest.raises(ivm.Error):
            db.sql(failing)
        for text in ("SELECT 1", "COMMIT", "INSERT INTO t VALUES (77, 1, NULL)", "BEGIN"):
            with pytest.raises(ivm.TransactionError, match=r"aborted|within"):
                db.sql(text)
        db.rollback()
        assert [rows(db, text) for text in READ] == before
    assert db.time == 2
    db.verify()


def test_a_text_that_does_not_parse_aborts_nothing(db: ivm.Database) -> None:
    db.sql("BEGIN; INSERT INTO t VALUES (1, 1, 'a')")
    with pytest.raises(ivm.ParseError):
        db.sql("INSERT INTO t VALUES (2, 2, 'b'); NONSENSE")
    db.sql("COMMIT")
    assert rows(db) == [(1, 1, "a")]


def test_what_is_no_part_of_a_transaction_says_so(db: ivm.Database) -> None:
    db.begin()
    for call in (lambda: db.apply({"t": []}), db.transaction):
        with pytest.raises(ivm.TransactionError, match="no part"):
            call()
    db.rollback()
    with pytest.raises(ivm.TransactionError, match="no transaction"):
        db.rollback()
    assert db.commit() is db


def test_cursors_are_in_the_transaction_of_their_thread(db: ivm.Database) -> None:
    with db.cursor() as one, db.cursor() as two:
        one.execute("BEGIN")
        one.executemany("INSERT INTO t VALUES (?, ?, NULL)", [(1, 1), (2, 2)])
        assert two.execute("SELECT count(*) FROM t").fetchall() == [(2,)]
        two.execute("ROLLBACK")
        assert one.execute("SELECT count(*) FROM t").fetchall() == [(0,)]


def test_a_thread_that_ends_leaves_nothing(db: ivm.Database) -> None:
    with ThreadPoolExecutor(1) as thread:
        thread.submit(db.sql, "BEGIN; INSERT INTO t VALUES (1, 1, NULL)").result()
    db.sql("INSERT INTO t VALUES (1, 2, NULL)")
    assert rows(db) == [(1, 2, None)]


def test_many_threads_add_up(db: ivm.Database) -> None:
    """Each adds to a row, and tries again when others were first."""
    db.sql("INSERT INTO t VALUES (1, 0, NULL), (2, 0, NULL)")

    def move(_: int) -> int:
        tries = 0
        while True:
            tries += 1
            db.sql("BEGIN; UPDATE t SET x = x + 1 WHERE id = 1; UPDATE t SET x = x - 1 WHERE id = 2")
            try:
                db.commit()
            except ivm.TransactionError:
                continue
            return tries

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(move, range(12)))
    assert rows(db) == [(1, 12, None), (2, -12, None)]
    db.verify()


def test_a_copy_from_a_file(tmp_path: Path) -> None:
    db = ivm.connect(compile="off", external_access=True)
    db.sql("CREATE TABLE t (id INTEGER PRIMARY KEY, x INTEGER)")
    path = tmp_path / "rows.csv"
    path.write_text("id,x\n1,2\n3,4\n")
    db.sql(f"BEGIN; COPY t FROM '{path}'; UPDATE t SET x = 9 WHERE id = 1; COPY t TO '{tmp_path}/out.csv'; ROLLBACK")
    assert (tmp_path / "out.csv").read_text().split() == ["id,x", "3,4", "1,9"]
    assert rows(db) == []
