"""What serves a database that is kept on disk, or whose rows are elsewhere; see `ivm.session.core.Core`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

import pyarrow as pa

from ivm.catalog.schema import Table

Form = Callable[[Sequence[str], str], tuple[Sequence[str], str]]
"""Told what columns a query has, and a text of it, it gives those of a table that these are for, and the SELECT of the
table's rows.
"""


class Checkpoints(Protocol):
    """What makes checkpoints; see `ivm.durable.checkpoint`."""

    def make(self) -> None:
        """One, now."""
        ...

    def make_if_due(self) -> None:
        """One, aside, if the log has become long."""
        ...

    def close(self) -> None:
        """The last one."""
        ...


class Closes(Protocol):
    """What ends with the database."""

    def close(self) -> None:
        """End it."""
        ...


class Follows(Closes, Protocol):
    """What follows the process that writes a directory; see `ivm.durable.following`."""

    def refresh(self) -> int:
        """Have all commits that there are by now; the time of the last one."""
        ...

    @property
    def behind(self) -> tuple[int, int, int, str]:
        """The time and the record that is reached, how many bytes of the log are left, why it does not go on."""
        ...


class Loads(Protocol):
    """What loads tables, views and files without rows passing through this process, where it can; else nothing has
    happened.
    """

    def insert(self, table: Table, query: str, form: Form, *, ignores: bool = False) -> int | None:
        """Insert all rows of a SELECT, or none; how many they are. None: it is to be done in another way.

        `ignores`: but for those that meet a row of the table on its primary key.
        """
        ...

    def create(self, table: Table, query: str, create: Callable[[], None]) -> int | None:
        """Let a new table begin with the rows of a SELECT, whose columns are those of the table; see `insert`.

        `create`: creates the table.
        """
        ...

    def told(self, query: str, form: str) -> pa.Table | None:
        """What a `form` of a SELECT answers that asks of its columns alone. None: rows are needed for it."""
        ...

    def write(self, query: str, options: str, folder: str, format: str) -> int | None:
        """Write the rows of a SELECT to files of a folder, see `ivm.session.writing`, by COPY with `options`; how many
        rows. None: it is to be done in another way, and there may be some files.
        """
        ...
