"""Texts of other dialects: what they mean in DuckDB's, and what is refused."""

from __future__ import annotations

import pytest

from ivm.catalog.errors import BindError, Error, ParseError, TypeMismatchError, UnsupportedError
from ivm.sql.bind import bind
from tests.sql.world import catalog, database, expected, modelled

# The dialect; the text; what it means, written for DuckDB.
SAME = (
    ("postgres", "id::text, pay::numeric(9,1)", "CAST(id AS VARCHAR), CAST(pay AS DECIMAL(9, 1))"),
    ("postgres", "name ILIKE 'B%', name ~ '^b', name ~* '^B', name !~ 'b'",
     "name ILIKE 'B%', regexp_matches(name, '^b'), regexp_matches(name, '^B', 'i'), NOT regexp_matches(name, 'b')"),
    ("postgres", "born + INTERVAL '1 month', date_trunc('year', born)", "born + INTERVAL 1 MONTH, date_trunc('year', born)"),
    ("postgres", "EXTRACT(year FROM born), date_part('doy', born)", "year(born), dayofyear(born)"),
    ("postgres", "substring(name from 1 for 2), position('n' in name)", "substring(name, 1, 2), strpos(name, 'n')"),
    ("postgres", "id / 2, pay / 2, (id + 1) / dept, 7 / 2", "id // 2, pay / 2, (id + 1) // dept, 3"),
    ("postgres", "id % 2, id & 1, id | 1, id # 1, id << 1", "id % 2, id & 1, id | 1, xor(id, 1), id << 1"),
    ("postgres", "to_char(born, 'YYYY-MM-DD')", "strftime(born, '%Y-%m-%d')"),
    ("postgres", "btrim(name), char_length(name), lpad(name, 5, '.')", "trim(name), length(name), lpad(name, 5, '.')"),
    ("postgres", "split_part(name, 'n', 1), left(name, 1), right(name, 1)",
     "split_part(name, 'n', 1), left(name, 1), right(name, 1)"),
    ("postgres", "regexp_replace(name, '[abc]', 'X', 'g')", "regexp_replace(name, '[abc]', 'X', 'g')"),
    ("postgres", "greatest(dept, 2), nullif(dept, 2), coalesce(dept, 0)", "greatest(dept, 2), nullif(dept, 2), coalesce(dept, 0)"),
    ("spark", "`id`, nvl(`name`, 'x'), ifnull(name, 'x')", "id, coalesce(name, 'x'), coalesce(name, 'x')"),
    ("spark", "substr(name, 1, 2), instr(name, 'n'), locate('n', name)", "substr(name, 1, 2), strpos(name, 'n'), strpos(name, 'n')"),
    ("spark", "date_add(born, 3), datediff(born, DATE '2000-01-01')", "born + INTERVAL 3 DAY, born - DATE '2000-01-01'"),
    ("spark", "name RLIKE '^b', name <=> 'ann', id div 2, id / 2",
     "regexp_matches(name, '^b'), name IS NOT DISTINCT FROM 'ann', id // 2, id / 2"),
    ("spark", "date_format(born, 'yyyy-MM-dd'), last_day(born)", "strftime(born, '%Y-%m-%d'), last_day(born)"),
    ("spark", "cast(id as string), shiftleft(id, 1), id ^ 1", "CAST(id AS VARCHAR), id << 1, xor(id, 1)"),
    ("mysql", "IFNULL(`name`, 'x'), CONCAT(name, 'a'), DATE_FORMAT(born, '%Y-%m')",
     "coalesce(name, 'x'), name || 'a', strftime(born, '%Y-%m')"),
    ("snowflake", "IFF(id > 1, 1, 2), NVL(name, 'x'), ZEROIFNULL(dept)",
     "if(id > 1, 1, 2), coalesce(name, 'x'), coalesce(dept, 0)"),
    ("bigquery", "SAFE_CAST(name AS INT64), FORMAT_DATE('%Y', born), DATE_DIFF(born, DATE '2000-01-01', DAY)",
     "TRY_CAST(name AS BIGINT), strftime(born, '%Y'), born - DATE '2000-01-01'"),
)  # fmt: skip


@pytest.mark.parametrize(("dialect", "items", "meant"), SAME)
def test_a_text_means_what_it_means_there(dialect: str, items: str, meant: str):
    query = bind(f"SELECT {items} FROM emp", catalog(), dialect)
    assert modelled(query) == expected(query)
    theirs = database().execute(f"SELECT {meant} FROM emp ORDER BY ALL").fetchall()
    assert database().execute(f"SELECT * FROM ({query.oracle_sql}) ORDER BY ALL").fetchall() == theirs


def test_integers_divide_to_integers_in_subqueries_too():
    text = "WITH c AS (SELECT dept / 2 AS h, id FROM emp) SELECT e.id / c.h FROM emp e JOIN c ON e.id = c.id"
    query = bind(text, catalog(), "postgres")
    assert str(query.schema[0].type) == "BIGINT"
    assert bind(text, catalog(), "duckdb").schema[0].type.kind.value == "DOUBLE"


REFUSED = (
    ("postgres", "SELECT nope / 2 FROM emp", UnsupportedError, "whether / divides integers"),
    ("postgres", "SELECT nam FROM emp", BindError, "did you mean 'name'"),
    ("postgres", "SELECT id FRM emp", ParseError, "syntax error at 'emp'"),
    ("spark", "SELECT `name` + 1 FROM emp", TypeMismatchError, "VARCHAR"),
    ("postgrs", "SELECT 1", BindError, "unknown SQL dialect 'postgrs'; did you mean 'postgres'"),
    ("klingon", "SELECT 1", BindError, "unknown SQL dialect 'klingon'; write for instance 'duckdb'"),
)  # fmt: skip


@pytest.mark.parametrize(("dialect", "text", "error", "message"), REFUSED)
def test_what_is_refused_is_so_by_name(dialect: str, text: str, error: type[Error], message: str):
    with pytest.raises(error, match=message) as caught:
        bind(text, catalog(), dialect)
    assert type(caught.value) is error
