"""Expressions of a statement over rows at hand, interpreted once, as Arrow columns."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from ivm.catalog.schema import Schema
from ivm.plan.mfp import Mfp
from ivm.render.scalars.functions import Context
from ivm.render.scalars.program import Interpreted
from ivm.render.scalars.shape import Shape
from ivm.sql.ir.scalar import Column, Scalar
from ivm.trace.columns.arrow import to_arrow
from ivm.trace.columns.batch import Batch, Reader, Readers
from ivm.trace.columns.column import Array, Ints, empty_column
from ivm.trace.columns.column import Column as Values
from ivm.trace.columns.exported import ArrowRows
from ivm.trace.delta import Columns, Delta, Group, plain_layout
from ivm.trace.text.dictionary import TextDictionary

_NO_ROWS: Ints = np.empty(0, np.int64)


class Computed:
    """`scalars` over rows of `width` columns, of those on which all `predicates` are true. Any thread may use it."""

    def __init__(self, width: int, scalars: Sequence[Scalar], predicates: Sequence[Scalar] = ()) -> None:
        self._scalars = scalars
        self._made = tuple(scalar for scalar in scalars if not isinstance(scalar, Column))
        self._is_plain = not self._made and not predicates
        projected = tuple(range(width, width + len(self._made)))
        self._shape = Shape.of(Mfp(width, self._made, tuple(predicates), projected, gathered=True))

    def of(self, rows: Delta, dictionary: TextDictionary) -> list[pa.Array]:
        """A column for each, of each row that passes as often as it counts; NumericError for what cannot be computed.

        Cost: some 0.1 ms and that of the expressions.
        """
        positions, made = self._run(rows, dictionary)
        rows = rows if positions is None else rows.take(positions)
        computed = iter(made)
        columns = [rows.column(s.index) if isinstance(s, Column) else next(computed) for s in self._scalars]
        if rows.diffs is not None and bool((rows.diffs != 1).any()):
            repeated = np.repeat(np.arange(len(rows)), rows.diffs)
            columns = [column.take(repeated) for column in columns]
        return _in_arrow(columns, self._scalars, dictionary)

    def of_arrow(self, rows: ArrowRows, fields: Schema) -> list[pa.Array | pa.ChunkedArray]:
        """As `of`, of Arrow rows of these columns; what is remembered of texts is let go with them."""
        positions, made = None, iter(())
        if not self._is_plain:
            dictionary = TextDictionary()
            batch = (
                Batch(rows, Readers([Reader(field.type, dictionary) for field in fields])) if fields else Columns(())
            )
            delta = Delta([Group(batch)], plain_layout(len(fields)), rows.num_rows, 0)
            positions, columns = self._run(delta, dictionary)
            made = iter(_in_arrow(columns, self._made, dictionary))
        rows = rows if positions is None else rows.take(positions)
        return [rows.column(s.index) if isinstance(s, Column) else next(made) for s in self._scalars]

    def _run(self, rows: Delta, dictionary: TextDictionary) -> tuple[Array | None, list[Values]]:
        """The positions of the rows that pass, None: all, and of them what has to be computed."""
        if self._is_plain:
            return None, []
        passed = len(rows) > 0 and Interpreted(self._shape, Context(dictionary)).run(rows)
        if isinstance(passed, bool):
            return _NO_ROWS, [empty_column(scalar.type.physical) for scalar in self._made]
        return passed[0], [values for values in passed[1] if values is not None]


def _in_arrow(columns: Sequence[Values], scalars: Sequence[Scalar], dictionary: TextDictionary) -> list[pa.Array]:
    strings = dictionary.now()
    return [to_arrow(column, scalar.type, strings) for column, scalar in zip(columns, scalars, strict=True)]
