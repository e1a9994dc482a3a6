"""Commits leave nothing behind that Python's collector would have to look for."""

from __future__ import annotations

import gc
from typing import Any

import pytest

import ivm
from ivm.render.scalars import functions
from ivm.session.database import core_of


def test_commits_leave_no_objects_and_no_cycles() -> None:
    db = ivm.connect(compile="off")
    db.sql("CREATE TABLE t (id BIGINT PRIMARY KEY, g INTEGER NOT NULL, v BIGINT NOT NULL)")
    db.sql("CREATE TABLE d (id INTEGER PRIMARY KEY, name VARCHAR); INSERT INTO d VALUES (0, 'a'), (1, 'b')")
    db.sql("CREATE MATERIALIZED VIEW sums AS SELECT g, sum(v) AS s, max(v) AS m FROM t GROUP BY g")
    db.sql("CREATE MATERIALIZED VIEW joined AS SELECT t.id, d.name FROM t LEFT JOIN d ON t.g = d.id WHERE v > 3")
    db.sql("CREATE MATERIALIZED VIEW top AS SELECT id, v FROM t ORDER BY v DESC LIMIT 3")
    db.sql("CREATE MATERIALIZED VIEW ranked AS SELECT id, rank() OVER (PARTITION BY g ORDER BY v) AS r FROM t")

    def commit(number: int) -> None:
        db.apply({"t": {"id": [number], "g": [number % 3], "v": [number % 7]}})
        if number >= 20:
            db.apply({"t": {"id": [number - 20], "g": [0], "v": [0], "_diff": [-1]}})

    for number in range(100):
        commit(number)
    gc.collect()
    before = len(gc.get_objects())
    gc.disable()
    try:
        for number in range(100, 400):
            commit(number)
        assert gc.collect() == 0, "nothing refers to itself"
    finally:
        gc.enable()
    assert len(gc.get_objects()) < before + 100, "nothing stays for each commit"


def test_what_a_dropped_view_remembered_of_texts_goes() -> None:
    db = ivm.connect(compile="off")
    db.sql("CREATE TABLE t (s VARCHAR NOT NULL)")
    db.sql("INSERT INTO t VALUES ('a'), ('b')")
    memos = core_of(db).engine.dictionary.memos
    gc.disable()  # which may come late, and meanwhile memos keep the texts that they answer with
    try:
        for n in range(4):
            db.sql(f"CREATE OR REPLACE MATERIALIZED VIEW v AS SELECT s || 'suffix {n}' AS y FROM t WHERE s < 'c{n}'")
            assert len(memos) == 2
        db.sql("CREATE OR REPLACE MATERIALIZED VIEW v AS SELECT upper(s) AS u, min(s || 'x') AS y FROM t GROUP BY 1")
        db.sql("INSERT INTO t VALUES ('c')")
        db.sql("DROP VIEW v")
        assert len(memos) == 0
    finally:
        gc.enable()


@pytest.mark.parametrize("compile", ["off", "wait"])
def test_texts_that_functions_make_on_their_way_go(monkeypatch: pytest.MonkeyPatch, compile: Any) -> None:
    monkeypatch.setattr(functions, "MOST", 1 << 12)
    db = ivm.connect(compile=compile)
    db.sql("CREATE TABLE t (id BIGINT PRIMARY KEY, s VARCHAR)")
    texts = (
        "SELECT id, upper(s) || '/' || coalesce(s, 'none') AS y FROM t",
        "SELECT id, lower(upper(s)) AS y FROM t WHERE length(trim(s) || s) > 3",
        "SELECT upper(s || 'x') AS y, count(*) AS n FROM t GROUP BY 1",
        "SELECT a.id FROM t AS a JOIN t AS b ON upper(a.s) || a.s = upper(b.s) || b.s",
        "SELECT id, unnest(string_split(s || upper(s), ' ')) AS y FROM t",
    )
    for number, text in enumerate(texts):
        db.sql(f"CREATE MATERIALIZED VIEW v{number} AS {text}")

    def heaviest() -> int:
        contexts = (each for each in gc.get_objects() if isinstance(each, functions.Context))
        return max(each.dictionary.weight for each in contexts if each.texts is not None)

    for number in range(300):
        texts_of_some = [f"text {number} of {n} that is as long as texts are" for n in range(3)]
        db.apply({"t": {"id": [0, 1, 2], "s": texts_of_some}}, mode="upsert")
        if number % 50 == 49:
            assert heaviest() < 3 << 12
    db.verify()
