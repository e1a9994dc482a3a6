"""Functions that the engine asks DuckDB for: so does the model, a row at a time."""

from __future__ import annotations

from typing import Any

import duckdb

from ivm.catalog.errors import NumericError
from ivm.sql.ir.functions import function_of
from ivm.sql.ir.scalar import Call, Value
from tests.model.values import from_engine, to_engine

_DUCK = duckdb.connect()
_DUCK.execute("SET TimeZone = 'UTC'")


def asked(call: Call, args: list[Any]) -> Value:
    """The value of a call, none of whose arguments is NULL."""
    given = [from_engine(value, arg.type) for value, arg in zip(args, call.args, strict=True)]
    casts = ", ".join(f"CAST(${i} AS {arg.type})" for i, arg in enumerate(call.args, 1))
    text = f'CAST("{function_of(call.function).asked}"({casts}) AS {call.type})'
    if call.type.kind.value == "INTERVAL":
        text = f"CAST({text} AS VARCHAR)"
    if call.type.kind.value == "TIMESTAMP WITH TIME ZONE":
        text = f"CAST({text} AS TIMESTAMP)"
    try:
        return to_engine(_DUCK.execute(f"SELECT {text}", given).fetchall()[0][0], call.type)
    except (duckdb.OutOfRangeException, duckdb.ConversionException, duckdb.InvalidInputException) as error:
        raise NumericError(str(error)) from error
