"""Macros: what is refused, what they cost at most, and what remembers them. What they mean: `tests/slt/macros.slt`."""

from __future__ import annotations

from pathlib import Path

import pytest

import ivm
from ivm.sql.macros import with_macros


def world() -> ivm.Database:
    db = ivm.connect(compile="off")
    db.sql("CREATE TABLE t (a INTEGER, b INTEGER)")
    db.sql("INSERT INTO t VALUES (1, 10), (2, 20)")
    db.sql("CREATE MACRO plus(x, y := 1) AS x + y")
    db.sql("CREATE MACRO up_to(n) AS TABLE SELECT a FROM t WHERE a <= n")
    return db


@pytest.mark.parametrize(
    ("text", "kind", "said"),
    [
        (
            "SELECT plus()",
            ivm.BindError,
            r"cannot call macro 'plus' without .*it is plus\(x, y := 1\) \(line 1, column 8\)",
        ),
        ("SELECT 1,\n plus(1, 2, 3)", ivm.BindError, r"arguments 3 by position.*\(line 2, column 2\)"),
        ("SELECT plus(1, z := 2)", ivm.BindError, "'z' by name"),
        ("SELECT plus(y := 1, y := 2, x := 3)", ivm.BindError, "given twice"),
        ("SELECT plus(y := 1, 2)", ivm.BindError, "put it before"),
        ("SELECT plus(*) FROM t", ivm.BindError, "takes expressions"),
        ("SELECT plus(a) OVER () FROM t", ivm.UnsupportedError, "takes no OVER"),
        ("SELECT a.plus() FROM t", ivm.UnsupportedError, "behind a dot"),
        ("SELECT up_to(1)", ivm.BindError, "gives a table"),
        ("CREATE MACRO plus(x) AS x", ivm.BindError, "OR REPLACE"),
        ("CREATE MACRO ivm_m(x) AS x", ivm.BindError, "the engine's own"),
        (
            "CREATE MACRO m(x INTEGER) AS x, (y DATE) AS 1",
            ivm.UnsupportedError,
            "that types alone tell from each other",
        ),
        ("CREATE MACRO m(x) AS x AS y", ivm.ParseError, "one expression"),
        ("CREATE MACRO m(x) AS x +", ivm.ParseError, "line 1"),
        ("CREATE MACRO m(x)", ivm.ParseError, "missing here; write CREATE MACRO"),
        ("CREATE MACRO m", ivm.ParseError, "missing here; write CREATE MACRO"),
        ("CREATE MACRO", ivm.ParseError, "name of a macro"),
        ("CREATE MACRO m(x) AS TABLE x", ivm.ParseError, "expected|unexpected|this is"),
        ("CREATE MACRO m(x) AS nothing(x)", ivm.BindError, "cannot create macro 'm'.*nothing"),
        ("CREATE MACRO m(x) AS plus(x, 2, 3)", ivm.BindError, "3 by position"),
        ("DROP MACRO plsu", ivm.BindError, "did you mean 'plus'"),
        ("DROP MACRO TABLE plus", ivm.BindError, "cannot drop table macro 'plus'"),
        ("DROP MACRO plus, up_to", ivm.ParseError, "one statement for each"),
    ],
)
def test_what_is_refused(text: str, kind: type[Exception], said: str) -> None:
    db = world()
    with pytest.raises(kind, match=f"(?s){said}"):
        db.sql(text)
    assert db.sql("SELECT plus(1), count(*) FROM up_to(1)").fetchall() == [(2, 1)]


def test_a_macro_on_itself() -> None:
    db = world()
    with pytest.raises(ivm.BindError, match="calls itself"):
        db.sql("CREATE MACRO m(x) AS m(x)")
    db.sql("CREATE MACRO one(x) AS x; CREATE MACRO two(x) AS one(x); CREATE MACRO three(x) AS two(two(x))")
    with pytest.raises(ivm.BindError, match="'one' calls 'three' calls 'two' calls 'one'"):
        db.sql("CREATE OR REPLACE MACRO one(x) AS three(x)")
    assert db.sql("SELECT three(one(two(7)))").fetchall() == [(7,)]
    with pytest.raises(ivm.BindError, match="calls itself"):  # as DuckDB: its own name comes before the function's
        db.sql("CREATE MACRO abs(x) AS abs(x) + 1")
    with pytest.raises(ivm.BindError, match="calls itself"):
        db.sql("CREATE MACRO rows_of() AS TABLE SELECT * FROM rows_of()")


def test_a_million_fold_expansion() -> None:
    db = world()
    db.sql(
        "CREATE MACRO double(x) AS x + x; CREATE MACRO never(x, y) AS 1; CREATE MACRO m0(x) AS x; CREATE MACRO n0(x) AS x"
    )
    nested = "1"
    for _ in range(30):
        nested = f"double({nested})"
    with pytest.raises(ivm.UnsupportedError, match=r"call of macro 'double'.*1000000 characters"):
        db.sql(f"SELECT {nested}")
    for kind, form in (("m", " + ".join(["{0}(x)"] * 9)), ("n", "never({0}(x), " + " + ".join(["{0}(x)"] * 9) + ")")):
        with pytest.raises(ivm.UnsupportedError, match=f"call of macro '{kind}.*10000 calls"):
            for i in range(30):
                db.sql(f"CREATE MACRO {kind}{i + 1}(x) AS {form.format(f'{kind}{i}')}")
    values = ", ".join(f"(plus({i}), {i})" for i in range(2_000))  # what a whole text calls is not limited
    assert db.sql(f"INSERT INTO t VALUES {values}").fetchall() == [(2_000,)]


def test_a_chain_of_macros_that_is_too_long() -> None:
    db = world()
    chain = "1"
    for _ in range(5_000):
        chain = f"plus({chain})"
    with pytest.raises(ivm.Error, match="nested too deeply"):
        db.sql(f"SELECT {chain}")


def test_views_go_on_meaning_what_they_meant(tmp_path: Path) -> None:
    db = ivm.connect(tmp_path / "db", compile="off")
    db.sql("CREATE TABLE t (a INTEGER)")
    db.sql("CREATE MACRO f(x, y := 2) AS x * y; CREATE MACRO g(n) AS TABLE SELECT a, f(a) FROM t WHERE a < n")
    db.sql("CREATE MATERIALIZED VIEW v AS SELECT f(a), a FROM t; CREATE VIEW w AS SELECT * FROM g(5)")
    db.sql("INSERT INTO t VALUES (1), (7)")
    db.sql("CREATE OR REPLACE MACRO f(x, y := 3) AS x * y")
    db.sql(
        "CREATE MACRO h(x BIGINT, word VARCHAR := 'k') AS typeof(x) || word; CREATE MACRO i(n) AS TABLE FROM query_table(n)"
    )
    for checkpoint in (False, True):
        for _ in range(2):
            assert db.sql("SELECT * FROM v").fetchall() == [(2, 1), (14, 7)]
            assert db.view("v").arrow().column_names == ["f(a)", "a"]
            assert db.sql("SELECT * FROM w").fetchall() == [(1, 2)]
            assert db.sql("SELECT f(4), f(4, 1), f(y := 5, x := 4)").fetchall() == [(12, 4, 20)]
            assert db.sql("SELECT * FROM g(9)").fetchall() == [(1, 3), (7, 21)]
            assert db.sql("SELECT h(1), h(a, 'x') FROM i('t') WHERE a = 7").fetchall() == [("BIGINTk", "BIGINTx")]
            if checkpoint:
                db.sql("CHECKPOINT")
            db.close()
            db = ivm.connect(tmp_path / "db", compile="off")
    db.sql("DROP MACRO f")
    db.close()
    db = ivm.connect(tmp_path / "db", compile="off")
    db.sql("DELETE FROM t WHERE a = 1")
    assert db.sql("SELECT * FROM v").fetchall() == [(14, 7)]
    db.verify()
    with pytest.raises(ivm.Error, match="f does not exist"):
        db.sql("SELECT * FROM g(9)")
    db.close()


def test_statements_of_one_text_see_what_came_before() -> None:
    db = world()
    text = (
        "CREATE MACRO m(x) AS x * 2; CREATE VIEW v AS SELECT m(a) AS a FROM t; CREATE OR REPLACE MACRO m(x) AS x * 3;"
    )
    assert db.sql(f"{text} SELECT m(a), a FROM v").fetchall() == [(6, 2), (12, 4)]
    with pytest.raises(ivm.Error, match="m does not exist"):
        db.sql("DROP MACRO m; SELECT m(1)")
    with pytest.raises(ivm.BindError, match="no form"):
        db.sql("CREATE MACRO m(x) AS x; SELECT m()")
    with pytest.raises(ivm.Error, match="m does not exist"):  # nothing of that text was carried out
        db.sql("SELECT m(1)")


def test_parameters_dialects_and_explain() -> None:
    db = world()
    assert db.sql("SELECT plus(?, ?)", [4, 5]).fetchall() == [(9,)]
    assert db.sql("SELECT plus($x)", {"x": 4}).fetchall() == [(5,)]
    assert "#0:a + 1" in db.explain("SELECT plus(a) FROM up_to(1)")
    assert "#0:a + 1" in db.sql("EXPLAIN SELECT plus(a) FROM t").fetchall()[0][0]
    with pytest.raises(ivm.UnsupportedError, match="in 'postgres'"):
        db.sql("SELECT plus(1)", dialect="postgres")
    with pytest.raises(ivm.UnsupportedError, match="not in 'postgres'"):
        db.sql("CREATE MACRO m(x) AS x", dialect="postgres")


def test_they_are_listed() -> None:
    db = world()
    asked = "SELECT function_name, function_type, parameters FROM duckdb_functions() WHERE NOT internal ORDER BY ALL"
    found = [("plus", "macro", ["x", "y"]), ("up_to", "table_macro", ["n"])]
    assert db.sql(asked).fetchall() == found
    db.sql("CREATE MACRO plus2(x) AS plus(plus(x)); CREATE OR REPLACE MACRO plus(x, y := 1) AS y + x")
    db.sql("DROP TABLE t")
    assert db.sql(asked).fetchall() == [found[0], ("plus2", "macro", ["x"]), found[1]]


def test_what_surrounds_a_call_stays_as_it_was() -> None:
    db = world()
    names = db._core.settings.names
    for text in (
        "SELECT 'plus(1)', \"plus\", x.plus FROM t AS plus(x, y), u plus(x, y) -- plus(1)",
        "WITH plus(x) AS (SELECT 1), up_to(n) AS MATERIALIZED (SELECT 2) SELECT * FROM plus, up_to",
        "INSERT INTO plus(x) SELECT 1",
        "CREATE TABLE plus(x INTEGER)",
        "CREATE VIEW IF NOT EXISTS plus(x) AS SELECT 1",
        "CREATE INDEX i ON plus(x)",
    ):
        assert with_macros(text, names) == text
    text = "SELECT DISTINCT ON (plus(a)) plus(a) , /* as it is */ plus(b) AS p FROM t, up_to(1) u"
    assert with_macros(text, names) == (
        'SELECT DISTINCT ON ((a + 1)) (a + 1) AS "plus(a)" , /* as it is */ (b + 1) AS p '
        "FROM t, (SELECT a FROM t WHERE a <= 1) u"
    )
