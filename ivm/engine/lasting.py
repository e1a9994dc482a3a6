"""A view whose past is kept for longer than that of all else."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from ivm.arguments import history_of
from ivm.catalog.schema import View as Definition
from ivm.catalog.types import SqlType
from ivm.engine.past import History, Past
from ivm.trace.columns.segment import Segment
from ivm.trace.text.dictionary import TextDictionary
from ivm.trace.view_log import ViewLog


class LastingLog(ViewLog):
    """A log that can be read as of earlier times than others: from the one on that `keeps` tells at a time, or that at
    which the view was created.
    """

    def __init__(
        self, types: Sequence[SqlType], dictionary: TextDictionary, keeps: Callable[[int], int], begins: int
    ) -> None:
        super().__init__(types, dictionary)
        self._keeps, self._begins = keeps, begins

    def since(self, time: int) -> int:
        """The earliest time that is kept once there is a commit at `time`."""
        return max(self._keeps(time), self._begins)

    def restore(self, segments: Iterable[Segment]) -> None:
        """See `ViewLog.restore`. It knows since when it can be read."""
        super().restore(segments)
        self._begins = self.sealed.since

    def seal(self, upper: int, since: int) -> None:
        """See `ViewLog.seal`."""
        super().seal(upper, min(since, self.since(upper - 1)))


def history_of_view(definition: Definition) -> History | None:
    """How much of the past of a view is kept, if it says so; TypeMismatchError for what makes no sense."""
    said = definition.history
    return None if not said else history_of(int(said) if said.isdecimal() else said)


def log_of(definition: Definition, dictionary: TextDictionary, past: Past, time: int) -> ViewLog:
    """An empty log for the rows of a view that is created at a time."""
    types, history = [field.type for field in definition.columns], history_of_view(definition)
    if history is None:
        return ViewLog(types, dictionary)
    return LastingLog(types, dictionary, past.keeping(history), time)


def earliest(log: ViewLog, first: int, present: int) -> int:
    """The earliest time as of which a log may be read, if it is known, where all else can be from `first` on."""
    return min(first, log.since(present)) if isinstance(log, LastingLog) else first
