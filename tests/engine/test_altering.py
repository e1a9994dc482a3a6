"""ALTER in histories: on disk, with who listens, with rows that come meanwhile, with statements that fail half-way."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

import ivm
from ivm.durable.payload import ALTERATION, KINDS
from ivm.session.core import engine_of
from ivm.session.database import Database, core_of

_BEFORE = """
    CREATE TABLE t (id INTEGER PRIMARY KEY, a INTEGER CHECK (a < 100), b VARCHAR);
    INSERT INTO t VALUES (1, 10, 'x'), (2, 20, 'y'), (3, 30, 'x');
    CREATE MATERIALIZED VIEW sums AS SELECT b, sum(a) AS s FROM t GROUP BY b;
    CREATE MATERIALIZED VIEW high AS SELECT b FROM sums WHERE s > 25;
    CREATE MATERIALIZED VIEW stars AS SELECT * FROM t
"""
_STEPS = (
    "ALTER TABLE t ADD COLUMN c VARCHAR DEFAULT 'new'",
    "INSERT INTO t VALUES (4, 40, 'y', 'q')",
    "ALTER TABLE t ADD COLUMN r DOUBLE DEFAULT random()",
    "ALTER TABLE t RENAME a TO b2",
    "UPDATE t SET b2 = b2 + 1 WHERE id > 2",
    "ALTER TABLE t RENAME TO u",
    "CREATE TABLE t (other INTEGER)",
    "INSERT INTO t VALUES (5)",
    "DELETE FROM u WHERE id = 2",
    "ALTER TABLE u ALTER c SET NOT NULL",
    "ALTER TABLE u DROP COLUMN c",
    "ALTER TABLE u ADD COLUMN c INTEGER",
    "INSERT INTO u VALUES (5, 50, 'z', 0.5, 5)",
    "ALTER TABLE u ALTER c TYPE VARCHAR USING c || '!'",
    "ALTER VIEW sums RENAME TO totals",
    "ALTER TABLE u DROP COLUMN b2 CASCADE",
    "ALTER TABLE u RENAME TO v",
    "ALTER TABLE u ADD COLUMN never INTEGER",
    "INSERT INTO v VALUES (7, 'k', 1, 'c')",
    "ALTER TABLE t ADD PRIMARY KEY (other)",
)


@pytest.fixture
def db() -> Iterator[Database]:
    with ivm.connect(compile="off") as made:
        made.sql(_BEFORE)
        yield made


def there(db: Database) -> dict[str, object]:
    """All that can be read, in no order."""
    names = [name for (name,) in db.sql("SHOW TABLES").fetchall()]
    return {
        name: (
            sorted(map(repr, db.sql(f"SELECT * FROM {name}").fetchall())),
            db.sql(f"DESCRIBE {name}").fetchall(),
        )
        for name in names
    } | {"time": db.time, "texts": sorted(db.sql("SELECT view, sql FROM ivm_views").fetchall())}


def run(db: Database, step: str) -> None:
    if "never" in step:
        with pytest.raises(ivm.BindError):
            db.sql(step)
    else:
        db.sql(step)


def test_a_database_is_found_again_after_each_step(tmp_path: Path) -> None:
    path, copy = tmp_path / "db", tmp_path / "copy"
    with ivm.connect(path, compile="off") as db:
        db.sql(_BEFORE)
        for number, step in enumerate(_STEPS):
            run(db, step)
            if number % 4 == 3:
                db.sql("CHECKPOINT")
            shutil.copytree(path, copy)  # as a crash leaves it
            with ivm.connect(copy, compile="off") as again:
                assert there(again) == there(db), step
                again.verify()
            shutil.rmtree(copy)
    with ivm.connect(path, compile="off") as again:
        again.verify()


def test_releases_that_know_no_alter_refuse_its_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with ivm.connect(tmp_path / "db", compile="off") as db:
        db.sql("CREATE TABLE t (a INTEGER); INSERT INTO t VALUES (1); ALTER TABLE t ADD COLUMN b INTEGER DEFAULT 2")
        shutil.copytree(tmp_path / "db", tmp_path / "copy")  # closing it would make a checkpoint
    monkeypatch.setattr("ivm.durable.recovery.KINDS", KINDS - {ALTERATION})
    with pytest.raises(ivm.StorageError, match="kind 4, which this release"):
        ivm.connect(tmp_path / "copy", compile="off")
    monkeypatch.undo()
    with ivm.connect(tmp_path / "copy", compile="off") as db:
        assert db.sql("SELECT * FROM t").fetchall() == [(1, 2)]


def test_steps_run_again_in_another_life(tmp_path: Path) -> None:
    """Each is done in a process of its own, so to say."""
    with ivm.connect(compile="off") as model:
        model.sql(_BEFORE)
        with ivm.connect(tmp_path / "db", compile="off") as db:
            db.sql(_BEFORE)
        for step in _STEPS:
            run(model, step)
            with ivm.connect(tmp_path / "db", compile="off") as db:
                run(db, step)
                db.verify()
                found, expected = there(db), there(model)
                assert found.keys() == expected.keys()
                assert found["texts"] == expected["texts"]


def test_who_listens_goes_on(db: Database) -> None:
    with db.subscribe("sums") as sums, db.subscribe("stars") as stars:
        reader = db.view("high")
        db.sql("ALTER TABLE t ADD COLUMN c INTEGER DEFAULT 3")
        db.sql("ALTER TABLE t RENAME a TO aa")
        db.sql("INSERT INTO t VALUES (4, 5, 'y', 9)")
        db.sql("ALTER TABLE t RENAME TO u")
        db.sql("ALTER VIEW sums RENAME TO totals")
        assert stars.fetch().drop_columns(["_time"]).to_pylist() == [{"id": 4, "a": 5, "b": "y", "_diff": 1}]
        db.sql("UPDATE u SET aa = 6 WHERE id = 4")
        told = sums.fetch().drop_columns(["_time"]).to_pylist()
        assert [(row["b"], int(row["s"]), row["_diff"]) for row in told] == [
            ("y", 20, -1), ("y", 25, 1), ("y", 25, -1), ("y", 26, 1),
        ]  # fmt: skip
        assert sorted(reader.fetchall()) == [("x",), ("y",)]
        db.sql("ALTER TABLE u DROP COLUMN aa CASCADE")
        assert stars.fetch().num_rows == 2
        for each in (sums, stars):
            with pytest.raises(ivm.ViewDroppedError, match="dropped"):
                each.fetch()
                each.fetch()


@pytest.mark.parametrize(
    "step",
    [
        "ALTER TABLE t ADD COLUMN c INTEGER NOT NULL",
        "ALTER TABLE t ADD COLUMN c INTEGER DEFAULT 'x'",
        "ALTER TABLE t ADD COLUMN c INTEGER DEFAULT 5 UNIQUE",
        "ALTER TABLE t ALTER b TYPE INTEGER",
        "ALTER TABLE t DROP COLUMN a",
        "ALTER TABLE t ADD PRIMARY KEY (b)",
        "ALTER TABLE t ADD UNIQUE (b)",
        "ALTER TABLE t RENAME TO sums",
        "ALTER TABLE t RENAME TO ivm_views",
        "ALTER VIEW sums RENAME TO high",
        "ALTER VIEW t RENAME TO x",
        "ALTER TABLE sums ADD COLUMN x INTEGER",
        "ALTER TABLE t RENAME b TO id",
    ],
)
def test_what_fails_changes_nothing(db: Database, step: str) -> None:
    before, entries = there(db), dict(core_of(db).catalog.content)
    with pytest.raises(ivm.Error):
        db.sql(step)
    assert there(db) == before
    assert dict(core_of(db).catalog.content) == entries
    db.sql("INSERT INTO t VALUES (9, 9, 'n')")
    db.verify()


def test_foreign_keys_are_checked_on() -> None:
    with ivm.connect(compile="off") as db:
        db.sql("CREATE TABLE p (k INTEGER PRIMARY KEY, x INTEGER)")
        db.sql("CREATE TABLE c (id INTEGER PRIMARY KEY, k INTEGER REFERENCES p) WITH (check_foreign_keys = true)")
        db.sql("INSERT INTO p VALUES (1, 1), (2, 2)")
        db.sql("INSERT INTO c VALUES (1, 1)")
        db.sql("ALTER TABLE p ADD COLUMN y INTEGER DEFAULT 0")
        db.sql("ALTER TABLE p RENAME k TO kk")
        db.sql("ALTER TABLE p RENAME TO q")
        db.sql("ALTER TABLE c ADD COLUMN z INTEGER")
        with pytest.raises(ivm.ConstraintError):
            db.sql("INSERT INTO c VALUES (2, 7, NULL)")
        with pytest.raises(ivm.ConstraintError):
            db.sql("DELETE FROM q WHERE kk = 1")
        db.sql("INSERT INTO c VALUES (2, 2, NULL)")
        db.sql("CREATE MATERIALIZED VIEW v AS SELECT id, x FROM c JOIN q ON q.kk = c.k")
        db.verify()


def test_a_transaction_that_was_begun_before_is_refused(db: Database) -> None:
    with pytest.raises(ivm.BindError, match="repeat it"), db.transaction() as tx:
        tx.insert("t", [{"id": 9, "a": 1, "b": "x"}])
        db.sql("ALTER TABLE t ADD COLUMN c INTEGER")
    db.sql("INSERT INTO t VALUES (9, 1, 'x', NULL)")
    db.verify()


def test_names_in_a_view_mean_what_they_meant(db: Database) -> None:
    """A column that comes is not taken for one of the query around, nor joined by NATURAL."""
    db.sql("CREATE TABLE o (x INTEGER, y INTEGER)")
    db.sql("INSERT INTO o VALUES (1, 1), (2, 0)")
    db.sql("CREATE MATERIALIZED VIEW inner_y AS SELECT x FROM o WHERE EXISTS (SELECT 1 FROM t WHERE y = 1)")
    db.sql("CREATE TABLE n (id INTEGER, other INTEGER)")
    db.sql("INSERT INTO n VALUES (1, 5)")
    db.sql("CREATE MATERIALIZED VIEW naturally AS SELECT a, other FROM t NATURAL JOIN n")
    db.sql("ALTER TABLE t ADD COLUMN y INTEGER DEFAULT 0")
    db.sql("ALTER TABLE t ADD COLUMN other INTEGER DEFAULT 0")
    assert db.view("inner_y").fetchall() == [(1,)]
    assert db.view("naturally").fetchall() == [(10, 5)]
    db.verify()
    db.sql("ALTER TABLE t DROP COLUMN y")
    db.sql("ALTER TABLE t DROP COLUMN other")
    db.verify()


def test_a_view_that_is_filled_again_may_fail(db: Database) -> None:
    """Whatever was made beside the views there are goes; they go on."""
    db.sql("CREATE MATERIALIZED VIEW parted AS SELECT a // (id - 9) AS p FROM t")
    core = core_of(db)
    nodes = set(engine_of(core).renderer.graph.nodes)
    installed = engine_of(core).installed

    def failing(definition: object, *rest: object, **more: object) -> object:
        if getattr(definition, "name", "") == "parted":
            raise ivm.NumericError("no")
        return installed(definition, *rest, **more)  # type: ignore[arg-type]

    engine_of(core).installed = failing  # type: ignore[method-assign, assignment]
    with pytest.raises(ivm.NumericError):
        db.sql("ALTER TABLE t ALTER b TYPE VARCHAR USING upper(b)")
    del engine_of(core).installed
    engine_of(core).sweep()
    assert set(engine_of(core).renderer.graph.nodes) == nodes
    db.sql("INSERT INTO t VALUES (8, 8, 'n')")
    db.verify()


def test_a_column_that_views_read_gets_another_type(db: Database) -> None:
    db.sql("ALTER TABLE t ALTER b TYPE VARCHAR USING CASE b WHEN 'x' THEN 'xx' ELSE b END")
    assert sorted(db.view("sums").fetchall()) == [("xx", 40), ("y", 20)]
    with db.subscribe("sums", snapshot=False) as told:
        before = there(db)
        with pytest.raises(ivm.BindError, match=r"would break views 'sums', .*which read it"):
            db.sql("ALTER TABLE t ALTER b TYPE BLOB USING encode(b)")
        assert there(db) == before
        db.sql(
            "DROP VIEW stars; CREATE TABLE w (s INTEGER); CREATE MATERIALIZED VIEW of_w AS SELECT sum(s) AS s FROM w"
        )
        db.sql("CREATE MATERIALIZED VIEW on_w AS SELECT s + 1 AS s FROM of_w")
        db.sql("INSERT INTO w VALUES (1), (2)")
        with db.subscribe("on_w", snapshot=False) as heard:
            db.sql("ALTER TABLE w ALTER s TYPE BIGINT USING s * 5000000000")
            assert [tuple(row.values())[:1] for row in heard.fetch().to_pylist()] == [(4,), (15_000_000_001,)]
        db.sql("INSERT INTO w VALUES (5000000000)")
        assert db.view("on_w").fetchall() == [(20_000_000_001,)]
        db.verify()
        assert told.fetch().num_rows == 0


def test_a_renamed_index_and_type_stay(db: Database) -> None:
    db.sql("CREATE TYPE mood AS ENUM ('ok', 'sad')")
    db.sql("ALTER TABLE t ADD COLUMN m mood DEFAULT 'ok'")
    db.sql("CREATE UNIQUE INDEX i ON t (id, a)")
    db.sql("ALTER TABLE t RENAME a TO aa")
    with pytest.raises(ivm.BindError, match="index 'i'"):
        db.sql("ALTER TABLE t DROP COLUMN aa")
    db.sql("DROP INDEX i")
    assert db.sql("SELECT DISTINCT m FROM t").fetchall() == [("ok",)]


def test_a_store_that_has_lost_rows(db: Database) -> None:
    """Rows that have died stay away; texts that are codes become texts again."""
    db.sql("CREATE MATERIALIZED VIEW by_b AS SELECT x.b, count(*) AS n FROM t x JOIN t y ON x.b = y.b GROUP BY x.b")
    db.sql("DELETE FROM t WHERE id = 2")
    db.sql("UPDATE t SET a = 11 WHERE id = 1")
    db.sql("ALTER TABLE t ADD COLUMN c DATE DEFAULT DATE '2020-01-01'")
    db.sql("ALTER TABLE t DROP COLUMN c")
    db.sql("INSERT INTO t VALUES (2, 5, 'x')")
    assert sorted(db.view("by_b").fetchall()) == [("x", 9)]
    db.verify()


def test_what_is_renamed_is_not_filled_again(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with ivm.connect(tmp_path / "db", compile="off") as db:
        db.sql(_BEFORE)
        nodes = [*engine_of(core_of(db)).renderer.graph.nodes]
        with db.subscribe("high", snapshot=False) as told:
            db.sql("ALTER TABLE t RENAME TO u; ALTER VIEW sums RENAME TO totals; ALTER TABLE u RENAME TO t")
            db.sql("BEGIN; ALTER TABLE t RENAME TO u; ALTER VIEW high RENAME TO higher; COMMIT")
            assert [*engine_of(core_of(db)).renderer.graph.nodes] == nodes
            db.sql("INSERT INTO u VALUES (9, 9, 'y')")
            assert [row["b"] for row in told.fetch().to_pylist()] == ["y"]
        operators = {name for (name,) in db.sql("SELECT operator FROM ivm_operators").fetchall()}
        assert {"table u", "view totals", "view higher"} <= operators
        db.sql("CREATE MATERIALIZED VIEW more AS SELECT b, sum(a) AS s FROM u GROUP BY b")
        assert len(engine_of(core_of(db)).renderer.graph.nodes) == len(nodes) + 1, "it shares all but its end"
        db.sql("CREATE TABLE t (id INTEGER PRIMARY KEY, a INTEGER, b VARCHAR)")
        db.sql(
            "CREATE MATERIALIZED VIEW other AS SELECT b, sum(a) AS s FROM t GROUP BY b; INSERT INTO t VALUES (1, 1, 'z')"
        )
        assert db.view("other").fetchall() == [("z", 1)]
        db.verify()
        db.sql("CHECKPOINT")
    with ivm.connect(tmp_path / "db", compile="off") as again:
        again.verify()
        again.sql("UPDATE u SET a = a + 1; DELETE FROM t")
        again.verify()
    assert "filled anew" not in caplog.text
