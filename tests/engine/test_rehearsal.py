"""Views over many rows are rehearsed on a few before they are installed, without the lock and without a trace."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from decimal import Decimal

import pytest

import ivm
from ivm.engine import rehearsal
from ivm.engine.engine import Engine
from ivm.engine.transaction import Change
from ivm.session.core import engine_of
from ivm.session.database import core_of

SCHEMA = """
CREATE TABLE a (id BIGINT PRIMARY KEY, g INTEGER, v BIGINT NOT NULL, d DECIMAL(10, 2), s VARCHAR, t TIMESTAMP);
CREATE TABLE b (g INTEGER, w BIGINT);
CREATE MATERIALIZED VIEW sums AS SELECT g, sum(w) AS w FROM b GROUP BY g;
CREATE TABLE flow (g INTEGER, v BIGINT) WITH (append_only = true);
CREATE TABLE fixed (g INTEGER, w BIGINT) WITH (static = true)
"""
FEW = 8


@pytest.fixture
def stages(monkeypatch: pytest.MonkeyPatch) -> list[Engine]:
    """The engines of all rehearsals, which any row is worth."""
    made: list[Engine] = []

    class Stage(Engine):
        def __init__(self, *arguments: object, **options: object) -> None:
            super().__init__(*arguments, **options)  # type: ignore[arg-type]
            made.append(self)

    monkeypatch.setattr(rehearsal, "Engine", Stage)
    monkeypatch.setattr(rehearsal, "_WORTH", 1)
    monkeypatch.setattr(rehearsal, "_FEW", FEW)
    return made


def _database() -> ivm.Database:
    db = ivm.connect(compile="off")
    db.sql(SCHEMA)
    numbers = list(range(20))
    few = [None if n % 5 == 0 else n % 3 for n in numbers]
    texts = [None if n % 4 == 0 else f"x{n}" for n in numbers]
    times = [None if n % 6 == 0 else datetime(2020, 1, n + 1) for n in numbers]
    rows = zip(numbers, few, texts, times, strict=True)
    db.apply(
        {
            "a": [{"id": n, "g": g, "v": n, "d": Decimal(n) / 4, "s": s, "t": t} for n, g, s, t in rows],
            "b": {"g": few, "w": numbers},
            "flow": {"g": few, "v": numbers},
            "fixed": {"g": few, "w": numbers},
        }
    )
    return db


def test_every_operator_is_met_with_rows_that_come_and_go(stages: list[Engine]) -> None:
    db = _database()
    stages.clear()
    db.sql(
        "CREATE MATERIALIZED VIEW v AS SELECT a.g, count(*) AS n, max(a.s) AS s FROM a JOIN b ON a.g = b.g GROUP BY 1"
    )
    (stage,) = stages
    assert all(node.updates_in for node in stage.renderer.graph.nodes if node.inputs)
    assert {name: store.count for name, store in stage.tables.items()} == {"a": 0, "b": 0}
    assert {store.count for store in engine_of(core_of(db)).tables.values()} == {20}
    db.verify()


@pytest.mark.parametrize(
    "query",
    [
        "SELECT f.g, max(f.v) AS m, count(DISTINCT l.w) AS n FROM fixed l JOIN flow f ON l.g = f.g GROUP BY f.g",
        "SELECT g, min(v) AS m FROM flow GROUP BY g",
        "SELECT s.g, s.w, a.d, a.t FROM sums s LEFT JOIN a ON a.g = s.g",
        "SELECT id, row_number() OVER (PARTITION BY g ORDER BY d DESC NULLS LAST) AS r, s FROM a",
        "SELECT id FROM a WHERE v > (SELECT avg(w) FROM b)",
        "SELECT 1 AS x",
    ],
)
def test_views_tables_and_columns_of_every_kind(stages: list[Engine], query: str) -> None:
    db = _database()
    db.sql(f"CREATE MATERIALIZED VIEW v AS {query}")
    db.apply({"b": {"g": [1], "w": [100]}, "flow": {"g": [2], "v": [50]}})
    db.verify()


def test_the_lock_is_free_meanwhile(stages: list[Engine], monkeypatch: pytest.MonkeyPatch) -> None:
    db, owned = _database(), list[bool]()
    commit = Engine.commit

    def observed(engine: Engine, changes: Sequence[Change]) -> int:
        owned.append(core_of(db).lock._is_owned())
        return commit(engine, changes)

    monkeypatch.setattr(Engine, "commit", observed)
    db.sql("CREATE MATERIALIZED VIEW v AS SELECT g, count(*) AS n FROM a GROUP BY g")
    assert owned == [False] * 4


def test_what_fails_over_some_of_the_rows_need_not_fail(stages: list[Engine]) -> None:
    db = ivm.connect(compile="off")
    db.sql("CREATE TABLE t (id BIGINT PRIMARY KEY, v BIGINT NOT NULL)")
    largest = 2**63 - 1
    db.apply({"t": {"id": list(range(2 * FEW)), "v": [largest] * FEW + [-largest] * FEW}})
    db.sql("CREATE MATERIALIZED VIEW v AS SELECT CAST(sum(v) AS BIGINT) AS s FROM t")
    assert len(stages) == 1
    assert db.view("v").fetchall() == [(0,)]


def test_small_tables_are_not_worth_it(stages: list[Engine], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rehearsal, "_WORTH", 1 << 16)
    db = _database()
    db.sql("CREATE MATERIALIZED VIEW v AS SELECT g, count(*) AS n FROM a GROUP BY g")
    assert stages == []
