"""What a user says of changes that come from elsewhere: batches of them, and streams."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, get_args

from ivm.arguments import Documents, batch_of, one_of, rows_by_table
from ivm.intake.formats import FORMATS, Format, taken
from ivm.session.core import Core
from ivm.session.sources import LIMIT, Late, Source, SourceInfo, sources_of
from ivm.session.taking import commit_taken
from ivm.session.transactions import Transactions
from ivm.trace.rows.table_store import Mode

if TYPE_CHECKING:
    from ivm.session.sink import BatchSink, OnError, SinkMode

_MODES = get_args(Mode)


class WithChanges(ABC):
    """A database to which changes come in batches."""

    _transactions: Transactions

    @property
    @abstractmethod
    def _open(self) -> Core:
        """The core, if it can still be used."""

    def apply(
        self, changes: Mapping[str, Documents], *, mode: Mode = "diff", format: Format = "rows",
        batch: tuple[str, int] | None = None,
    ) -> int:  # fmt: skip
        """Commit one physical batch; returns its last logical time.

        `changes` maps table names to rows as `Transaction.insert` takes them, with two optional columns: `_time`, the
        logical time of each change (int64, later than the last commit; without it all have the next time), and `_diff`
        (int64, +1 inserts, -1 deletes; +1 without it). In a table with a primary key a delete finds its row by the key,
        whatever its other columns say: they may be NULL, and left out where all rows are deletes. Every view changes
        exactly as if each time had been committed alone.

        In mode "diff" each diff must hit: a key that is inserted twice, or a row that is deleted and is not there, is a
        ConstraintError, and nothing is changed. The order of the rows of one time does not matter: deletes come before
        inserts, and equal rows that contradict each other count by their sum.

        Mode "upsert", for tables with a primary key, is for sources that may send again what they have sent: a row of
        `_diff` +1 takes the place of the one of its key, if there is one, and -1 takes it away, if it is there. Rows of
        one time count in their order, so that the last one of a key holds. After a batch is sent again, with all that
        came after it, tables and views are as they were. Such a source leaves `_time` out: times that were committed
        cannot be written again.

        `format`: what the rows of each table are. "rows" (default) as above. "changes": those of a change feed, with
        `_change_type` as Delta and Spark have it (insert, delete, update_preimage, update_postimage), or Snowflake's
        `METADATA$ACTION`. "debezium": its envelopes, with or without their schema. "json": JSON objects, where `_time`
        and `_diff` may be keys too. The last two come as a text of lines or of an array, a list of texts or bytes or
        dicts, a `pathlib.Path` or an open file, or Arrow data (see docs/changes.md). TypeMismatchError names the row or
        envelope that is wrong.

        `batch`: the source of the changes, and the number of the batch that they are, for sources that number them
        ascending. It is remembered in the same commit: the same batch again, or an earlier one, changes nothing, and
        the time of the last commit is returned. `batches` tells a source where to go on.
        """
        if mode not in _MODES:
            one_of(mode, _MODES, "mode")
        if format not in FORMATS:
            one_of(format, FORMATS, "format")
        core = self._open
        if self._transactions.of_thread.begun is not None:
            self._transactions.check_none("db.apply")
        given = changes if type(changes) is dict else rows_by_table(changes)
        numbered = None if batch is None else batch_of(batch)
        named = core.settings.names.given
        if format != "rows":
            return commit_taken(
                core, [taken(core.incoming, named(n), data, format, mode) for n, data in given.items()], numbered
            )
        return core.commit([core.incoming.change(named(name), data, mode) for name, data in given.items()], numbered)

    def sink(
        self,
        table: str,
        *,
        mode: SinkMode = "changes",
        format: Format = "rows",
        keys: Sequence[str] | None = None,
        on_error: OnError = "stop",
        quarantine: str | None = None,
        source: str | None = None,
    ) -> BatchSink:
        """A function for `foreachBatch` of Spark's Structured Streaming, that commits each micro-batch once.

        `mode`: the rows are "changes", those of a change feed with `_change_type` (insert, update_preimage,
        update_postimage, delete) or `_diff`, of which `_commit_version`, `_commit_timestamp` and `_time` are left out;
        or they are inserted ("append"), or replace those of the same primary key ("upsert", the last one of a key
        holds). `keys`, if they are given, must be that key.

        `format` as in `apply`: "debezium" for envelopes, "json" for JSON objects, each in columns of their own, or as
        texts or bytes in one column or one that is called `value`, as Kafka's records come.

        `source` names the stream, by which a batch that comes again is known, see `batches`; by default it is the
        query's id, which is another one for each checkpoint. BindError for a table or a key that is not there.

        A batch that cannot be committed raises what `apply` raises, and nothing is changed (`on_error` "stop"). With
        "quarantine" the rows that are refused go to the table `quarantine`, with columns source, batch, error and data
        (JSON), and the rest is committed with them; rows of one key stay together. What is wrong with the columns, and
        more than 1,000 refused rows, stop it all the same. Cost then: for each of them about the commit of the batch.
        """
        from ivm.session.sink import BatchSink  # noqa: PLC0415  which few need

        core = self._open
        named = core.settings.names.given
        quarantine = None if quarantine is None else named(quarantine)
        return BatchSink(core, named(table), mode, format, keys, on_error, quarantine, source)

    def source(
        self, name: str, *, late: Late = "refuse", stalls_after: float | str = "1 minute", limit: int = LIMIT
    ) -> Source:
        """A source of changes with a clock of its own, which is there or begins: see `Source`.

        What it brings waits until all sources of the database have passed its time, so that views never show what of
        one source belongs to a later time than what there is of another.

        It begins at the time up to which all is complete; of a database on disk that is remembered in the commits, so
        that a source that starts anew sends again what is of `frontier` and later, and nothing is lost or doubled.

        `late`: changes of times that the source has passed are refused ("refuse"), or moved to the present and counted
        ("move"). `stalls_after`: if the others have waited so long for it, the log names it (`ivm.sources`). `limit`:
        how many of its changes may wait for others. BindError if it is there with other options.
        """
        return sources_of(self._open).open(name, late, stalls_after, limit)

    def sources(self) -> list[SourceInfo]:
        """The sources that are open, and how they stand."""
        return sources_of(self._open).infos()

    def batches(self) -> dict[str, int]:
        """Of each source that numbers its batches the number of the last one that was committed."""
        return self._open.batches()
