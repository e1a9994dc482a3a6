"""Texts of many blocks."""

from __future__ import annotations

from tests.large.texts import joined, large


@large(1_000)
def unions(n: int) -> str:
    return joined(" UNION ALL ", "SELECT k, a + {i} AS v FROM t", n)


@large(1_000)
def unions_of_one(n: int) -> str:
    return joined(" UNION ALL ", "SELECT k, a FROM t", n)


@large(300)
def distinct_unions(n: int) -> str:
    return joined(" UNION ", "SELECT k, a FROM t WHERE a = {i}", n)


@large(200)
def excepts(n: int) -> str:
    return joined(" EXCEPT ", "SELECT k, a FROM t WHERE a = {i}", n)


@large(200)
def intersects(n: int) -> str:
    return joined(" INTERSECT ", "SELECT k, a FROM t WHERE a <> {i}", n)


@large(1_000)
def selects_of_constants(n: int) -> str:
    return joined(" UNION ALL ", "SELECT {i} AS v, '{j}' AS w", n)


@large(200)
def joins(n: int) -> str:
    return f"SELECT t0.a FROM t AS t0 {' '.join(f'JOIN t AS t{i} ON t{i}.k = t{i - 1}.a' for i in range(1, n + 1))}"


@large(200)
def joins_by_one_key(n: int) -> str:
    return f"SELECT t0.a FROM plain AS t0 {' '.join(f'JOIN plain AS t{i} ON t{i}.a = t0.a' for i in range(1, n + 1))}"


@large(200)
def joins_by_keys(n: int) -> str:
    return f"SELECT t0.a FROM t AS t0 {' '.join(f'JOIN t AS t{i} USING (k)' for i in range(1, n + 1))}"


@large(200)
def left_joins(n: int) -> str:
    return f"SELECT t0.a, t{n}.b FROM t AS t0 {' '.join(f'LEFT JOIN t AS t{i} ON t{i}.k = t{i - 1}.a' for i in range(1, n + 1))}"


@large(100)
def left_joins_of_plain(n: int) -> str:
    return f"SELECT t0.a, t{n}.b FROM plain AS t0 {' '.join(f'LEFT JOIN plain AS t{i} ON t{i}.a = t0.b' for i in range(1, n + 1))}"


@large(50)
def full_joins(n: int) -> str:
    return f"SELECT t0.a, t{n}.b FROM t AS t0 {' '.join(f'FULL JOIN t AS t{i} ON t{i}.k = t{i - 1}.k' for i in range(1, n + 1))}"


@large(200)
def cross_joins(n: int) -> str:
    return f"SELECT t0.a FROM {', '.join(f'plain AS t{i}' for i in range(n + 1))}"


@large(50)
def joins_of_cliques(n: int) -> str:
    on = " AND ".join(f"t{i}.a < t{j}.b" for i in range(n) for j in range(i))
    return f"SELECT t0.a FROM {', '.join(f't AS t{i}' for i in range(n))} WHERE {on}"


@large(200)
def stars_over_joins(n: int) -> str:
    return f"SELECT * FROM t AS t0 {' '.join(f'JOIN t AS t{i} ON t{i}.k = t0.k' for i in range(1, n + 1))}"


@large(100)
def scalar_subqueries(n: int) -> str:
    return f"SELECT k, {joined(', ', '(SELECT sum(a) FROM u WHERE u.b = t.b + {i}) AS c{i}', n)} FROM t"


@large(100)
def scalar_subqueries_alone(n: int) -> str:
    return f"SELECT k, {joined(', ', '(SELECT max(a) FROM u WHERE b > {i}) AS c{i}', n)} FROM t"


@large(100)
def exists_anded(n: int) -> str:
    return f"SELECT k FROM t WHERE {joined(' AND ', 'EXISTS (SELECT 1 FROM u WHERE u.k = t.k AND u.b > {i})', n)}"


@large(100)
def exists_ored(n: int) -> str:
    return f"SELECT k FROM t WHERE {joined(' OR ', 'EXISTS (SELECT 1 FROM u WHERE u.k = t.k AND u.b > {i})', n)}"


@large(100)
def not_in_subqueries(n: int) -> str:
    return f"SELECT k FROM t WHERE {joined(' AND ', 'b NOT IN (SELECT u.b FROM u WHERE u.a = {i})', n)}"


@large(500)
def with_each_of_the_last(n: int) -> str:
    steps = "".join(f", w{i} AS (SELECT k, a + {i} AS a FROM w{i - 1} WHERE a <> {i})" for i in range(1, n))
    return f"WITH w0 AS (SELECT k, a FROM t){steps} SELECT * FROM w{n - 1}"


@large(500)
def with_unused(n: int) -> str:
    steps = ", ".join(f"w{i} AS (SELECT k, a + {i} AS a FROM t)" for i in range(n))
    return f"WITH {steps} SELECT * FROM w0"


@large(30)
def with_that_doubles(n: int) -> str:
    steps = "".join(
        f", w{i} AS (SELECT l.k, l.a FROM w{i - 1} AS l JOIN w{i - 1} AS r ON l.k = r.a)" for i in range(1, n)
    )
    return f"WITH w0 AS (SELECT k, a FROM t){steps} SELECT * FROM w{n - 1}"


@large(30)
def with_unions_that_double(n: int) -> str:
    steps = "".join(f", w{i} AS (SELECT k, a FROM w{i - 1} UNION ALL SELECT k, a FROM w{i - 1})" for i in range(1, n))
    return f"WITH w0 AS (SELECT k, a FROM t){steps} SELECT * FROM w{n - 1}"


@large(20)
def with_groups_that_double(n: int) -> str:
    steps = "".join(
        f", w{i} AS (SELECT l.a, count(*) AS b FROM w{i - 1} AS l JOIN w{i - 1} AS r ON l.a = r.b GROUP BY l.a)"
        for i in range(1, n)
    )
    return f"WITH w0 AS (SELECT a, b FROM t){steps} SELECT * FROM w{n - 1}"
