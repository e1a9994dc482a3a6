"""Limits of loops: what they are told by, what they leave, and what else people may write that has no end or no meaning."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

import ivm
from ivm.trace.rows import signed_rows

_M = "WITH MUTUALLY RECURSIVE"
_TABLES = "CREATE TABLE e (s BIGINT NOT NULL, d BIGINT NOT NULL, w BIGINT NOT NULL, CHECK (w > 0))"
_LEAST = f"""{_M} c(v BIGINT, l BIGINT) AS (SELECT v, min(l) FROM (SELECT s AS v, s AS l FROM e
    UNION ALL SELECT e.d, c.l FROM c JOIN e ON c.v = e.s) GROUP BY v) SELECT * FROM c"""
_FAR = f"""{_M} p(v BIGINT, x BIGINT) AS (SELECT v, min(x) FROM (SELECT 1 AS v, 0 AS x
    UNION ALL SELECT e.d, p.x + e.w FROM p JOIN e ON p.v = e.s) GROUP BY v) SELECT * FROM p"""


def _database(**given: Any) -> ivm.Database:
    db = ivm.connect(compile="off", **given)
    db.sql(_TABLES)
    db.sql("INSERT INTO e VALUES (1, 2, 1), (2, 3, 1)")
    return db


def _held(db: ivm.Database) -> object:
    views = {view.name: Counter(db.view(view.name).fetchall()) for view in db.views()}
    return db.time, Counter(db.sql("FROM e").fetchall()), views


def _refused(db: ivm.Database, text: str, error: type[ivm.Error], said: str) -> str:
    """A statement raises, and leaves all as it was."""
    before = _held(db)
    with pytest.raises(error, match=said) as caught:
        db.sql(text)
    assert type(caught.value) is error
    assert _held(db) == before
    db.sql("INSERT INTO e VALUES (70, 71, 1); DELETE FROM e WHERE s = 70")
    assert _held(db)[1:] == before[1:]  # type: ignore[index]
    return str(caught.value)


ENDLESS = {
    "of one": ("WITH RECURSIVE Ways(s, d) AS (SELECT s, d FROM e UNION ALL SELECT w.s, e.d FROM Ways w JOIN e ON w.d = e.s)"
        " SELECT * FROM Ways", "Ways"),
    "of the last round": ("WITH RECURSIVE W(s, d) AS (SELECT s, d FROM e UNION ALL SELECT a.s, b.d FROM W a JOIN W b ON a.d = b.s)"
        " SELECT * FROM W", "W"),
    "of two": (f'{_M} A (v BIGINT) AS (SELECT s FROM e UNION ALL SELECT e.d FROM "A too" a JOIN e ON a.v = e.s),'
        ' "A too" (v BIGINT) AS (SELECT v FROM A) SELECT * FROM A', "A, A too"),
    "denied": (f"{_M} won(v BIGINT) AS (SELECT DISTINCT s FROM e WHERE d NOT IN (SELECT v FROM won)) SELECT * FROM won", "won"),
    "within": ("SELECT * FROM (WITH RECURSIVE q AS (SELECT 1 AS a UNION SELECT a + 1 FROM q WHERE a < 5) SELECT a FROM q),"
        " (WITH RECURSIVE q AS (SELECT s, d FROM e UNION ALL SELECT q.s, e.d FROM q JOIN e ON q.d = e.s) FROM q)", "q"),
}  # fmt: skip


@pytest.mark.parametrize("name", ENDLESS)
def test_a_loop_that_does_not_end_is_told_by_view_and_name(name: str) -> None:
    query, names = ENDLESS[name]
    db = _database(recursion_limit=40)
    db.sql(f"CREATE MATERIALIZED VIEW Seen AS {query}")
    db.sql("CREATE MATERIALIZED VIEW beside AS SELECT s, count(*) AS n FROM e GROUP BY s")
    for _ in range(2):
        text = _refused(db, "INSERT INTO e VALUES (3, 1, 1)", ivm.RecursionLimitError, "has not ended after 40 rounds")
        assert text.startswith(
            f"cannot commit: view Seen: the loop of {names} has not ended after 40 rounds; let it find"
        )
    db.sql("DROP VIEW Seen; INSERT INTO e VALUES (3, 1, 1)")
    said = f"cannot create view again over the rows there are: the loop of {names} has not ended after 40 rounds"
    _refused(db, f"CREATE MATERIALIZED VIEW again AS {query}", ivm.RecursionLimitError, said)


def test_a_limit_of_its_own_comes_before_that_of_the_database() -> None:
    db = _database(recursion_limit=5)
    count = "{} t(n BIGINT) AS (SELECT 0 UNION ALL SELECT n + 1 FROM t WHERE n < 30) SELECT max(n) AS n FROM t"
    db.sql(f"CREATE MATERIALIZED VIEW a AS {count.format(f'{_M} (RETURN AT RECURSION LIMIT 12)')}")
    db.sql(f"CREATE MATERIALIZED VIEW b AS {count.format(f'{_M} (ERROR AT RECURSION LIMIT 32)')}")
    assert [db.view(name).fetchall() for name in "ab"] == [[(11,)], [(30,)]]
    for form in ("ERROR AT ", ""):  # of which the short one means the same
        text = f"CREATE MATERIALIZED VIEW c AS {count.format(f'{_M} ({form}RECURSION LIMIT 31)')}"
        said = _refused(db, text, ivm.RecursionLimitError, "the loop of t has not ended after 31 rounds")
        assert "write RETURN AT RECURSION LIMIT 31" in said
    _refused(
        db, f"CREATE MATERIALIZED VIEW c AS {count.format(_M)}", ivm.RecursionLimitError, "after 5 rounds; .* greater"
    )


@pytest.mark.parametrize("limit", ["0", "-1", "1.5", "'3'", "n", "2147483648", "9" * 40])
@pytest.mark.parametrize("form", ["RETURN AT ", "ERROR AT ", ""])
def test_a_limit_is_a_number_of_rounds(limit: str, form: str) -> None:
    text = f"CREATE MATERIALIZED VIEW v AS {_M} ({form}RECURSION LIMIT {limit}) w(v BIGINT) AS (SELECT s FROM e) FROM w"
    _refused(_database(), text, ivm.ParseError, r"expected a number of rounds.* \(line 1, column")


def test_a_great_limit_is_one() -> None:
    db = _database()
    text = "w(v BIGINT) AS (SELECT 1 UNION SELECT d FROM w JOIN e ON v = s) FROM w"
    db.sql(f"CREATE MATERIALIZED VIEW v AS {_M} (RETURN AT RECURSION LIMIT 2147483647) {text}")
    db.sql("INSERT INTO e VALUES (3, 1, 1), (3, 9, 1)")
    assert sorted(db.view("v").fetchall()) == [(1,), (2,), (3,), (9,)]


def test_rounds_by_value_count_as_they_are_run() -> None:
    db = _database(recursion_limit=20)
    db.sql(f"CREATE MATERIALIZED VIEW least AS {_LEAST}; CREATE MATERIALIZED VIEW far AS {_FAR}")
    db.sql("INSERT INTO e VALUES (3, 4, 1000000000000), (4, 5, 2000000000000), (1000000000, 2000000000, 1)")
    assert {(4, 1000000000002), (5, 3000000000002)} <= set(db.view("far").fetchall())
    assert {(5, 1), (2000000000, 1000000000)} <= set(db.view("least").fetchall())
    db.sql("DELETE FROM e WHERE s > 2")
    assert sorted(db.view("far").fetchall()) == [(1, 0), (2, 1), (3, 2)]
    assert sorted(db.view("least").fetchall()) == [(1, 1), (2, 1), (3, 1)]
    db.sql("DROP VIEW least")
    chain = ", ".join(f"({i}, {i + 1}, 1)" for i in range(3, 40))
    _refused(
        db, f"INSERT INTO e VALUES {chain}", ivm.RecursionLimitError, "view far: the loop of p has not ended after 20"
    )


@pytest.mark.parametrize(("base", "branch"), [
    ("100::TINYINT", "a * 2"), ("1.5::DECIMAL(4, 2)", "a * 1.5"), ("'1'", "a || '1'"), ("1::INTEGER", "'x' || a"),
])  # fmt: skip
def test_rounds_have_the_types_of_the_base(base: str, branch: str) -> None:
    db = _database(recursion_limit=30)
    text = (
        f"CREATE MATERIALIZED VIEW v AS WITH RECURSIVE q(a) AS (SELECT {base} UNION ALL SELECT {branch} FROM q) FROM q"
    )
    error = ivm.RecursionLimitError if base == "'1'" else ivm.NumericError
    _refused(
        db,
        text,
        error,
        "cannot create view v over the rows there are: .*(does not fit|out of range|no such value|30 rounds)",
    )


def test_types_that_are_declared_do_not_change() -> None:
    db = _database()
    text = f"CREATE MATERIALIZED VIEW v AS {_M} q(a INTEGER) AS (SELECT 1 UNION SELECT a + s FROM q, e) FROM q"
    _refused(
        db, text, ivm.TypeMismatchError, r"declared INTEGER, but its query gives BIGINT; cast it .*\(line 1, column"
    )


def test_a_view_does_not_read_itself() -> None:
    db = _database()
    _refused(db, "CREATE VIEW v AS SELECT * FROM V", ivm.BindError, "view 'V' cannot read itself")
    db.sql("CREATE MATERIALIZED VIEW v AS SELECT s AS x FROM e")
    for query in (
        "SELECT x FROM v",
        "WITH RECURSIVE r(x) AS (SELECT x FROM v UNION SELECT d FROM r JOIN e ON x = s) SELECT * FROM r",
        f"{_M} r(x BIGINT) AS (SELECT x FROM v UNION SELECT x FROM r) SELECT * FROM r",
    ):
        said = r"view 'v' cannot read itself; write WITH RECURSIVE in it, .*\(line 1, column"
        _refused(db, f"CREATE OR REPLACE MATERIALIZED VIEW v AS {query}", ivm.BindError, said)
        _refused(db, f"CREATE OR REPLACE VIEW v AS {query}", ivm.BindError, said)


def test_a_name_stands_before_a_table_of_the_same_name() -> None:
    db = _database()
    db.sql("""CREATE MATERIALIZED VIEW one AS WITH RECURSIVE e(s, d) AS (
        SELECT s, d FROM e UNION SELECT e.d, e.s FROM e) SELECT * FROM e""")  # the base reads the table, the branch the name
    db.sql(
        f"CREATE MATERIALIZED VIEW two AS {_M} e(v BIGINT) AS (SELECT 5 UNION SELECT v - 1 FROM e WHERE v > 0) SELECT * FROM e"
    )
    db.sql("INSERT INTO e VALUES (8, 9, 1)")
    assert db.verify(["one"])[0].rows == 6
    assert sorted(db.view("two").fetchall()) == [(n,) for n in range(6)]


def test_too_many_names_are_refused_at_once() -> None:
    names = (f"n{i}(v BIGINT) AS (SELECT v FROM n{i // 2})" for i in range(2_000))
    text = f"CREATE MATERIALIZED VIEW v AS {_M} {', '.join(names)} SELECT * FROM n0"
    _refused(_database(), text, ivm.UnsupportedError, "2000 names .* at most 1000; make views of some")


@pytest.mark.parametrize("limit", ["", "(RETURN AT RECURSION LIMIT 300)"])
def test_many_names_that_need_each_other(limit: str) -> None:
    db, many = _database(), 200
    names = [f"n{i}(v BIGINT) AS (SELECT v FROM n{i + 1})" for i in range(many)]
    last = f"n{many}(v BIGINT) AS (SELECT s FROM e UNION SELECT v FROM n0)"
    db.sql(f"CREATE MATERIALIZED VIEW v AS {_M} {limit} {', '.join([*names, last])} SELECT * FROM n0")
    assert sorted(db.view("v").fetchall()) == [(1,), (2,)]
    db.sql("INSERT INTO e VALUES (6, 7, 1); DELETE FROM e WHERE s = 1")
    assert sorted(db.view("v").fetchall()) == [(2,), (6,)]


def test_rows_that_double_in_each_round_are_refused_before_memory_is_full(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(signed_rows, "_MOST_COPIES", 10_000)
    db = ivm.connect(compile="off")
    db.sql("CREATE TABLE e (s BIGINT, d BIGINT)")
    ways = "SELECT s, d FROM e UNION ALL SELECT r.a, e.d FROM r JOIN e ON r.b = e.s"
    db.sql(f"CREATE MATERIALIZED VIEW v AS WITH RECURSIVE r(a, b) AS ({ways}) SELECT * FROM r")
    db.sql("INSERT INTO e VALUES (1, 2), (1, 2), (2, 3)")
    with pytest.raises(ivm.NumericError, match=r"cannot commit: view v: rows within a loop .* write UNION"):
        db.sql("INSERT INTO e VALUES (3, 1)")
    assert sorted(db.view("v").fetchall()) == [(1, 2), (1, 2), (1, 3), (1, 3), (2, 3)]
    db.sql("DROP VIEW v; INSERT INTO e VALUES (3, 1)")
    with pytest.raises(ivm.NumericError, match=r"cannot create view v .* write UNION"):
        db.sql(f"CREATE MATERIALIZED VIEW v AS WITH RECURSIVE r(a, b) AS ({ways}) SELECT * FROM r")
    db.sql("DELETE FROM e WHERE s = 3")
    db.sql(f"CREATE MATERIALIZED VIEW v AS WITH RECURSIVE r(a, b) AS ({ways}) SELECT * FROM r")
    db.verify()
