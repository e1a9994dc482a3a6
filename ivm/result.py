"""What a query answers with: rows, in the forms that people want them in."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from rich.console import Console
from rich.table import Table as Screen

from ivm.trace.huge import huge_columns

if TYPE_CHECKING:
    import pandas as pd

SHOWN_ROWS = 40


class Rows(ABC):
    """Anything that can be read as rows; `arrow` is the one form from which the others are made."""

    @abstractmethod
    def arrow(self) -> pa.Table:
        """The rows as an Arrow table."""

    @property
    def schema(self) -> pa.Schema:
        """Names and Arrow types of the columns."""
        return self.arrow().schema

    def df(self) -> pd.DataFrame:
        """The rows as a pandas DataFrame (pandas must be installed)."""
        return frame_of(self.arrow())

    def fetchall(self) -> list[tuple[Any, ...]]:
        """The rows as Python tuples."""
        return tuples_of(self.arrow())

    def show(self, rows: int = SHOWN_ROWS) -> None:
        """Print the first `rows` rows as a table."""
        table = self.arrow()
        screen = Screen(*(str(name) for name in table.column_names))
        for row in table.slice(0, rows).to_pylist():
            screen.add_row(*("NULL" if value is None else str(value) for value in row.values()))
        console = Console()
        console.print(screen)
        console.print(f"{table.num_rows} row{'' if table.num_rows == 1 else 's'}")


class Result(Rows):
    """The answer to one statement; statements that return nothing give a result without rows and columns."""

    def __init__(self, table: pa.Table | None = None) -> None:
        self._table = pa.table({}) if table is None else table

    def arrow(self) -> pa.Table:
        """The rows as an Arrow table."""
        return self._table


def tuples_of(table: pa.Table) -> list[tuple[Any, ...]]:
    """The rows of an Arrow table as Python tuples. HUGEINT is int, as in DuckDB."""
    columns = [column.to_pylist() for column in table.columns]
    huge = set(huge_columns(table))
    for place, name in enumerate(table.column_names):
        if name in huge:
            columns[place] = [None if value is None else int(value) for value in columns[place]]
    return list(zip(*columns, strict=True))


def frame_of(table: pa.Table) -> pd.DataFrame:
    """The rows of an Arrow table as a pandas DataFrame. HUGEINT is int, exact, in a column of objects."""
    frame = table.to_pandas()
    for name in huge_columns(table):
        place = table.column_names.index(name)
        whole = [None if value is None else int(value) for value in table.column(place).to_pylist()]
        frame[name] = np.array(whole, object)
    return frame
