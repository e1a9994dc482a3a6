"""What a user says of being told what changes in views."""

from __future__ import annotations

from abc import ABC, abstractmethod
from datetime import timedelta

from ivm.session.core import Core
from ivm.session.named import KEEP, acknowledge, check_name, forget, subscribe_by_name
from ivm.session.subscribed_queries import heard
from ivm.session.subscribing import subscribe, wish_of
from ivm.sql.parameters import Parameters
from ivm.subscriptions.backlog import WhenFull
from ivm.subscriptions.forms import FormName
from ivm.subscriptions.subscription import Subscription


class WithSubscriptions(ABC):
    """A database whose views can be listened to."""

    @property
    @abstractmethod
    def _open(self) -> Core:
        """The core, if it can still be used."""

    def subscribe(
        self, view: str, params: Parameters | None = None, *, snapshot: bool = False, from_time: int | None = None,
        every: int | str | timedelta | None = None, form: FormName = "changes", progress: bool = False,
        limit: int = 1000, when_full: WhenFull = "coalesce", name: str | None = None, keep: int = KEEP,
    ) -> Subscription:  # fmt: skip
        """The changes of a maintained view from now on, or of a query, as tables; see `Subscription`.

        A query is maintained as long as somebody listens. Those that differ in the values alone that columns are
        compared with by `=` are one: thousands who listen each to another value cost little more than one.

        Args:
            view: The name of the view, or a SELECT.
            params: The values of ?, $1 and $name in the SELECT, as those of `sql`.
            snapshot: Whether its present rows come first, as +1.
            from_time: After which time the changes come first that there were meanwhile; within the kept `history`.
            every: Who iterates gets a table at most once in so many commits, or in "1s" or another length of time: all
                that has changed by then, consolidated, at the time of the last commit.
            form: "changes": rows, with `_time` and `_diff`. "upserts": the row of each key that changes, with `_time`
                and `_deleted`. "debezium": `before`, `after` and `op` of each such key, with `_time`.
            progress: Whether who iterates gets a table without rows too when commits have changed nothing in the view;
                `Subscription.time` says how far it is.
            limit: How many commits may wait to be taken, where 100 rows of one count as one more.
            when_full: What becomes of more. "coalesce": they are consolidated; no more waits than a few times what the
                view holds. "block": whoever commits waits, once the commit is done, until another thread has taken
                some. "fail": the subscription ends with LagError.
            name: By which who subscribes again goes on behind what was acknowledged (see `Subscription.acknowledge`),
                in a database on disk also after it was opened again. `snapshot` and `from_time` say where one that is
                new begins. Whoever listens by it before ends with InterfaceError.
            keep: Changes of so many rows are kept for a name until it acknowledges them; where there are more, it can
                not go on any more (LagError).

        Raises BindError for a view that is not there or not maintained, a time that cannot be read any more, and a form
        by key where no key of the view is known; for a query what CREATE MATERIALIZED VIEW raises. Cost: that of its
        rows with `snapshot`, that of maintaining it for a query that is the first of its kind.
        """
        core, wish = self._open, wish_of(every, form, progress, limit, when_full)
        if name is not None:
            check_name(core, name)
            with heard(core, view, params, lasts=True) as of:
                return subscribe_by_name(core, of, wish, name, keep, snapshot=snapshot, from_time=from_time)
        with heard(core, view, params) as of:
            return subscribe(core, of, wish, snapshot=snapshot, from_time=from_time)

    def acknowledge(self, name: str, time: int) -> None:
        """As `Subscription.acknowledge`, for whoever listens by a name just now; BindError if nobody does."""
        acknowledge(self._open, name, time)

    def forget_subscription(self, name: str) -> None:
        """Forget a subscription that has a name, and what it has acknowledged; nothing is kept for it any more.

        Whoever listens by it goes on, and cannot acknowledge. BindError if there is none of this name.
        """
        forget(self._open, name)
