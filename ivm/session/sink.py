"""What takes the micro-batches of Spark's Structured Streaming, each as one commit; made by `Database.sink`."""

from __future__ import annotations

import json
import logging
from collections.abc import Sequence
from typing import Any, Literal, get_args

import pyarrow as pa

from ivm.arguments import batch_of, one_of
from ivm.catalog.errors import (
    BindError,
    ConstraintError,
    Error,
    InterfaceError,
    NumericError,
    TypeMismatchError,
    UnsupportedError,
)
from ivm.catalog.names import key
from ivm.catalog.schema import Table
from ivm.engine.tables import check_upsert
from ivm.engine.transaction import Change
from ivm.intake.change_feed import with_diffs, without_marks
from ivm.intake.formats import FORMATS, Format, Taken, taken
from ivm.intake.refused_rows import Refused, isolated, units_of
from ivm.session.core import Core
from ivm.session.taking import commit_taken
from ivm.trace.columns.python_values import values_or_texts
from ivm.trace.rows.table_store import Mode

SinkMode = Literal["changes", "append", "upsert"]
OnError = Literal["stop", "quarantine"]

REFUSALS = (TypeMismatchError, ConstraintError, NumericError)
"""What is wrong with rows, and not with the database or the caller."""
_TRIES = 8
_QUARANTINE = ("source", "batch", "error", "data")
_QUERY = "sql.streaming.queryId"
_told = logging.getLogger("ivm")


class BatchSink:
    """Commits micro-batches to one table: a function for `foreachBatch`. See `Database.sink`."""

    def __init__(
        self,
        core: Core,
        table: str,
        mode: SinkMode,
        format: Format,
        keys: Sequence[str] | None,
        on_error: OnError,
        quarantine: str | None,
        source: str | None,
    ) -> None:
        one_of(mode, get_args(SinkMode), "mode")
        one_of(format, FORMATS, "format")
        one_of(on_error, get_args(OnError), "on_error")
        if (on_error == "quarantine") != (quarantine is not None):
            raise TypeMismatchError(
                "on_error 'quarantine' and the name of a table go together: write "
                "db.sink(..., on_error='quarantine', quarantine='refused')"
            )
        _check_format(mode, format, quarantine)
        core.check_writable()
        self._core = core
        self._format: Format = format
        self._mode: SinkMode = mode
        self._source = None if source is None else batch_of((source, 0))[0]
        self._table = core.catalog.table(table).name
        self._quarantine = None if quarantine is None else core.catalog.table(quarantine).name
        self._check_declared(keys)

    def __call__(self, batch: Any, batch_id: int) -> None:
        """Commit a micro-batch: a DataFrame of Spark's, or whatever else has `toArrow`. One that was committed before
        changes nothing, and is not computed.

        Raises what `apply` raises; nothing is changed then. InterfaceError if batches are missing before this one.
        """
        source, number = batch_of((query_of(batch) if self._source is None else self._source, batch_id))
        if self._was_committed(source, number):
            self._core.commit([], (source, number))  # nothing more, but it is certain then
        else:
            self._commit(batch, (source, number))

    def _commit(self, batch: Any, numbered: tuple[str, int]) -> None:
        """Commit a micro-batch that has not been."""
        rows = _arrow(batch)
        if self._quarantine is None:
            commit_taken(self._core, [self._taken(rows)], numbered)
        else:
            self._commit_the_rest(rows, numbered)

    def _check_declared(self, keys: Sequence[str] | None) -> None:
        table = self._core.catalog.table(self._table)
        if self._mode == "upsert":
            check_upsert(table)
        if keys is not None and [*map(key, _names(keys))] != [*map(key, table.primary_key)]:
            declared = f"its primary key is {', '.join(table.primary_key)}" if table.primary_key else "it has none"
            raise BindError(
                f"cannot make a sink of table {table.name}: keys are {', '.join(_names(keys))}, and must be its "
                f"primary key; {declared}"
            )
        if self._quarantine is not None:
            _check_quarantine(self._core.catalog.table(self._quarantine))

    def _was_committed(self, source: str, number: int) -> bool:
        """InterfaceError if there were others between the last one and this."""
        last = self._core.batches().get(source)
        if last is not None and number > last + 1:
            raise InterfaceError(
                f"cannot commit batch {number} of source {source!r}: the last one that this database has is {last}, so "
                f"what came between is lost, as after a crash without durability 'commit', or in an older copy; begin "
                "the stream anew with an empty checkpoint, or go on without it under another `source`. Call the sink "
                "for empty batches too"
            )
        return last is not None and number <= last

    def _taken(self, rows: pa.Table) -> Taken:
        """Rows of the stream, in their format; raises what is wrong with them."""
        if self._format == "rows":
            return Taken(self._change(rows))
        mode: Mode = "upsert" if self._mode == "upsert" else "diff"
        return taken(self._core.incoming, self._table, rows, self._format, mode)

    def _change(self, rows: pa.Table) -> Change:
        """Rows of the stream as a change of the table; raises what is wrong with them."""
        core, table = self._core, self._core.catalog.table(self._table)
        if self._mode == "changes":
            return core.incoming.change(self._table, with_diffs(rows, table), "diff")
        without_marks(rows.column_names, table)
        return core.incoming.change(self._table, rows, "upsert" if self._mode == "upsert" else "diff")

    def _commit_the_rest(self, rows: pa.Table, batch: tuple[str, int]) -> None:
        """Commit the rows that can be, and put the others aside in the same commit."""
        core, left, aside = self._core, rows, list[Refused]()
        last: Error | None = None
        for _ in range(_TRIES):  # others commit meanwhile, so what could be committed may not be any more
            try:
                changes = [self._change(left), *self._put_aside(aside, batch)]
                core.commit(changes, batch)
                break
            except REFUSALS as error:
                self._change(rows.slice(0, 0))  # what is wrong with this is wrong with the columns, and no row's fault
                units = units_of(left, core.catalog.table(self._table))
                left, refused = isolated(left, units, self._error_of, error)
                aside += refused
                last = error
        else:
            raise InterfaceError(
                f"cannot commit batch {batch[1]} of source {batch[0]!r}, {_TRIES} times what seemed to go in did not: "
                f"{last}; others change the tables meanwhile, so try again; or the rows put aside are refused"
            ) from last
        if aside:
            number = sum(each.rows.num_rows for each in aside)
            _told.warning(
                "%d of %d rows of batch %d of %s were refused, and are in table %s",
                number, rows.num_rows, batch[1], batch[0], self._quarantine,
            )  # fmt: skip

    def _error_of(self, rows: pa.Table) -> Error | None:
        """What committing these rows would raise."""
        try:
            self._core.check([self._change(rows)])
        except REFUSALS as error:
            return error
        return None

    def _put_aside(self, refused: Sequence[Refused], batch: tuple[str, int]) -> list[Change]:
        if not refused or self._quarantine is None:
            return []
        rows = [
            dict(zip(_QUARANTINE, (*batch, str(each.error), json.dumps(row, default=_shown)), strict=True))
            for each in refused
            for row in _rows_of(each.rows)
        ]
        try:
            return [self._core.incoming.change(self._quarantine, rows, "diff")]
        except Error as error:
            raise BindError(f"cannot put rows aside: {error}") from error


def _check_format(mode: SinkMode, format: Format, quarantine: str | None) -> None:
    if format != "rows" and quarantine is not None:
        raise UnsupportedError(
            f"cannot put rows aside that come as {format}: what is put aside are rows of the table; leave "
            "quarantine out"
        )
    if format in ("debezium", "changes") and mode == "append":
        raise TypeMismatchError(f"mode 'append' inserts rows, and {format} are changes; use 'changes' or 'upsert'")


def query_of(batch: Any) -> str:
    """What names the query that a micro-batch of Spark's is of: it is the same after a restart from its checkpoint."""
    try:
        found = batch.sparkSession.sparkContext.getLocalProperty(_QUERY)
    except Exception as error:
        raise _without_source() from error
    if not isinstance(found, str):
        raise _without_source()
    return f"spark query {found}"


def _without_source() -> InterfaceError:
    return InterfaceError(
        "cannot tell which stream this batch is of, so as to know when it comes again; name it, as in "
        "db.sink(..., source='orders'), otherwise for each stream and each new checkpoint"
    )


def _arrow(batch: Any) -> pa.Table:
    if isinstance(batch, pa.Table):
        return batch
    if not hasattr(batch, "toArrow"):
        raise TypeMismatchError(
            f"a batch is a {type(batch).__name__}, which has no toArrow(); give a DataFrame of Spark 4, or a pa.Table"
        )
    return batch.toArrow()


def _names(keys: Any) -> list[str]:
    return [keys] if isinstance(keys, str) else [str(each) for each in keys]


def _check_quarantine(table: Table) -> None:
    names = [key(field.name) for field in table.fields]
    if not set(_QUARANTINE) <= set(names):
        raise BindError(
            f"cannot put rows aside in table {table.name}: its columns are {', '.join(names)}; declare it as CREATE "
            f"TABLE {table.name} (source VARCHAR, batch BIGINT, error VARCHAR, data VARCHAR)"
        )


def _rows_of(table: pa.Table) -> list[dict[str, Any]]:
    names, columns = table.column_names, [values_or_texts(column) for column in table.columns]
    return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]


def _shown(value: object) -> str:
    return value.hex() if isinstance(value, bytes) else str(value)
