"""What a query answers with: rows, in the forms that people want them in."""

from __future__ import annotations

import shutil
import sys
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from functools import cached_property
from importlib import import_module
from itertools import islice
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from ivm.arguments import whole_number
from ivm.catalog.errors import Error
from ivm.results.cells import Head, head_of, type_names, visible
from ivm.results.frames import pandas_frame
from ivm.results.rows_in_cells import converter, has_rows
from ivm.trace.columns.arrow import array_from
from ivm.trace.columns.intervals import INTERVAL, durations
from ivm.trace.columns.python_values import python_values
from ivm.trace.columns.stand_ins import huge_columns, said

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

SHOWN_ROWS = 40
REPR_ROWS = 10
_REPR_WIDTH = 120
MOST_COLUMNS = 50
_TAKEN_AT_ONCE = 10_000


def table_of(rows: Iterable[tuple[Any, ...]], /, **types: pa.DataType) -> pa.Table:
    """Rows of Python's values as a table of columns of these types."""
    columns = list(zip(*rows, strict=True)) or [()] * len(types)
    return pa.table({name: pa.array(c, types[name]) for name, c in zip(types, columns, strict=True)})


class Rows(ABC):
    """Anything that can be read as rows; `arrow` is the one form from which the others are made.

    It is a stream of Arrow data to whatever takes one (the PyCapsule interface): `polars.DataFrame(rows)`,
    `pyarrow.table(rows)`, `pandas.DataFrame.from_arrow(rows)`, `FROM rows` in DuckDB, an ADBC driver's ingest, and
    `Transaction.insert` of another database. `len(rows)` counts them, and `for row in rows` gives them as tuples.
    """

    @abstractmethod
    def arrow(self) -> pa.Table:
        """The rows as an Arrow table."""

    @property
    @abstractmethod
    def schema(self) -> pa.Schema:
        """Names and Arrow types of the columns."""

    @abstractmethod
    def __len__(self) -> int:
        """How many rows there are."""

    @abstractmethod
    def _first(self, rows: int) -> tuple[pa.Table, int]:
        """The first rows, and how many there are in all."""

    def head(self, rows: int) -> pa.Table:
        """The first `rows` rows, or as many as there are, as an Arrow table. Cost: less than that of all, of a view."""
        return self._first(whole_number(rows, "rows"))[0]

    @property
    def _title(self) -> str:
        """What is said above the rows."""
        return ""

    def __bool__(self) -> bool:
        """True, also without rows: ask `len` for those."""
        return True

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return list(self.schema.names)

    @property
    def description(self) -> list[tuple[str, str, None, None, None, None, None]]:
        """The columns as DB-API 2 describes them: name and SQL type, such as ('price', 'DECIMAL(9,2)', None, ..)."""
        named = zip(self.columns, type_names(self.schema), strict=True)
        return [(name, kind, None, None, None, None, None) for name, kind in named]

    def df(self) -> pd.DataFrame:
        """The rows as a pandas DataFrame (pandas must be installed), of DuckDB's types; see `frame_of`."""
        return frame_of(self.arrow())

    def pl(self) -> pl.DataFrame:
        """The rows as a polars DataFrame (polars must be installed)."""
        return polars_of(self.arrow())

    def fetchall(self) -> list[tuple[Any, ...]]:
        """The rows as Python tuples."""
        return tuples_of(self.arrow())

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        """All rows as they are now, as Python tuples, made as they are asked for."""
        return _Reading(self.arrow())

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """The rows as a stream of Arrow's C interface, cast to the schema if one is requested."""
        return self.arrow().__arrow_c_stream__(requested_schema)

    def __arrow_c_schema__(self) -> object:
        """The schema of that stream."""
        return self.schema.__arrow_c_schema__()

    def show(self, rows: int = SHOWN_ROWS, width: int | None = None) -> None:
        """Print the first `rows` rows as a table, and how many there are.

        It is at most `width` characters wide, or as the terminal where it goes to one: columns that are too wide are
        cut, then left out, and a mark says so. Values look as in DuckDB; NULL is told from the text 'NULL', and what
        would not be seen, such as the end of a line in a text, is written out. Cost: follows what is shown.
        """
        if width is None and sys.stdout.isatty():
            width = shutil.get_terminal_size().columns
        table, total = self._first(whole_number(rows, "rows"))
        say(self._drawn(head_of(table, total), None if width is None else whole_number(width, "width")))

    def json(self, *, lines: bool = False) -> str:
        """The rows as JSON: an array of objects, or `lines` of one object each.

        Numbers have all of their digits. NaN, dates, moments and all else are texts, as DuckDB writes them; so they
        come in again by `apply` with `format="json"`, but for BLOB.
        """
        from ivm.results.written import json_lines, json_parts  # noqa: PLC0415  which few programs need

        return "".join(json_lines(self.arrow()) if lines else json_parts(self.arrow()))

    def __repr__(self) -> str:
        """The first rows as a table. Cost: follows what is shown."""
        drawn = self._drawn(self._short(), shutil.get_terminal_size((_REPR_WIDTH, 0)).columns)
        return f"{self._title}\n{drawn}" if self._title else drawn

    def _repr_html_(self) -> str:
        """The first rows as a notebook shows them."""
        from ivm.results.boxes import html  # noqa: PLC0415  what draws, which few programs need

        return html(self._short(), self._title)

    def _short(self) -> Head:
        return head_of(*self._first(REPR_ROWS), MOST_COLUMNS)

    def _drawn(self, head: Head, width: int | None) -> str:
        from ivm.results.boxes import box  # noqa: PLC0415  as above

        return box(head, width)


class Result(Rows):
    """The answer to one statement; statements that return nothing give a result without rows and columns.

    It is whole, and stays as it is whatever is committed later. `fetchone`, `fetchmany` and `fetchall` read it once
    from the beginning to the end, as DB-API 2 has it; all else, iterating too, always means all rows. An `as_text`
    result is one text of several lines, which is shown as it is.
    """

    def __init__(self, table: pa.Table | None = None, *, as_text: bool = False, changed: int | None = None) -> None:
        self._given = table
        self._as_text = as_text
        self._changed = changed

    @property
    def _table(self) -> pa.Table:
        """The rows; how many were changed becomes a table when somebody looks."""
        if self._given is None:
            self._given = pa.table({} if self._changed is None else {"Count": array_from([self._changed])})
        return self._given

    @cached_property
    def _left(self) -> _Reading:
        return _Reading(self._table)

    def arrow(self) -> pa.Table:
        """The rows as an Arrow table."""
        return self._table

    @property
    def schema(self) -> pa.Schema:
        """Names and Arrow types of the columns."""
        return self._table.schema

    def __len__(self) -> int:
        return self._table.num_rows

    @property
    def rowcount(self) -> int:
        """How many rows the statement changed; of a query how many it found; -1 of all other statements."""
        if self._changed is not None:
            return self._changed
        return self._table.num_rows if self._table.num_columns else -1

    @property
    def is_count(self) -> bool:
        """Whether it only says how many rows were changed."""
        return self._changed is not None

    def fetchone(self) -> tuple[Any, ...] | None:
        """The next row as a Python tuple; None after the last."""
        return next(self._left, None)

    def fetchmany(self, size: int = 1) -> list[tuple[Any, ...]]:
        """The next `size` rows as Python tuples, or as many as are left."""
        return list(islice(self._left, whole_number(size, "size")))

    def fetchall(self) -> list[tuple[Any, ...]]:
        """All rows that are left, as Python tuples: all, unless some have been fetched."""
        return list(self._left)

    def _first(self, rows: int) -> tuple[pa.Table, int]:
        return self._table.slice(0, rows), len(self)

    def _drawn(self, head: Head, width: int | None) -> str:
        if self._as_text:
            lines = [line for text in self._table.column(0).to_pylist() for line in text.splitlines()]
            return "\n".join(map(visible, lines))
        return super()._drawn(head, width) if head.columns else "a result without columns"


def counted(rows: int) -> Result:
    """The result of a statement that says how many rows it changed."""
    return Result(changed=rows)


def say(text: str) -> None:
    """Print a text; what the output's encoding does not have is written out."""
    encoding = sys.stdout.encoding or "utf-8"
    sys.stdout.write(text.encode(encoding, "backslashreplace").decode(encoding) + "\n")


class _Reading:
    """The rows of a table one after the other. Where some cannot be given, it stays before them."""

    def __init__(self, table: pa.Table) -> None:
        self._table = table
        self._made: Iterator[tuple[Any, ...]] = iter(())
        self._start = 0

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        return self

    def __next__(self) -> tuple[Any, ...]:
        row = next(self._made, None)
        if row is None:
            if self._start >= self._table.num_rows:
                raise StopIteration
            self._made = iter(tuples_of(self._table.slice(self._start, _TAKEN_AT_ONCE)))
            self._start += _TAKEN_AT_ONCE
            row = next(self._made)
        return row


def tuples_of(table: pa.Table) -> list[tuple[Any, ...]]:
    """The rows of an Arrow table as Python tuples. HUGEINT is int, and ROW(..) a tuple, as in DuckDB.

    TypeMismatchError for dates, moments and times that Python has not.
    """
    columns = [python_values(column, name) for name, column in zip(table.column_names, table.columns, strict=True)]
    for place in huge_columns(table):
        columns[place] = [None if value is None else int(value) for value in columns[place]]
    for place, field in enumerate(table.schema):
        if has_rows(said(field)):
            columns[place] = list(map(converter(said(field)), columns[place]))
    return list(zip(*columns, strict=True))


def frame_of(table: pa.Table) -> pd.DataFrame:
    """The rows of an Arrow table as a pandas DataFrame; see `pandas_frame`.

    TypeMismatchError for dates and times that Python has not.
    """
    pandas = _imported("pandas")
    try:
        return pandas_frame(table, pandas)
    except (ValueError, OverflowError):
        for name, column in zip(table.column_names, table.columns, strict=True):
            python_values(column, name)  # says which it is
        raise


def polars_of(table: pa.Table) -> pl.DataFrame:
    """The rows of an Arrow table as a polars DataFrame. HUGEINT is polars' Int128, INTERVAL its Duration."""
    pl = _imported("polars")
    for place, column in enumerate(table.columns):
        if column.type == INTERVAL:
            table = table.set_column(place, table.column_names[place], durations(column))
    return pl.DataFrame(table).with_columns(
        pl.col(table.column_names[place]).cast(pl.Int128) for place in huge_columns(table)
    )


def _imported(package: str) -> Any:
    """A package that only those need who ask for its data frames."""
    try:
        return import_module(package)
    except ImportError as error:
        raise Error(
            f"cannot make a DataFrame of {package}: {error}; install it (pip install {package}), or take the rows as "
            "Arrow with .arrow()"
        ) from error
