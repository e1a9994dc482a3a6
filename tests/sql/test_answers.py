"""What a bound query denotes in the model is what DuckDB answers to its text, and names and types are DuckDB's."""

from __future__ import annotations

from collections import Counter

import pytest

from ivm.catalog.schema import View
from ivm.sql.bind import bind
from tests.sql.world import bound, catalog, described, expected, modelled, tables

QUERIES = (
    # SELECT: expressions, stars, aliases
    "SELECT * FROM emp",
    "SELECT e.*, id + 1 AS next FROM emp AS e",
    "SELECT * EXCLUDE (born, PAY) FROM emp",
    "SELECT pay, pay * 2 AS double_pay, double_pay + 1 AS more FROM emp",
    "SELECT 1 AS one, 'a' AS text, NULL AS nothing",
    "SELECT id, id, name AS id FROM emp",
    "SELECT i + 1, -i, i * 2 + 1, i / 2, NOT b, (i), d52 * d152, 'x', 1.5, -1, v || 'z' FROM t",
    "SELECT CASE WHEN i > 3 THEN 'big' WHEN i IS NULL THEN 'none' ELSE v END FROM t",
    "SELECT CASE i WHEN 3 THEN 1 WHEN 30 THEN 2 END AS c FROM t",
    "SELECT coalesce(i, 0), ifnull(v, 'none'), nullif(i, 3), greatest(i, 10), least(d52, 1), if(b, 1, 2) AS y FROM t",
    "SELECT abs(d52), round(d184, 2), round(f), floor(d52), ceil(f), sqrt(d152), power(i, 2) FROM t WHERE i > 0",
    "SELECT i // 2, i % 2, mod(d52, 1) AS m, ti + si, hi * 2, d386 + 1, 7 // -2, -7 % 3 FROM t",
    "SELECT upper(v), lower(v), trim(v), length(v), substring(v, 2, 3), substring(v FROM 2), concat(v, 1, NULL) FROM t",
    "SELECT replace(v, 'p', 'b'), starts_with(v, 'a'), contains(v, 'an'), prefix(v, 'B'), v || NULL FROM t",
    "SELECT extract(year FROM dt), month(dt), date_part('day', ts), dayofweek(dt), extract('hour' FROM ts) FROM t",
    "SELECT date_trunc('month', dt), date_trunc('hour', ts) FROM t",
    "SELECT dt + 1, dt - 1, dt + i, dt - i, dt - DATE '2020-01-01', 2 + dt FROM t WHERE i < 100",
    "SELECT dt + INTERVAL '1' MONTH AS x, ts - INTERVAL '1 day 2 hours' AS y, INTERVAL 1 YEAR + dt AS z FROM t",
    "SELECT CAST(i AS VARCHAR), d52::INTEGER, CAST(f AS DECIMAL(9, 1)), CAST(dt AS TIMESTAMP), ts::DATE, bi::DOUBLE FROM t",
    "SELECT CAST('5' AS INTEGER) + i, CAST(v AS VARCHAR), b::INTEGER FROM t",
    # WHERE: three-valued logic, coercion of literals
    "SELECT id FROM emp WHERE pay > 80.5",
    "SELECT id FROM emp WHERE NOT (pay > 80.5)",
    "SELECT id FROM emp WHERE pay > 80.5 OR pay IS NULL",
    "SELECT id FROM emp WHERE born < '1990-05-06'",
    "SELECT id FROM emp WHERE born BETWEEN '1990-01-01' AND DATE '1990-01-01' + INTERVAL '1' YEAR",
    "SELECT id FROM emp WHERE born <= TIMESTAMP '1990-05-06 12:00:00'",
    "SELECT id FROM emp WHERE pay IN (80.5, 100, 7)",
    "SELECT id FROM emp WHERE pay NOT IN (80.5, NULL)",
    "SELECT id FROM emp WHERE pay IN (80.501, 100)",
    "SELECT id FROM emp WHERE id IN (dept, 4)",
    "SELECT id FROM emp WHERE pay NOT BETWEEN 81 AND 110",
    "SELECT id FROM emp WHERE name LIKE '_n%' OR name NOT LIKE '%d' AND name ILIKE 'E%'",
    "SELECT i FROM t WHERE v LIKE 'a!%' ESCAPE '!' OR v LIKE '%p_e'",
    "SELECT i FROM t WHERE b",
    "SELECT i FROM t WHERE b IS NOT TRUE AND i IS NOT NULL",
    "SELECT i FROM t WHERE i",
    "SELECT i FROM t WHERE i = '3' AND d52 <> '1.25'",
    "SELECT i FROM t WHERE si IS NOT DISTINCT FROM NULL AND i IS DISTINCT FROM 30",
    "SELECT i FROM t WHERE ti < 300 AND bi < 3000000000 AND d52 < 0.0001",
    "SELECT i FROM t WHERE dt < ts",
    "SELECT i FROM t WHERE i = 3.0 AND f = 0.25 AND hi > d386",
    "SELECT i AS x FROM t WHERE x > 3",
    "SELECT 1 AS x WHERE 1 = 2",
    # FROM: joins, subqueries, VALUES, CTEs
    "SELECT e.name, d.name FROM emp e, dept d WHERE e.dept = d.id",
    "SELECT e.name, d.name FROM emp e JOIN dept d ON e.dept = d.id AND e.pay > 90",
    "SELECT * FROM emp e INNER JOIN bonus USING (id)",
    "SELECT id, e.id, b.id FROM emp e JOIN bonus b USING (id)",
    "SELECT * FROM dept NATURAL JOIN (SELECT id, 2 * id AS twice FROM dept)",
    "SELECT e.id, d.id FROM emp e CROSS JOIN dept d",
    "SELECT e.id FROM emp e JOIN dept d ON e.pay > d.id * 40",
    "SELECT a.name FROM (emp a JOIN dept d ON a.dept = d.id) JOIN bonus b ON b.id = a.id",
    "SELECT e1.id, e2.id FROM emp e1 JOIN emp e2 ON e1.dept = e2.dept AND e1.id < e2.id",
    "SELECT s.n, twice FROM (SELECT name, id * 2 FROM emp) AS s (n, twice) WHERE s.twice > 4",
    "SELECT d.id, x.total FROM dept d, (SELECT dept, sum(pay) AS total FROM emp GROUP BY dept) x WHERE x.dept = d.id",
    "WITH rich (who, much) AS (SELECT name, pay FROM emp WHERE pay > 90) SELECT a.who, b.much FROM rich a, rich b",
    "WITH a AS (SELECT id FROM emp), b AS (SELECT id + 1 AS id FROM a) SELECT a.id FROM a JOIN b USING (id)",
    "SELECT * FROM (VALUES (1, 'a'), (2, NULL), (3000000000, 'c')) AS v (n, t) WHERE n > 1",
    "SELECT * FROM (SELECT name, name FROM dept)",
    "FROM dept",
    "(SELECT id FROM dept)",
    "TABLE dept",
    # GROUP BY, aggregates, HAVING
    "SELECT count(*), count(pay), sum(pay), avg(pay), min(born), max(name), sum(pay) + 1 FROM emp",
    "SELECT count(*), sum(id), min(name), avg(pay), stddev(pay) FROM emp WHERE id > 100",
    "SELECT dept, count(*), sum(pay), avg(id) FROM emp GROUP BY dept",
    "SELECT dept + 1 AS next, sum(pay) FROM emp GROUP BY dept + 1",
    "SELECT extract(year FROM born) AS y, count(*) FROM emp GROUP BY y",
    "SELECT extract(year FROM born), count(*) FROM emp GROUP BY 1",
    "SELECT dept, name, max(pay) FROM emp GROUP BY ALL",
    "SELECT dept FROM emp GROUP BY dept",
    "SELECT dept, sum(pay) AS total FROM emp GROUP BY dept HAVING total > 100 AND count(*) > 1",
    "SELECT sum(pay) FROM emp GROUP BY dept HAVING dept IS NULL OR min(pay) > 80",
    "SELECT max(id) FROM emp HAVING count(*) > 100",
    "SELECT count(*) FROM emp WHERE id > 100 GROUP BY dept",
    "SELECT dept, sum(pay) / count(*), 100.00 * sum(CASE WHEN pay > 90 THEN pay ELSE 0 END) / sum(pay) "
    "FROM emp GROUP BY dept",
    "SELECT sum(i), sum(bi), sum(d386), sum(f), sum(b), avg(d52), avg(f), var_pop(i), stddev_samp(d52), variance(f) FROM t",
    "SELECT min(b), max(dt), min(ts), max(hi), min(f), max(v), count(v) FROM t",
    "SELECT dept, count(*) FILTER (WHERE pay > 90), sum(pay) FILTER (WHERE id > 1), count_if(pay > 90) FROM emp GROUP BY 1",
    "SELECT name, n FROM (SELECT dept, count(*) AS n FROM emp GROUP BY dept) JOIN dept ON dept = dept.id WHERE n > 1",
    "SELECT avg(total) FROM (SELECT sum(pay) AS total FROM emp GROUP BY dept)",
    "SELECT DATE '2020-01-01' AS d, count(*) FROM emp GROUP BY d",
    "SELECT count() FROM emp GROUP BY ()",
    "SELECT dept % 2 = 0, count(*) FROM emp GROUP BY dept % 2",
    # ORDER BY, LIMIT
    "SELECT name, pay FROM emp ORDER BY pay DESC LIMIT 2",
    "SELECT pay FROM emp ORDER BY 1 LIMIT 3 OFFSET 1",
    "SELECT i, v FROM t ORDER BY v NULLS FIRST, i DESC LIMIT 4 -- the end",
    "SELECT i FROM t LIMIT 2",
    "SELECT dt, count(*) FROM t GROUP BY dt ORDER BY count(*) DESC, dt LIMIT 2",
    "SELECT i FROM t OFFSET 3",
    "SELECT * FROM (SELECT name FROM emp ORDER BY pay DESC, born LIMIT 2) AS x ORDER BY name",
    "SELECT * FROM (SELECT dept FROM emp GROUP BY dept ORDER BY sum(pay) LIMIT 1)",
    "WITH top AS (SELECT id, name FROM emp ORDER BY born /* LIMIT 5 */ LIMIT 3) SELECT name FROM top ORDER BY 1 LIMIT 1",
    "(SELECT id, pay FROM emp ORDER BY pay LIMIT 3) ORDER BY id DESC LIMIT 1",
    "SELECT -id AS id FROM emp ORDER BY id LIMIT 2",
    "SELECT id, name FROM emp ORDER BY ALL DESC LIMIT 2",
    "SELECT id FROM emp ORDER BY id LIMIT 0",
    "SELECT id FROM emp ORDER BY id LIMIT ALL OFFSET 4",
    "SELECT id FROM emp ORDER BY id FETCH FIRST 2 ROWS ONLY",
)


@pytest.mark.parametrize("text", QUERIES)
def test_the_relation_is_what_duckdb_answers(text: str):
    query = bound(text)
    got, want = modelled(query), expected(query)
    assert rounded(got) == rounded(want)
    for i, field in enumerate(query.schema):
        assert field.nullable or all(row[i] is not None for row in got), f"{field} is NULL"


@pytest.mark.parametrize("text", QUERIES)
def test_names_and_types_are_duckdbs(text: str):
    seen: set[str] = set()
    for field, (theirs, type_) in zip(bound(text).schema, described(text), strict=True):
        # A view needs distinct names; DuckDB numbers repeated ones in a subquery only.
        name = plain(theirs)
        numbered = name in seen and field.name.startswith(f"{name}_")
        # DuckDB writes the part of date_part as it was written first in the process.
        assert numbered or field.name == theirs or ("date_part(" in name and field.name.lower() == theirs.lower())
        assert str(field.type) == type_
        seen.add(name)


def plain(name: str) -> str:
    """The name without the quotes that DuckDB puts around its own words."""
    return name.replace('"', "").lower()


def rounded(bag):
    """The bag with DOUBLEs to 12 digits, since DuckDB adds them in another order."""
    digits: Counter[tuple[object, ...]] = Counter()
    for row, count in bag.items():
        digits[tuple(repr(float(f"{v:.12g}")) if isinstance(v, float) else v for v in row)] += count
    return digits


def test_the_oracle_is_told_names_in_quotes():
    text = "select  Name -- who\nfrom EMP at order by 1"
    assert bound(text).oracle_sql == 'SELECT "Name" FROM "EMP" AS "at" ORDER BY 1'


def test_order_is_told_by_output_column():
    query = bound("SELECT name, pay FROM emp ORDER BY pay DESC, name NULLS FIRST")
    assert query.order == ((1, True, False), (0, False, True))
    assert bound("SELECT id, name FROM emp ORDER BY ALL").order == ((0, False, False), (1, False, False))
    assert bound("SELECT id + 1 FROM emp ORDER BY id + 1 DESC").order == ((0, True, False),)


def test_uses_are_what_the_text_names():
    text = "WITH c AS (SELECT id FROM bonus) SELECT e.id FROM Emp e, emp f, c"
    assert bound(text).uses == ("bonus", "emp")


def with_views():
    copy = catalog().fixed()
    for name, text, maintained in (
        ("rich", "SELECT id AS emp_id, pay AS amount FROM emp WHERE pay > 80 ORDER BY pay LIMIT 3", False),
        ("pays", "SELECT dept, sum(pay) AS total FROM emp GROUP BY dept", True),
    ):
        query = bind(text, copy)
        copy.add_view(View(name, text, query.schema, query.uses, maintained, query.order))
    return copy


def test_a_registered_view_is_put_in_place():
    query = bind("SELECT r.amount FROM rich r WHERE emp_id > 1", with_views())
    assert query.uses == ("rich",)
    assert sorted(modelled(query).elements()) == [(8050,), (8050,)]


def test_a_maintained_view_is_read():
    query = bind("SELECT total FROM pays WHERE dept = 2", with_views())
    bags = tables() | {"pays": modelled(bound("SELECT dept, sum(pay) AS total FROM emp GROUP BY dept"))}
    assert query.uses == ("pays",)
    assert list(modelled(query, bags)) == [(20050,)]


def test_another_dialect_is_read_with_its_own_rules():
    spark = bind("SELECT `name`, pay FROM emp ORDER BY pay LIMIT 1", catalog(), dialect="spark")
    assert [row[0] for row in modelled(spark)] == ["dan"]  # Spark puts NULL first
    assert modelled(spark) == expected(spark)
