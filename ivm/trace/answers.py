"""What a function of the application's answered, by its arguments, as long as these are there: see `Answers`."""

from __future__ import annotations

import sys
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any, NamedTuple

from ivm.catalog.types import BIGINT, Kind, SqlType
from ivm.trace.columns.column import Array
from ivm.trace.columns.python_values import array_of, values_of
from ivm.trace.columns.segment import Segment, Segments, segment_of
from ivm.trace.state import StateSize, WeakList

_KIND = "answers"
_PART = 1 << 16


class Answer(NamedTuple):
    """In how many rows arguments are there, these as values of Python, and what the function answered."""

    rows: int
    given: tuple[Any, ...]
    value: Any


class _Hold:
    """Somebody reads what was there when this was made."""

    __slots__ = ("__weakref__",)


class Answers:
    """State: for each combination of arguments that is there, how often, and the answer. See `State`.

    They are forgotten when a commit is sealed in which the last row of theirs has gone, or, if somebody still reads
    what was there before, after that.
    """

    is_still = False
    edition = 0
    visited = 0

    def __init__(self, takes: Sequence[SqlType], gives: SqlType) -> None:
        self._types = (*takes, gives)
        self.known: dict[Hashable, Answer] = {}
        """By the arguments, in a form in which equal ones are equal."""
        self._gone: dict[Hashable, Answer] = {}
        self._undo: list[tuple[Hashable, Answer | None]] = []
        self._holds: WeakList[_Hold] = WeakList()

    def find(self, arguments: Hashable) -> Answer | None:
        """The answer, if the arguments are there, or were for somebody who still reads."""
        return self.known.get(arguments) or (self._gone.get(arguments) if self._gone else None)

    def add(self, answers: Mapping[Hashable, Answer], rows: Mapping[Hashable, int]) -> None:
        """Let arguments be in so many rows more, or fewer; those that are new have these answers."""
        known, undo = self.known, self._undo
        for arguments, more in rows.items():
            before = known.get(arguments)
            undo.append((arguments, before))
            _, given, value = answers[arguments]
            known[arguments] = Answer(more if before is None else before[0] + more, given, value)

    def hold(self) -> _Hold:
        """Forget nothing as long as what this gives is there."""
        hold = _Hold()
        self._holds.hold(hold)
        return hold

    def mark(self) -> int:
        """See `State.mark`."""
        return len(self._undo)

    def rollback(self, mark: int) -> None:
        """See `State.rollback`."""
        undo = self._undo
        while len(undo) > mark:
            arguments, before = undo[-1]
            if before is None:
                self.known.pop(arguments, None)
            else:
                self.known[arguments] = before
            undo.pop()

    def seal(self, upper: int, since: int) -> None:
        """See `State.seal`."""
        if not self._holds and self._gone:
            self._gone = {}
        for arguments, _ in self._undo:
            found = self.known.get(arguments)
            if found is not None and not found.rows:
                if self._holds:
                    self._gone[arguments] = found
                del self.known[arguments]
        if self._undo:
            self._undo = []
            self.edition += 1

    def segments(self) -> Iterator[Segment]:
        """See `State.segments`. Cost of the call: copies a reference to each."""
        return _segments([*self.known.values()], self._types)

    def restore(self, segments: Iterable[Segment]) -> None:
        """See `State.restore`."""
        for segment in Segments(segments).all_of(_KIND):
            counts = segment.ints("rows").tolist()
            columns = [values_of(segment.column(str(place)), type_, _KIND) for place, type_ in enumerate(self._types)]
            for rows, *given, value in zip(counts, *columns, strict=True):
                self.known[key_of(given)] = Answer(rows, tuple(given), value)

    def codes(self) -> Iterator[Array]:
        """None: texts are kept as values."""
        return iter(())

    def size(self) -> StateSize:
        """See `State.size`; bytes are those of some of the values, times as many."""
        some = [each for each, _ in zip(self.known.values(), range(_SAMPLE), strict=False)]
        sampled = sum(map(_bytes_of, some))
        held = sampled * len(self.known) // max(len(some), 1)
        return StateSize(len(self.known), len(self.known), sys.getsizeof(self.known) + held)


_SAMPLE = 100


def _bytes_of(answer: Answer) -> int:
    return sys.getsizeof(answer) + sum(map(sys.getsizeof, (answer.given, *answer.given, answer.value)))


def is_key(type: SqlType) -> bool:
    """Whether values of a type are equal only if a function takes them for the same, so that `key_of` leaves them."""
    return not (type.is_float or type.is_nested or type.kind in (Kind.BOOLEAN, Kind.DECIMAL))


def key_of(given: Sequence[Any]) -> Hashable:
    """Arguments in a form in which equal ones are equal, and no others: a NaN is one, and so are both zeros.

    What a function that takes any type may tell apart is not equal: true and 1, or 1, 1.0 and 1.00.
    """
    return tuple([each if type(each) in _PLAIN else _key(each) for each in given])


_PLAIN = frozenset([int, str, bytes, type(None)])


def _key(value: Any) -> Hashable:
    if isinstance(value, float):
        return (value + 0.0).hex()
    if isinstance(value, list | tuple):
        return ("list", *map(_key, value))
    if isinstance(value, dict):
        return ("map", *((_key(each), _key(held)) for each, held in value.items()))
    key: Hashable = (type(value).__name__, str(value)) if isinstance(value, bool | Decimal) else value
    return key


def _segments(found: Sequence[Answer], types: Sequence[SqlType]) -> Iterator[Segment]:
    for start in range(0, max(len(found), 1), _PART):
        part = found[start : start + _PART]
        columns = {"rows": array_of([each.rows for each in part], BIGINT)}
        for place, type_ in enumerate(types[:-1]):
            columns[str(place)] = array_of([each.given[place] for each in part], type_)
        columns[str(len(types) - 1)] = array_of([each.value for each in part], types[-1])
        yield segment_of(_KIND, columns)
