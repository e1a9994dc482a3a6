"""DuckDB as the oracle of scalar functions: one expression, written as SQL and as a Scalar, over generated rows."""

from __future__ import annotations

import decimal
import math
from collections.abc import Sequence
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import strategies as st

from ivm.catalog.errors import NumericError
from ivm.catalog.types import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    HUGEINT,
    INTEGER,
    SMALLINT,
    TIMESTAMP,
    TINYINT,
    VARCHAR,
    Kind,
    Physical,
    SqlType,
)
from ivm.plan.mfp import Mfp
from ivm.render.scalars.columns import from_objects, objects
from ivm.render.scalars.compiler import Compiler
from ivm.render.scalars.program import MfpProgram
from ivm.sql.ir.limits import limits
from ivm.sql.ir.scalar import Column, Scalar
from ivm.trace.columns.column import DTYPES
from ivm.trace.columns.column import Column as Values
from ivm.trace.delta import Delta, Group, Layout, delta_of
from ivm.trace.text.dictionary import TextDictionary

Row = Sequence[Any]
EXACT = decimal.Context(prec=60)
TEXTS = [
    "",
    "a",
    "A",
    "ab",
    "abc",
    "B",
    " a ",
    "a%b",
    "a_b",
    "aab",
    "aba",
    "é",
    "Éa",
    "ß",
    "z",
    "日本",
    "\t a",
    "x\ny",
    "%",
    "__",
]


def is_compiled(program: MfpProgram) -> bool:
    """Whether a compiled loop has taken over in each of its pieces."""
    forms = [[fused for _, fused in piece._forms.values() if fused is not None] for piece in program._pieces]
    loops = [[loop for fused in each for loop in fused._bound.values() if loop is not None] for each in forms]
    return all(any(loop.ticket.kernel is not None for loop in each) for each in loops)


def program_of(
    maps: tuple[Scalar, ...],
    predicates: tuple[Scalar, ...],
    projection: tuple[int, ...] | None,
    width: int,
    dictionary: TextDictionary,
    compiler: Compiler | None = None,
) -> MfpProgram:
    """A program by its parts; without a projection it keeps all columns."""
    kept = tuple(range(width + len(maps))) if projection is None else projection
    return MfpProgram(Mfp(width, maps, predicates, kept), dictionary, compiler)


def values_of(type_: SqlType) -> st.SearchStrategy[Any]:
    """Values of a type in engine form: small ones, extremes and anything between."""
    if type_.kind is Kind.VARCHAR:
        return st.sampled_from(TEXTS) | st.text("ab%_é ", max_size=5)
    if type_.kind is Kind.BOOLEAN:
        return st.booleans()
    if type_.kind is Kind.DOUBLE:
        return st.sampled_from([0.0, 1.0, -1.0, 0.5, -0.5, 2.5, 1e300, math.inf, -math.inf, math.nan]) | st.floats()
    low, high = limits(type_)
    if type_.kind is Kind.DATE:
        low, high = -800_000, 2_900_000
    if type_.kind is Kind.TIMESTAMP:
        low, high = -(10**16), 10**17
    edges = st.sampled_from([low, high, low // 2, high // 2, 0])
    return st.integers(max(low, -30), min(high, 30)) | st.integers(low, high) | edges


def column_of(values: Sequence[Any], type_: SqlType, dictionary: TextDictionary, masked: bool = False) -> Values:
    """Engine values (None is NULL) as a column; `masked`: with a mask even if nothing is NULL."""
    valid = np.array([v is not None for v in values], np.bool_)
    filled: list[Any] = [("" if type_.kind is Kind.VARCHAR else 0) if v is None else v for v in values]
    if type_.kind is Kind.VARCHAR:
        data: Any = np.array([dictionary.code(v) for v in filled], np.int32)
    elif type_.physical is Physical.WIDE:
        data = from_objects(np.array(filled, object))
    else:
        data = np.array(filled, DTYPES[type_.physical])
    return Values(data, None if valid.all() and not masked else valid)


def python_of(column: Values, type_: SqlType, dictionary: TextDictionary) -> list[Any]:
    """A column as engine values."""
    if type_.kind is Kind.VARCHAR:
        values: list[Any] = dictionary.now().strings(column.values)
    elif type_.physical is Physical.WIDE:
        values = objects(column.values).tolist()
    else:
        values = column.values.tolist()
    return [v if column.valid is None or column.valid[i] else None for i, v in enumerate(values)]


def _arrow_type(type_: SqlType) -> pa.DataType:
    if type_.kind is Kind.DECIMAL:
        return pa.decimal128(type_.precision, type_.scale)
    return {
        TINYINT: pa.int8(), SMALLINT: pa.int16(), INTEGER: pa.int32(), BIGINT: pa.int64(),
        DOUBLE: pa.float64(), BOOLEAN: pa.bool_(), DATE: pa.date32(), TIMESTAMP: pa.timestamp("us"),
        VARCHAR: pa.string(), HUGEINT: pa.string(),
    }[type_]  # fmt: skip


def _outside(value: Any, type_: SqlType) -> Any:
    if value is None:
        return None
    if type_.kind is Kind.DECIMAL:
        return decimal.Decimal(value).scaleb(-type_.scale, EXACT)
    if type_.kind is Kind.HUGEINT:
        return str(value)
    return value


def _engine_form(value: Any, type_: SqlType) -> Any:
    """What DuckDB's Python client returns, in engine form."""
    if value is None:
        return None
    if type_.kind is Kind.DECIMAL:
        return int(value.scaleb(type_.scale, EXACT))
    return value


CONNECTION = duckdb.connect()
CONNECTION.execute("SET threads = 1")


def duckdb_rows(sql: str, types: Sequence[SqlType], rows: Sequence[Row], result: SqlType) -> list[Any] | str:
    """The expression over columns c0, c1, ... for each row, in engine form; the message if DuckDB raises."""
    arrays = [
        pa.array([_outside(row[i], t) for row in rows], _arrow_type(t))
        if t.kind not in (Kind.DATE, Kind.TIMESTAMP)
        else pa.array([row[i] for row in rows], pa.int32() if t is DATE else pa.int64()).cast(_arrow_type(t))
        for i, t in enumerate(types)
    ]
    names = [f"c{i}" for i in range(len(types))]
    given = pa.table([*arrays, pa.array(range(len(rows)))], [*names, "n"])
    CONNECTION.register("given", given)
    casts = ", ".join(f"CAST({n} AS {t}) AS {n}" for n, t in zip(names, types, strict=True))
    target = {DATE: "{} - DATE '1970-01-01'", TIMESTAMP: "epoch_us({})"}.get(result, "{}")
    try:
        CONNECTION.execute(f"CREATE OR REPLACE TEMP TABLE t AS SELECT {casts}, n FROM given")
        cursor = CONNECTION.execute(f"SELECT {target.format(f'CAST(({sql}) AS {result})')} FROM t ORDER BY n")
        return [_engine_form(row[0], result) for row in cursor.fetchall()]
    except (duckdb.OutOfRangeException, duckdb.ConversionException, duckdb.InvalidInputException) as error:
        return str(error)
    finally:
        CONNECTION.unregister("given")


def delta_over(columns: Sequence[Values], length: int, through_refs: bool) -> Delta:
    """A delta of the columns, dense or behind references that turn their order around and back."""
    if not through_refs or length == 0:
        return delta_of(columns, 1, None, length)
    back = np.arange(length - 1, -1, -1)
    groups = [Group(delta_of([c.take(back)], 1, None).groups[0].source, back) for c in columns]
    return Delta(groups, Layout((i, 0) for i in range(len(columns))), length, 1, None)


def same(a: Any, b: Any) -> bool:
    """Equality of engine values; NULL and NaN equal themselves, DOUBLE within a few units of the last place."""
    if a is None or b is None:
        return a is b
    if isinstance(a, float) or isinstance(b, float):
        return (math.isnan(a) and math.isnan(b)) or a == b or math.isclose(a, b, rel_tol=1e-13)
    return bool(a == b)


def check(scalar: Scalar, sql: str, types: Sequence[SqlType], rows: Sequence[Row], compiler: Any = None) -> None:
    """The map `scalar` over the rows equals DuckDB's `sql`, in each value or in raising; also row by row if it raises.

    With a compiler, all columns have masks and come through references, so that one loop serves all rows.
    """
    assert rows
    expected = duckdb_rows(sql, types, rows, scalar.type)
    if isinstance(expected, str) and len(rows) > 1:
        for row in rows:
            check(scalar, sql, types, [row], compiler)
        return
    dictionary = TextDictionary()
    compiled = compiler is not None
    failures = len(compiler.failures()) if compiled else 0
    columns = [column_of([row[i] for row in rows], t, dictionary, compiled) for i, t in enumerate(types)]
    program = program_of((scalar,), (), (len(types),), len(types), dictionary, compiler)
    for through_refs in (True,) if compiled else (False, True):
        delta = delta_over(columns, len(rows), through_refs)
        if isinstance(expected, str):
            with pytest.raises(NumericError):
                program.run(delta)
            continue
        output = program.run(delta)
        assert output is not None
        actual = python_of(output.column(0), scalar.type, dictionary)
        assert len(actual) == len(expected)
        for row, a, e in zip(rows, actual, expected, strict=True):
            assert same(a, e), f"{sql} over {row}: {a!r}, DuckDB says {e!r}"
    if compiled:
        assert len(compiler.failures()) == failures
    else:
        check_filter(scalar, columns, len(rows), expected, dictionary)


def check_filter(
    scalar: Scalar, columns: Sequence[Values], length: int, expected: Any, dictionary: TextDictionary
) -> None:
    """As a predicate, a BOOLEAN expression keeps exactly the rows on which it is TRUE."""
    if scalar.type.kind is not Kind.BOOLEAN or isinstance(expected, str):
        return
    rows = [*columns, Values(np.arange(length))]
    program = program_of((), (scalar,), (len(columns),), len(columns) + 1, dictionary)
    output = program.run(delta_of(rows, 1, None, length))
    kept = [] if output is None else output.column(0).values.tolist()
    assert kept == [i for i, value in enumerate(expected) if value is True]


def arguments(types: Sequence[SqlType], nullable: bool = True) -> list[Scalar]:
    """Columns 0, 1, ... of these types."""
    return [Column(i, t, nullable) for i, t in enumerate(types)]


def rows_of(types: Sequence[SqlType], max_size: int = 12) -> st.SearchStrategy[list[tuple[Any, ...]]]:
    """Some rows of values or NULLs."""
    row = st.tuples(*[st.none() | values_of(t) | values_of(t) for t in types])
    return st.lists(row, min_size=1, max_size=max_size)
