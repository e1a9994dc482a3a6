"""Casts of values at the ends of their types, and of texts at the edge of what they may be, against DuckDB."""

from __future__ import annotations

from decimal import Context, Decimal
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

import ivm
from ivm.render.scalars.single_text import single_text
from ivm.trace.columns.python_values import numbers_of

FLOATS = (
    "0", "-0.0", "0.1", "-2.5", "1e-45", "1e-38", "3.4028235e38", "16777216", "1e6", "15e9", "9999999e9", "1e16", "0.0001",
    "0.00001", "123456789", "3706248.75", "-320124.125", "inf", "-inf", "nan", "-1", "1", "-128.5", "32767.5",
)  # fmt: skip
DIGITS = (1, 41, 9007199254740993, 41000000000000003, 99999999999999990, 123456789012345678)
TIMES = (
    "24:00", "24:00:00.000001", "12:00:00 ", "12:00 ", "12:00:005", "012:00:00", "12:", "12:00:x", "\t1:2:3", "EPOCH",
    "2020-01-01", "2020-01-01 ", "2020-01-01 24:00:00", "2020-01-01 12:00:00x", "2020-01-01\t12:00", "2020-02-30",
    "290309-01-01 (BC)", "290309-12-22 (bc)", "0000-01-01 (BC)", "294247-01-10 04:00:54.775807", "5881580-07-10",
    "2020-01-01 12:00:00  UTC", "", "x",
)  # fmt: skip
NUMBERS = (
    "-0",
    "-0.0",
    "-0e0",
    "0.1",
    "1e-1",
    "10e-2",
    "1e-46",
    "0e5",
    "00.1",
    "0.99999",
    "1_0",
    "255.4",
    "3.5e38",
    "x",
)
SOURCES: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "FLOAT": (FLOATS, ("VARCHAR", "DOUBLE", "INTEGER", "DECIMAL(17,17)", "DECIMAL(38,38)", "DECIMAL(9,2)")),
    "DOUBLE": (FLOATS, ("VARCHAR", "TINYINT", "BIGINT", "DECIMAL(18,18)", "DECIMAL(19,19)", "DECIMAL(38,2)")),
    "BIGINT": (("16777217", "9007199791611905", "-9223372036854775808"), ("FLOAT", "DOUBLE")),
    "UBIGINT": (("16777217", "9007199791611905", "18446744073709551615"), ("FLOAT", "DOUBLE")),
    "HUGEINT": (("9007199791611905", "-99999999999999999999999999999999999999"), ("FLOAT", "VARCHAR")),
    **{
        f"DECIMAL({precision},{scale})": (
            tuple(str(Decimal(sign * (n % 10**precision)).scaleb(-scale)) for n in DIGITS for sign in (1, -1)),
            ("FLOAT", "DOUBLE", "VARCHAR", "BIGINT"),
        )
        for precision, scale in ((15, 2), (17, 17), (18, 17), (18, 2), (38, 2), (38, 20), (38, 38))
    },
    "VARCHAR": (
        (*TIMES, *NUMBERS),
        ("TIME", "DATE", "TIMESTAMP", "TIMESTAMPTZ", "UTINYINT", "UBIGINT", "TINYINT", "DECIMAL(4,4)", "DECIMAL(4,3)", "FLOAT"),
    ),
}  # fmt: skip


def exact(table: pa.Table) -> list[tuple[str, ...]]:
    """The rows, days and moments as whole numbers and all else as it prints, so that every bit counts."""
    return list(zip(*([repr(value) for value in numbers_of(c).to_pylist()] for c in table.columns), strict=True))


@pytest.fixture(scope="module")
def db() -> ivm.Database:
    return ivm.connect(compile="off")


@pytest.mark.parametrize("source", SOURCES)
def test_casts_are_duckdbs_to_the_last_bit(db: ivm.Database, source: str) -> None:
    texts, targets = SOURCES[source]
    db.sql(f"CREATE OR REPLACE TABLE given (id INTEGER, x {source})")
    db.sql(f"INSERT INTO given SELECT ?, CAST(? AS {source})", [0, None])
    for number, text in enumerate(texts, 1):
        db.sql(f"INSERT INTO given SELECT ?, TRY_CAST(? AS {source})", [number, text])
    cast = ", ".join(f"TRY_CAST(x AS {target}) AS x{place}" for place, target in enumerate(targets))
    query = f"SELECT id, {cast} FROM given ORDER BY id"
    db.sql(f"CREATE OR REPLACE MATERIALIZED VIEW cast_ AS {query}")
    assert exact(db.view("cast_").arrow()) == exact(db.sql(query).arrow())
    db.sql("DROP VIEW cast_")


def test_decimals_become_the_nearest_numbers_in_a_compiled_loop() -> None:
    db = ivm.connect(compile="wait")
    db.sql("CREATE TABLE d (n DECIMAL(18,17), w DECIMAL(38,20), b BIGINT)")
    numbers = np.random.default_rng(7).integers(-(10**18) + 1, 10**18, 300).tolist()
    near_halves = [(2**25 + 1) * 10**20 + 1, -(2**25 + 1) * 10**20 - 1, 2**60 + 1, 10**38 - 1, 1, 0]
    wide = [n * 10**19 + m for n, m in zip(numbers, reversed(numbers), strict=True)][:-6] + near_halves
    columns = {
        "n": pa.array([Decimal(n).scaleb(-17) for n in numbers], pa.decimal128(18, 17)),
        "w": pa.array([Decimal(w).scaleb(-20, Context(prec=38)) for w in wide], pa.decimal128(38, 20)),
        "b": numbers,
    }
    db.apply({"d": pa.table(columns)})
    db.sql("CREATE MATERIALIZED VIEW v AS SELECT n::DOUBLE, n::FLOAT, w::DOUBLE, w::FLOAT, b::FLOAT, n, w, b FROM d")
    for nd, ns, wd, ws, bs, n, w, b in db.view("v").fetchall():
        assert (nd, wd) == (float(Fraction(n)), float(Fraction(w)))
        assert (ns, ws, bs) == tuple(nearest(Fraction(each)) for each in (n, w, b))


def nearest(exact: Fraction) -> float:
    """The FLOAT nearest to a number; of two the even one."""
    first = np.float32(float(exact))
    beside = [first, *(np.nextafter(first, np.float32(end)) for end in (-np.inf, np.inf))]
    return float(min(beside, key=lambda each: (abs(Fraction(float(each)) - exact), int(each.view(np.int32)) & 1)))


def test_floats_of_all_kinds_are_written_as_duckdb_writes_them(db: ivm.Database) -> None:
    random = np.random.default_rng(3)
    bits = random.integers(0, 2**32, 20_000, dtype=np.uint32).view(np.float32)
    whole = random.integers(0, 2**40, 20_000).astype(np.float32)
    db.sql("CREATE OR REPLACE TABLE f (x FLOAT)")
    db.apply({"f": {"x": np.concatenate([bits[np.isfinite(bits)], whole])}})
    written = db.sql("SELECT x, x::VARCHAR FROM f").fetchall()
    assert [text for _, text in written] == [single_text(value) for value, _ in written]


@pytest.mark.parametrize("text", ["infinity", "-inf", " Infinity"])
@pytest.mark.parametrize("target", ["DATE", "TIMESTAMP", "TIMESTAMPTZ"])
def test_infinity_is_no_null(db: ivm.Database, text: str, target: str) -> None:
    with pytest.raises(ivm.TypeMismatchError, match="infinity is no value here"):
        db.sql(f"CREATE MATERIALIZED VIEW never AS SELECT TRY_CAST('{text}' AS {target}) AS x")
    db.sql("CREATE OR REPLACE TABLE s (x VARCHAR)")
    db.sql(f"CREATE OR REPLACE MATERIALIZED VIEW read AS SELECT TRY_CAST(x AS {target}) AS y FROM s")
    with pytest.raises(ivm.NumericError, match="infinity is no value here"):
        db.sql("INSERT INTO s VALUES (?)", [text])
    assert db.sql("SELECT TRY_CAST('infinity' AS TIME)").fetchall() == [(None,)]
    db.sql("INSERT INTO s VALUES ('infinit')")
    assert db.view("read").fetchall() == [(None,)]
    db.sql("DROP VIEW read")
