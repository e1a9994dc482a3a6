"""Commits leave nothing behind that Python's collector would have to look for."""

from __future__ import annotations

import gc
from itertools import repeat
from typing import Any

import pytest

import ivm
from ivm.dataflow.node import Node
from ivm.render.scalars import functions
from ivm.session.core import engine_of
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


_COME_AND_GO = [
    "SELECT id, s || 'n {n}' AS y FROM t WHERE s < 'text {n}'",
    "SELECT g, count(*) FILTER (x > {n}) AS n, sum(x * {n}) AS m FROM t WHERE x BETWEEN {n} AND 2 * {n} GROUP BY g",
    "SELECT t.id, d.name || '{n}' AS l FROM t JOIN d ON t.g = d.id WHERE t.x > {n}",
    "SELECT t.id FROM t LEFT JOIN d ON t.g = d.id AND d.name < '{n}' WHERE t.g IN (1, {n})",
    "SELECT g, min(s || '{n}') AS a, string_agg(s, '{n}' ORDER BY id) AS b FROM t GROUP BY g",
    "SELECT id, sum(x + {n}) OVER (PARTITION BY g ORDER BY id) AS y FROM t",
    "SELECT DISTINCT g % {n} AS k, upper(s) AS z FROM t",
    "SELECT id FROM t WHERE x > (SELECT avg(x) + {n} FROM t)",
    "SELECT s, x FROM t WHERE g < {n} ORDER BY x DESC, s LIMIT 20",
    "WITH RECURSIVE r AS (SELECT id FROM t WHERE x = {n} UNION SELECT t.g FROM t JOIN r ON t.id = r.id) FROM r",
]


@pytest.mark.parametrize(("text", "others"), [*zip(_COME_AND_GO, repeat(0)), *zip(_COME_AND_GO[1:3], repeat(40))])
def test_nothing_of_views_that_come_and_go_stays(text: str, others: int) -> None:
    db = ivm.connect(compile="off")
    db.sql("CREATE TABLE t (id BIGINT PRIMARY KEY, g BIGINT NOT NULL, s VARCHAR NOT NULL, x BIGINT NOT NULL)")
    db.sql("CREATE TABLE d (id BIGINT PRIMARY KEY, name VARCHAR NOT NULL); INSERT INTO d VALUES (1, 'a'), (2, 'b')")
    for number in range(others):  # of so many that want some rows each is looked for
        db.sql(f"CREATE MATERIALIZED VIEW o{number} AS SELECT id FROM t WHERE x > {100 + number} AND g = {number % 3}")
    graph, commits = engine_of(core_of(db)).renderer.graph, iter(range(100))

    def commit() -> None:
        number = next(commits)
        db.apply({"t": {"id": [number % 4], "g": [number % 3], "s": [f"s {number}"], "x": [number]}}, mode="upsert")

    def nodes() -> int:
        gc.collect()
        return sum(isinstance(each, Node) for each in gc.get_objects()) - len(graph.nodes)

    commit()
    before = nodes()
    for number in range(1, 5):
        db.sql(f"CREATE MATERIALIZED VIEW v AS {text.format(n=number)}")
        if number % 2:
            commit()
        db.verify()
        db.sql("DROP VIEW v")
        if number == 3:
            commit()
    assert nodes() == before
