"""Large groups, windows and orders."""

from __future__ import annotations

from tests.large.texts import joined, large


@large(300)
def aggregates(n: int) -> str:
    return f"SELECT b, {joined(', ', 'sum(a + {i}) AS c{i}', n)} FROM t GROUP BY b"


@large(300)
def distinct_aggregates(n: int) -> str:
    return f"SELECT b, {joined(', ', 'count(DISTINCT a + {i}) AS c{i}', n)} FROM t GROUP BY b"


@large(300)
def filtered_aggregates(n: int) -> str:
    return f"SELECT b, {joined(', ', 'count(*) FILTER (WHERE a = {i}) AS c{i}', n)} FROM t GROUP BY b"


@large(300)
def extremes(n: int) -> str:
    return f"SELECT b, {joined(', ', 'min(a + {i}) AS c{i}', n)} FROM t GROUP BY b"


@large(300)
def having(n: int) -> str:
    return f"SELECT b FROM t GROUP BY b HAVING {joined(' AND ', 'sum(a + {i}) > {j}', n)}"


@large(100)
def group_keys(n: int) -> str:
    return f"SELECT {joined(', ', 'a + {i} AS c{i}', n)}, count(*) AS n FROM t GROUP BY {joined(', ', 'a + {i}', n)}"


@large(12)
def cube(n: int) -> str:
    return f"SELECT {joined(', ', 'a % ({i} + 2) AS c{i}', n)}, sum(b) AS v FROM t GROUP BY CUBE ({joined(', ', 'c{i}', n)})"


@large(200)
def rollup(n: int) -> str:
    return f"SELECT {joined(', ', 'a % ({i} + 2) AS c{i}', n)}, sum(b) AS v FROM t GROUP BY ROLLUP ({joined(', ', 'c{i}', n)})"


@large(12)
def grouping_sets(n: int) -> str:
    sets = ", ".join(f"({', '.join(f'c{i}' for i in range(n) if i != j)})" for j in range(n))
    return f"SELECT {joined(', ', 'a % ({i} + 2) AS c{i}', n)}, sum(b) AS v FROM t GROUP BY GROUPING SETS ({sets})"


@large(200)
def windows(n: int) -> str:
    return f"SELECT k, {joined(', ', 'sum(a + {i}) OVER (PARTITION BY b ORDER BY k) AS c{i}', n)} FROM t"


@large(200)
def windows_apart(n: int) -> str:
    return f"SELECT k, {joined(', ', 'row_number() OVER (PARTITION BY b % ({i} + 1) ORDER BY k) AS c{i}', n)} FROM t"


@large(500)
def ordered_by(n: int) -> str:
    return f"SELECT {joined(', ', 'a + {i} AS c{i}', n)} FROM t ORDER BY {joined(', ', 'c{i} DESC', n)} LIMIT 3"
