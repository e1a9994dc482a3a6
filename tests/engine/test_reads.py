"""Reads write nothing: state is compared word for word before and after reads of every kind, between the commits of a
history; and what is searched by a commit that is undone is as if it had not been.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

import pyarrow as pa
import pytest

import ivm
from ivm.catalog.errors import Error
from ivm.session.core import engine_of
from ivm.session.database import core_of
from tests.histories.image import Image

MEMOS = {
    "Index._search": "scratch memory of the next search",
    **dict.fromkeys(
        ("Sealed.reading", "Sealed.merged", "Sealed.is_distinct"),
        "what is made of sealed updates; see `view_log.Sealed`",
    ),
    **dict.fromkeys(
        ("StoredColumns._places", "StoredColumns._rows", "StoredColumns._told", "HotColumn.place", "Batches.in_place"),
        "where columns lie, which whoever reads them first finds out",
    ),
    "ColdColumns._known": "the columns that told where they lie, as a commit has found them last",
    "Growable._block": "where it tells that it lies: among the others if it is a column, else its owner has it",
    "LogIndexes._of": "what finds sealed updates by values; see `log_index.LogIndex`",
    "KeyLayout._is_plain": "what is true of a layout, which never changes",
}
"""What readers find out about what does not change, and why it is not state."""
TABLES = """
CREATE TABLE p (k BIGINT PRIMARY KEY, g INTEGER UNIQUE, s VARCHAR);
CREATE TABLE c (id BIGINT PRIMARY KEY, p BIGINT REFERENCES p, n VARCHAR) WITH (check_foreign_keys = true);
CREATE TABLE bag (g INTEGER, b BOOLEAN);
CREATE MATERIALIZED VIEW joined AS SELECT c.id, p.s, c.n FROM c JOIN p ON c.p = p.k;
CREATE MATERIALIZED VIEW counted AS
    SELECT p.g, count(*) AS n, min(c.n) AS m, count(bag.b) AS b
    FROM c JOIN p ON c.p = p.k LEFT JOIN bag ON bag.g = p.g GROUP BY p.g;
CREATE MATERIALIZED VIEW best AS SELECT id, n FROM c ORDER BY n DESC, id LIMIT 3;
CREATE MATERIALIZED VIEW inverse AS SELECT id, 1 // (id - 1000000) AS r FROM c;
"""
VIEWS = ("joined", "counted", "best", "inverse")
Change = tuple[str, str, dict[str, list[Any]]]
HISTORY: tuple[str | tuple[Change, ...], ...] = (
    "INSERT INTO p SELECT i, i, 's' || i FROM range(60) r(i)",
    "INSERT INTO c SELECT i, i % 50, 'n' || (i % 7) FROM range(300) r(i)",
    "INSERT INTO bag SELECT i % 40, i % 3 = 0 FROM range(100) r(i)",
    "DELETE FROM p WHERE k = 59",
    "DELETE FROM p WHERE k = 3",  # it is referred to
    "INSERT INTO c VALUES (1000000, 5, 'n')",  # a view cannot be computed
    "INSERT INTO p VALUES (59, 7, 'twice')",  # 7 is there
    "UPDATE p SET s = 'new' WHERE k = 7",
    (("delete", "c", {"id": [9]}), ("insert", "c", {"id": [9], "p": [9], "n": ["back"]}), ("delete", "c", {"id": [9]})),
    (("insert", "c", {"id": [9], "p": [9], "n": ["again"]}), ("upsert", "p", {"k": [9], "g": [99], "s": ["other"]})),
    "DELETE FROM c WHERE p < 40",
    "DELETE FROM p WHERE k BETWEEN 20 AND 30",
    "INSERT INTO p SELECT i, i, 't' || i FROM range(20, 28) r(i)",
    "DELETE FROM bag",
)
READS = (
    "SELECT * FROM joined WHERE id = 77",
    "SELECT * FROM counted",
    "SELECT * FROM best",
    "SELECT * FROM p WHERE k = 7",
    "SELECT * FROM p WHERE g IN (7, 9, 1000)",
    "SELECT * FROM c WHERE id IN (1, 2, 3)",
    "SELECT count(*) FROM c, p, bag WHERE c.p = p.k AND p.g = bag.g",
    "UPDATE p SET s = 'nobody' WHERE k = -5",
    "DELETE FROM c WHERE id = -5",
    "INSERT INTO p VALUES (7, 7, 'x') ON CONFLICT DO NOTHING",
    "INSERT INTO p VALUES (7, 7, 'x') ON CONFLICT (g) DO NOTHING",
    "EXPLAIN SELECT c.id FROM c JOIN p ON c.p = p.k",
    "SELECT * FROM ivm_views",
    "SELECT * FROM ivm_arrangements",
    "SELECT * FROM ivm_operators",
    "SELECT * FROM ivm_dataflow",
)


def _image(db: ivm.Database) -> Image:
    """All state: that of tables, their constraints, and all nodes, and what the commits have left to do."""
    engine = engine_of(core_of(db))
    graph, tables = engine.renderer.graph, engine.tables
    states = [*tables.values(), *(state for _, state in graph.states())]
    return Image((states, [*tables.constrained.values()], graph.marks, graph.marks.lessons), MEMOS)


def _commit(db: ivm.Database, commit: str | tuple[Change, ...]) -> None:
    if isinstance(commit, str):
        db.sql(commit)
        return
    with db.transaction() as tx:
        for what, table, rows in commit:
            getattr(tx, what)(table, pa.table(rows))


def _insert(db: ivm.Database, table: str, rows: dict[str, Any]) -> None:
    with db.transaction() as tx:
        tx.insert(table, pa.table(rows))


def _before(db: ivm.Database, view: str) -> tuple[pa.Table, pa.Table]:
    """What a view had before the last commit, and what that changed."""
    return db.view(view).arrow(as_of=db.time - 1), db.view(view).changes(db.time - 1)


def test_no_read_changes_any_state() -> None:
    """Between two commits, of which some fail, each read comes twice, after all others."""
    db = ivm.connect(compile="off", history=2)
    db.sql(TABLES)
    core = core_of(db)
    reads: list[Callable[[], Any]] = [
        *(partial(db.sql, text) for text in READS),
        *(view.arrow for view in map(db.view, VIEWS)),
        *(partial(_before, db, name) for name in VIEWS),
        engine_of(core).state_bytes,
        lambda: [index.size() for _, index in engine_of(core).unread()],
        db.verify,
    ]
    for commit in HISTORY:
        with suppress(Error):
            _commit(db, commit)
        before = _image(db).print()
        for number, read in enumerate([*reads, *reads]):
            read()
            assert _image(db).print() == before, f"read {number} after {commit!r}"


def test_what_a_commit_has_searched_is_as_it_was_when_it_is_undone() -> None:
    db = ivm.connect(compile="off")
    db.sql("""
        CREATE TABLE p (k BIGINT PRIMARY KEY, g BIGINT);
        CREATE TABLE c (id BIGINT PRIMARY KEY, p BIGINT);
        CREATE MATERIALIZED VIEW j AS SELECT c.id, 10 // (c.id - 5000) + p.g AS r FROM c JOIN p ON c.p = p.k
    """)
    count, core = 20_000, core_of(db)
    _insert(db, "p", {"k": range(count), "g": range(count)})
    index = engine_of(core).tables["p"].primary.index  # type: ignore[union-attr]

    def refer(first: int) -> None:
        _insert(db, "c", {"id": range(first, first + 5000), "p": [i * 7919 % count for i in range(5000)]})

    printed = []
    for _ in range(5):
        with pytest.raises(Error):
            refer(2000)
        printed.append(Image(engine_of(core).tables["p"], MEMOS).print())
        assert not engine_of(core).renderer.graph.marks.lessons
    assert len(set(printed[2:])) == 1, "the first two have told kernels where the index lies"
    assert index.backlog == count
    refer(10_000)
    assert index.backlog < count, "once it counts, it has learned"
    assert not engine_of(core).renderer.graph.marks.lessons
    db.verify()


def test_an_index_learns_while_a_view_is_installed() -> None:
    """That searches for long, without a commit: it is taught between two chunks."""
    db = ivm.connect(compile="off")
    db.sql("CREATE TABLE p (k BIGINT PRIMARY KEY, g BIGINT); CREATE TABLE c (id BIGINT PRIMARY KEY, p BIGINT)")
    count = 100_000
    _insert(db, "p", {"k": range(count), "g": range(count)})
    _insert(db, "c", {"id": range(count), "p": [i * 7919 % count for i in range(count)]})
    index = engine_of(core_of(db)).tables["p"].primary.index  # type: ignore[union-attr]
    assert index.backlog == count
    db.sql("CREATE MATERIALIZED VIEW j AS SELECT c.id, p.g FROM c JOIN p ON c.p = p.k")
    assert index.backlog < count
    db.verify()
