"""Rows as data frames of pandas, of the types that those of DuckDB have, so that they can be computed with."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.types as arrow

from ivm.trace.columns.arrow import is_list
from ivm.trace.columns.intervals import INTERVAL, durations

if TYPE_CHECKING:
    import pandas as pd


def pandas_frame(table: pa.Table, pandas: Any) -> pd.DataFrame:
    """The rows of an Arrow table as a data frame of `pandas`, the module. Cost: a copy; a pass in Python of what pandas
    keeps as objects.

    DECIMAL and HUGEINT are float64, rounded to the nearest; integers and BOOLEAN with NULL are pandas' Int64 and the
    like, and boolean; DATE is datetime64, INTERVAL timedelta64, where a month has 30 days, ENUM an ordered category.
    """
    series = (_series(column, pandas) for column in table.columns)
    frame: pd.DataFrame = pandas.DataFrame(dict(enumerate(series)))
    frame.columns = table.column_names
    return frame


def _series(column: pa.ChunkedArray, pandas: Any) -> Any:
    given = column.type
    if given == INTERVAL:
        column = durations(column)
    for to in (_plain(given, pa.string()), _plain(given, pa.float64())):  # Arrow itself does not round to the nearest
        column = column if to == given else column.cast(to)
    nullable = None
    if column.null_count and arrow.is_integer(given):
        name = str(given)
        nullable = pandas.api.types.pandas_dtype(f"UI{name[2:]}" if name.startswith("u") else name.capitalize())
    elif column.null_count and arrow.is_boolean(given):
        nullable = pandas.BooleanDtype()
    found = column.to_pandas(maps_as_pydicts="strict", types_mapper=lambda each: nullable)
    return found.cat.as_ordered() if arrow.is_dictionary(given) else found


def _plain(given: pa.DataType, number: pa.DataType) -> pa.DataType:
    """The type in which pandas computes with values that would be objects, in lists too; of decimals it is `number`."""
    if arrow.is_decimal(given):
        return number
    if arrow.is_date(given):
        return pa.timestamp("us")
    if is_list(given):
        return pa.list_(_plain(given.value_type, number), getattr(given, "list_size", -1))
    return given
