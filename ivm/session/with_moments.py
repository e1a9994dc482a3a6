"""What a user says of other moments than the present: what was, and what would be."""

from __future__ import annotations

from abc import ABC, abstractmethod
from datetime import datetime
from typing import TYPE_CHECKING

from ivm.arguments import moment, whole_number
from ivm.session.core import Core

if TYPE_CHECKING:
    from ivm.session.snapshot import Snapshot
    from ivm.session.transactions import Runs, Transactions
    from ivm.session.what_if import WhatIf


class WithMoments(ABC):
    """A database that can be asked of other moments than the present."""

    @property
    @abstractmethod
    def _open(self) -> Core:
        """The core, if it can still be used."""

    @abstractmethod
    def _over(self, transactions: Transactions) -> Runs:
        """The same database, whose statements are those of `transactions`."""

    def snapshot(self, time: int | datetime | str | None = None) -> Snapshot:
        """Tables and views as they are now, or were as of a time, to be read while others commit: see `Snapshot`.

            with db.snapshot() as s:
                s.sql("SELECT count(*) FROM sale")
                s.view("revenue").arrow()

        `time`: a logical time, or a datetime or ISO text (UTC if it names no zone) for the last commit that there was
        then. BindError unless it lies within the kept `history`.
        """
        from ivm.session.past import time_of  # noqa: PLC0415  DuckDB, which few wait for
        from ivm.session.snapshot import Fixed, Snapshot  # noqa: PLC0415  as above

        core = self._open
        if isinstance(time, datetime | str):
            time = time_of(core, moment(time, "time"))
        transactions = Fixed(core, None if time is None else whole_number(time, "time"))
        return Snapshot(core, transactions, self._over(transactions))

    def what_if(self) -> WhatIf:
        """What would be if something were changed, without changing it: see `WhatIf`."""
        from ivm.session.what_if import Imagined, WhatIf  # noqa: PLC0415  DuckDB, which few wait for

        self._open.check_whole("tell what would be in")
        transactions = Imagined(self._open)
        return WhatIf(self._open, transactions, self._over(transactions))
