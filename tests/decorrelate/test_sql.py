"""Subqueries in every clause, at any depth, NULLs on either side: the relation denotes what DuckDB answers."""

from __future__ import annotations

import pytest

from tests.sql.test_answers import rounded
from tests.sql.world import bound, expected, modelled

QUERIES = (
    "SELECT n FROM (SELECT (SELECT count(*) FROM bonus b WHERE b.id = e.id) AS n FROM emp e) q "
    "WHERE EXISTS (SELECT 1 FROM dept d WHERE d.id > q.n LIMIT 1)",
    "SELECT dept, (SELECT sum(pay) FROM dept d WHERE d.id = 100) AS x FROM emp GROUP BY dept, pay",
    "SELECT id FROM emp WHERE id IN (SELECT id FROM bonus)",
    "SELECT id FROM emp WHERE id NOT IN (SELECT id FROM bonus)",
    "SELECT id FROM emp WHERE pay IN (SELECT amount * 10 FROM bonus)",
    "SELECT id FROM emp WHERE pay NOT IN (SELECT amount * 10 FROM bonus)",
    "SELECT id FROM emp WHERE pay NOT IN (SELECT amount * 10 FROM bonus WHERE amount IS NOT NULL)",
    "SELECT id FROM emp WHERE pay NOT IN (SELECT amount * 10 FROM bonus WHERE amount > 1000)",
    "SELECT id FROM emp WHERE dept NOT IN (SELECT dept FROM emp e2 WHERE e2.id > emp.id)",
    "SELECT id, pay IN (SELECT amount * 10 FROM bonus) AS a, pay NOT IN (SELECT amount * 10 FROM bonus WHERE "
    "amount > 0) AS b, dept IN (SELECT id FROM dept) AS c FROM emp",
    "SELECT id, pay IN (SELECT amount * 10 FROM bonus WHERE bonus.id = emp.id) AS a FROM emp",
    "SELECT id FROM emp WHERE EXISTS (SELECT 1 FROM bonus WHERE bonus.id = emp.id)",
    "SELECT id FROM emp WHERE NOT EXISTS (SELECT 1 FROM bonus WHERE bonus.id = emp.id AND amount > 5)",
    "SELECT id FROM emp WHERE NOT EXISTS (SELECT 1) OR EXISTS (SELECT * FROM bonus WHERE id = emp.id)",
    "SELECT id, EXISTS (SELECT 1 FROM bonus WHERE bonus.id > emp.id) AS x FROM emp",
    "SELECT id, (SELECT sum(amount) FROM bonus WHERE bonus.id = emp.id) AS x FROM emp",
    "SELECT id, (SELECT count(*) FROM bonus WHERE bonus.id = emp.id) + 1 AS x FROM emp",
    "SELECT id, (SELECT count(*) FROM bonus WHERE bonus.id >= emp.id) AS x FROM emp",
    "SELECT id, (SELECT name FROM dept WHERE dept.id = emp.dept) AS x FROM emp",
    "SELECT (SELECT 1) AS x, (SELECT max(pay) FROM emp) AS y, (SELECT name FROM dept WHERE false) AS z",
    "SELECT id FROM emp WHERE pay > (SELECT avg(pay) FROM emp)",
    "SELECT id FROM emp e WHERE pay > (SELECT avg(pay) FROM emp x WHERE x.dept = e.dept)",
    "SELECT id FROM emp e WHERE pay >= ALL (SELECT pay FROM emp x WHERE x.dept = e.dept AND pay IS NOT NULL)",
    "SELECT id FROM emp e WHERE pay > ANY (SELECT pay FROM emp x WHERE x.dept = e.dept)",
    "SELECT id, pay > ANY (SELECT pay FROM emp x WHERE x.dept = e.dept) AS a, pay <= ALL (SELECT pay FROM "
    "emp) AS b, pay <> ALL (SELECT amount FROM bonus) AS c, pay <> ANY (SELECT pay FROM emp) AS d, pay = ALL "
    "(SELECT pay FROM emp WHERE pay = 80.5) AS f, pay < ANY (SELECT amount FROM bonus WHERE false) AS g, pay "
    "< ALL (SELECT amount FROM bonus WHERE false) AS h FROM emp e",
    "SELECT id FROM emp WHERE NOT pay > ANY (SELECT amount FROM bonus)",
    "SELECT id FROM emp WHERE NOT (pay = ANY (SELECT pay FROM emp x WHERE x.id > emp.id))",
    "SELECT id FROM emp WHERE (id, pay) IN (SELECT id, amount * 10 FROM bonus)",
    "SELECT id FROM emp WHERE (id, pay) NOT IN (SELECT id, amount * 10 FROM bonus)",
    "SELECT id, (dept, pay) IN (SELECT d.id, amount * 10 FROM bonus, dept d) AS x, ROW(dept, pay) = ANY "
    "(SELECT dept, pay FROM emp) AS y FROM emp",
    "SELECT dept, (SELECT name FROM dept d WHERE d.id = emp.dept) AS n, count(*) AS c FROM emp GROUP BY dept",
    "SELECT dept, count(*) AS c FROM emp GROUP BY dept HAVING sum(pay) > (SELECT avg(pay) FROM emp)",
    "SELECT dept FROM emp GROUP BY dept HAVING max(id) IN (SELECT id FROM bonus)",
    "SELECT dept, (SELECT count(*) FROM bonus WHERE amount < sum(emp.pay)) AS n FROM emp GROUP BY dept",
    "SELECT (SELECT name FROM dept d WHERE d.id = emp.dept) AS n, count(*) AS c FROM emp GROUP BY n",
    "SELECT (SELECT name FROM dept d WHERE d.id = emp.dept) AS n, count(*) AS c FROM emp GROUP BY 1",
    "SELECT (SELECT name FROM dept d WHERE d.id = emp.dept) || 'x' AS n, count(*) AS c FROM emp GROUP BY "
    "(SELECT name FROM dept d WHERE d.id = emp.dept) || 'x'",
    "SELECT sum((SELECT max(amount) FROM bonus WHERE bonus.id = emp.id)) AS s, count(*) FILTER (WHERE EXISTS "
    "(SELECT 1 FROM bonus WHERE bonus.id = emp.id)) AS c FROM emp",
    "SELECT dept % 2 AS p, (SELECT max(d.id) FROM dept d WHERE d.id > min(emp.dept)) AS q FROM emp GROUP BY dept % 2",
    "SELECT e.id FROM emp e JOIN dept d ON e.dept = d.id AND EXISTS (SELECT 1 FROM bonus b WHERE b.id = e.id "
    "AND b.id <= d.id + 3)",
    "SELECT e.id, d.id AS d FROM emp e LEFT JOIN dept d ON e.dept = d.id AND EXISTS (SELECT 1 FROM bonus b "
    "WHERE b.id = e.id)",
    "SELECT e.id, d.id AS d FROM emp e RIGHT JOIN dept d ON e.dept = d.id AND EXISTS (SELECT 1 FROM bonus b "
    "WHERE b.id = e.id)",
    "SELECT e.id, d.id AS d FROM emp e FULL JOIN dept d ON e.dept = d.id AND e.id IN (SELECT b.id FROM bonus "
    "b WHERE b.id >= d.id)",
    "SELECT e.id, d.id AS d FROM emp e LEFT JOIN dept d ON d.id = (SELECT max(b.id) FROM bonus b WHERE b.id <= e.id)",
    "SELECT e.id, x.total FROM emp e, LATERAL (SELECT sum(amount) AS total FROM bonus b WHERE b.id = e.id) AS x",
    "SELECT e.id, x.total FROM emp e, (SELECT sum(amount) AS total FROM bonus b WHERE b.id = e.id) AS x",
    "SELECT e.id, x.a FROM emp e, (SELECT amount + e.id AS a FROM bonus b WHERE b.id <= e.id) AS x",
    "SELECT e.id, x.a FROM emp e LEFT JOIN LATERAL (SELECT amount AS a FROM bonus b WHERE b.id = e.id) AS x ON true",
    "SELECT e.id, x.a FROM emp e LEFT JOIN LATERAL (SELECT amount AS a FROM bonus b WHERE b.id = e.id) AS x ON x.a > 5",
    "SELECT e.id, x.c FROM emp e LEFT JOIN LATERAL (SELECT count(*) AS c FROM bonus b WHERE b.id = e.id) AS x "
    "ON x.c > 0",
    "SELECT e.id, x.c, y.c AS d FROM emp e, LATERAL (SELECT count(*) AS c FROM bonus b WHERE b.id = e.id) AS "
    "x, LATERAL (SELECT x.c + e.id AS c) AS y",
    "SELECT d.id, t.name FROM dept d, LATERAL (SELECT name, pay FROM emp WHERE emp.dept = d.id ORDER BY pay "
    "DESC, id LIMIT 1) AS t",
    "SELECT d.id, (SELECT e.name FROM emp e WHERE e.dept = d.id ORDER BY pay DESC, e.name LIMIT 1) AS top FROM dept d",
    "SELECT d.id, (SELECT e.name FROM emp e WHERE e.dept >= d.id ORDER BY e.name LIMIT 1 OFFSET 1) AS top FROM dept d",
    "SELECT d.id FROM dept d WHERE EXISTS (SELECT 1 FROM emp e WHERE e.dept = d.id AND EXISTS (SELECT 1 FROM "
    "bonus b WHERE b.id = e.id AND b.id > d.id))",
    "SELECT d.id FROM dept d WHERE EXISTS (SELECT 1 FROM emp e WHERE EXISTS (SELECT 1 FROM bonus b WHERE b.id "
    "= e.id AND b.id = d.id))",
    "SELECT d.id FROM dept d WHERE NOT EXISTS (SELECT 1 FROM emp e WHERE NOT EXISTS (SELECT 1 FROM bonus b "
    "WHERE b.id = e.id AND e.dept = d.id))",
    "SELECT d.id, (SELECT sum((SELECT count(*) FROM bonus b WHERE b.id = e.id AND b.id > d.id)) FROM emp e "
    "WHERE e.dept = d.id) AS x FROM dept d",
    "SELECT d.id, (SELECT max((SELECT count(*) FROM emp x WHERE x.dept = d.id AND x.pay > e.pay AND EXISTS "
    "(SELECT 1 FROM bonus b WHERE b.id = x.id AND b.id >= d.id))) FROM emp e) AS x FROM dept d",
    "SELECT d.id, (SELECT count(*) FROM (SELECT DISTINCT e.dept FROM emp e WHERE e.dept <> d.id)) AS x FROM dept d",
    "SELECT d.id FROM dept d WHERE d.id IN (SELECT e.dept FROM emp e WHERE e.pay > 90 UNION SELECT b.id FROM "
    "bonus b WHERE b.id = d.id)",
    "SELECT d.id FROM dept d WHERE d.id IN (SELECT e.dept FROM emp e EXCEPT SELECT b.id FROM bonus b WHERE "
    "b.id <> d.id)",
    "SELECT d.id FROM dept d WHERE EXISTS (SELECT e.dept FROM emp e WHERE e.dept = d.id INTERSECT ALL SELECT "
    "dept FROM emp WHERE pay > 90)",
    "SELECT d.id, (SELECT count(x.id) FROM emp e LEFT JOIN bonus x ON x.id = e.id AND x.id > d.id WHERE "
    "e.dept = d.id) AS n FROM dept d",
    "SELECT d.id, (SELECT count(*) FROM emp e FULL JOIN bonus x ON x.id = e.id AND x.id > d.id) AS n FROM dept d",
    "SELECT d.id, (SELECT string_agg(n, ',' ORDER BY n) FROM (SELECT name AS n FROM emp WHERE dept = d.id)) "
    "AS n FROM dept d",
    "WITH c AS (SELECT dept, sum(pay) AS total FROM emp GROUP BY dept) SELECT dept FROM c WHERE total = "
    "(SELECT max(total) FROM c)",
    "SELECT d.id, (WITH c AS (SELECT pay FROM emp WHERE dept = d.id) SELECT max(pay) - min(c.pay) FROM c) AS "
    "n FROM dept d",
    "SELECT d.id FROM dept d WHERE EXISTS (WITH c AS (SELECT pay FROM emp WHERE dept = d.id) SELECT 1 FROM c "
    "a, c b WHERE a.pay > b.pay)",
    "SELECT id + 1 AS x, (SELECT max(id) FROM dept WHERE dept.id < x) AS y FROM emp",
    "SELECT id, CASE WHEN pay > 90 THEN (SELECT max(amount) FROM bonus) ELSE (SELECT min(amount) FROM bonus "
    "WHERE bonus.id = emp.id) END AS y FROM emp",
    "SELECT id, coalesce((SELECT amount FROM bonus WHERE bonus.id = emp.id AND amount < 5), 0) AS y FROM emp",
    "SELECT id FROM emp WHERE pay IN (80.5, (SELECT max(pay) FROM emp))",
    "SELECT id FROM emp WHERE pay BETWEEN (SELECT avg(pay) FROM emp) AND (SELECT max(pay) FROM emp)",
    "SELECT id FROM emp WHERE (SELECT max(pay) FROM emp e WHERE e.dept = emp.dept) IN (SELECT pay FROM emp x "
    "WHERE x.id = emp.id)",
    "SELECT id FROM emp WHERE (SELECT count(*) FROM bonus WHERE bonus.id = emp.id) = 0",
    "SELECT id FROM emp WHERE id IN (VALUES (1), (3))",
    "SELECT id FROM emp WHERE NULL IN (SELECT id FROM dept) IS NULL",
    "SELECT id FROM emp WHERE id IN (SELECT NULL)",
    "SELECT id FROM emp WHERE id NOT IN (SELECT NULL WHERE false)",
    "SELECT id FROM emp WHERE dept IN (SELECT max(id) FROM dept WHERE dept.id <> emp.dept)",
    "SELECT id FROM emp WHERE dept NOT IN (SELECT max(id) FROM dept WHERE dept.id > emp.dept)",
    "SELECT id FROM emp WHERE EXISTS (SELECT max(id) FROM dept WHERE dept.id = emp.dept)",
    "SELECT id FROM emp WHERE EXISTS (SELECT max(id) FROM dept WHERE dept.id = emp.dept HAVING count(*) > 0)",
    "SELECT id FROM emp WHERE (SELECT count(*) FROM dept WHERE dept.id = emp.dept HAVING count(*) > 0) IS NULL",
    "SELECT id, (SELECT 5 WHERE emp.pay > 90) AS x, (SELECT emp.pay) AS y, (SELECT emp.pay + max(id) FROM "
    "dept) AS z FROM emp",
    "SELECT id FROM emp WHERE 1 = (SELECT 1) AND EXISTS (SELECT 1 FROM dept WHERE dept.id = emp.dept) AND pay > 90",
    "SELECT id FROM emp WHERE NOT (id IN (SELECT id FROM bonus) AND dept IN (SELECT id FROM dept WHERE city "
    "IS NULL)) OR pay IN (SELECT amount * 10 FROM bonus)",
    "SELECT e.dept, e.name FROM emp e WHERE e.pay IS NOT DISTINCT FROM (SELECT max(pay) FROM emp x WHERE "
    "x.dept IS NOT DISTINCT FROM e.dept)",
    "SELECT dept FROM emp GROUP BY dept HAVING EXISTS (SELECT 1 FROM dept d WHERE d.id = emp.dept AND "
    "count(emp.id) > 1)",
    "SELECT id FROM (SELECT id FROM emp ORDER BY (SELECT sum(amount) FROM bonus b WHERE b.id = emp.id) DESC, "
    "id LIMIT 3)",
)


@pytest.mark.parametrize("text", QUERIES)
def test_the_relation_is_what_duckdb_answers(text: str):
    query = bound(text)
    assert rounded(modelled(query)) == rounded(expected(query))
    for i, field in enumerate(query.schema):
        assert field.nullable or all(row[i] is not None for row in modelled(query)), f"{field} is NULL"
