"""A table of Delta's to which changes are added, with the mark in the same commit."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.types as arrow

from ivm.catalog.errors import StorageError, UnsupportedError
from ivm.deliveries.target import Mark

try:
    from deltalake import CommitProperties, DeltaTable, Transaction, write_deltalake
    from deltalake.exceptions import DeltaError
except ImportError as missing:
    raise UnsupportedError(
        "cannot deliver to a table of Delta's without the package deltalake; install ivm-engine[delta]"
    ) from missing

_NUMBER, _TIME, _OF = "ivm", "ivm/time", "ivm/of"
"""By these names the table keeps three numbers with each commit, as for all that write to it exactly once."""


class Delta:
    """See `Target`. The table is made by the first delivery, and is this delivery's alone; others may read it."""

    def __init__(self, uri: str) -> None:
        self.where = uri

    def begin(self, empty: pa.Table) -> Mark | None:
        """See `Target.begin`."""
        for field in empty.schema:
            _check_type(field.name, field.type)
        try:
            if not DeltaTable.is_deltatable(self.where):
                return None
            table = DeltaTable(self.where)
            number, time, of = (table.transaction_version(name) for name in (_NUMBER, _TIME, _OF))
        except (DeltaError, OSError) as error:
            raise StorageError(f"cannot deliver to {self.where}: {error}") from error
        if number is None or time is None or of is None:
            raise StorageError(
                f"cannot deliver to {self.where}: there is a table to which others write; give a place where none is"
            )
        return Mark(number, time, of)

    def put(self, changes: pa.Table, mark: Mark) -> None:
        """See `Target.put`. Cost: a commit of Delta's."""
        numbers = {_NUMBER: mark.number, _TIME: mark.time, _OF: mark.of}
        transactions = [Transaction(name, number, None) for name, number in numbers.items()]
        write_deltalake(
            self.where, changes, mode="append", commit_properties=CommitProperties(app_transactions=transactions)
        )


def _check_type(name: str, given: pa.DataType) -> None:
    """UnsupportedError for what Delta has not, or would keep as something else without a word."""
    parts = [given.field(place).type for place in range(given.num_fields)] if arrow.is_nested(given) else []
    for part in parts:
        _check_type(name, part)
    is_other = arrow.is_unsigned_integer(given) or arrow.is_time(given) or arrow.is_interval(given)
    if is_other or (arrow.is_timestamp(given) and given.unit == "ns"):
        raise UnsupportedError(
            f"cannot deliver column {name!r} to a table of Delta's, which has nothing for {given}; have the view "
            "cast it"
        )
