"""A view's log in a small scope, read as of now, and as of all times since the commit before."""

from __future__ import annotations

from collections.abc import Sequence

from ivm.trace.delta import delta_of
from ivm.trace.text.dictionary import TextDictionary
from ivm.trace.view_log import Sealed, ViewLog
from tests.contract.log import TYPES, columns_of, counted
from tests.histories.updates import (
    KEYS,
    VALUES,
    Commit,
    Model,
    Rows,
    UpdatesScope,
    diffs_of,
    texts_of,
    times_of,
    whole,
)

_ROWS = {whole((key, v)): (key, v) for key in range(KEYS) for v in range(VALUES)}


class LogScope(UpdatesScope):
    """The updates of a view, with the history of one commit or without."""

    def __init__(self, *, has_history: bool = False) -> None:
        self.name = "log" + " with history" * has_history
        self.history = int(has_history)
        self._dictionary = TextDictionary()

    def new(self) -> ViewLog:
        return ViewLog(TYPES, self._dictionary)

    def states(self, state: ViewLog) -> Sequence[ViewLog]:
        return (state,)

    def step(self, state: ViewLog, commit: Commit, time: int) -> None:
        columns = columns_of([whole(row) for row, _ in commit[1]], self._dictionary)
        state.append(delta_of(columns, times_of(commit, time), diffs_of(commit), len(commit[1])))

    def check(self, state: ViewLog, model: Model, time: int) -> None:
        if len(state) > state.sealed.length:  # what is not sealed is read as if it were
            sealed = Sealed(TYPES, state.sealed.updates, len(state), time, time, is_distinct=False)
            (pending,) = _Read(sealed, self._dictionary, (None,))()
            assert pending == model[-1], f"found are {pending}, there are {model[-1]}"
            return
        found = self.reader(state, time)()
        assert found == model, f"found are {found}, there are {model}"
        told = {code for codes in state.codes() for code in codes.ravel().tolist()}
        assert told.issuperset(self._dictionary.codes(texts_of(model)).tolist()), "a text is not told of"

    def reader(self, state: ViewLog, time: int) -> _Read:
        return _Read(state.sealed, self._dictionary, (*self.times(time)[:-1], None))


class _Read:
    """The rows that a reader sees as of these times; None: as they were sealed last."""

    def __init__(self, sealed: Sealed, dictionary: TextDictionary, times: Sequence[int | None]) -> None:
        self._sealed = sealed
        self._dictionary = dictionary
        self._times = times

    def __call__(self) -> Model:
        return tuple(self._rows(as_of) for as_of in self._times)

    def _rows(self, as_of: int | None) -> Rows:
        found = counted(*self._sealed.rows(as_of), self._dictionary)
        return tuple(sorted(_ROWS[row] for row, count in found.items() for _ in range(count)))
