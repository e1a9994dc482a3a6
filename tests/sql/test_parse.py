from __future__ import annotations

import pytest

from ivm.catalog.errors import BindError, Error, ParseError, TypeMismatchError, UnsupportedError
from ivm.catalog.schema import Field, ForeignKey, Table
from ivm.catalog.types import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    HUGEINT,
    INTEGER,
    SMALLINT,
    TIMESTAMP,
    TINYINT,
    VARCHAR,
    decimal,
)
from ivm.sql.parse import parse
from ivm.sql.sql_text import SqlText
from ivm.sql.statements import CreateTable, CreateView, Delete, Drop, Explain, Insert, Query, Update
from ivm.sql.syntax import Syntax, query
from ivm.tpch.queries import NAMES, view_sql


def test_every_type_of_a_table():
    text = """CREATE TABLE IF NOT EXISTS T (
        a INT, b INTEGER, c BIGINT, d SMALLINT, e TINYINT, f HUGEINT, g DECIMAL(15, 2), h NUMERIC(4), i DOUBLE,
        j BOOLEAN, k DATE, l TIMESTAMP, m VARCHAR, n TEXT, o CHAR(3), p VARCHAR(10), q DECIMAL)"""
    (statement,) = parse(text)
    assert isinstance(statement, CreateTable)
    assert statement.if_not_exists
    assert statement.table.name == "T"
    types = [INTEGER, INTEGER, BIGINT, SMALLINT, TINYINT, HUGEINT, decimal(15, 2), decimal(4, 0), DOUBLE, BOOLEAN]
    types += [DATE, TIMESTAMP, VARCHAR, VARCHAR, VARCHAR, VARCHAR, decimal(18, 3)]
    assert statement.table.fields == tuple(Field(n, t) for n, t in zip("abcdefghijklmnopq", types, strict=True))


def test_keys_of_a_table():
    text = """CREATE TABLE t (A BIGINT PRIMARY KEY, b BIGINT NOT NULL REFERENCES u (x), c INT REFERENCES v,
        CONSTRAINT fk FOREIGN KEY (b, c) REFERENCES w (y, z)) WITH (check_foreign_keys = true)"""
    keys = (
        ForeignKey(("b",), "u", ("x",), True),
        ForeignKey(("c",), "v", (), True),
        ForeignKey(("b", "c"), "w", ("y", "z"), True),
    )
    fields = (Field("A", BIGINT, nullable=False), Field("b", BIGINT, nullable=False), Field("c", INTEGER))
    assert parse(text) == (CreateTable(Table("t", fields, ("A",), keys)),)


def test_a_table_level_key_implies_not_null_and_foreign_keys_are_unchecked_by_default():
    (statement,) = parse("CREATE TABLE t (a INT, b INT NULL, PRIMARY KEY (b), FOREIGN KEY (a) REFERENCES u (x))")
    assert isinstance(statement, CreateTable)
    assert [f.nullable for f in statement.table.fields] == [True, False]
    assert not statement.table.foreign_keys[0].enforced


def test_what_a_table_declares_of_its_changes():
    (statement,) = parse("CREATE TABLE t (a INT) WITH (append_only = true, static = false)")
    assert isinstance(statement, CreateTable)
    assert (statement.table.append_only, statement.table.static) == (True, False)


def test_views_keep_the_text_as_written():
    text = "CREATE MATERIALIZED VIEW V AS\n  select A, -- why\n  b from t;\nCREATE VIEW IF NOT EXISTS w AS FROM t"
    first, second = parse(text)
    assert first == CreateView("V", "select A, -- why\n  b from t", True, origin=(2, 3))
    assert second == CreateView("w", "FROM t", False, if_not_exists=True, origin=(4, 32))


def test_a_view_may_name_its_columns():
    (view,) = parse('CREATE VIEW v (A, "b c") AS SELECT 1, 2')
    assert view == CreateView("v", "SELECT 1, 2", False, origin=(1, 29), columns=("A", "b c"))


def test_a_view_may_say_that_its_changes_are_written_down():
    feed, none = parse(
        "CREATE OR REPLACE MATERIALIZED VIEW v (a) WITH (Change_Feed = true) AS SELECT 1;"
        "CREATE MATERIALIZED VIEW v WITH (change_feed = false) AS WITH q AS (SELECT 1) FROM q"
    )
    assert feed == CreateView("v", "SELECT 1", True, origin=(1, 72), columns=("a",), replace=True, change_feed=True)
    assert isinstance(none, CreateView)
    assert (none.query_text, none.change_feed) == ("WITH q AS (SELECT 1) FROM q", False)


def test_queries_name_what_they_read():
    text = "WITH c AS (SELECT * FROM T) SELECT * FROM c, main.U WHERE a IN (SELECT b FROM v)"
    (query,) = parse(text)
    assert isinstance(query, Query)
    assert query.text == text
    assert query.names == ("U", "T", "v")


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("WITH c AS (SELECT 1), d AS (SELECT * FROM C) SELECT * FROM c, D, e", ("e",)),
        ("WITH t AS (SELECT * FROM T) SELECT * FROM t", ("T",)),
        ("SELECT * FROM t WHERE a IN (WITH t AS (SELECT 1) SELECT * FROM t)", ("t",)),
        ("WITH b AS (SELECT * FROM a), a AS (SELECT 1) SELECT * FROM a", ("a",)),
        ("SELECT * FROM t, T, main.t", ("t",)),
        ("WITH t AS (SELECT 1) SELECT * FROM main.t", ("t",)),
    ],
)
def test_names_of_with_are_those_in_reach(text: str, names: tuple[str, ...]):
    (query,) = parse(text)
    assert isinstance(query, Query)
    assert query.names == names


def test_another_dialect_is_translated_for_the_ad_hoc_engine():
    (query,) = parse("SELECT `a` FROM t LIMIT 3", dialect="spark")
    assert isinstance(query, Query)
    assert query.text == 'SELECT "a" FROM "t" LIMIT 3'
    assert query.written == "SELECT `a` FROM t LIMIT 3"


def test_explain_keeps_the_place_of_its_query():
    text = "EXPLAIN SELECT ';'; SELECT 1;\nexplain CREATE MATERIALIZED VIEW v AS SELECT a FROM t"
    first, second, third = parse(text)
    assert first == Explain(Query("SELECT ';'", (), "SELECT ';'", (1, 9)))
    assert second == Query("SELECT 1", (), "SELECT 1", (1, 21))
    assert third == Explain(CreateView("v", "SELECT a FROM t", True, origin=(2, 39)))


def test_drops():
    text = "DROP TABLE T; DROP VIEW IF EXISTS v; DROP MATERIALIZED VIEW w"
    assert parse(text) == (Drop("TABLE", "T"), Drop("VIEW", "v", if_exists=True), Drop("VIEW", "w"))


def test_changes():
    insert, delete, update = parse(
        "INSERT INTO T (A, b) VALUES (1, 'x'); DELETE FROM t AS x WHERE x.a IN (SELECT b FROM u);"
        "UPDATE t SET A = a + 1, b = NULL"
    )
    assert insert == Insert("T", ("A", "b"), Query("", (), ""), (("1", "'x'"),), "T")
    assert delete == Delete("t", "x", '"x"."a" IN (SELECT "b" FROM "u")', ("t", "u"))
    assert update == Update("t", "t", (("A", '"a" + 1'), ("b", "NULL")), "", ("t",))


def test_nothing_is_no_statement():
    assert parse("") == parse(" ;; -- nothing\n") == ()


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        ("SELECT a FROM t WHERE (a\n", ParseError, r"expecting \) \(line 1, column 24\)"),
        ("SELECT a b\n c FROM t", ParseError, r"at 'c': unexpected here \(line 2, column 2\)\n   c FROM t\n   \^"),
        ("SELECT 'abc", ParseError, r"opened and not closed \(line 1, column 8\)"),
        ("SELECT 'a' FROM /* x", ParseError, r"opened and not closed \(line 1, column 17\)"),
        ("SELEC a", ParseError, "expected CREATE, .* not 'SELEC'"),
        ("CREATE VIEW v", ParseError, "needs AS SELECT"),
        ("CREATE VIEW v WITH (change_feed = true) AS SELECT 1", BindError, "write CREATE MATERIALIZED VIEW"),
        ("CREATE MATERIALIZED VIEW v WITH (change_feed = 1) AS SELECT 1", BindError, "must be true or false"),
        (
            "CREATE MATERIALIZED VIEW v WITH (feed = true) AS SELECT 1",
            UnsupportedError,
            r"WITH \(change_feed = true\) is",
        ),
        (
            "CREATE MATERIALIZED VIEW v AS SELEC 1",
            ParseError,
            r"expected SELECT after AS, not 'SELEC' \(line 1, column 31\)",
        ),
        ("CREATE VIEW v AS SELECT a\n FRM t", ParseError, r"unexpected here \(line 2, column 6\)\n   FRM t\n       \^"),
        ("CREATE VIEW v AS SELECT (1\n", ParseError, r"expecting \)"),
        ("CREATE VIEW 5 AS SELECT 1", ParseError, "line 1"),
        ("CREATE TABLE t (a INT b INT)", ParseError, "line 1"),
        ("CREATE TABLE t (a INT", ParseError, "line 1"),
        ("CREATE TABLE t (a BIT)", UnsupportedError, "BIT, which is not supported"),
        ("CREATE TABLE t (a DECIMAL(39, 1))", BindError, "1 to 38 digits"),
        ("CREATE TABLE t (a INT DEFAULT 3 DEFAULT 4)", BindError, r"declared twice; declare it once \(line 1"),
        ("CREATE TABLE t (a INT, b INT DEFAULT a + 1)", BindError, r"DEFAULT of column 'b' reads other columns"),
        ("CREATE TABLE t (a INT DEFAULT (SELECT 1))", BindError, "holds a subquery"),
        ("CREATE TABLE t (a INT CHECK (b > 1))", BindError, r"no column 'b' \(line 1, column 30\)"),
        ("CREATE TABLE t (a VARCHAR, CHECK (a + 1 > 1))", TypeMismatchError, "cannot compute VARCHAR"),
        ("CREATE TABLE t (a INT CHECK (a > (SELECT 1)))", UnsupportedError, "a subquery in CHECK"),
        ("CREATE TABLE t (a INT CHECK (sum(a) > 1))", BindError, r"sum\(\) cannot stand in CHECK"),
        ("CREATE TABLE t (a DATE CHECK (a < current_date))", UnsupportedError, "changes without a change to a table"),
        ("CREATE TABLE t (a INT, b INT AS (a + 1) STORED)", UnsupportedError, "leave the word out"),
        ("CREATE TABLE t (a INT GENERATED ALWAYS AS IDENTITY)", UnsupportedError, "DEFAULT nextval"),
        ("CREATE TABLE t (a INT COLLATE nocase)", BindError, "which is of texts"),
        ("CREATE TABLE t (a INT REFERENCES u ON DELETE CASCADE)", UnsupportedError, "ON DELETE CASCADE"),
        ("CREATE TABLE t (a INT PRIMARY KEY, PRIMARY KEY (a))", BindError, "two primary keys"),
        ("CREATE TABLE t (a INT) WITH (foo = 1)", UnsupportedError, "check_foreign_keys = true"),
        ("CREATE TABLE t (a INT) WITH (static = 1)", BindError, "static must be true or false"),
        ("CREATE TABLE t (a INT) WITH (check_foreign_keys = 1)", BindError, "true or false"),
        ("CREATE UNLOGGED TABLE t (a INT)", UnsupportedError, "UNLOGGED"),
        ("CREATE TABLE t", ParseError, "needs its columns, or AS SELECT"),
        ("CREATE TABLE t (a INT) AS SELECT 1", UnsupportedError, "names of columns without types"),
        ("CREATE TABLE t WITH (static = true) AS SELECT 1", UnsupportedError, "declare the table, then INSERT INTO"),
        ("CREATE OR REPLACE TABLE IF NOT EXISTS t (a INT)", BindError, "exclude each other"),
        ("CREATE INDEX ON t (a)", BindError, "needs a name"),
        ("CREATE UNIQUE INDEX i ON t (a + 1)", UnsupportedError, "takes names of columns"),
        ("CREATE UNIQUE INDEX i ON t (a) WHERE a > 1", UnsupportedError, "leave the condition out"),
        ("CREATE OR REPLACE INDEX i ON t (a)", UnsupportedError, "drop it first"),
        ("CREATE TABLE a.b.c (a INT)", BindError, "there is no schema 'b'"),
        ("CREATE FOO x", UnsupportedError, "cannot read this CREATE statement"),
        ("DROP TABLE a, b", UnsupportedError, "one name"),
        ("TRUNCATE a, b", UnsupportedError, "one name"),
        ("TRUNCATE t CASCADE", UnsupportedError, "CASCADE"),
        ("INSERT OR ABORT INTO t VALUES (1)", UnsupportedError, "OR ABORT is not supported"),
        ("INSERT OR IGNORE INTO t VALUES (1) ON CONFLICT DO NOTHING", BindError, "exclude each other"),
        (
            "INSERT INTO t VALUES (1) ON CONFLICT ON CONSTRAINT k DO NOTHING",
            UnsupportedError,
            "write the constraint's columns",
        ),
        (
            "INSERT INTO t VALUES (1) ON CONFLICT (a) WHERE a > 1 DO NOTHING",
            UnsupportedError,
            "a condition after the columns",
        ),
        ("INSERT INTO t VALUES (1) ON CONFLICT (a + 1) DO NOTHING", UnsupportedError, "takes names of columns"),
        ("INSERT INTO t VALUES (1) ON CONFLICT (a) DO UPDATE SET a = 1, A = 2", BindError, "sets column 'A' twice"),
        ("INSERT INTO t VALUES (1) RETURNING (SELECT 1)", UnsupportedError, "RETURNING takes no subqueries"),
        ("UPDATE t SET (a, b) = 1", UnsupportedError, r"write \(x, y\), ROW\(x, y\) or a subquery .*line 1, column 15"),
        ("UPDATE t SET (a, b) = (1, 2, 3)", BindError, r"SET names 2 columns, but 3 values .*line 1, column 15"),
        ("UPDATE t SET (a, a) = (1, 2)", BindError, "sets column 'a' twice"),
        ("UPDATE t SET (a, b + 1) = (1, 2)", UnsupportedError, "SET column = value"),
        ("UPDATE t SET (a, b) = (SELECT * FROM u)", UnsupportedError, "list the columns"),
        ("MERGE INTO t USING s ON true", ParseError, "something is missing here"),
        ("MERGE INTO t USING s WHEN MATCHED THEN DELETE", ParseError, r"needs ON condition or USING \(columns\)"),
        ("MERGE INTO t USING s ON true WHEN FOUND THEN DELETE", ParseError, "expected MATCHED .*line 1, column 35"),
        ("MERGE INTO t USING s ON true WHEN MATCHED DELETE", ParseError, "expected THEN"),
        (
            "MERGE INTO t USING s ON true WHEN MATCHED THEN TRUNCATE",
            ParseError,
            "expected UPDATE, DELETE, INSERT or DO",
        ),
        ("MERGE INTO t USING s ON true WHEN NOT MATCHED THEN DELETE", BindError, "no row to DELETE; write .*column 30"),
        ("MERGE INTO t USING s ON true WHEN NOT MATCHED BY SOURCE THEN INSERT", BindError, r"write VALUES \(\.\.\)"),
        ("MERGE INTO t USING s ON true WHEN NOT MATCHED BY SOURCE THEN UPDATE", BindError, "write SET column = value"),
        (
            "MERGE INTO t USING s ON true WHEN MATCHED THEN DELETE WHEN MATCHED AND t.a = 1 THEN DELETE",
            BindError,
            "before this one has no condition.*line 1, column 55",
        ),
        (
            "MERGE INTO t USING range(3) ON true WHEN MATCHED THEN DELETE",
            UnsupportedError,
            r"write USING f\(\.\.\) AS s",
        ),
        ("MERGE INTO t USING (a JOIN b USING (k)) ON true WHEN MATCHED THEN DELETE", UnsupportedError, "one relation"),
        ("EXPLAIN MERGE INTO t USING s ON true WHEN MATCHED THEN DELETE", UnsupportedError, "queries and views"),
        ("SHOW a b", UnsupportedError, "SHOW TABLES, "),
        ("DESCRIBE", ParseError, "line 1"),
        ("UPDATE t SET a = 1, a = 2", BindError, "sets column 'a' twice"),
        ("COPY t FROM 'x' (FORMAT arrow)", UnsupportedError, "csv, parquet, json and, into a table"),
        ("COPY t FROM 'x.csv' (FOO 3)", UnsupportedError, "COPY of a csv file with FOO is not supported"),
        ("COPY t FROM 'x.parquet' (HEADER)", UnsupportedError, "COPY of a parquet file with HEADER is not supported"),
        ("COPY (SELECT 1) FROM 'x.csv'", UnsupportedError, "COPY needs a plain name"),
        ("BEGIN IMMEDIATE", UnsupportedError, "IMMEDIATE is not supported"),
        ("START", ParseError, "expected TRANSACTION"),
        ("COMMIT AND CHAIN", UnsupportedError, "takes no AND CHAIN"),
        ("ROLLBACK TO a", UnsupportedError, "as a whole"),
        ("SAVEPOINT a", UnsupportedError, "by ROLLBACK"),
        ("EXPLAIN ANALYZE INSERT INTO t VALUES (1)", UnsupportedError, "EXPLAIN ANALYZE is for queries"),
        ("EXPLAIN DELETE FROM t", UnsupportedError, "EXPLAIN is for queries and views"),
    ],
)
def test_what_cannot_be_run_is_refused(text: str, error: type[Error], message: str, caplog):
    with pytest.raises(error, match=message) as caught:
        parse(text)
    assert type(caught.value) is error
    assert not caplog.records


def test_an_unknown_dialect_is_said():
    with pytest.raises(BindError, match="unknown SQL dialect 'klingon'"):
        parse("SELECT 1", dialect="klingon")


def test_a_long_line_is_shown_around_the_place():
    with pytest.raises(ParseError) as caught:
        parse("SELECT " + "a, " * 200 + "b c d FROM t")
    _, shown, caret = str(caught.value).split("\n")
    assert len(shown) <= 102
    assert shown[caret.index("^")] == "d"


@pytest.mark.parametrize(
    "text",
    [
        *map(view_sql, NAMES),
        "SELECT 1; CREATE VIEW IF NOT EXISTS v (a, b) AS\n  WITH c AS (SELECT a, 'é' AS b FROM t) SELECT * FROM c; SELECT 2",
        "CREATE VIEW v AS SELECT a FROM t UNION ALL (SELECT b FROM u ORDER BY 1 LIMIT 3) ORDER BY a",
        "CREATE VIEW v AS WITH c AS (VALUES (1, 'a')) SELECT * FROM c WHERE a IN (1, 2.5, 'x' 'y') UNION VALUES (2, 'b')",
        "CREATE MATERIALIZED VIEW v AS SELECT sum(a) OVER (ORDER BY b, lower(c)) FROM t -- the end",
    ],
)
def test_the_query_of_a_view_is_read_with_it_as_it_is_alone(text: str):
    found = next(each for each in parse(text) if isinstance(each, CreateView))
    assert found.syntax is not None
    alone = query(SqlText(found.query_text), "duckdb")
    assert found.syntax.tree == alone.tree
    assert _places(found.syntax) == _places(alone)


@pytest.mark.parametrize("text", ["CREATE VIEW v AS VALUES (1)", "CREATE VIEW v AS FROM t"])
def test_the_query_of_a_view_is_read_later_where_that_may_differ(text: str):
    view = parse(text)[0]
    assert isinstance(view, CreateView)
    assert view.syntax is None


@pytest.mark.parametrize(
    "text",
    [
        "EXPLAIN SELECT k FROM t WHERE a IN (1, 'b') OR b = 2.5 AND c BETWEEN 1 AND 2",
        "SELECT 1; /* here */ Explain\nSELECT 1 UNION ALL VALUES (2, 3), ('a' 'b', 4::DOUBLE)",
        "explain CREATE VIEW v AS SELECT abs(-1), (1), 2 AS c, 'x' FROM t",
    ],
)
def test_what_is_explained_is_read_once(text: str):
    (found,) = (each for each in parse(text) if isinstance(each, Explain))
    inner = found.inner
    assert inner.syntax is not None
    alone = query(SqlText(inner.query_text if isinstance(inner, CreateView) else inner.text), "duckdb")
    assert inner.syntax.tree == alone.tree
    assert _places(inner.syntax) == _places(alone)


def _places(syntax: Syntax) -> object:
    nodes = [(type(node), node.meta_get("start"), node.meta_get("end")) for node in syntax.tree.walk()]
    return nodes, syntax.explain
