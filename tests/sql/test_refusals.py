"""What cannot be bound: the class of the error, what it says, and where it points."""

from __future__ import annotations

import pytest

from ivm.catalog.errors import BindError, Error, ParseError, TypeMismatchError, UnsupportedError
from ivm.sql.bind import bind
from tests.sql.world import bound, catalog

# The query; the part of it that the error points at; the message, as a regular expression.
NAMES = (
    ("SELECT nam FROM emp", "nam", "no column 'nam'; did you mean 'name'"),
    ("SELECT e.nam FROM emp e", "e.nam", "table 'e' has no column 'nam'; did you mean 'name'"),
    ("SELECT id,\n x.name FROM emp e", "x.name", "no table 'x' in FROM"),
    ("SELECT name FROM emp e, dept d", "name", "ambiguous; write e.name or d.name"),
    ("SELECT * FROM empp", "empp", "no table or view 'empp'; did you mean 'emp'"),
    ("SELECT * FROM s.emp", "s.emp", "no schema 's'"),
    ("SELECT * FROM emp, emp", "emp", "'emp' stands twice in FROM; give one of them an alias"),
    ("SELECT emp.id FROM emp AS e", "emp.id", "no table 'emp' in FROM"),
    ("SELECT x AS y, y AS x", "x AS y", "no column 'x'"),
    ("SELECT * EXCLUDE (foo) FROM emp", "*", "no column 'foo'"),
    ("SELECT d.* FROM emp", "* FROM", "no table 'd'"),
    ("SELECT *", "*", "without FROM has no columns"),
    ("SELECT * FROM emp NATURAL JOIN t", "t", "no column of the same name"),
    ("SELECT 1 FROM emp JOIN dept USING (pay)", "dept", "does not exist on the right"),
    ("SELECT 1 FROM emp JOIN dept USING (id) JOIN emp e USING (name)", "emp e", "ambiguous on the left"),
    ("SELECT id FROM emp UNION SELECT id, name FROM dept", "id, name", "UNION needs the same number of columns on both sides"),
    ("SELECT dept.id FROM emp SEMI JOIN dept USING (id)", "dept.id", "there is no table 'dept'"),
    ("SELECT * FROM (SELECT 1) AS x (a, b)", "1", "has 1 columns, but 2 names"),
    ("WITH c (a, b) AS (SELECT 1) SELECT * FROM c", "c", "has 1 columns, but 2 names"),
    ("SELECT id FROM emp WHERE sum(pay) > 1", "sum", r"sum\(\) cannot stand in WHERE; .* HAVING"),
    ("SELECT sum(max(pay)) FROM emp", "pay", r"max\(\) cannot stand in the argument of sum\(\)"),
    ("SELECT dept FROM emp GROUP BY sum(pay)", "sum", "cannot stand in GROUP BY"),
    ("SELECT 1 FROM emp JOIN dept ON sum(pay) > 1", "sum", "cannot stand in ON"),
    ("SELECT dept, sum(pay) FROM emp", "dept", "'dept' is neither in GROUP BY nor inside an aggregate"),
    ("SELECT dept FROM emp GROUP BY dept ORDER BY name", "name", "'name' is neither in GROUP BY"),
    ("SELECT dept FROM emp GROUP BY dept HAVING name = ''", "name", "'name' is neither in GROUP BY"),
    ("SELECT pay FROM emp HAVING true", "pay", "'pay' is neither in GROUP BY"),
    ("SELECT dept FROM emp GROUP BY 3", "3", "GROUP BY 3 is no position .* has 1 to 1"),
    ("SELECT dept FROM emp ORDER BY 0", "0", "ORDER BY 0 is no position"),
    ("SELECT dept FROM emp ORDER BY -1", "1", "ORDER BY -1 is no position"),
    ("SELECT dept FROM emp ORDER BY ('dept')", "'dept'", "ORDER BY 'dept' has no effect"),
    ("SELECT dept FROM emp ORDER BY NULL", "NULL", "ORDER BY NULL has no effect"),
    ("SELECT dept, -id AS id FROM emp GROUP BY dept ORDER BY id + 1", "id", "'id' is neither in GROUP BY"),
    ("SELECT dept FROM emp UNION SELECT id FROM emp ORDER BY pay", "pay", "pay"),
    ("SELECT dept FROM emp UNION SELECT id FROM emp ORDER BY -emp.pay", "emp.pay", "emp"),
    ("SELECT * FROM range(1, 5, 0)", "0", r"the step of range\(\) is zero"),
    ("SELECT * FROM range(DATE '2020-01-01', DATE '2020-02-01', INTERVAL '1 month -1 day')", "'1 month", "both ways"),
    ("SELECT x.k FROM range(3) AS x", "x.k", "'x' has no column 'k'"),
    ("SELECT 1 FROM (VALUES (1, 2), (3))", "1, 2", "different numbers of values"),
    ("SELECT born + INTERVAL '1' FORTNIGHT FROM emp", "'1'", "cannot read this interval: .* not a unit of time"),
    ("SELECT (SELECT id, name FROM dept) FROM emp", "id, name", "needs one column, but this one has 2"),
    ("SELECT id FROM emp WHERE id IN (SELECT id, name FROM dept)", "id, name", "needs one column, but this one has 2"),
    ("SELECT id FROM emp WHERE (id, dept) IN (SELECT id FROM dept)", "id FROM dept", "with 2 values needs 2 columns"),
    ("SELECT id FROM emp e WHERE EXISTS (SELECT 1 FROM dept WHERE e.nam = city)", "e.nam", "'e' has no column 'nam'"),
    ("SELECT id FROM emp e WHERE EXISTS (SELECT 1 FROM dept WHERE x.id = 1)", "x.id", "no table 'x' in FROM"),
    ("SELECT (SELECT d.name FROM dept WHERE id = e) FROM emp d", "e)", "no column 'e'"),
    ("SELECT id, (SELECT 1 FROM emp x, emp y WHERE x.id = y.pay AND born = e.born) FROM emp e", "born =", "ambiguous"),
    ("SELECT dept, (SELECT max(id) FROM dept d WHERE d.id = pay) FROM emp GROUP BY dept", "pay)", "'pay' is neither"),
    ("SELECT id FROM emp WHERE EXISTS (SELECT 1 FROM dept WHERE sum(emp.pay) > 1)", "sum", "has no groups there"),
    ("SELECT id, (SELECT sum(pay)) FROM emp", "sum", "over columns of the query around"),
    ("SELECT 1 FROM emp RIGHT JOIN LATERAL (SELECT emp.id) AS x ON true", "emp.id) AS x", "cannot name columns of the left"),
    ("SELECT DATE '9999-12-31' + INTERVAL 300000 YEAR", "'9999", "cannot add the interval: the result is beyond the range of TIMESTAMP"),
)  # fmt: skip
TYPES = (
    ("SELECT * FROM range(2.5)", "2.5", "counts in integers, or in dates and timestamps with an INTERVAL as the step"),
    ("SELECT * FROM range('3')", "'3'", "counts in integers"),
    ("SELECT * FROM range(DATE '2020-01-01', DATE '2020-02-01')", "range", "an INTERVAL as the step"),
    ("SELECT * FROM range(DATE '2020-01-01', '2020-02-01', INTERVAL 1 DAY)", "'2020-02-01'", "a text is no TIMESTAMP"),
    ("SELECT name + 1 FROM emp", "name", r"cannot compute VARCHAR \+ INTEGER"),
    ("SELECT id FROM emp WHERE name > 1", "name", "cannot compare VARCHAR and INTEGER; cast one side"),
    ("SELECT id FROM emp WHERE born = 'yesterday'", "'yesterday'", "'yesterday' is not a date; write it as YYYY-MM-DD"),
    ("SELECT id FROM emp WHERE born IN ('2020-13-01')", "'2020", "'2020-13-01' is not a date"),
    ("SELECT id FROM emp WHERE id = 'x'", "'x'", "'x' is not a number"),
    ("SELECT id FROM emp WHERE born = 1", "born", "cannot compare DATE and INTEGER"),
    ("SELECT id FROM emp WHERE name", "name", "WHERE needs a condition, not a VARCHAR"),
    ("SELECT -name FROM emp", "name", "cannot negate a VARCHAR"),
    ("SELECT sum(name) FROM emp", "sum", r"sum\(\) needs numbers, not VARCHAR"),
    ("SELECT upper(id) FROM emp", "id", "text is needed here, not BIGINT"),
    ("SELECT abs(name) FROM emp", "name", "a number is needed here, not VARCHAR"),
    ("SELECT substring(name, 1.5) FROM emp", "1.5", "counts in integers"),
    ("SELECT name LIKE 1 FROM emp", "name", "a pattern must be text"),
    ("SELECT CAST(born AS INTEGER) FROM emp", "born", "cannot cast DATE to INTEGER"),
    ("SELECT 300::TINYINT", "300", "300 is out of the range of TINYINT"),
    ("SELECT CASE WHEN id = 1 THEN name ELSE 1 END FROM emp", "id", "CASE has values of types VARCHAR and INTEGER"),
    ("SELECT coalesce(name, born) FROM emp", "coalesce", "types VARCHAR and DATE"),
    ("SELECT extract(year FROM id) FROM emp", "id", "needs a DATE or TIMESTAMP, not a BIGINT"),
    ("SELECT born + name FROM emp", "born", r"cannot compute DATE \+ VARCHAR; add an INTERVAL"),
    ("SELECT born + id FROM emp", "born", r"cannot compute DATE \+ BIGINT"),
    ("SELECT born + INTERVAL (name) DAY FROM emp", "name", "cast the factor to INTEGER"),
    ("SELECT d386 * d386 * d386 * d386 * d386 * d386 * d386 FROM t", "d386", "over 38 decimals"),
    ("SELECT 1 FROM (VALUES (1), (DATE '2020-01-01'))", "1)", "types INTEGER and DATE"),
    ("SELECT id FROM emp EXCEPT SELECT born FROM emp", "born", "column 1 of EXCEPT is BIGINT on one side and DATE on the other"),
)  # fmt: skip
UNSUPPORTED = (
    ("SELECT 1 FROM emp LEFT JOIN dept", "dept", "LEFT JOIN needs a condition; write ON or USING"),
    ("SELECT 1 FROM emp ASOF RIGHT JOIN dept USING (id)", "dept", "ASOF RIGHT JOIN is not maintained; write ASOF LEFT"),
    ("SELECT 1 FROM emp POSITIONAL JOIN dept", "dept", "POSITIONAL JOIN is not supported; rows of a table have no"),
    ("SELECT * FROM seq_scan(3)", "seq_scan", "table function"),
    ("SELECT * FROM emp TABLESAMPLE 10%", "10%", "SAMPLE"),
    ("SELECT * FROM range(1000000000000)", "range", "of 1,000,000,000,000 rows is not supported, 67,108,864 are the most"),
    ("SELECT * FROM range(1, 2, 3, 4)", "4", "not supported"),
    ("SELECT * FROM range(2, start := 1)", "start", "not supported"),
    ("SELECT * FROM range(3) TABLESAMPLE 10%", "10%", "SAMPLE"),
    ("SELECT list_transform([1], lambda x: (SELECT x))", "x)", "in a lambda is not supported"),
    ("SELECT (id, dept) <> ANY (SELECT 1, 2) FROM emp", "id", "a row compared by <> with a subquery"),
    ("SELECT * FROM (SELECT DISTINCT id FROM emp ORDER BY pay LIMIT 1)", "pay", "SELECT DISTINCT does not list"),
    ("SELECT list(DISTINCT name ORDER BY id) FROM emp", "id", "ORDER BY takes the argument only"),
    ("SELECT string_agg(name, name) FROM emp", "name", "must be a constant"),
    ("SELECT quantile_cont(pay, id) FROM emp", "id", "one constant fraction"),
    ("SELECT max(id, dept) FROM emp", "dept", "a number from 1 to 999999"),
    ("SELECT approx_top_k(id, 2) FROM emp", "approx", "is not maintained yet; COUNT, SUM"),
    ("SELECT id FROM emp ORDER BY id FETCH FIRST 2 ROWS WITH TIES", "", "QUALIFY rank"),
    ("SELECT random() FROM emp", "random", "changes without a change to a table"),
    ("SELECT foo(id) FROM emp", "foo", r"the function foo\(\) is not supported"),
    ("SELECT uper(name) FROM emp", "uper", "did you mean 'upper'"),
    ("SELECT regexp_matches(name, 'a', name) FROM emp", "name) FROM", "varies from row to row"),
    ("SELECT round(pay, dept) FROM emp", "round", "of a DECIMAL as a literal"),
    ("SELECT id = ? FROM emp", "?", "parameters are not supported yet"),
    ("SELECT DISTINCT dept FROM emp ORDER BY pay", "pay", "several values of it; add it to the SELECT list"),
    ("SELECT DISTINCT dept FROM emp ORDER BY dept + id", "dept", "several values of it"),
    ("SELECT DISTINCT dept FROM emp GROUP BY dept ORDER BY max(pay) LIMIT 1", "pay", "several values of it"),
    ("(SELECT id FROM emp ORDER BY 1 LIMIT 2) ORDER BY -id", "id", r"write SELECT \* FROM \(..\) AS x ORDER BY"),
    ("SELECT id FROM emp UNION SELECT 1 ORDER BY rank() OVER (ORDER BY id)", "rank", "in a SELECT around"),
    ("SELECT *, -id FROM emp UNION SELECT *, 1 FROM emp ORDER BY -id", "id", "write its position"),
    ("SELECT a.b.id FROM emp", "a", "too many parts"),
    ("INSERT INTO emp VALUES (1)", "emp", "expected a SELECT"),
)  # fmt: skip
SYNTAX = (
    ("SELECT id FRM emp", "emp", "syntax error at 'emp'"),
    ("SELECT id FROM emp WHERE (id", "id", r"expecting \)"),
)
CASES = [
    (error, *case)
    for error, cases in (
        (BindError, NAMES), (TypeMismatchError, TYPES), (UnsupportedError, UNSUPPORTED), (ParseError, SYNTAX)
    )
    for case in cases
]  # fmt: skip


@pytest.mark.parametrize(("error", "text", "place", "message"), CASES)
def test_what_is_wrong_is_said_and_shown(error: type[Error], text: str, place: str, message: str):
    with pytest.raises(error, match=message) as caught:
        bound(text)
    assert type(caught.value) is error
    *_, shown, caret = str(caught.value).split("\n")
    pointed = shown[caret.index("^") :]
    assert any(pointed == shown[2:][at:] for at in starts(text, place)), f"points at {pointed!r}"


def starts(text: str, place: str) -> list[int]:
    """Where `place` begins in the lines of the text."""
    return [line.index(place, at) for line in text.split("\n") for at in range(len(line)) if place in line[at:]]


def test_two_statements_are_not_a_query():
    with pytest.raises(ParseError, match="holds 2 statements"):
        bound("SELECT 1; SELECT 2")
    with pytest.raises(ParseError, match="holds 0 statements"):
        bound("")


def test_a_position_counts_from_where_the_query_begins():
    with pytest.raises(BindError, match="line 3, column 20"):
        bind("SELECT nope FROM emp", catalog(), origin=(3, 13))
    with pytest.raises(BindError, match="line 4, column 3"):
        bind("SELECT\n  nope FROM emp", catalog(), origin=(3, 13))


def test_depth_is_bounded_by_an_error():
    deep = "(" * 400 + "1" + ")" * 400
    try:
        query = bound(f"SELECT {deep} AS x")
    except (UnsupportedError, ParseError):
        return
    assert query.schema[0].name == "x"


def test_a_long_condition_is_no_problem():
    query = bound("SELECT id FROM emp WHERE " + " OR ".join(f"id = {i}" for i in range(2000)))
    assert query.uses == ("emp",)
