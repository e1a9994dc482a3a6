"""Expressions as a user writes them: types and values against DuckDB, over every row of the world's table."""

from __future__ import annotations

from pathlib import Path

import pytest

import ivm
from ivm.sql.ir.scalar import Value
from tests.sql.world import bound, catalog, database, described, expected, modelled

_LINES = (Path(__file__).parent / "scalars.txt").read_text(encoding="utf-8").splitlines()
EXPRESSIONS = [line for line in _LINES if not line.startswith("#")]


def test_there_are_many():
    assert len(EXPRESSIONS) > 350


@pytest.mark.parametrize("text", EXPRESSIONS)
def test_an_expression_has_duckdbs_type_and_values(text: str):
    query = bound(f"SELECT {text} AS x FROM t")
    assert [(f.name, str(f.type)) for f in query.schema] == described(f"SELECT {text} AS x FROM t")
    assert rounded(modelled(query)) == rounded(expected(query))


def rounded(bag: dict[tuple[Value, ...], int]) -> list[tuple[str, int]]:
    """The rows in one order, DOUBLE to 12 digits."""
    return sorted((repr([f"{v:.12g}" if isinstance(v, float) else v for v in row]), n) for row, n in bag.items())


def test_views_of_all_of_them_equal_duckdb():
    db = ivm.connect(compile="off")
    db.sql("CREATE TABLE t (" + ", ".join(f"{f.name} {f.type}" for f in catalog().table("t").fields) + ")")
    # Arrow has no 128-bit integers: DuckDB sees HUGEINT as DECIMAL(38, 0), which has no bits and no divisors.
    texts = [text for text in EXPRESSIONS if "hi" not in text.split("(", 1)[-1]]
    for start in range(0, len(texts), 40):
        items = ", ".join(f"{text} AS x{i}" for i, text in enumerate(texts[start : start + 40]))
        db.sql(f"CREATE MATERIALIZED VIEW v{start} AS SELECT {items} FROM t")
    rows = database().sql("FROM t").to_arrow_table()
    db.apply({"t": rows})
    assert db.verify()
    db.sql("DELETE FROM t WHERE i = 3")
    assert db.verify()


NAMES = (
    ("left(v, 2)", '"left"(v, 2)'), ("v LIKE 'a%'", "(v ~~ 'a%')"), ("v NOT LIKE 'a%'", "(v !~~ 'a%')"),
    ("date_diff('day', dt, ts)", "date_diff('day', dt, ts)"), ("i BETWEEN 1 AND 3", "(i BETWEEN 1 AND 3)"),
    ("i IN (1, 2)", "(i IN (1, 2))"), ("i & 1", "(i & 1)"), ("TRY_CAST(v AS INTEGER)", "TRY_CAST(v AS INTEGER)"),
    ("regexp_extract(v, 'a')", "regexp_extract(v, 'a')"), ("log2(f)", "log2(f)"), ("sha256(v)", "sha256(v)"),
    ("mod(i, 2)", "mod(i, 2)"), ("if(b, 1, 2)", '"if"(b, 1, 2)'), ("epoch_ms(ts)", "epoch_ms(ts)"),
    ("b IS TRUE", "(CAST(b AS BOOLEAN) IS NOT DISTINCT FROM true)"), ("v SIMILAR TO 'a'", "regexp_full_match(v, 'a')"),
)  # fmt: skip


@pytest.mark.parametrize(("text", "name"), NAMES)
def test_a_column_without_an_alias_is_called_as_in_duckdb(text: str, name: str):
    (field,) = bound(f"SELECT {text} FROM t").schema
    assert field.name == name
    assert described(f"SELECT {text} FROM t")[0][0] == name
