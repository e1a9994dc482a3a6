"""Who listens to which view, and what a commit tells them."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from ivm.deliveries.target import Delivered
from ivm.subscriptions.audience import Audience, Told
from ivm.subscriptions.chosen import Chosen
from ivm.subscriptions.feed import Feed, Reached
from ivm.subscriptions.names import Names
from ivm.subscriptions.piece import Piece
from ivm.subscriptions.subscription import Subscription
from ivm.trace.state import WeakList

_LOOK = 0.1
"""Seconds after which who waits for room looks whether anybody is left for whom to wait."""


class Listeners(WeakList[Subscription]):
    """The subscriptions to all views: those that are to be told of the next commit."""

    def __init__(self) -> None:
        super().__init__()
        self._of: dict[str, Audience] = {}
        self.waited_for = WeakList[Subscription]()
        """Those for whose room whoever commits is to wait."""
        self.reached = Reached()
        self.names = Names()
        self.delivered: list[Delivered] = []
        """How far those are that deliver what changes."""

    def audience(self, view: str) -> Audience:
        """Who listens to a view, from now on."""
        return self._of.setdefault(view, Audience())

    def feed(self, view: str, chosen: Chosen | None = None) -> Feed:
        """What is told of a view from now on, or of the rows of it that are chosen."""
        return self.audience(view).listened(chosen).feed

    def hold(self, each: Subscription) -> None:
        """One more, to the `feed` of its view. Cost: now and then, a glance at all."""
        super().hold(each)
        if len(self._of) > 2 * len(self):
            self._of = {view: those for view, those in self._of.items() if those or view == each.view}
        self._of[each.view].listened(each.chosen).hold(each)
        if each.wish.when_full == "block":
            self.waited_for.hold(each)

    def let_go(self, each: Subscription) -> None:
        """One less; nothing happens if it is not there."""
        super().let_go(each)
        self.waited_for.let_go(each)
        if each.view in self._of:
            self._of[each.view].let_go(each)

    def rename(self, view: str, name: str) -> None:
        """The view is called so from now on. It may be interrupted, and called again."""
        self.names.rename(view, name)
        those = self._of.get(view)
        if those is None:
            return
        for each in those.each():
            each.view = name
        self._of[name] = those
        self._of.pop(view, None)

    def fork(self, refusal: str = "") -> None:
        """In a process that was forked; see `Subscription.fork`."""
        self.names.fork()
        for each in self.of():
            each.fork(refusal)

    def of(self, view: str | None = None) -> list[Subscription]:
        """The subscriptions to all views, or to one."""
        if view is None:
            return self.each()
        return self._of[view].each() if view in self._of else []

    def views(self) -> tuple[str, ...]:
        """The views to which somebody listens."""
        return tuple(view for view, those in self._of.items() if those)

    def to(self, view: str) -> Audience | None:
        """Those who listen to a view; None if nobody does."""
        found = self._of.get(view)
        return found or None

    def told(self, changes_of: Callable[[str], Piece | None], views: Iterable[str]) -> list[Told]:
        """What is to be told of a commit, and to whom; `changes_of` gives a view's changes, None if it is the same.

        `views`: those that may have changed, each once.
        """
        told: list[Told] = []
        for view in views:
            those = self.to(view)
            piece = changes_of(view) if those else None
            if those is not None and piece is not None:
                told += those.told(piece)
        return told

    def tell(self, told: Iterable[Told], time: int) -> None:
        """Tell of the commit of this time. It may be interrupted, and called again."""
        for those, piece in told:
            those.push(piece, time)
        if self:  # else nobody asks
            self.reached.reach(time)

    def wait_for_room(self) -> None:
        """Return when less waits than may, for those who wish that others wait for them."""
        for reference in tuple(self.waited_for):
            while (each := reference()) is not None and not each.has_room(_LOOK):
                del each  # so that it ends where nobody else holds it
