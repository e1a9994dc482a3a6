"""Subqueries of every kind over the tables of `tests.joins`: a (k, u, s), b (k, w, s), d (id, k, v), each with NULLs."""

from __future__ import annotations

WHERE = {
    "exists": "SELECT k, u FROM a WHERE EXISTS (SELECT 1 FROM b WHERE b.k = a.k)",
    "not_exists": "SELECT k, u FROM a WHERE NOT EXISTS (SELECT 1 FROM b WHERE b.k = a.k AND b.w <> a.u)",
    "exists_unequal": "SELECT k, u FROM a WHERE EXISTS (SELECT 1 FROM b WHERE b.k = a.k AND b.w < a.u)",
    "exists_apart": "SELECT k, u FROM a WHERE EXISTS (SELECT 1 FROM b WHERE b.w > 3)",
    "exists_null_safe": "SELECT k, u FROM a WHERE EXISTS (SELECT 1 FROM b WHERE b.k IS NOT DISTINCT FROM a.k)",
    "in": "SELECT k, u FROM a WHERE k IN (SELECT w FROM b)",
    "not_in": "SELECT k, u FROM a WHERE k NOT IN (SELECT w FROM b)",
    "not_in_own": "SELECT k, u FROM a WHERE u NOT IN (SELECT w FROM b WHERE b.k = a.k)",
    "not_in_key": "SELECT k, u FROM a WHERE k NOT IN (SELECT id FROM d)",
    "in_rows": "SELECT k, u FROM a WHERE (k, s) IN (SELECT k, s FROM b)",
    "not_in_rows": "SELECT k, u FROM a WHERE (k, s) NOT IN (SELECT k, s FROM b WHERE w > 1)",
    "in_or": "SELECT k, u FROM a WHERE k IN (SELECT w FROM b) OR u > 3 OR NOT EXISTS (SELECT 1 FROM d WHERE d.k = a.u)",
    "not_of_and": "SELECT k, u FROM a WHERE NOT (k IN (SELECT w FROM b) AND u NOT IN (SELECT d.k FROM d))",
    "all": "SELECT k, u FROM a WHERE u >= ALL (SELECT w FROM b WHERE b.k = a.k)",
    "any": "SELECT k, u FROM a WHERE u < ANY (SELECT w FROM b WHERE b.k = a.k)",
    "not_any": "SELECT k, u FROM a WHERE NOT u <> ANY (SELECT w FROM b WHERE b.k = a.k)",
    "above_average": "SELECT k, u FROM a WHERE u > (SELECT avg(w) FROM b WHERE b.k = a.k)",
    "above_all": "SELECT k, u FROM a WHERE u > (SELECT avg(w) FROM b)",
    "none_counted": "SELECT k, u FROM a WHERE (SELECT count(*) FROM b WHERE b.k = a.k) = 0",
    "counted_below": "SELECT k, u FROM a WHERE (SELECT count(*) FROM b WHERE b.w < a.u) > 2",
    "keyed": "SELECT k, u FROM a WHERE (SELECT d.k FROM d WHERE d.id = a.k) = a.u",
    "two_deep": """SELECT k, u FROM a WHERE EXISTS (SELECT 1 FROM b WHERE b.k = a.k AND
        NOT EXISTS (SELECT 1 FROM d WHERE d.id = b.w))""",
    "skipping": """SELECT k, u FROM a WHERE EXISTS (SELECT 1 FROM b WHERE EXISTS
        (SELECT 1 FROM d WHERE d.id = b.k AND d.k = a.u))""",
    "skipping_not": """SELECT k, u FROM a WHERE NOT EXISTS (SELECT 1 FROM b WHERE b.k = a.k AND NOT EXISTS
        (SELECT 1 FROM d WHERE d.id = b.w AND d.k = a.u))""",
    "three_deep": """SELECT k, u FROM a WHERE u IN (SELECT w FROM b WHERE b.k IN (SELECT id FROM d WHERE d.k >=
        (SELECT min(x.u) FROM a x WHERE x.k = d.id AND x.s = a.s)))""",
    "over_union": "SELECT k, u FROM a WHERE u IN (SELECT w FROM b WHERE b.k = a.k UNION SELECT d.k FROM d WHERE id = a.k)",
    "over_except": "SELECT k, u FROM a WHERE u IN (SELECT w FROM b EXCEPT SELECT d.k FROM d WHERE d.id = a.k)",
    "over_intersect": "SELECT k FROM a WHERE EXISTS (SELECT w FROM b WHERE b.k = a.k INTERSECT ALL SELECT d.k FROM d)",
    "over_limit": "SELECT k, u FROM a WHERE u IN (SELECT w FROM b WHERE b.k = a.k ORDER BY w DESC LIMIT 2)",
    "over_distinct": "SELECT k, u FROM a WHERE (SELECT count(*) FROM (SELECT DISTINCT w FROM b WHERE b.k = a.k)) > 1",
    "over_outer": """SELECT k, u FROM a WHERE (SELECT count(d.id) FROM b LEFT JOIN d ON d.id = b.w AND d.k > a.u
        WHERE b.k = a.k) > 0""",
}
ELSEWHERE = {
    "value": "SELECT k, (SELECT sum(w) FROM b WHERE b.k = a.k) AS total, (SELECT max(d.k) FROM d) AS most FROM a",
    "counted": "SELECT k, 1 + (SELECT count(*) FROM b WHERE b.k = a.k) AS n FROM a",
    "limited": "SELECT k, (SELECT w FROM b WHERE b.k = a.k ORDER BY w DESC, s LIMIT 1) AS top FROM a",
    "limited_below": "SELECT k, (SELECT s FROM b WHERE b.w <= a.u ORDER BY w DESC, s LIMIT 1) AS top FROM a",
    "marks": "SELECT k, EXISTS (SELECT 1 FROM b WHERE b.k = a.k) AS e, u IN (SELECT w FROM b WHERE b.k = a.k) AS i FROM a",
    "unknown": "SELECT k, k NOT IN (SELECT w FROM b) AS x, (k, u) IN (SELECT k, w FROM b) AS y FROM a",
    "orders": "SELECT k, u > ALL (SELECT w FROM b WHERE b.k = a.k) AS x, u = ALL (SELECT d.k FROM d) AS y FROM a",
    "cases": "SELECT k, CASE WHEN u > 1 THEN (SELECT max(w) FROM b WHERE b.k = a.k) ELSE (SELECT min(w) FROM b) END AS x FROM a",
    "outer_term": "SELECT k, (SELECT a.u + max(w) FROM b WHERE b.k = a.k) AS x, (SELECT a.u WHERE a.k > 1) AS y FROM a",
    "grouped": "SELECT k, sum(u) AS u, (SELECT max(w) FROM b WHERE b.k = a.k) AS m FROM a GROUP BY k",
    "having": "SELECT k, sum(u) AS u FROM a GROUP BY k HAVING sum(u) > (SELECT avg(w) FROM b WHERE b.k = a.k)",
    "having_exists": "SELECT k FROM a GROUP BY k HAVING EXISTS (SELECT 1 FROM b WHERE b.k = a.k AND b.w < max(a.u))",
    "by_subquery": "SELECT (SELECT max(d.k) FROM d WHERE d.id = a.k) AS g, count(*) AS c FROM a GROUP BY g",
    "in_argument": "SELECT k, sum((SELECT count(*) FROM b WHERE b.k = a.u)) AS c FROM a GROUP BY k",
    "skipping_values": """SELECT id, (SELECT max((SELECT count(*) FROM b WHERE b.k = a.k AND b.w > d.k)) FROM a
        WHERE a.u = d.id) AS x FROM d""",
    "on": "SELECT a.k, b.w FROM a JOIN b ON a.k = b.k AND EXISTS (SELECT 1 FROM d WHERE d.id = a.u AND d.k <= b.w)",
    "on_left": "SELECT a.k, b.w FROM a LEFT JOIN b ON a.k = b.k AND b.w IN (SELECT d.k FROM d WHERE d.id >= a.u)",
    "on_right": "SELECT a.k, b.w FROM a RIGHT JOIN b ON a.k = b.k AND a.u NOT IN (SELECT d.k FROM d WHERE d.id >= b.w)",
    "on_full": "SELECT a.k, b.w FROM a FULL JOIN b ON a.k = b.k AND EXISTS (SELECT 1 FROM d WHERE d.id = a.u AND d.k = b.w)",
    "lateral": "SELECT a.k, x.w FROM a, LATERAL (SELECT w FROM b WHERE b.k = a.k AND b.w <> a.u) x",
    "lateral_top": "SELECT a.k, x.w FROM a, (SELECT w FROM b WHERE b.k = a.k ORDER BY w, s LIMIT 2) x",
    "lateral_left": "SELECT a.k, x.w FROM a LEFT JOIN LATERAL (SELECT w FROM b WHERE b.k = a.k) x ON x.w > a.u",
    "lateral_count": "SELECT a.k, x.c FROM a LEFT JOIN LATERAL (SELECT count(*) AS c FROM b WHERE b.k = a.k) x ON x.c > 1",
    "lateral_chain": """SELECT a.k, y.z FROM a, LATERAL (SELECT max(w) AS m FROM b WHERE b.k = a.k) x,
        LATERAL (SELECT d.k + x.m AS z FROM d WHERE d.id = a.u) y""",
    "with": """WITH t AS (SELECT k, sum(w) AS total FROM b GROUP BY k)
        SELECT k, total FROM t WHERE total = (SELECT max(total) FROM t)""",
    "with_inside": "SELECT k, (WITH t AS (SELECT w FROM b WHERE b.k = a.k) SELECT max(x.w - y.w) FROM t x, t y) AS x FROM a",
}
QUERIES = WHERE | ELSEWHERE
