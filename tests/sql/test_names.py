"""Columns without an alias have the names that DuckDB gives them, however sqlglot keeps what was written."""

from __future__ import annotations

import duckdb
import pytest

import ivm

TABLE = "CREATE TABLE t (a INTEGER, b VARCHAR, d DATE)"
ITEMS = {
    "aggregates": (
        "argmin(a, b), max_by(a, b), quantile_cont(a, 0.5), string_agg(b), string_agg(b, ',' ORDER BY a), "
        "string_agg(DISTINCT b ORDER BY b DESC), group_concat(b, '-'), listagg(b, ';' ORDER BY a), any_value(b), mean(a)"
    ),
    "types": (
        "a::HUGEINT, CAST(b AS real), a::float, a::decimal, a::numeric(4,1), a::text, b::varchar(3), b::char(2), a::bool, "
        "d::timestamp with time zone, a::double precision, b::bytea, a::int8, a::tinyint, TRY_CAST(b AS uuid), date '2020-01-01'"
    ),
    "nested types": "[a]::int[], [[b]]::text [] [], {'x': a}::struct(x int, \"y z\" text[]), map {b: a}::map(text, int)",
    "signs and words": (
        "xor(a, 2), position('a' IN b), position('x' IN b) + 1, trim(BOTH 'h' FROM b), trim(b, 'x'), b GLOB 'a*', b ^@ 'a', "
        "starts_with(b, 'a'), strpos(b, 'a'), @a, - @a, a!, +a, -+a, ~a + 1, a + ~a & 1, a ** 2, a ^ 2, b || a << 1, "
        "b ^@ 'x' || b, [1.5] <-> [a], [1.5] <=> [a]"
    ),
}


@pytest.mark.parametrize("items", ITEMS.values(), ids=ITEMS)
def test_names_are_duckdbs(items: str) -> None:
    with duckdb.connect() as duck, ivm.connect(compile="off") as db:
        duck.execute(TABLE)
        db.sql(TABLE)
        db.sql(f"CREATE MATERIALIZED VIEW v AS SELECT {items} FROM t")
        wanted = [name for name, *_ in duck.execute(f"SELECT {items} FROM t").description or ()]
        assert db.sql("FROM v").arrow().column_names == wanted
