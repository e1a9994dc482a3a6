"""Large conditions."""

from __future__ import annotations

from tests.large.texts import joined, large


@large(20_000)
def ands(n: int) -> str:
    return f"SELECT k FROM t WHERE {joined(' AND ', 'a <> {i}', n)}"


@large(20_000)
def ors(n: int) -> str:
    return f"SELECT k FROM t WHERE {joined(' OR ', 'a = {i}', n)}"


@large(20_000)
def ors_of_two_columns(n: int) -> str:
    return f"SELECT k FROM t WHERE {joined(' OR ', '{p} = {i}', n)}"


@large(10_000)
def ors_of_ands(n: int) -> str:
    return f"SELECT k FROM t WHERE {joined(' OR ', '(a = {i} AND b = {j})', n)}"


@large(10_000)
def ands_of_ors(n: int) -> str:
    return f"SELECT k FROM t WHERE {joined(' AND ', '(a <> {i} OR b = {j})', n)}"


@large(5_000)
def ors_of_ands_over_a_join(n: int) -> str:
    return f"SELECT t.k FROM t, u WHERE t.k = u.k AND ({joined(' OR ', '(t.a = {i} AND u.a = {j})', n)})"


@large(5_000)
def mixed_booleans(n: int) -> str:
    text = "a = 0"
    for i in range(1, min(n, 12)):
        text = f"(({text}) AND b <> {i}) OR (a > {i} AND ({text}))" if i < 8 else f"({text}) OR b = {i}"
    return f"SELECT k FROM t WHERE ({text}) AND ({joined(' AND ', '(a = {i} OR b = {j} OR k = {i})', n)})"


@large(2_000)
def ors_in_the_select_list(n: int) -> str:
    return f"SELECT k, {joined(' OR ', 'a = {i}', n)} AS o, {joined(' AND ', 'b = {i}', n)} AS e FROM t"


@large(100_000)
def in_numbers(n: int) -> str:
    return f"SELECT k FROM t WHERE a IN ({joined(', ', '{i}', n)})"


@large(100_000)
def not_in_numbers(n: int) -> str:
    return f"SELECT k FROM t WHERE b NOT IN ({joined(', ', '{i}', n)})"


@large(100_000)
def in_texts(n: int) -> str:
    names = "'name {i}'"
    return f"SELECT k FROM t WHERE s IN ({joined(', ', names, n)})"


@large(10_000)
def in_expressions(n: int) -> str:
    return f"SELECT k FROM t WHERE a IN ({joined(', ', 'b + {i}', n)})"


@large(10_000)
def comparisons_of_texts(n: int) -> str:
    return f"SELECT k FROM t WHERE {joined(' OR ', _LIKE, n)}"


_LIKE = "s LIKE 'p{i}%'"


@large(2_000)
def equalities_of_columns(n: int) -> str:
    return f"SELECT t.k FROM t, u WHERE {joined(' AND ', 't.{p} = u.{p}', n)}"


@large(5_000)
def betweens(n: int) -> str:
    return f"SELECT k FROM t WHERE {joined(' OR ', 'a BETWEEN {i} AND {i} + 2', n)}"
