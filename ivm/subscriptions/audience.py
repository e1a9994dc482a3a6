"""Who listens to one view, and what they are told of it."""

from __future__ import annotations

from collections.abc import Iterator
from operator import attrgetter

from ivm.subscriptions.backlog import Netted
from ivm.subscriptions.chosen import Chosen, Key, Place, parts_of
from ivm.subscriptions.feed import Feed, Mark
from ivm.subscriptions.piece import Piece, keep
from ivm.subscriptions.subscription import Subscription
from ivm.trace.state import WeakList
from ivm.trace.updates import Updates

Told = tuple["Listened", Piece]
"""What those are told who listen to the same."""

_FEW = 16


class Listened(WeakList[Subscription]):
    """The subscriptions that are told the same, and what that is."""

    def __init__(self) -> None:
        super().__init__()
        self.feed = Feed()
        self._looks_at = 0
        self._log = 0
        """The identity of the updates of a log that pieces hold which wait: nothing else has it as long as they do."""

    def hold(self, each: Subscription) -> None:
        """One more."""
        super().hold(each)
        self._looks_at = min(self._looks_at, self.feed.end.number + each.wish.limit)

    def push(self, piece: Piece, mark: Mark) -> None:
        """Tell of changes, unless that was told last, and see to it that not too much waits.

        It may be interrupted, and called again. Cost: the same for any number of those who listen; now and then, a look
        at each.
        """
        self.feed.push(piece, mark)
        if id(log := piece.log) != self._log:
            self._keep(log)
        if self.feed.end.number >= self._looks_at:
            self._relieve()
        self.feed.wake()

    def _keep(self, log: Updates | None) -> None:
        """Let those that wait hold no updates but these: a log that was made anew is to be freed."""
        links = [each.at for each in self.each() if each.at.next is not None]
        keep(min(links, key=attrgetter("number"), default=self.feed.end).pieces(), log)
        self._log = id(log)

    def _relieve(self) -> None:
        known: Netted = {}
        those = self.each()
        for each in those:
            if each.room <= 0:
                each.relieve(known)
        ahead = min((max(each.room, 1) for each in those), default=1)
        self._looks_at = self.feed.end.number + ahead


class Audience:
    """Who listens to one view: to all of it, and to the rows that have some values."""

    def __init__(self) -> None:
        self.whole = Listened()
        self._chosen: dict[Place, dict[Key, Listened]] = {}
        self._tidied_at = _FEW

    def __bool__(self) -> bool:
        return bool(self.whole) or any(those for by_key in self._chosen.values() for those in by_key.values())

    def listened(self, chosen: Chosen | None) -> Listened:
        """Those who listen to the same. Cost: now and then, a look at all."""
        if chosen is None:
            return self.whole
        by_key = self._chosen.setdefault(chosen.place, {})
        if chosen.key not in by_key:
            if len(by_key) >= self._tidied_at:  # some may have gone without a word
                by_key = self._chosen[chosen.place] = {key: those for key, those in by_key.items() if those}
                self._tidied_at = 2 * len(by_key) + _FEW
            by_key[chosen.key] = Listened()
        return by_key[chosen.key]

    def let_go(self, each: Subscription) -> None:
        """One less; nothing happens if it is not there."""
        chosen = each.chosen
        if chosen is None:
            self.whole.let_go(each)
            return
        by_key = self._chosen.get(chosen.place, {})
        those = by_key.get(chosen.key)
        if those is not None:
            those.let_go(each)
            if not those:
                by_key.pop(chosen.key, None)
        if not by_key:
            self._chosen.pop(chosen.place, None)

    def each(self) -> list[Subscription]:
        """All of them."""
        chosen = (those for by_key in self._chosen.values() for those in by_key.values())
        return [each for those in (self.whole, *chosen) for each in those.each()]

    def push(self, piece: Piece, mark: Mark) -> None:
        """Tell of changes, unless that was told last. It may be interrupted, and called again."""
        for listened, part in self.told(piece):
            listened.push(part, mark)

    def told(self, piece: Piece) -> Iterator[Told]:
        """Who is to be told what of a view's changes. Cost: for each way in which rows are chosen, a look at all."""
        if self.whole:
            yield self.whole, piece
        for place, by_key in self._chosen.items():
            for key, part in parts_of(piece, place, by_key):
                yield by_key[key], part
