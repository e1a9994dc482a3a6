"""Generated columns: computed of the others by the expressions that views are computed by, whatever was given."""

from __future__ import annotations

import pyarrow as pa

from catalog.errors import ConstraintError, NumericError
from catalog.schema import Field, Generated, Table
from ivm.plan.mfp import Mfp
from ivm.render.scalars.functions import Context
from ivm.render.scalars.program import Interpreted
from ivm.render.scalars.shape import Shape
from ivm.trace.columns.arrow import to_arrow
from ivm.trace.columns.batch import Batch, Reader, Readers
from ivm.trace.columns.exported import ArrowRows
from ivm.trace.delta import Delta, Group, plain_layout
from ivm.trace.text.dictionary import TextDictionary
from sql.bind.check_condition import generated_value


class GeneratedColumns:
    """What computes the generated columns of a table. Any number of threads may use it.

    What an expression remembers of texts is let go with the batch, so that nothing grows with what comes.
    """

    def __init__(self, table: Table) -> None:
        self._table = table
        self._shapes = [(table.fields[table.index(each.column)], self._shape(each)) for each in table.generated]

    def completed(self, rows: ArrowRows) -> ArrowRows:
        """The rows with what the columns hold; of keys alone the same. ConstraintError for what cannot be computed.

        Cost: some 0.1 ms a column and that of the expressions, interpreted.
        """
        fields = self._table.fields
        if rows.num_columns != len(fields) or not rows.num_rows:
            return rows
        dictionary = TextDictionary()
        batch = Batch(rows, Readers([Reader(field.type, dictionary) for field in fields]))
        delta = Delta([Group(batch)], plain_layout(len(fields)), rows.num_rows, 0)
        for field, shape in self._shapes:
            made = self._computed(field, shape, delta, dictionary)
            rows = rows.set_column(self._table.index(field.name), field.name, made)
        return rows

    def _shape(self, given: Generated) -> Shape:
        width = len(self._table.fields)
        return Shape.of(Mfp(width, (generated_value(given.value, self._table),), (), (width,), gathered=True))

    def _computed(self, field: Field, shape: Shape, delta: Delta, dictionary: TextDictionary) -> pa.Array:
        try:
            passed = Interpreted(shape, Context(dictionary)).run(delta)
        except NumericError as error:
            raise ConstraintError(
                f"cannot change table {self._table.name}: generated column {field.name!r} cannot be computed: {error}. "
                "Nothing was changed"
            ) from error
        assert not isinstance(passed, bool), "no row is left out"
        (column,) = passed[1]
        assert column is not None, "it is computed"
        return to_arrow(column, field.type, dictionary.now())
