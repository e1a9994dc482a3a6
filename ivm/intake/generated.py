"""Generated columns: computed of the others by the expressions that views are computed by, whatever was given."""

from __future__ import annotations

from catalog.errors import ConstraintError, NumericError
from catalog.schema import Table
from ivm.intake.computed import Computed
from ivm.trace.columns.exported import ArrowRows
from sql.bind.check_condition import generated_value


class GeneratedColumns:
    """What computes the generated columns of a table. Any number of threads may use it.

    What an expression remembers of texts is let go with the batch, so that nothing grows with what comes.
    """

    def __init__(self, table: Table) -> None:
        self._table = table
        self._computed = [
            (table.fields[table.index(each.column)], Computed(len(table.fields), [generated_value(each.value, table)]))
            for each in table.generated
        ]

    def completed(self, rows: ArrowRows) -> ArrowRows:
        """The rows with what the columns hold; of keys alone the same. ConstraintError for what cannot be computed.

        Cost: some 0.1 ms a column and that of the expressions, interpreted.
        """
        fields = self._table.fields
        if rows.num_columns != len(fields) or not rows.num_rows:
            return rows
        for field, computed in self._computed:
            try:
                (made,) = computed.of_arrow(rows, fields)
            except NumericError as error:
                raise ConstraintError(
                    f"cannot change table {self._table.name}: generated column {field.name!r} cannot be computed: "
                    f"{error}. Nothing was changed"
                ) from error
            rows = rows.set_column(self._table.index(field.name), field.name, made)
        return rows
