"""Texts that nest."""

from __future__ import annotations

from tests.large.texts import joined, large


@large(20_000)
def parentheses(n: int) -> str:
    return f"SELECT k, {'(' * n}a{')' * n} AS v FROM t"


@large(20_000)
def calls(n: int) -> str:
    return f"SELECT k, {'abs(' * n}a{')' * n} AS v FROM t"


@large(20_000)
def minuses(n: int) -> str:
    return f"SELECT k, {'- ' * n}a AS v FROM t"


@large(20_000)
def nots(n: int) -> str:
    return f"SELECT k FROM t WHERE {'NOT ' * n}(a = 1)"


@large(20_000)
def deep_arithmetic(n: int) -> str:
    return f"SELECT k, {'(d + ' * n}1{')' * n} AS v FROM t"


@large(20_000)
def deep_conditions(n: int) -> str:
    words = ("AND", "OR")
    return f"SELECT k FROM t WHERE {''.join(f'(a = {i} {words[i % 2]} (' for i in range(n))}a = 1{'))' * n}"


@large(5_000)
def deep_cases(n: int) -> str:
    return f"SELECT k, {joined('', 'CASE WHEN a = {i} THEN {j} ELSE ', n)}0{' END' * n} AS v FROM t"


@large(5_000)
def deep_casts(n: int) -> str:
    return f"SELECT k, {'CAST(CAST(' * n}a{' AS DOUBLE) AS VARCHAR)' * n} AS v FROM t"


@large(2_000)
def deep_subqueries(n: int) -> str:
    return f"{'SELECT k, a FROM (' * n}SELECT k, a FROM t{')' * n}"


@large(2_000)
def deep_filters(n: int) -> str:
    return f"{'SELECT k, a + 1 AS a FROM (' * n}SELECT k, a FROM t{') WHERE a <> 7' * n}"


@large(500)
def deep_groups(n: int) -> str:
    return f"{'SELECT a, count(*) AS b FROM (' * n}SELECT a, b FROM t{') GROUP BY a' * n}"


@large(500)
def deep_exists(n: int) -> str:
    text = "".join(f"SELECT k FROM t AS t{i} WHERE EXISTS (" for i in range(n))
    return f"{text}SELECT 1 FROM u WHERE u.k = t{n - 1}.k{')' * n}"


@large(500)
def deep_in(n: int) -> str:
    return f"{'SELECT k FROM t WHERE k IN (' * n}SELECT k FROM u{')' * n}"


@large(2_000)
def deep_unions(n: int) -> str:
    return f"{'(SELECT k FROM t UNION ALL ' * n}SELECT k FROM u{')' * n}"


@large(2_000)
def deep_joins(n: int) -> str:
    return f"SELECT 1 AS one FROM {'(' * n}t{')' * n}"


@large(500)
def deep_with(n: int) -> str:
    opened = "".join(f"WITH w{i} AS (" for i in range(n))
    return f"{opened}SELECT k FROM t{''.join(f') SELECT k FROM w{i}' for i in reversed(range(n)))}"
