"""Large expressions."""

from __future__ import annotations

from tests.large.texts import joined, large


@large(20_000)
def sum_of_terms(n: int) -> str:
    return f"SELECT k, {joined(' + ', 'd', n)} AS v FROM t"


@large(10_000)
def joined_texts(n: int) -> str:
    return f"SELECT k, {joined(' || ', 's', n)} AS v FROM t"


@large(1_000)
def case_branches(n: int) -> str:
    return f"SELECT k, CASE {joined(' ', 'WHEN a = {i} THEN {j}', n)} ELSE 0 END AS v FROM t"


@large(1_000)
def case_of_value(n: int) -> str:
    return f"SELECT k, CASE a {joined(' ', 'WHEN {i} THEN b + {j}', n)} END AS v FROM t"


@large(2_000)
def columns(n: int) -> str:
    return f"SELECT k, {joined(', ', 'a + {i} AS c{i}', n)} FROM t"


@large(2_000)
def columns_named_alike(n: int) -> str:
    return f"SELECT {joined(', ', 'a', n)} FROM t"


@large(1_000)
def coalesce_of(n: int) -> str:
    return f"SELECT k, coalesce({joined(', ', 'b + {i}', n)}) AS v, greatest({joined(', ', '{i} - b', n)}) AS w FROM t"


@large(1_000)
def aliases_of_aliases(n: int) -> str:
    return f"SELECT k, a AS c0, {', '.join(f'c{i} + 1 AS c{i + 1}' for i in range(n))} FROM t"


@large(30)
def aliases_that_double(n: int) -> str:
    return f"SELECT k, d AS c0, {', '.join(f'c{i} + c{i} AS c{i + 1}' for i in range(n))} FROM t"


@large(30)
def columns_that_double(n: int) -> str:
    query = "SELECT k, d AS v FROM t"
    for _ in range(n):
        query = f"SELECT k, v + v AS v FROM ({query})"
    return query
