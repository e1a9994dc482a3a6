"""Generated columns: computed of the others by the expressions that views are computed by, whatever was given."""

from __future__ import annotations

from ivm.catalog.errors import ConstraintError, NumericError
from ivm.catalog.schema import Table
from ivm.intake.computed import Computed
from ivm.sql.bind.check_condition import generated_value
from ivm.trace.columns.exported import ArrowRows


class GeneratedColumns:
    """What computes the generated columns of a table. Any number of threads may use it.

    What an expression remembers of texts is let go with the batch, so that nothing grows with what comes.
    """

    def __init__(self, table: Table) -> None:
        self._table = table
        self._values = {each.column: generated_value(each.value, table) for each in table.generated}
        self._computed = Computed(len(table.fields), [*self._values.values()])

    def completed(self, rows: ArrowRows) -> ArrowRows:
        """The rows with what the columns hold; of keys alone the same. ConstraintError for what cannot be computed.

        Cost: some 0.1 ms and that of the expressions, interpreted.
        """
        table = self._table
        if rows.num_columns != len(table.fields) or not rows.num_rows:
            return rows
        try:
            made = self._computed.of_arrow(rows, table.fields)
        except NumericError:
            self._check_each(rows)
            raise
        for name, column in zip(self._values, made, strict=True):
            place = table.index(name)
            rows = rows.set_column(place, table.fields[place].name, column)
        return rows

    def _check_each(self, rows: ArrowRows) -> None:
        """Raise ConstraintError for the first column that cannot be computed."""
        for name, value in self._values.items():
            try:
                Computed(len(self._table.fields), [value]).of_arrow(rows, self._table.fields)
            except NumericError as error:
                raise ConstraintError(
                    f"cannot change table {self._table.name}: generated column {name!r} cannot be computed: {error}. "
                    "Nothing was changed"
                ) from error
