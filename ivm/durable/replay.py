"""Replay: commits that were logged, many of them at once, each at the times that it had."""

from __future__ import annotations

from ivm.catalog.schema import Table
from ivm.durable.payload import Commit, Given
from ivm.durable.several import Several
from ivm.engine.engine import Engine
from ivm.engine.transaction import Change

_ROWS = 1 << 20
"""So many rows are applied together."""
_COMMITS = 1 << 16


class Replay:
    """Applies commits in their order. What can be one commit with several times is one."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._several = Several()

    def add(self, commit: Commit) -> None:
        """One more commit."""
        if not self._several.fits(commit):
            self.flush()
        self._engine.batches |= dict(batch for _, batch in commit.made if batch is not None)
        if not self._several.fits(commit):  # changes of one table count in their order
            self._apply(commit)
            return
        self._several.add(commit)
        if self._several.rows >= _ROWS or self._several.commits >= _COMMITS:
            self.flush()

    def flush(self) -> None:
        """Apply what has come."""
        if self._several.commits:
            several, self._several = self._several, Several()
            self._apply(several.one())

    def _apply(self, commit: Commit) -> None:
        tables = self._engine.tables
        self._engine.commit([change_of(each, tables[each.table].table) for each in commit.given], time=commit.time)


def change_of(given: Given, table: Table) -> Change:
    """The change of a table that was logged so."""
    return Change(table, given.rows, None, given.diffs, given.times, given.mode, given.missing)
