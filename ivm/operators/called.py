"""Rows with what a function of the application's says of them, which is remembered as long as its arguments are there.

A row that goes has to take with it what it came with, whatever the function would say by now. So the operator counts,
for each combination of arguments, the rows that have it, and keeps the answer until the last of them has gone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from itertools import repeat
from typing import Any

from ivm.catalog.errors import NumericError
from ivm.catalog.types import SqlType
from ivm.operators.mfp import Mfp, over_net
from ivm.operators.operator import Contents
from ivm.operators.walk import Onward
from ivm.trace.answers import Answer, Answers, is_key, key_of
from ivm.trace.columns.arrow import to_arrow, to_column
from ivm.trace.columns.column import every
from ivm.trace.columns.python_values import array_of, values_of
from ivm.trace.delta import Columns, Delta, Group
from ivm.trace.text.dictionary import TextDictionary

Row = tuple[Any, ...]
_Row = tuple[Hashable, Row] | None
"""Arguments, and before them the form in which they are found."""


class Called(Mfp):
    """The first `width` columns of each row, and the answer for the values of those at `places`, where the column at
    `condition` is true; NULL elsewhere.

    `ask` is called with combinations of arguments that are new here. State: the answers. Cost: some microseconds a row,
    in Python, and what the function takes for each new combination.
    """

    def __init__(
        self,
        answers: Answers,
        ask: Callable[[Sequence[Hashable], Sequence[Row]], list[Any]],
        width: int,
        condition: int,
        places: Sequence[int],
        types: Sequence[SqlType],
        gives: SqlType,
        dictionary: TextDictionary,
    ) -> None:
        super().__init__(self._answered, types)
        self.states = (answers,)
        self._answers, self._ask = answers, ask
        self._width, self._condition, self._places = width, condition, places
        self._are_keys = all(is_key(types[place]) for place in places)
        self._types, self._gives, self._dictionary = types, gives, dictionary

    def step(self, inputs: Sequence[Delta | None], onward: Onward | None = None) -> Delta | None:
        """The rows with the answers; what is new, and what is not there any more, is counted."""
        delta = inputs[0]
        if delta is None:
            return None
        try:
            return self._counted(delta)
        except NumericError:
            return over_net(self._counted, [delta], self._types)

    def contents(self, inputs: Sequence[Contents], time: int) -> Iterator[Delta]:
        """The input's contents with the answers, of which none is forgotten meanwhile."""
        return self._held(self._answers.hold(), super().contents(inputs, time))

    def _held(self, hold: object, parts: Iterator[Delta]) -> Iterator[Delta]:
        yield from parts
        del hold

    def _counted(self, delta: Delta, onward: Onward | None = None, /) -> Delta | None:
        if not delta.length:
            return None
        rows = self._rows(delta)
        found = self._found(rows)
        counts = dict.fromkeys(found, 0)
        if delta.diffs is None:
            counts.update(Counter(row[0] for row in rows if row is not None))
        else:
            for row, diff in zip(rows, delta.diffs.tolist(), strict=True):
                if row is not None:
                    counts[row[0]] += diff
        self._answers.add(found, counts)
        return self._with(delta, rows, found)

    def _answered(self, delta: Delta, onward: Onward | None = None, /) -> Delta | None:
        rows = self._rows(delta)
        return self._with(delta, rows, self._found(rows))

    def _found(self, rows: Sequence[_Row]) -> dict[Hashable, Answer]:
        """The answers for the arguments of rows, of which those that are new are asked."""
        given, find = dict(filter(None, rows)), self._answers.find
        found, new = dict[Hashable, Answer](), list[Hashable]()
        for arguments in given:
            answer = find(arguments)
            if answer is None:
                new.append(arguments)
            else:
                found[arguments] = answer
        if new:
            asked = [given[arguments] for arguments in new]
            for arguments, row, value in zip(new, asked, self._ask(new, asked), strict=True):
                found[arguments] = Answer(0, row, value)
        return found

    def _with(self, delta: Delta, rows: Sequence[_Row], found: Mapping[Hashable, Answer]) -> Delta:
        values = [None if row is None else found[row[0]].value for row in rows]
        column = to_column(array_of(values, self._gives), self._gives, self._dictionary)
        kept = Delta(delta.groups, delta.layout.first(self._width), len(delta), delta.times, delta.diffs)
        return kept.bind(Group(Columns([column])), self._width, 1)

    def _rows(self, delta: Delta) -> list[_Row]:
        """The arguments of each row; None where there is no call."""
        columns = [self._values(delta, place) for place in self._places]
        given: Iterator[Row] = zip(*columns, strict=True) if columns else repeat((), len(delta))
        rows: list[_Row] = [(row, row) for row in given] if self._are_keys else [(key_of(row), row) for row in given]
        condition = delta.column(self._condition)
        values: Any = condition.values
        calls = values if condition.valid is None else values & condition.valid
        if every(calls):
            return rows
        return [row if is_called else None for row, is_called in zip(rows, calls.tolist(), strict=True)]

    def _values(self, delta: Delta, place: int) -> list[Any]:
        type_ = self._types[place]
        return values_of(to_arrow(delta.column(place), type_, self._dictionary.now()), type_, "an argument")
