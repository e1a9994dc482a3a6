"""Large constants, names, comments and patterns."""

from __future__ import annotations

from tests.large.texts import joined, large


@large(10_000)
def values(n: int) -> str:
    return f"SELECT * FROM (VALUES {joined(', ', _ROW, n)}) AS v(a, b, s)"


_ROW = "({i}, {j}.5, 'row {i}')"


@large(10_000)
def values_joined(n: int) -> str:
    return f"SELECT t.k, v.s FROM t JOIN (VALUES {joined(', ', _ROW, n)}) AS v(a, b, s) ON t.a = v.a"


@large(1_000_000)
def long_text(n: int) -> str:
    return f"SELECT k, '{'x' * n}' AS v FROM t WHERE s <> '{'y' * n}'"


@large(1_000_000)
def long_comment(n: int) -> str:
    return f"SELECT k /* {'x' * n} */ FROM t -- {'y' * n}"


@large(100_000)
def many_comments(n: int) -> str:
    return "SELECT k FROM t\n" + "-- again\n" * n


@large(1_000)
def long_names(n: int) -> str:
    long = "a AS " + "x" * 1000 + "{i}"
    return f"SELECT {joined(', ', long, n)} FROM t"


@large(100_000)
def like_of_wildcards(n: int) -> str:
    return f"SELECT k FROM t WHERE s LIKE '{'%a_' * (n // 3)}'"


@large(100_000)
def like_of_text(n: int) -> str:
    return f"SELECT k FROM t WHERE s LIKE '%{'a' * n}%'"


@large(100_000)
def pattern(n: int) -> str:
    return f"SELECT k FROM t WHERE regexp_matches(s, '{'a?' * (n // 2)}')"


@large(100_000)
def pattern_of_choices(n: int) -> str:
    return f"SELECT k FROM t WHERE regexp_matches(s, '{'|'.join(f'w{i}' for i in range(n // 6))}')"


@large(10_000)
def deep_pattern(n: int) -> str:
    return f"SELECT k FROM t WHERE regexp_matches(s, '{'(' * n}a{')' * n}')"


@large(100_000)
def long_replacement(n: int) -> str:
    return f"SELECT k, regexp_replace(s, 'a', '{'b' * n}') AS v FROM t"


@large(100_000)
def similar_to(n: int) -> str:
    return f"SELECT k FROM t WHERE s SIMILAR TO '{'[ab]' * (n // 4)}'"
