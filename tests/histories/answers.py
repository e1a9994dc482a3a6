"""Answers of a function in a small scope: what it says changes from commit to commit, and nobody may notice."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import Any

from ivm.catalog.types import BIGINT, DOUBLE, VARCHAR
from ivm.trace.answers import Answer, Answers, key_of
from tests.histories.updates import KEYS, VALUES, Commit, Model, Rows, UpdatesScope, whole
from tests.histories.walk import TIMES

_ROWS = {key_of(whole((key, v))): (key, v) for key in range(KEYS) for v in range(VALUES)}
_SAYS = 3
"""In so many commits that follow each other the function says something else."""


class _View:
    """What a view over the answers shows: how often each row is there with each of them; state as they are."""

    def __init__(self) -> None:
        self.shown: dict[tuple[Hashable, int], int] = {}

    def show(self, row: Hashable, said: int, diff: int) -> None:
        """A row more with this, or one fewer."""
        count = self.shown.get((row, said), 0) + diff
        self.shown = {**self.shown, (row, said): count}
        if not count:
            del self.shown[row, said]

    def mark(self) -> dict[tuple[Hashable, int], int]:
        return self.shown

    def rollback(self, mark: dict[tuple[Hashable, int], int]) -> None:
        self.shown = mark

    def seal(self, upper: int, since: int) -> None:
        """All is final as it is."""

    def segments(self) -> Iterator[Any]:
        yield self.shown

    def restore(self, segments: Iterable[Any]) -> None:
        (self.shown,) = segments


class _Called:
    """The answers, and the view over them."""

    def __init__(self) -> None:
        self.answers, self.view = Answers((BIGINT, VARCHAR, DOUBLE), BIGINT), _View()


class AnswersScope(UpdatesScope):
    """Rows come with what is known, or else with what the function says in this commit, and go with what is known."""

    name = "answers"

    def new(self) -> _Called:
        return _Called()

    def states(self, state: _Called) -> Sequence[Any]:
        return state.answers, state.view

    def step(self, state: _Called, commit: Commit, time: int) -> None:
        says, answers = time // TIMES % _SAYS, dict[Hashable, Answer]()
        counts = dict[Hashable, int]()
        for row, diff in commit[1]:
            given = whole(row)
            arguments = key_of(given)
            answers[arguments] = state.answers.find(arguments) or Answer(0, given, says)
            counts[arguments] = counts.get(arguments, 0) + diff
        state.answers.add(answers, counts)
        for row, diff in commit[1]:
            arguments = key_of(whole(row))
            state.view.show(arguments, answers[arguments].value, diff)

    def check(self, state: _Called, model: Model, time: int) -> None:
        there = {row: answer for row, answer in state.answers.known.items() if answer.rows}
        assert _rows({row: answer.rows for row, answer in there.items()}) == model[-1]
        shown = {(row, answer.value): answer.rows for row, answer in there.items()}
        assert shown == state.view.shown, f"shown is {state.view.shown}, known {shown}"
        assert all(key_of(answer.given) == row == key_of(whole(_ROWS[row])) for row, answer in there.items())

    def reader(self, state: _Called, time: int) -> _Read:
        assert not state.answers.mark(), "what undoes commits is kept when they are sealed"
        assert all(answer.rows for answer in state.answers.known.values()), "an answer is known that no row has"
        return _Read(state)


class _Read:
    """The rows that were there, each of which finds the answer that it came with."""

    def __init__(self, state: _Called) -> None:
        self._answers, self._hold = state.answers, state.answers.hold()
        self._shown = dict(state.view.shown)

    def __call__(self) -> Model:
        for row, said in self._shown:
            answer = self._answers.find(row)
            assert answer is not None, "an answer is forgotten while it is read"
            assert answer.value == said, f"an answer becomes {answer.value} while it is read"
        return (_rows({row: count for (row, _), count in self._shown.items()}),)


def _rows(counts: dict[Hashable, int]) -> Rows:
    return tuple(sorted(_ROWS[row] for row, count in counts.items() for _ in range(count)))
