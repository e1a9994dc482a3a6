"""EXPLAIN of the delivered TPC-H queries, alone and all together, as text that a person reads.

`IVM_REWRITE_GOLDENS=1 pytest tests/plans` rewrites the files; read the difference before you commit it.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import ivm
from ivm.session.core import engine_of
from ivm.session.database import core_of
from ivm.tpch.queries import NAMES, text, view_sql
from ivm.tpch.schema import ddl

GOLDENS = Path(__file__).parent / "goldens"


def _database() -> ivm.Database:
    db = ivm.connect(compile="off")
    db.sql(ddl())
    return db


def _check(name: str, found: str) -> None:
    path = GOLDENS / f"{name}.txt"
    if os.environ.get("IVM_REWRITE_GOLDENS", "") not in ("", "0"):
        path.write_text(found + "\n", encoding="utf-8")
    assert path.read_text(encoding="utf-8") == found + "\n"


@pytest.mark.parametrize("name", NAMES)
def test_plan_of_a_query_alone(name: str) -> None:
    _check(name, _database().explain(text(name)))


def test_arrangements_of_all_queries_together() -> None:
    db = _database()
    for name in NAMES:
        db.sql(view_sql(name))
    rows = db.sql(
        "SELECT kind, arrangement, views FROM ivm_arrangements WHERE kind NOT IN ('table', 'text', 'process') ORDER BY ALL"
    ).fetchall()
    _check("all", "\n".join(f"{kind} {arrangement}: {', '.join(views)}" for kind, arrangement, views in rows))


def test_dropping_all_views_leaves_the_tables_alone() -> None:
    db = _database()
    before = db.sql("SELECT * FROM ivm_arrangements WHERE kind NOT IN ('text', 'process')").fetchall()
    for name in NAMES:
        db.sql(view_sql(name))
    for name in NAMES:
        db.sql(f"DROP VIEW {name}")
    assert db.sql("SELECT * FROM ivm_arrangements WHERE kind NOT IN ('text', 'process')").fetchall() == before
    assert engine_of(core_of(db)).renderer.graph.nodes == []
