"""WITH RECURSIVE and WITH MUTUALLY RECURSIVE: what is refused and where, types, and what relations they are."""

from __future__ import annotations

import duckdb
import pytest

import ivm
from ivm.catalog.catalog import Catalog
from ivm.catalog.errors import BindError, Error, ParseError, TypeMismatchError, UnsupportedError
from ivm.catalog.schema import View
from ivm.sql.bind import bind
from ivm.sql.forgiving import forgiving
from ivm.sql.ir.rebuild import nodes
from ivm.sql.ir.relation import Apply, LetRec
from ivm.sql.ir.scalar import Outer, walk
from ivm.sql.ir.text import relation_text
from ivm.sql.parse import parse
from ivm.sql.sql_text import SqlText
from ivm.sql.statements import CreateTable, Insert, Query
from ivm.sql.syntax import query
from ivm.sql.tree import names_read
from ivm.transform.pipeline import optimize
from tests.model.relation import evaluate
from tests.sql.test_refusals import starts

SCHEMA = "CREATE TABLE e (s BIGINT, d BIGINT); CREATE TABLE roots (v BIGINT NOT NULL)"
AROUND = "WITH RECURSIVE q(a) AS (SELECT 1 {} SELECT b FROM (WITH RECURSIVE z(b) AS (SELECT a FROM q {} FROM z{}) SELECT b FROM z)) SELECT 1"
MUTUAL = "WITH MUTUALLY RECURSIVE"

# The class of the error; the query; where it points; the message, as a regular expression.
REFUSED: tuple[tuple[type[Error], str, str, str], ...] = (
    (BindError, "WITH q AS (SELECT 1 UNION SELECT 2 FROM q) SELECT 1", "q)", "q is not known here; write WITH RECURSIVE"),
    (BindError, "WITH RECURSIVE q AS (SELECT 1 FROM q) SELECT 1", "q)", "the branch alone may read q"),
    (BindError, "WITH RECURSIVE q AS (SELECT 1 FROM q UNION SELECT 2) SELECT 1", "q UNION", "the branch alone"),
    (BindError, "WITH RECURSIVE q AS (SELECT 1 EXCEPT SELECT 2 FROM q) SELECT 1", "q)", "the branch alone"),
    (BindError, "WITH RECURSIVE q AS (SELECT 1 INTERSECT SELECT 2 FROM q) SELECT 1", "q)", "the branch alone"),
    (BindError, "WITH RECURSIVE q AS (SELECT 1 UNION BY NAME SELECT 2 FROM q) SELECT 1", "q)", "the branch alone"),
    (BindError, "WITH RECURSIVE q AS (SELECT 1 UNION SELECT 2 FROM q UNION SELECT 3 FROM q) SELECT 1", "q UNION", "alone"),
    (BindError, "WITH RECURSIVE q AS (SELECT * FROM (SELECT 1 UNION SELECT 2 FROM q)) SELECT 1", "q))", "the branch alone"),
    (BindError, "WITH RECURSIVE a AS (SELECT v FROM b), b AS (SELECT 1 AS v) SELECT 1", "b)", "WITH MUTUALLY RECURSIVE"),
    (BindError, "WITH RECURSIVE q(a, b) AS (SELECT 1 UNION SELECT a FROM q) SELECT 1", "q(a, b)", "1 columns, but 2 names"),
    (BindError, "WITH RECURSIVE q(a) AS (SELECT 1 UNION SELECT a, 2 FROM q) SELECT 1", "a, 2", "has 2 columns, not 1"),
    (TypeMismatchError, "WITH RECURSIVE q(a) AS (SELECT NULL UNION SELECT 1 FROM q) SELECT 1", "SELECT NULL", "has no type; cast it"),
    (TypeMismatchError, "WITH RECURSIVE q(a) AS (SELECT DATE '2020-01-01' UNION SELECT 7 FROM q) SELECT 1", "7", "INTEGER, which is no DATE"),
    (UnsupportedError, "WITH RECURSIVE q(a) AS (SELECT 1 UNION SELECT a FROM q ORDER BY 1) SELECT 1", "1)", "nor are they by DuckDB"),
    (UnsupportedError, "WITH RECURSIVE q(a) AS (SELECT 1 UNION SELECT a FROM q LIMIT 3) SELECT 1", "3)", "nor are they by DuckDB"),
    (UnsupportedError, "WITH RECURSIVE q(a) USING KEY (a) AS (SELECT 1 UNION SELECT a FROM q) SELECT 1", "a) AS", "USING KEY"),
    (UnsupportedError, "WITH RECURSIVE q(a BIGINT) AS (SELECT 1 UNION SELECT a FROM q) SELECT 1", "a BIGINT", "declares the type"),
    (UnsupportedError, AROUND.format("UNION ALL", "UNION SELECT b", ""), "q(a) AS", "q has a loop within it that reads its name, which is"),
    (UnsupportedError, AROUND.format("UNION", "UNION ALL SELECT b", ""), "z(b)", "z is a loop that reads the name of a loop around it, which is"),
    (UnsupportedError, AROUND.format("UNION", "UNION SELECT a", ", q"), "z(b)", "make each row of one row of theirs"),
    (UnsupportedError, AROUND.format("UNION", "UNION SELECT b", " WHERE b NOT IN (FROM q)"), "z(b)", "make each row of one row"),
    (
        UnsupportedError,
        "WITH RECURSIVE q(a) AS (SELECT 1 UNION SELECT e.s FROM e, LATERAL (WITH RECURSIVE z(b) AS (SELECT a FROM q"
        " WHERE a < e.s UNION SELECT b FROM z) SELECT b FROM z) z) SELECT 1",
        "z(b)",
        "and columns of the query around, which is not supported",
    ),
    (
        UnsupportedError,
        "WITH RECURSIVE q(a) AS (SELECT 1 UNION SELECT b FROM (WITH MUTUALLY RECURSIVE z(b INT) AS (SELECT a FROM q)"
        " SELECT b FROM z)) SELECT 1",
        "z(b",
        "z reads the name of a loop around it",
    ),
    (
        UnsupportedError,
        f"{MUTUAL} q(a INT) AS (SELECT b FROM (WITH RECURSIVE z(b) AS (SELECT a FROM q UNION SELECT b FROM z) SELECT b FROM z))"
        " SELECT 1",
        "q(a",
        "or a loop within it does so",
    ),
    (BindError, f"{MUTUAL} a AS (SELECT 1) SELECT 1", "a AS", "needs the columns of a and their types"),
    (BindError, f"{MUTUAL} a (v) AS (SELECT 1) SELECT 1", "v)", "needs a type for column 'v' of a"),
    (BindError, f"{MUTUAL} a (v INT, V INT) AS (SELECT 1, 2) SELECT 1", "a (v", "two columns called 'V'"),
    (BindError, f"{MUTUAL} a (v INT, w INT) AS (SELECT 1) SELECT 1", "1) SELECT", "has 1 columns, not 2"),
    (BindError, f"{MUTUAL} a (v INT) AS (SELECT 1), A (v INT) AS (SELECT 1) SELECT 1", "A (v", "names 'A' twice"),
    (TypeMismatchError, f"{MUTUAL} a (v INT) AS (SELECT s FROM e) SELECT 1", "s FROM", "declared INTEGER, but its query gives BIGINT"),
    (TypeMismatchError, f"{MUTUAL} a (v DATE) AS (SELECT '2020-01-01') SELECT 1", "'2020", "declared DATE, but its query gives VARCHAR"),
    (UnsupportedError, f"{MUTUAL} a (v INT NOT NULL) AS (SELECT 1) SELECT 1", "v INT", "a constraint of column 'v'"),
    (UnsupportedError, f"{MUTUAL} a (v BIT) AS (SELECT 1) SELECT 1", "v BIT", "BIT"),
    (ParseError, f"{MUTUAL} (RECURSION LIMIT 0) a (v INT) AS (SELECT 1) SELECT 1", ") a", "number of rounds, 1 or more"),
    (ParseError, f"{MUTUAL} (RETURN AT 5) a (v INT) AS (SELECT 1) SELECT 1", "5)", "expected RECURSION LIMIT n"),
    (ParseError, f"{MUTUAL} (ROUNDS 5) a (v INT) AS (SELECT 1) SELECT 1", "ROUNDS", "expected RETURN AT RECURSION LIMIT"),
)  # fmt: skip


@pytest.fixture(scope="module")
def catalog():
    made = Catalog()
    for statement in parse(SCHEMA):
        assert isinstance(statement, CreateTable)
        made.add_table(statement.table)
    return made


@pytest.mark.parametrize(("error", "text", "place", "message"), REFUSED, ids=[text for _, text, *_ in REFUSED])
def test_what_is_refused_is_said_and_shown(error, text, place, message, catalog):
    with pytest.raises(error, match=message) as caught:
        bind(text, catalog)
    assert type(caught.value) is error
    *_, shown, caret = str(caught.value).split("\n")
    pointed = shown[caret.index("^") :]
    assert any(pointed == text[at:][: len(pointed)] for at in starts(text, place)), f"points at {pointed!r}"


def kinds(schema):
    return [(field.name, str(field.type), field.nullable) for field in schema]


def test_types_and_names_are_those_of_the_base(catalog):
    bound = bind(
        "WITH RECURSIVE q(x) AS (SELECT 1 AS a, 'b' AS b UNION SELECT x + 1.6, 5 FROM q WHERE x < 4) FROM q", catalog
    )
    assert kinds(bound.schema) == [("x", "INTEGER", False), ("b", "VARCHAR", False)]
    assert sorted(evaluate(bound.relation, {})) == [(1, "b"), (3, "5"), (5, "5")]


def test_a_column_may_be_null_where_a_round_may_make_it_so(catalog):
    text = "WITH RECURSIVE q(a, b, c) AS (SELECT v, v, v FROM roots UNION SELECT 1, a, nullif(b, 3) FROM q) SELECT * FROM q"
    assert [nullable for *_, nullable in kinds(bind(text, catalog).schema)] == [False, False, True]
    text = text.replace("1, a, nullif(b, 3)", "nullif(c, 3), a, b")
    assert [nullable for *_, nullable in kinds(bind(text, catalog).schema)] == [True, True, True]
    text = f"{MUTUAL} a (v BIGINT) AS (SELECT v FROM b UNION SELECT v FROM roots), b (v BIGINT) AS (SELECT v FROM a) FROM b"
    assert kinds(bind(text, catalog).schema) == [("v", "BIGINT", False)]
    assert kinds(bind(text.replace("SELECT v FROM a", "SELECT nullif(v, 1) FROM a"), catalog).schema) == [
        ("v", "BIGINT", True)
    ]


def test_a_name_that_does_not_read_itself_is_no_loop(catalog):
    text = (
        "WITH RECURSIVE a AS (SELECT v FROM roots), b AS (SELECT v FROM a UNION SELECT s FROM e),"
        " c AS (SELECT v FROM b UNION SELECT v FROM (WITH c AS (SELECT 1::BIGINT AS v) SELECT v FROM c)) SELECT * FROM c"
    )
    bound = bind(text, catalog)
    assert not any(isinstance(node, LetRec) for node in nodes(bound.relation))
    assert bound.uses == ("roots", "e")


def test_the_base_reads_a_relation_of_the_same_name(catalog):
    text = "WITH e AS (SELECT 7 AS n) SELECT * FROM (WITH RECURSIVE e(n) AS (SELECT n FROM e UNION SELECT n - 1 FROM e WHERE n > 5) FROM e)"
    assert sorted(evaluate(bind(text, catalog).relation, {})) == [(5,), (6,), (7,)]
    assert sorted(duckdb.execute(bind(text, catalog).oracle_sql).fetchall()) == [(5,), (6,), (7,)]


def loops_of(relation):
    return [node for node in nodes(relation) if isinstance(node, LetRec)]


def test_one_binding_where_the_branch_is_linear_and_several_where_not(catalog):
    def count(branch, union="UNION"):
        (loop,) = loops_of(bind(f"WITH RECURSIVE q AS (FROM e {union} ({branch})) FROM q", catalog).relation)
        return len(loop.bindings)

    linear = "SELECT q.s, e.d FROM q JOIN e ON q.d = e.s"
    assert [count(linear), count(linear, "UNION ALL")] == [1, 1]
    assert [count(f"{linear} UNION ALL FROM e"), count(f"{linear} UNION ALL FROM e", "UNION ALL")] == [1, 4]
    assert [count(f"SELECT DISTINCT * FROM ({linear})"), count(f"SELECT DISTINCT * FROM ({linear})", "UNION ALL")] == [
        1,
        3,
    ]
    assert count("SELECT s, (SELECT max(d) FROM e WHERE s = q.d) FROM q WHERE d NOT IN (SELECT v FROM roots)") == 1
    assert count("SELECT q.s, e.d FROM e LEFT JOIN q ON q.d = e.s") == 4
    assert count("SELECT x.s, y.d FROM q x JOIN q y ON x.d = y.s") == 3
    assert count("SELECT max(s), max(d) FROM q") == 4


def test_names_that_do_not_need_each_other_are_loops_of_their_own(catalog):
    text = (
        f"{MUTUAL} last (v BIGINT) AS (SELECT v FROM last UNION SELECT v FROM odd UNION SELECT v FROM plain),"
        " even (v BIGINT) AS (SELECT v FROM roots UNION SELECT d FROM odd JOIN e ON v = s),"
        " odd (v BIGINT) AS (SELECT d FROM even JOIN e ON v = s), plain (v BIGINT) AS (SELECT v + 1 FROM even)"
        " SELECT last.v, even.v FROM last, even"
    )
    found = {tuple(b.name for b in loop.bindings) for loop in loops_of(bind(text, catalog).relation)}
    assert found == {("last",), ("even", "odd")}
    limited = text.replace(MUTUAL, f"{MUTUAL} (ERROR AT RECURSION LIMIT 9)")
    loops = loops_of(bind(limited, catalog).relation)
    assert {tuple(b.name for b in loop.bindings) for loop in loops} == {("last", "even", "odd", "plain")}
    assert {(loop.limit, loop.fails_at_limit) for loop in loops} == {(9, True)}
    tables: dict[str, dict[tuple[int, ...], int]] = {"roots": {(1,): 1}, "e": {(1, 2): 1, (2, 3): 1, (3, 4): 1}}
    assert evaluate(bind(text, catalog).relation, tables) == evaluate(bind(limited, catalog).relation, tables)


def test_names_that_stand_in_loops_within_views_are_told_apart(catalog):
    inner = f"{MUTUAL} a (v BIGINT) AS (SELECT v FROM roots UNION SELECT d FROM a JOIN e ON v = s) SELECT v FROM a"
    view = View("reached", inner, bind(inner, catalog).schema, maintained=False, uses=("roots", "e"))
    made = Catalog()
    for table in catalog.tables:
        made.add_table(table)
    made.add_view(view)
    text = f"{MUTUAL} a (v BIGINT) AS (SELECT 9), b (v BIGINT) AS (SELECT v FROM a UNION SELECT v FROM reached UNION SELECT v FROM b) FROM b"
    tables: dict[str, dict[tuple[int, ...], int]] = {"roots": {(1,): 1}, "e": {(1, 2): 1}}
    assert set(evaluate(bind(text, made).relation, tables)) == {(9,), (1,), (2,)}


def test_limits(catalog):
    text = "{} t (n BIGINT) AS (SELECT 0 UNION ALL SELECT n + 1 FROM t) SELECT max(n) FROM t"
    for form, limit, fails in (
        ("(RETURN AT RECURSION LIMIT 4)", 4, False),
        ("(error at recursion limit 5)", 5, True),
        ("(RECURSION LIMIT 6)", 6, True),
    ):
        (loop,) = loops_of(bind(text.format(f"{MUTUAL} {form}"), catalog).relation)
        assert (loop.limit, loop.fails_at_limit) == (limit, fails)
    found = evaluate(bind(text.format(f"{MUTUAL} (RETURN AT RECURSION LIMIT 4)"), catalog).relation, {})
    assert found == {(3,): 1}


def test_no_dependent_join_stands_in_a_loop(catalog):
    text = (
        "WITH RECURSIVE q(v) AS (SELECT v FROM roots WHERE EXISTS (SELECT 1 FROM e WHERE s = v) UNION"
        " SELECT x.d FROM q, LATERAL (SELECT d FROM e WHERE s = q.v ORDER BY d LIMIT 2) AS x"
        " WHERE q.v < (SELECT max(d) FROM e WHERE s = q.v)) SELECT e.s FROM e WHERE EXISTS (SELECT 1 FROM q WHERE q.v < e.d)"
    )
    found = list(nodes(bind(text, catalog).relation))
    assert not any(isinstance(node, Apply) for node in found)
    assert not any(isinstance(s, Outer) for node in found for p in getattr(node, "predicates", ()) for s in walk(p))


def test_the_oracle_is_asked_what_it_can_answer(catalog):
    text = "WITH RECURSIVE q AS (SELECT s, d FROM e UNION (SELECT q.s, e.d FROM q JOIN e ON q.d = e.s ORDER BY 2 LIMIT 1)) FROM q"
    assert "ORDER BY 2, 1, 2 LIMIT 1" in bind(text, catalog).oracle_sql
    told = bind(f"{MUTUAL} a (v BIGINT, w VARCHAR) AS (SELECT 1, 'x') SELECT w, v FROM a", catalog).oracle_sql
    assert [(name, kind) for name, kind, *_ in duckdb.execute(f"DESCRIBE {told}").fetchall()] == [
        ("w", "VARCHAR"),
        ("v", "BIGINT"),
    ]
    for text in (told, forgiving(told)):
        with pytest.raises(duckdb.InvalidInputException, match="WITH MUTUALLY RECURSIVE"):
            duckdb.execute(f"SELECT count(*) FROM ({text})").fetchall()


def test_names_read_are_not_those_of_the_loop():
    text = f"{MUTUAL} a (v BIGINT) AS (SELECT v FROM b), b (v BIGINT) AS (SELECT v FROM a, roots) SELECT * FROM a, b, e"
    assert names_read(query(SqlText(text), "duckdb").tree) == ("e", "roots")


def test_the_text_form(catalog):
    text = f"{MUTUAL} (RETURN AT RECURSION LIMIT 3) a (v BIGINT) AS (SELECT v FROM b), b (v BIGINT) AS (SELECT s FROM e) FROM a"
    assert relation_text(optimize(bind(text, catalog).relation)) == (
        "LetRec a of 3 rounds at most\n  a = v BIGINT\n  b = v BIGINT\n  Get recursive b\n  Project #0:s AS v\n    Get e"
    )


def test_what_cannot_be_computed_is_refused():
    text = f"{MUTUAL} a (v BIGINT) AS (SELECT 1) SELECT * FROM a"
    for form in ("{}", "SELECT * FROM ({})", "CREATE TABLE t AS {}"):
        with pytest.raises(UnsupportedError, match=r"in a SELECT of another dialect; write CREATE .* \(line 1, column"):
            parse(form.format(text), "postgres")
    for form in ("DELETE FROM e WHERE s IN ({})", "UPDATE e SET s = 1 WHERE s IN ({})", "COPY ({}) TO 'x.csv'"):
        with pytest.raises(UnsupportedError, match="has no such thing: WITH MUTUALLY RECURSIVE"):
            parse(form.format(text))
    assert len(parse(f"EXPLAIN {text}; CREATE VIEW v AS {text}")) == 2


def test_what_duckdb_is_asked_reads_the_answers_of_loops():
    loop = f"{MUTUAL} a (v BIGINT) AS (SELECT v FROM b),\n b (v BIGINT) AS (SELECT s FROM e) SELECT * FROM a, roots"
    (query,) = parse(f"SELECT (SELECT count(*) FROM\n({loop})), x FROM ({loop}) AS c(x, y) WHERE x > (1)")
    assert isinstance(query, Query)
    assert [each.text for each in query.loops] == [loop, loop]
    assert query.names == ("roots", "e", "WITH MUTUALLY RECURSIVE 1", "WITH MUTUALLY RECURSIVE 2")
    assert len(query.text) == len(query.written)
    assert [line.split() for line in query.text.split("\n")][1][:5] == ["(FROM", '"WITH', "MUTUALLY", "RECURSIVE", '1"']
    (insert,) = parse(f"INSERT INTO e {loop} ON CONFLICT DO NOTHING RETURNING s")
    assert isinstance(insert, Insert)
    assert insert.query.text == 'SELECT * FROM "WITH MUTUALLY RECURSIVE 1"'
    assert [each.text for each in insert.query.loops] == [loop]


def test_both_are_maintained_and_duckdb_says_what_it_cannot_compute():
    with ivm.connect(compile="off") as db:
        db.sql(SCHEMA)
        db.sql("INSERT INTO e VALUES (1, 2), (2, 3)")
        for text in (
            "WITH RECURSIVE t AS (FROM e UNION SELECT t.s, e.d FROM t JOIN e ON t.d = e.s) SELECT * FROM t",
            f"{MUTUAL} t (s BIGINT, d BIGINT) AS (FROM e UNION SELECT t.s, e.d FROM t JOIN e ON t.d = e.s) SELECT * FROM t",
        ):
            db.sql(f"CREATE MATERIALIZED VIEW v AS {text}")
            assert sorted(db.view("v").fetchall()) == [(1, 2), (1, 3), (2, 3)]
            db.sql("DROP VIEW v")
        db.sql(f"CREATE VIEW closed AS {text}")
        assert db.sql("SELECT count(*) FROM closed").fetchall() == [(3,)]
