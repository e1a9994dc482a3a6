"""What a user says of having changes delivered."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from datetime import timedelta
from os import PathLike
from typing import TYPE_CHECKING

import pyarrow as pa

from ivm.session.core import Core
from ivm.session.subscribed_queries import heard
from ivm.session.subscribing import wish_of
from ivm.sql.parameters import Parameters
from ivm.subscriptions.forms import FormName

if TYPE_CHECKING:
    from ivm.session.delivering import Delivery


class WithDeliveries(ABC):
    """A database whose changes go elsewhere by themselves."""

    @property
    @abstractmethod
    def _open(self) -> Core:
        """The core, if it can still be used."""

    def deliver(
        self, view: str, to: str | PathLike[str] | Callable[[pa.Table, int], object], *, form: FormName = "changes",
        every: int | str | timedelta | None = None, from_time: int | None = None, params: Parameters | None = None,
    ) -> Delivery:  # fmt: skip
        """Deliver the changes of a maintained view, or of a query, by a thread, until the database is closed.

        Args:
            view: Its name, or a SELECT.
            to: A folder, to which a Parquet file is added for each delivery; "delta:" and the place of a table of
                Delta's, which is made where there is none (with the package deltalake); or a function, which is called
                with the changes and the logical time up to which they are all there.
            form: As in `subscribe`.
            every: At most one delivery in so many commits, or in "1s" or another length of time: all that has changed
                by then, consolidated. Default: as often as the target takes them; what comes meanwhile goes together.
            from_time: For a function, the time that it was called with last; the changes since then come first.
                Default: the rows of the view come first, as +1.
            params: The values of ?, $1 and $name in a SELECT.

        A folder and a table of Delta's remember the last delivery with its changes: to deliver to it again, after the
        process was killed too, goes on from there, so that each change is there once. That takes a `history` that
        reaches back to it (BindError). InterfaceError if what is there is of another view, or of a later time;
        StorageError if the target cannot be reached, and UnsupportedError for a column that it has no type for. What a
        query has changed is kept for a folder or a table as for a subscription that is called "delivery to" and where
        that is (LagError, see `subscribe`): it is maintained until `forget_subscription`.
        """
        from ivm.deliveries.targets import target_of  # noqa: PLC0415  which few need
        from ivm.session.delivering import Delivery  # noqa: PLC0415  as above

        core, wish, target = self._open, wish_of(every, form, True, 1000, "coalesce"), target_of(to)
        with heard(core, view, params, lasts=Delivery.is_kept(core, target)) as of:
            return Delivery(core, of, target, wish, from_time)
