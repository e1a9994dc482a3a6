"""Data from outside, in whatever form a Python programmer has it, checked against the columns of a table."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence, Set
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from ivm.catalog.errors import ConstraintError, TypeMismatchError
from ivm.catalog.names import by_key, key, suggestion, twice
from ivm.catalog.schema import Field, Schema
from ivm.catalog.types import BIGINT, Kind, SqlType
from ivm.intake.as_it_is import DIFF, TIME, AsItIs, Updates, as_table, number_field
from ivm.intake.exact_cast import TextError, exact_cast, from_texts, inferred, is_written
from ivm.intake.generated import GeneratedColumns
from ivm.intake.json_texts import json_of
from ivm.intake.nested_cast import nested_array
from ivm.intake.python_rows import plain_rows
from ivm.intake.remedies import Remedy, of_arrow, of_columns, of_frame, of_values
from ivm.intake.spark_casts import is_variant
from ivm.intake.well_formed import check_shown, check_well_formed
from ivm.sql.plain_insert import UsualRow
from ivm.trace.columns.arrow import arrow_type
from ivm.trace.columns.column import Bools, Ints, every
from ivm.trace.columns.exported import ArrowRows
from ivm.trace.rows.changes import within_bounds

_SHOWN = 3
_NESTED = (list, tuple, dict, set, frozenset, np.ndarray)


class _Given(NamedTuple):
    """Data as an Arrow table, whether somebody may still write to its memory, and what to tell who gave it."""

    table: pa.Table
    borrowed: bool
    remedy: Remedy


Defaults = Mapping[str, Callable[[int], pa.Array]]
"""By a column's name what makes so many values for rows that leave it out."""
_NO_DEFAULTS: Defaults = {}


class Intake:
    """What checks data for one table, batch after batch, against its columns `fields`; `what` names it, "table orders".

    What it found out about an Arrow schema it knows the next time. Any number of threads may use it. Columns that rows
    leave out have their `defaults`.
    """

    def __init__(
        self,
        fields: Schema,
        what: str,
        primary_key: Sequence[str] = (),
        defaults: Defaults = _NO_DEFAULTS,
        generated: GeneratedColumns | None = None,
    ) -> None:
        self.fields = fields
        self._names = tuple(field.name for field in fields)
        self._types = [field.type for field in fields]
        self.usual = UsualRow(self._types)
        """What reads a row of all columns in an INSERT."""
        self._what = what
        known = by_key((field.name, field) for field in fields)
        self._keys = tuple(known[key(name)] for name in primary_key)
        self._defaults = defaults
        self._as_it_is = AsItIs(fields)
        self.generated = generated
        """What computes columns that nobody gives."""
        self.plain = self._as_it_is.plain if generated is None else None
        """What takes rows of plain values, where all columns have such types, and none is generated."""
        self.plain_keys = plain_rows(self._keys)
        """What takes keys in plain values, of a table whose key has such types."""

    def types(self, names: Sequence[str]) -> list[SqlType]:
        """The types of the columns of these names."""
        return self._types if names == self._names else [self._types[self._names.index(name)] for name in names]

    def values(
        self, names: Sequence[str], columns: Sequence[Sequence[object]], count: int, *, stored: bool
    ) -> tuple[ArrowRows, Ints | None] | None:
        """So many rows of the columns of these names, of plain values, if `stored` in physical form, but for texts;
        others have their default, or NULL.

        None where they are not taken here: of types that have no plain values, or NULL where none may be.
        """
        plain = self._as_it_is.plain
        if plain is None:
            return None
        given: Container[int] = range(len(self.fields)) if stored else ()
        if names != self._names:
            known = dict(zip(names, columns, strict=True))
            given = [place for place, name in enumerate(self._names) if name in known] if stored else ()
            columns = [known[name] if name in known else self.left_out(name, count) for name in self._names]
        located = plain.batch(count, columns, given)
        return None if located is None else self._generated(*located)

    def left_out(self, name: str, count: int) -> Sequence[object]:
        """What so many rows have in a column that they leave out."""
        make = self._defaults.get(name)
        return (None,) * count if make is None else make(count).to_pylist()

    def rows(self, data: Any, *, keys_only: bool = False) -> tuple[ArrowRows, Ints | None]:
        """The data as Arrow rows of exactly the columns `fields`, in their order, in types that `to_column` takes;
        and where its columns lie, if that is known, as `Updates` has it.

        `data`: a pa.Table or RecordBatch, anything with the Arrow PyCapsule interface (pandas, polars, DuckDB
        relations), a list of dicts (a key that a row lacks is NULL), or a dict of columns; in dicts, dates, timestamps
        and decimals may be texts, see `from_texts`. Column names are case-insensitive; casts are those of `exact_cast`.
        A struct is its fields: `a` of `s` is the column `s_a`.
        Arrow's own arrays are kept as they are, not copied, but for few rows in small pieces; nobody may write to the
        memory that they share. All else is copied. With `keys_only` the columns of the primary key alone are needed and
        returned; others may be there and are not looked at.

        Raises TypeMismatchError for a form that is not understood, a missing, unknown or duplicate column, a wrong type
        or a value that does not fit, ConstraintError for NULL in a field that is not nullable. Cost: that
        of `FirstLook` for the schema that came last; for others, and where that is not enough, some 50 microseconds for
        16 columns and the look of `check_well_formed`.
        """
        taken = None if keys_only else self._as_it_is.taken(data, rows_alone=True)
        if taken is not None:
            return self._generated(taken[0], taken[3])
        given = self._as_table(data)
        rows = self._complete(self._renamed(given), self._keys if keys_only else self.fields)
        return self._generated(rows, None)

    def _generated(self, rows: ArrowRows, addresses: Ints | None) -> tuple[ArrowRows, Ints | None]:
        """The rows with what is computed of them, and where their columns lie, if that is known then."""
        return (rows, addresses) if self.generated is None else (self.generated.completed(rows), None)

    def updates(self, data: Any) -> Updates:
        """As `rows`, where two more columns are allowed, `_time` and `_diff` of BIGINT; rows with a diff of 0 are gone.

        Rows that go need no more than the primary key. ConstraintError also for diffs that stand for too many rows.
        """
        taken = self._as_it_is.taken(data)
        if taken is not None:
            rows, times, diffs, addresses, is_open = taken
            if self.generated is not None:
                rows, addresses = self.generated.completed(rows), None
            updates = rows, times, diffs, addresses
            return self._counted(updates, self.fields) if is_open else updates
        given = self._renamed(self._as_table(data))
        table = given.table
        own = {field.name for field in self.fields}
        extra = [name for name in (TIME, DIFF) if name in table.column_names and name not in own]
        check_well_formed(table.select(extra), self._what)
        numbers = self._selected(given, tuple(map(number_field, extra)))
        times, diffs = (numbers.column(name).to_numpy() if name in extra else None for name in (TIME, DIFF))
        gone = None if diffs is None or not self._keys or not (diffs < 0).any() else diffs <= 0
        wanted = self._keys if gone is not None and gone.all() else self.fields
        rows, _ = self._generated(self._complete(given._replace(table=table.drop_columns(extra)), wanted, gone), None)
        return self._counted((rows, times, diffs, None), wanted)

    def _counted(self, updates: Updates, fields: Schema) -> Updates:
        rows, times, diffs, addresses = updates
        if diffs is None:
            return updates
        added = np.count_nonzero(diffs == 1)
        if added + np.count_nonzero(diffs == -1) == len(diffs):  # the rule
            return rows, times, None if added == len(diffs) else diffs, addresses
        rows, times, diffs = within_bounds(rows, times, diffs, [field.type for field in fields], self._what)
        if np.count_nonzero(diffs) < len(diffs):
            kept = np.flatnonzero(diffs)
            rows, diffs = rows.take(kept), diffs[kept]
            times = None if times is None else times[kept]
            diffs = None if every(diffs == 1) else diffs
        return rows, times, diffs, None

    def _as_table(self, data: Any) -> _Given:
        """The data as an Arrow table."""
        if isinstance(data, pa.Table | pa.RecordBatch):
            return _Given(as_table(data), False, of_arrow)
        try:
            if isinstance(data, pa.RecordBatchReader):
                return _Given(data.read_all(), False, of_arrow)
            if hasattr(data, "__arrow_c_stream__"):
                read = pa.RecordBatchReader.from_stream(data).read_all()
                return _Given(_without_index(read), True, of_frame(data))
            if hasattr(data, "__arrow_c_array__"):
                return _Given(pa.Table.from_batches([pa.record_batch(data)]), True, of_frame(data))
        except Exception as error:  # whatever somebody else's code runs into, it gives no table
            told = "; ".join(map(str, error.args))
            raise self._refusal(f"its Arrow interface does not give a table: {told}") from error
        if isinstance(data, Mapping):
            borrowed = not all(
                isinstance(values, list | tuple | pa.Array | pa.ChunkedArray) for values in data.values()
            )
            return _Given(self._from_columns(data), borrowed, of_columns(data))
        rows = isinstance(data, Sequence) and not isinstance(data, str | bytes | bytearray | memoryview)
        if rows and all(isinstance(row, Mapping) for row in data):
            return _Given(self._from_columns(self._transposed(data)), False, of_values)
        raise self._refusal(
            f"a {type(data).__name__} is not understood; give an Arrow table, a data frame, a list of dicts or a dict "
            "of columns"
        )

    def _transposed(self, rows: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]]:
        if not rows:
            return {field.name: [] for field in self.fields}
        names = dict.fromkeys(name for row in rows for name in row)
        columns = {name: [row.get(name) for row in rows] for name in names}
        for column, make in self._defaults.items():
            name = next((each for each in names if key(str(each)) == key(column)), column)
            without = [place for place, row in enumerate(rows) if name not in row]
            values = columns.setdefault(name, [None] * len(rows))
            for place, value in zip(without, make(len(without)).to_pylist() if without else (), strict=True):
                values[place] = value
        return columns

    def _from_columns(self, data: Mapping[str, Any]) -> pa.Table:
        known = by_key((field.name, field) for field in self.fields)
        arrays: dict[str, pa.Array | pa.ChunkedArray] = {}
        for name, values in data.items():
            arrays[str(name)] = self._from_values(values, known.get(key(str(name))) or Field(str(name), BIGINT))
        lengths = {name: len(array) for name, array in arrays.items()}
        if len(set(lengths.values())) > 1:
            shown = ", ".join(f"{name}: {length}" for name, length in lengths.items())
            raise self._refusal(f"its columns have different lengths ({shown})")
        return pa.Table.from_arrays(list(arrays.values()), names=list(arrays))

    def _from_values(self, values: Any, field: Field) -> pa.Array | pa.ChunkedArray:
        if isinstance(values, pa.Array | pa.ChunkedArray):
            return values
        if isinstance(values, str | bytes | Set | Mapping) or not hasattr(values, "__len__"):
            raise self._refusal(
                f"column {field.name!r} is a {type(values).__name__}; "
                "give a list of values for each column, or a list of dicts for rows"
            )
        try:
            return _inferred(values, field)
        except TextError as error:
            raise self._refusal(f"column {field.name!r}, {error}") from error
        except (TypeError, ValueError, OverflowError, pa.ArrowException) as error:
            raise self._unfit(field, error) from error

    def _renamed(self, given: _Given) -> _Given:
        """The data with its columns called as the fields are."""
        table = self._flat(given.table)
        names = table.column_names
        again = twice(names)
        if again is not None:
            raise self._refusal(f"column {again!r} is there twice; leave one of them out")
        declared = by_key((name, name) for name in (*(field.name for field in self.fields), TIME, DIFF))
        wanted = [declared.get(key(name), name) for name in names]
        return given._replace(table=table if wanted == names else table.rename_columns(wanted))

    def _flat(self, table: pa.Table) -> pa.Table:
        """The fields of structs as columns; a struct that is named as a column of ours stays, to be refused."""
        own = {key(field.name) for field in self.fields}
        while True:
            structs = [f.name for f in table.schema if _is_struct(f.type) and key(f.name) not in own]
            if not structs:
                return table
            check_well_formed(table.select(structs), self._what)
            columns: list[tuple[str, pa.ChunkedArray]] = []
            for given, column in zip(table.schema, table.columns, strict=True):
                parts = column.flatten() if given.name in structs else None
                names = [f"{given.name}_{f.name}" for f in given.type] if parts is not None else [given.name]
                columns += zip(names, [column] if parts is None else parts, strict=True)
            table = pa.Table.from_arrays([column for _, column in columns], names=[name for name, _ in columns])

    def _complete(self, given: _Given, wanted: Schema, gone: Bools | None = None) -> pa.Table:
        """The columns `wanted`, checked; rows that are `gone` may be NULL outside of the primary key."""
        table = given.table
        if wanted is self.fields:
            for name, make in self._defaults.items():
                if name not in table.column_names:
                    table = table.append_column(name, make(table.num_rows))
        self._check_names(table.column_names, wanted)
        needed = [field.name for field in wanted]
        table = table if table.column_names == needed else table.select(needed)
        check_well_formed(table, self._what)
        return self._selected(given._replace(table=table), wanted, gone)

    def _check_names(self, names: list[str], wanted: Schema) -> None:
        known = [field.name for field in self.fields]
        for name in names:
            if name not in known:
                hint = suggestion(name, known) or f"; its columns are {', '.join(known)}"
                raise self._refusal(f"there is no column {name!r}{hint}")
        for field in wanted:
            if field.name not in names:
                raise self._refusal(
                    f"column {field.name!r}, {field.type}, is missing; "
                    "give every column, with NULL where there is no value"
                )

    def _selected(self, given: _Given, wanted: Schema, gone: Bools | None = None) -> pa.Table:
        table = given.table
        columns, same = [], table.num_columns == len(wanted)
        for field in wanted:
            before = table.column(field.name)
            try:
                column = exact_cast(before, field.type)
            except TypeError as error:
                told = given.remedy(table.schema.field(field.name), field)
                raise self._other_type(field, told) from error
            except (ValueError, pa.ArrowException) as error:
                raise self._unfit(field, error) from error
            check_shown(column, field, self._what)
            column = _owned(column) if given.borrowed else column
            if not field.nullable:
                self._check_nulls(column, field, None if field in self._keys else gone)
            columns.append(column)
            same = same and column is before
        return table if same else pa.Table.from_arrays(columns, names=[field.name for field in wanted])

    def _check_nulls(self, column: pa.ChunkedArray, field: Field, gone: Bools | None) -> None:
        """ConstraintError if there is a NULL, but for rows that are `gone`."""
        if column.null_count == 0:
            return
        null = column.is_null().to_numpy()
        rows = np.flatnonzero(null if gone is None else null & ~gone)
        if len(rows) == 0:
            return
        shown = ", ".join(str(row) for row in rows[:_SHOWN]) + (", ..." if len(rows) > _SHOWN else "")
        raise ConstraintError(
            f"cannot change {self._what}: NOT NULL column {field.name!r} is NULL in {len(rows)} row(s), counted from "
            f"0: {shown}; give a value, or declare the column without NOT NULL"
        )

    def _unfit(self, field: Field, error: BaseException) -> TypeMismatchError:
        if not isinstance(error, ValueError | OverflowError):
            return self._other_type(field, f"{error}; convert it first")
        return self._refusal(
            f"column {field.name!r} is {field.type}, but a value does not fit: {error}; convert it first"
        )

    def _other_type(self, field: Field, told: str) -> TypeMismatchError:
        return self._refusal(f"column {field.name!r} is {field.type}, but its values have another type: {told}")

    def _refusal(self, wrong: str) -> TypeMismatchError:
        return TypeMismatchError(f"cannot read data for {self._what}: {wrong}")


def _is_struct(given: pa.DataType) -> bool:
    return bool(pa.types.is_struct(given)) and not is_variant(given)


def _owned(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """A copy in memory of its own: data frames hand out theirs, which they may still write to; tables keep rows."""
    return pa.chunked_array([pa.concat_arrays([c[:0], c]) for c in column.chunks if len(c)], column.type)


def _without_index(table: pa.Table) -> pa.Table:
    """A pandas index that has no name is not data."""
    indexes = [name for name in table.column_names if name.startswith("__index_level_")]
    return table.drop_columns(indexes) if indexes else table


_MATRIX = 2
"""So many dimensions an array of numpy has whose rows are lists."""


def _inferred(values: Any, field: Field) -> pa.Array | pa.ChunkedArray:
    """What the values are by themselves, so that `exact_cast` judges them; by the field's type if that is not clear."""
    if hasattr(values, "__arrow_c_stream__"):
        return pa.chunked_array(values)
    if isinstance(values, np.ndarray) and values.ndim == _MATRIX and values.size and values.dtype.kind in "iufb":
        return pa.FixedSizeListArray.from_arrays(pa.array(values.reshape(-1)), values.shape[1])
    if field.type.is_nested and not isinstance(values, str | bytes):
        return nested_array(list(values), field.type, _made)
    if field.type.kind is Kind.JSON and not isinstance(values, bytes):
        return json_of(values)
    if np.dtype(object) == getattr(values, "dtype", np.dtype(object)):
        # Arrow looks into lists for their type, without an end into one that holds itself.
        kinds = set(map(type, values)) - {pa.MonthDayNano}
        nested = next((kind for kind in kinds if issubclass(kind, _NESTED)), None)
        if nested is not None:
            raise TypeError(f"it holds a {nested.__name__}")
    try:
        array = inferred(values, field.type)
    except (ValueError, OverflowError, pa.ArrowException):
        if is_written(field.type) and any(isinstance(value, str) for value in values):
            return from_texts(values, field.type)
        return pa.array(values, arrow_type(field.type))
    return from_texts(values, field.type) if pa.types.is_string(array.type) and is_written(field.type) else array


def _made(values: list[Any], type: SqlType) -> pa.ChunkedArray:
    """What nested values are made of."""
    array = _inferred(values, Field("", type)) if values else pa.array([], arrow_type(type))
    return exact_cast(array if isinstance(array, pa.ChunkedArray) else pa.chunked_array([array]), type)
