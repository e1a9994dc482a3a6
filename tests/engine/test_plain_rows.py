"""Statements over single rows, carried out without a second engine, do what they do by way of DuckDB."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable
from datetime import date, datetime
from decimal import Decimal
from typing import Any
from unittest import mock

import pytest

import ivm
from ivm.results.result import tuples_of
from ivm.session import database, statements
from ivm.session import row_statements as plain_rows_module
from ivm.session.core import Core, engine_of
from ivm.session.database import core_of
from ivm.session.plain_inserts import insert_plain
from ivm.session.row_statements import change_row, run_plain
from ivm.session.statements import run_statement
from ivm.sql.parse import parse
from ivm.sql.plain_insert import PlainInsert
from ivm.sql.plain_rows import PlainRows, plain_rows
from ivm.sql.recent import Recent
from tests.engine.row_statements import KEYS, Statements, filled
from tests.more import with_more


def fallback(db: ivm.Database, text: str) -> ivm.Result:
    """What the statement answers when DuckDB computes it."""
    (statement,) = parse(text)
    return run_statement(core_of(db), statement, "duckdb", None)


def outcome(run: Callable[[ivm.Database, str], ivm.Result], db: ivm.Database, text: str) -> object:
    """The rows with their schema, or the error."""
    try:
        result = run(db, text)
    except ivm.Error as error:
        return type(error), str(error)
    table = result.arrow()
    return table.schema.to_string(), [tuple(map(repr, row)) for row in tuples_of(table)], result.rowcount


def contents(db: ivm.Database) -> list[list[str]]:
    tables = [engine_of(core_of(db)).tables[name].arrow() for name in KEYS]
    return [
        sorted(map(repr, tuples_of(each))) for each in (*tables, db.view("seen").arrow(), db.view("ordered").arrow())
    ]


class Counting:
    """`run_plain`, or another that carries out what it can, with the texts that it carried out."""

    def __init__(
        self, run: Callable[[Core, Any], ivm.Result | None] = run_plain, done: list[str] | None = None
    ) -> None:
        self.run = run
        self.done: list[str] = [] if done is None else done

    def __call__(self, core: Core, given: PlainRows | PlainInsert | str) -> ivm.Result | None:
        found = self.run(core, given)
        if found is not None:
            self.done.append(given if isinstance(given, str) else given.text)
        return found


@pytest.fixture
def plainly(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The texts that were carried out without a second engine."""
    done: list[str] = []
    monkeypatch.setattr(statements, "run_plain", Counting(run_plain, done))
    monkeypatch.setattr(statements, "insert_plain", Counting(insert_plain, done))
    monkeypatch.setattr(database, "change_row", Counting(change_row, done))
    return done


@pytest.mark.parametrize("seed", with_more([0], [1]))
def test_random_statements_do_what_they_do_by_way_of_duckdb(seed: int, plainly: list[str]) -> None:
    mine, other = filled(), filled()
    maker = Statements(seed)
    for number in range(120):
        text = maker.statement()
        expected, found = outcome(fallback, other, text), outcome(ivm.Database.sql, mine, text)
        if found != expected and "Out of Range" in str(expected):  # in a row that was not asked for
            mine, other = filled(), filled()
            continue
        assert found == expected, text
        if not text.startswith("SELECT"):
            assert contents(mine) == contents(other), text
        if number % 30 == 0:
            mine, other = filled(), filled()
    mine.verify()
    assert len(plainly) > 60


PLAIN = (
    "SELECT * FROM seen",
    "SELECT * FROM ordered WHERE c >= 1",
    'select X.A, x.s as "A b" from seen as x where X.a = 1 or x.s is null;',
    "SELECT a + 1 AS next, 'it''s' AS text, 7 AS seven, d * 1.5 AS more FROM seen WHERE a <> -1",
    "SELECT a FROM ordered LIMIT 2",
    "SELECT a, c FROM ordered WHERE a > 0 LIMIT 2 OFFSET 1",
    "SELECT s, a FROM ordered OFFSET 100",
    "SELECT a FROM seen ORDER BY a LIMIT 1 + 1",
    "SELECT a AS s, s AS a, x, d FROM ordered ORDER BY s DESC, a, 3 NULLS FIRST, d",
    "SELECT f AS v FROM seen ORDER BY f * 2 DESC NULLS LAST LIMIT 3",
    "SELECT id, s FROM one WHERE id IN (1, 2, 3, 4) ORDER BY s, -id LIMIT 3",
    "SELECT b FROM seen ORDER BY (b) LIMIT 0",
    "SELECT id, s FROM one WHERE id = 3",
    "SELECT id, s FROM one WHERE '3' = id AND a = 99",
    "SELECT id FROM one WHERE id IN (1, 2, 2, NULL) AND NOT (s = 'a' AND b IS NOT NULL)",
    "SELECT id, k FROM one WHERE k = 11",
    "SELECT a FROM one WHERE id = 2.0",
    "SELECT id FROM one WHERE k = NULL::INTEGER",
    "SELECT p, q FROM two WHERE q IN (1, 1.5, 9) AND p IN ('a', 'it''s', 'nobody')",
    "SELECT a FROM bag WHERE u = '2020-01-01'",
    "UPDATE one SET a = b + 1, s = NULL WHERE id = 1",
    'UPDATE one AS o SET d = 1.005, f = 2, w = d, t = 1, h = -5 WHERE o.id IN (2, 3) RETURNING d, f AS "F", w, t, h, id',
    "UPDATE one SET id = id + 1 WHERE id IN (3, 4, 5, 6, 7)",
    "UPDATE one SET k = k + 100 WHERE k = 11 AND id > 0 RETURNING *",
    "UPDATE two SET q = q + 0.1, s = 'new' WHERE p = 'b' AND q = 1.5",
    "UPDATE bag SET note = 'z', u = NULL WHERE u = DATE '2020-01-02' RETURNING u, note",
    "UPDATE one SET a = 1 WHERE id = 1000000",
    "DELETE FROM one WHERE id = 1",
    "DELETE FROM one AS x WHERE x.id IN (2, 3, 77) AND b IS NOT DISTINCT FROM b RETURNING *",
    "DELETE FROM bag WHERE u = '2020-01-01' AND note = 'none'",
    "SELECT a FROM seen ORDER BY upper(s), a",
    "SELECT upper(s) AS u FROM seen",
    "UPDATE bag SET note = note || 'x' WHERE u = '2020-01-01'",
    "UPDATE one SET s = upper(s) || 'x', a = greatest(abs(a), n), b = nullif(length(s), 1) WHERE id = 3 RETURNING s, a, b",
)
OTHERS = (
    "SELECT count(*) FROM seen",
    "SELECT DISTINCT a FROM seen WHERE a = 1",
    "SELECT a FROM seen ORDER BY ALL",
    "SELECT coalesce(0.25 - h, w + d) AS wide FROM seen",
    "SELECT CASE WHEN a = 1 THEN n ELSE +1 END AS sign FROM seen",
    "SELECT a AS q FROM seen ORDER BY q + 1",
    "SELECT a FROM seen ORDER BY a LIMIT 10%",
    "SELECT a + 1 FROM seen",
    "SELECT a, a FROM seen",
    "SELECT NULL AS nothing FROM seen",
    "SELECT a FROM seen WHERE a = (SELECT max(a) FROM one)",
    "SELECT seen.a FROM seen JOIN one ON seen.a = one.a",
    "SELECT a FROM one WHERE a = 1",
    "SELECT a FROM one WHERE id = 1 OR k = 11",
    "SELECT a /* c */ FROM one WHERE id = 1 -- d",
    "SELECT a FROM one WHERE id * 1.0 = 2.0",
    "SELECT x'ab' AS b, e'a\\n' AS e FROM seen",
    "SELECT a FROM seen WHERE s < e'b'",
    "SELECT a FROM seen WHERE x > DATE '2020-01-01' - INTERVAL '1 day'",
    "SELECT view FROM ivm_views",
    "UPDATE one SET a = DEFAULT WHERE id = 1",
    "UPDATE one SET a = 1",
    "UPDATE one SET a = 1 WHERE id > 6",
    "UPDATE one SET a = o.a FROM two AS o WHERE id = 1 AND o.p = 'b'",
    "DELETE FROM one USING two WHERE id = 1 AND one.a = two.a",
    "DELETE FROM one WHERE id = 1 RETURNING a + 1",
    "DELETE FROM bag WHERE note = 'none'",
)
WRONG = (
    "SELECT nothing FROM seen",
    "SELECT a FROM seen ORDER BY 2",
    "SELECT a FROM seen ORDER BY 'a'",
    "SELECT a FROM seen LIMIT -1",
    "SELECT a FROM nowhere WHERE a = 1",
    "SELECT a FROM seen WHERE s = 1",
    "SELECT a FROM seen WHERE s + 1",
    "SELECT a FROM one WHERE id = 'x'",
    "SELECT a FROM seen WHERE two.a = 1",
    "SELECT id * 9223372036854775807 * 9223372036854775807 AS big FROM one WHERE id IN (2, 3)",
    "UPDATE one SET a = 1, A = 2 WHERE id = 1",
    "UPDATE one SET nothing = 1 WHERE id = 1",
    "UPDATE one SET a = 'x' WHERE id = 1",
    "UPDATE one SET n = 40000 WHERE id = 1",
    "UPDATE one SET n = id + 40000 WHERE id = 1",
    "UPDATE one SET id = 2 WHERE id = 1",
    "UPDATE one SET id = NULL WHERE id = 1",
    "UPDATE one SET k = 11 WHERE id IN (2, 5)",
    "UPDATE two SET b = 90 WHERE p = 'b' AND q = 1.5",
    "UPDATE seen SET a = 1 WHERE a = 1",
    "DELETE FROM seen WHERE a = 1",
    "DELETE FROM nowhere WHERE id = 1",
    "DELETE FROM one WHERE id = 1 AND nothing = 2",
)


def test_each_form_and_its_neighbours(plainly: list[str]) -> None:
    mine, other = filled(), filled()
    before = contents(mine)
    for text in (*PLAIN, *OTHERS, *WRONG):
        assert outcome(ivm.Database.sql, mine, text) == outcome(fallback, other, text), text
        after = contents(mine)
        assert after == contents(other), text
        if after != before:
            mine, other = filled(), filled()
    assert plainly == list(PLAIN)


def test_no_second_engine_is_started() -> None:
    program = """
import sys, ivm
db = ivm.connect(compile="off")
db.sql("CREATE TABLE t (id BIGINT PRIMARY KEY, x BIGINT); CREATE MATERIALIZED VIEW v AS SELECT x, count(*) AS c FROM t GROUP BY x")
db.sql("INSERT INTO t VALUES (1, 2), (2, 3)")
db.sql("UPDATE t SET x = ? WHERE id = ?", [9, 1])
db.sql("DELETE FROM t WHERE id = $id", {"id": 2})
assert db.sql("SELECT c FROM v WHERE x = ?", [9]).fetchall() == [(1,)]
assert "duckdb" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=120)


def test_the_same_text_means_what_its_names_mean_now(plainly: list[str]) -> None:
    db = ivm.connect(compile="off")
    text = "SELECT a FROM r WHERE id = 1"
    for made, gone, expected in (
        ("CREATE TABLE r (id BIGINT PRIMARY KEY, a INTEGER); INSERT INTO r VALUES (1, 2)", "TABLE", 2),
        ("CREATE TABLE r (a VARCHAR, id VARCHAR PRIMARY KEY); INSERT INTO r VALUES ('x', '1')", "TABLE", "x"),
        ("CREATE MATERIALIZED VIEW r AS SELECT 1 AS id, 3 AS a", "VIEW", 3),
        ("CREATE VIEW r AS SELECT 1 AS id, 4 AS a", "VIEW", 4),
        (
            "CREATE TABLE r (id BIGINT, a INTEGER); INSERT INTO r VALUES (1, 5); CREATE UNIQUE INDEX i ON r (id)",
            "TABLE",
            5,
        ),
    ):
        with pytest.raises(ivm.BindError, match="no table or view 'r'"):
            db.sql(text)
        db.sql(made)
        assert db.sql(text).fetchall() == [(expected,)]
        db.sql(f"DROP {gone} r")
    assert len(plainly) == 3  # a text is no number, and a registered view holds no rows


def test_an_index_that_is_dropped_is_not_asked_any_more(plainly: list[str]) -> None:
    db = ivm.connect(compile="off")
    db.sql(
        "CREATE TABLE r (id BIGINT, a INTEGER); CREATE UNIQUE INDEX i ON r (id); INSERT INTO r VALUES (1, 5), (NULL, 6)"
    )
    assert db.sql("UPDATE r SET a = 7 WHERE id = 1 RETURNING a").fetchall() == [(7,)]
    db.sql("DROP INDEX i; INSERT INTO r VALUES (1, 8)")
    assert db.sql("DELETE FROM r WHERE id = 1").rowcount == 2
    assert len(plainly) == 1


def test_many_keys_are_left_to_duckdb(plainly: list[str]) -> None:
    db = ivm.connect(compile="off")
    db.sql(
        "CREATE TABLE r (i INTEGER, j INTEGER, a INTEGER, PRIMARY KEY (i, j)); INSERT INTO r VALUES (1, 5, 0), (39, 30, 0)"
    )
    thirty, forty = (", ".join(map(str, range(n))) for n in (31, 40))
    assert db.sql(f"UPDATE r SET a = 1 WHERE i IN ({thirty}) AND j IN ({thirty})").rowcount == 1
    assert len(plainly) == 1
    assert db.sql(f"UPDATE r SET a = 2 WHERE i IN ({forty}) AND j IN ({forty})").rowcount == 2
    assert db.sql(f"SELECT a FROM r WHERE i = 1 AND j = 5 AND a IN ({', '.join(['2'] * 2000)})").fetchall() == [(2,)]
    assert len(plainly) == 1


def test_promises_are_kept(plainly: list[str]) -> None:
    db = ivm.connect(compile="off")
    db.sql("CREATE TABLE parent (id BIGINT PRIMARY KEY)")
    db.sql("CREATE TABLE child (id BIGINT PRIMARY KEY, p BIGINT REFERENCES parent (id), y DOUBLE CHECK (y > 0))")
    db.sql("INSERT INTO parent VALUES (1), (2); INSERT INTO child VALUES (1, 1, 0.5)")
    before = db.time
    for text in (
        "UPDATE child SET y = -y WHERE id = 1",
        "UPDATE child SET id = NULL WHERE id = 1",
    ):
        with pytest.raises(ivm.ConstraintError):
            db.sql(text)
    assert db.time == before
    assert db.sql("SELECT * FROM child WHERE id = 1").fetchall() == [(1, 1, 0.5)]


def test_no_update_of_another_thread_is_lost() -> None:
    db = ivm.connect(compile="off")
    db.sql("CREATE TABLE r (id BIGINT PRIMARY KEY, a BIGINT); INSERT INTO r VALUES (1, 0)")
    db.sql("CREATE MATERIALIZED VIEW v AS SELECT a FROM r")
    seen: list[int] = []

    def add() -> None:
        for _ in range(100):
            db.sql("UPDATE r SET a = a + 1 WHERE id = 1")
            seen.extend(a for (a,) in db.sql("SELECT a FROM v WHERE a > 0").fetchall())

    threads = [threading.Thread(target=add) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert db.sql("SELECT a FROM r WHERE id = 1").fetchall() == [(400,)]
    assert len(seen) == 400
    db.verify()


def test_literals_alone_differ() -> None:
    first = plain_rows("SELECT a FROM t WHERE b = 'it''s' AND c IN (1, 2.5, -3e2)")
    assert first is not None
    tree = first.tree
    first.give_back()
    second = plain_rows("SELECT a FROM t WHERE b = '' AND c IN (77, 8, -9)")
    assert second is not None
    assert second.tree is tree
    assert tree.sql("duckdb") == "SELECT a FROM t WHERE b = '' AND c IN (77, 8, -9)"
    third = plain_rows("SELECT a FROM t WHERE b = 'x' AND c IN (77, 8, -9)")  # before the second is given back
    assert third is not None
    assert third.tree is not tree


@pytest.mark.parametrize(
    "text",
    [
        "", "SELECT", "SELECT 1", "SELECT 1; SELECT 2", "DELETE FROM t; DELETE FROM u", "EXPLAIN SELECT a FROM t", "SELECT a FROM t, u", "SELECT a FROM t -- x",
        "SELECT a FROM t WHERE b = $$x$$", "SELECT a FROM t WHERE b = x'00'", "SELECT a FROM t WHERE 'a' 'b' = c",
        "SELECT a FROM t WHERE b = 'open", "SELECT a FROM main.t", "SELECT * EXCLUDE (a) FROM t", "SELECT sum(a) FROM t",
        "SELECT a FROM t FOR UPDATE", "WITH t AS (SELECT 1) SELECT a FROM t", "SELECT a FROM t TABLESAMPLE 10%",
        "SELECT a FROM t AS x(b)", "SELECT t.a.b FROM t", "DELETE FROM t USING u", "UPDATE t SET a = 1 FROM u", "CREATE TABLE t (a INT)",
        "SELECT a FROM t WHERE b = +1", "SELECT a FROM t WHERE b IN (SELECT 1)", "SELECT a FROM t WHERE b > INTERVAL 1 DAY", "SELECT a FROM 'file.csv'",
    ],
)  # fmt: skip
def test_what_is_no_such_statement(text: str) -> None:
    assert [plain_rows(text) for _ in range(2)] == [None, None]


def test_what_nobody_asks_for_is_forgotten() -> None:
    recent: Recent[str, int] = Recent(2)
    recent.put("a", 1)
    recent.put("b", 2)
    assert recent.get("a") == 1
    recent.put("c", 3)
    assert [recent.get(each) for each in "abc"] == [1, None, 3]
    assert recent.take("a") == 1
    assert recent.get("a") is None


def test_a_view_is_not_consolidated_for_a_row_of_it(plainly: list[str]) -> None:
    db = ivm.connect(compile="off")
    db.sql(
        "CREATE TABLE r (id BIGINT PRIMARY KEY, g INTEGER, s VARCHAR); INSERT INTO r VALUES (1, 1, 'a'), (2, NULL, 'b')"
    )
    db.sql("CREATE MATERIALIZED VIEW v AS SELECT g, s, count(*) AS c FROM r GROUP BY g, s")
    for number in range(3, 9):
        db.sql(f"INSERT INTO r VALUES ({number}, {number % 2}, 'a')")
    assert db.sql("SELECT c, s FROM v WHERE g = 1").fetchall() == [(4, "a")]
    assert db.sql("SELECT c FROM v WHERE s = 'nobody'").fetchall() == []
    assert db.sql("SELECT * FROM v WHERE g IS NULL").fetchall() == [(None, "b", 1)]
    db.sql("DELETE FROM r WHERE id = 2")
    assert db.sql("SELECT * FROM v WHERE g IS NULL").fetchall() == []
    assert not engine_of(core_of(db)).views["v"].log.sealed.is_read
    assert sorted(db.sql("SELECT g, c FROM v").fetchall()) == [(0, 3), (1, 4)]
    assert engine_of(core_of(db)).views["v"].log.sealed.is_read
    assert db.sql("SELECT c FROM v WHERE g = 1").fetchall() == [(4,)]
    assert len(plainly) == 7


def test_what_literals_say_of_a_key_is_not_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    db = ivm.connect(compile="off")
    db.sql("""
        CREATE TABLE t (k VARCHAR, "D" DATE, x DECIMAL(9,2) NOT NULL, m TIMESTAMP, b BOOLEAN, h HUGEINT, PRIMARY KEY (k, "D"));
        CREATE MATERIALIZED VIEW v AS SELECT k, sum(x) AS x, max(h) AS h FROM t GROUP BY k;
        INSERT INTO t VALUES ('a', '2020-01-01', 1.5, NULL, TRUE, 170141183460469231), ('it''s', '2020-01-02', 2, NULL, NULL, 1)
    """)
    with monkeypatch.context() as patched:
        patched.setattr(plain_rows_module, "bind_rows", mock.Mock(side_effect=AssertionError))
        for text, params in (
            ("UPDATE t SET x = -3.25, m = '2020-02-03 04:05:06' WHERE K = 'a' AND d = DATE '2020-01-01'", None),
            ("UPDATE T SET b = FALSE WHERE (\"D\" = '2020-01-02') AND k = 'it''s'", None),
            (
                "UPDATE t SET x = ?, m = ? WHERE d = ? AND k = ?",
                [Decimal("0.5"), datetime(1999, 1, 1), date(2020, 1, 2), "it's"],
            ),
            ("UPDATE t SET h = NULL WHERE d = $1 AND k = $2", [date(2020, 1, 2), "it's"]),
        ):
            assert db.sql(text, params).fetchall() == [(1,)]
        found = sorted(tuples_of(db.view("v").arrow()))
        assert found == [("a", Decimal("-3.25"), 170141183460469231), ("it's", Decimal("0.50"), None)]
        assert db.sql("DELETE FROM t WHERE k = 'a' AND d = '2020-01-01'").rowcount == 1
    assert tuples_of(engine_of(core_of(db)).tables["t"].arrow()) == [
        ("it's", date(2020, 1, 2), Decimal("0.50"), datetime(1999, 1, 1), False, None)
    ]
    with pytest.raises(ivm.ConstraintError, match="NOT NULL column 'x'"):
        db.sql("UPDATE t SET x = NULL WHERE k = 'it''s' AND d = '2020-01-02'")
    for none in (
        "k = 'it''s' AND d = '2020-01-01'",
        "k = 'it''s' AND d = NULL",
        "k = 'a' AND d = '2020-01-02' AND k = 'b'",
    ):
        assert db.sql(f"UPDATE t SET b = NULL WHERE {none}").rowcount == 0
    db.sql("DROP VIEW v; DROP TABLE t; CREATE TABLE t (d DATE, k VARCHAR PRIMARY KEY, x BIGINT, m INTEGER, b INTEGER)")
    db.sql("INSERT INTO t VALUES (NULL, 'it''s', 7, 8, 9)")
    db.sql("UPDATE t SET b = 5 WHERE k = 'it''s' AND d = '2020-01-02'")
    db.sql("UPDATE t SET x = -1 WHERE k = 'it''s'")
    assert tuples_of(engine_of(core_of(db)).tables["t"].arrow()) == [(None, "it's", -1, 8, 9)]
