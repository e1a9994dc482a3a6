"""A maintained view as its reader sees it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from catalog.errors import BindError
from catalog.schema import View as Definition
from ivm.arguments import whole_number
from ivm.dataflow.node import Node
from ivm.plan.nodes import Plan
from ivm.result import Rows, frame_of, tuples_of
from ivm.sorting import sort_table
from ivm.trace.arrow import to_arrow
from ivm.trace.column import Column
from ivm.trace.dictionary import TextDictionary
from ivm.trace.huge import with_huge
from ivm.trace.trace import Trace
from ivm.trace.turns import Turns

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True)
class Installed:
    """A maintained view in the engine: its definition, its plan, its last node and its contents."""

    definition: Definition
    plan: Plan
    node: Node
    trace: Trace
    installed_ms: float

    def reading(self, dictionary: TextDictionary, as_of: int | None = None) -> Callable[[], pa.Table]:
        """What makes an Arrow table of the present rows, or those as of a time, whatever happens meanwhile."""
        columns, diffs = self.trace.rows(as_of)
        return partial(rows_to_arrow, self.definition, columns, diffs, dictionary)


class View(Rows):
    """Reads one maintained view. Every read shows the last commit, whole, unless `as_of` asks for an earlier time."""

    def __init__(
        self,
        installed: Installed,
        dictionary: TextDictionary,
        readable: Callable[[], tuple[int, int]],
        lock: Turns,
    ) -> None:
        self._installed = installed
        self._dictionary = dictionary
        self._readable = readable
        self._lock = lock

    @property
    def name(self) -> str:
        """The view's name."""
        return self._installed.definition.name

    @property
    def sql(self) -> str:
        """The SELECT that defines it."""
        return self._installed.definition.sql

    @property
    def schema(self) -> pa.Schema:
        """Names and Arrow types of the columns."""
        return self.arrow().schema

    def arrow(self, as_of: int | None = None) -> pa.Table:
        """The rows as an Arrow table; `as_of` a logical time within the kept history.

        They come in the view's ORDER BY, ties by all columns, ascending, NULLs last: a function of the rows.

        Raises BindError for a time that is not kept any more or not reached yet. Cost: the view's size, and its
        consolidation where it changed since it was last read.
        """
        if as_of is not None:
            as_of = whole_number(as_of, "as_of")
        with self._lock:
            if as_of is not None:
                self._check_readable(as_of)
            reading = self._installed.reading(self._dictionary, as_of)
        return reading()

    def _check_readable(self, as_of: int) -> None:
        since, present = self._readable()
        if not since <= as_of <= present:
            raise BindError(
                f"cannot read view {self.name} as of time {as_of}: times from {since} to {present} can be read; "
                "connect with a larger `history` to keep more of the past"
            )

    def df(self, as_of: int | None = None) -> pd.DataFrame:
        """The rows as a pandas DataFrame."""
        return frame_of(self.arrow(as_of))

    def fetchall(self, as_of: int | None = None) -> list[tuple[Any, ...]]:
        """The rows as Python tuples."""
        return tuples_of(self.arrow(as_of))


def rows_to_arrow(
    definition: Definition, columns: Sequence[Column], diffs: np.ndarray, dictionary: TextDictionary
) -> pa.Table:
    """Consolidated contents as an Arrow table: each row as often as it counts, in the definition's order."""
    if len(diffs) and bool((diffs != 1).any()):
        repeated = np.repeat(np.arange(len(diffs)), diffs)
        columns = [column.take(repeated) for column in columns]
    fields = definition.schema
    arrays = [to_arrow(c, f.type, dictionary) for c, f in zip(columns, fields, strict=True)]
    table = pa.Table.from_arrays(arrays, names=[f.name for f in fields])
    return sort_table(with_huge(table, [f.type for f in fields]), definition.order)
