"""A view whose past is kept for longer than that of all else: by its history, or for subscriptions that have names."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Protocol

import numpy as np

from ivm.arguments import history_of
from ivm.catalog.schema import View as Definition
from ivm.catalog.types import SqlType
from ivm.engine.past import History, Past
from ivm.subscriptions.names import Named, Names
from ivm.trace.columns.segment import Segment
from ivm.trace.text.dictionary import TextDictionary
from ivm.trace.view_log import ViewLog

_SHARE = 16
"""After so small a part more of its updates it is looked again, at the latest."""


class LastingLog(ViewLog):
    """A log that can be read as of earlier times than others: from the one on that `keeps` tells at a time, or that at
    which the view was created; and from those on that names who listen to it have acknowledged.
    """

    def __init__(
        self, types: Sequence[SqlType], dictionary: TextDictionary, keeps: Callable[[int], int] | None, begins: int
    ) -> None:
        super().__init__(types, dictionary)
        self._keeps, self._begins = keeps, begins
        self._held: tuple[Named, ...] = ()
        self._look_from = self._look_at = 0

    def hold(self, names: tuple[Named, ...]) -> None:
        """Keep what these names have not acknowledged, from now on, as far as it is not more than they say."""
        self._held, self._look_from, self._look_at = names, 0, 0

    def since(self, time: int) -> int:
        """The earliest time that is kept once there is a commit at `time`."""
        since = time if self._keeps is None else self._keeps(time)
        for each in self._held:
            if each.since < since and not each.is_over:
                since = each.since
        return max(since, self._begins)

    def restore(self, segments: Iterable[Segment]) -> None:
        """See `ViewLog.restore`. It knows since when it can be read."""
        super().restore(segments)
        self._begins = self.sealed.since

    def seal(self, upper: int, since: int) -> None:
        """See `ViewLog.seal`. For names: now and then, a look at all times."""
        if self._held and not self._look_from <= len(self) < self._look_at:
            self._look()
        if self._held or self._keeps is not None:
            since = min(since, self.since(upper - 1))
        super().seal(upper, since)

    def _look(self) -> None:
        """Let go of names that have not acknowledged more than they say."""
        times, room = self.sealed.updates.part(0, len(self))[1], len(self)
        for each in self._held:
            left = each.keep - int(np.count_nonzero(times > each.since))
            each.is_over = each.is_over or left < 0
            room = room if each.is_over else min(room, left)
        self._look_from, self._look_at = len(self), len(self) + max(room // 2, len(self) // _SHARE, 1)


def history_of_view(definition: Definition) -> History | None:
    """How much of the past of a view is kept, if it says so; TypeMismatchError for what makes no sense."""
    said = definition.history
    return None if not said else history_of(int(said) if said.isdecimal() else said)


def log_of(definition: Definition, dictionary: TextDictionary, past: Past, time: int) -> LastingLog:
    """An empty log for the rows of a view that is created at a time."""
    types, history = [field.type for field in definition.columns], history_of_view(definition)
    return LastingLog(types, dictionary, None if history is None else past.keeping(history), time)


class _Logged(Protocol):
    @property
    def log(self) -> LastingLog:
        """What it holds."""
        ...


def hold_for(names: Names, views: Mapping[str, _Logged]) -> None:
    """Let views keep what those have not acknowledged who listen by a name. Cost: that of all views, if there are any
    names.
    """
    if names:
        for name, each in views.items():
            each.log.hold(names.of_view(name))


def known_since(view: _Logged, first: int, present: int) -> int:
    """The earliest time since which it is known what has changed in a view, or a part of it; see `earliest`."""
    return max(view.log.sealed.since, earliest(view.log, first, present))


def earliest(log: LastingLog, first: int, present: int) -> int:
    """The earliest time as of which a log may be read, if it is known, where all else can be from `first` on."""
    return min(first, log.since(present))
