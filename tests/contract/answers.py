"""Answers under the contract: arguments of a number and a text that can be NULL, and what a function said of them."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

from ivm.catalog.types import BIGINT, DOUBLE, VARCHAR
from ivm.trace.answers import Answer, Answers, key_of
from ivm.trace.text.dictionary import TextDictionary
from tests.contract.kinds import History, Kind, Update, multiset, some_updates


class AnswersKind(Kind):
    name = "answers"
    keeps_history = False

    def new(self, dictionary: TextDictionary) -> Answers:
        return Answers((BIGINT, VARCHAR, DOUBLE), VARCHAR)

    def change(self, random: Random, time: int, history: History) -> list[Update]:
        return some_updates(random, history)

    def step(self, state: Answers, change: list[Update], time: int) -> None:
        for row, diff in change:
            state.add({key_of(row): Answer(0, row, repr(row))}, {key_of(row): diff})

    def expected(self, history: History) -> dict[Any, Any]:
        return {row: (count, repr(row)) for row, count in multiset(history).items()}

    def contents(self, state: Answers) -> dict[Any, Any]:
        found = {each.given: (each.rows, each.value) for each in state.known.values() if each.rows}
        assert all(state.find(key_of(row)) is not None for row in found)
        return found

    def reader(self, state: Answers, as_of: int) -> Callable[[], Any]:
        hold, found = state.hold(), self.contents(state)

        def read() -> dict[Any, Any]:
            assert hold is not None
            return {row: (count, getattr(state.find(key_of(row)), "value", None)) for row, (count, _) in found.items()}

        return read
