"""Which rows of a batch cannot be committed, so that the others can."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from ivm.catalog.errors import Error, TypeMismatchError
from ivm.catalog.names import key
from ivm.catalog.schema import Table
from ivm.intake.change_feed import marks_of
from ivm.trace.columns.column import Ints
from ivm.trace.columns.python_values import numbers_of

MOST = 1_000
"""More rows than that are no exceptions."""


class Refused(NamedTuple):
    """Rows that cannot be committed with those that were, and why."""

    rows: pa.Table
    error: Error


def units_of(rows: pa.Table, table: Table) -> list[Ints]:
    """The rows that go together, by their positions: those of one primary key, without one those that are equal."""
    marks = set(marks_of(rows.column_names, table).values())
    keys = {key(name) for name in table.primary_key}
    names = [name for name in rows.column_names if (key(name) in keys if keys else name not in marks)]
    found: dict[str, list[int]] = {}
    for place, values in enumerate(zip(*(numbers_of(rows.column(name)).to_pylist() for name in names), strict=True)):
        found.setdefault(repr(values), []).append(place)
    return [np.array(places, np.int64) for places in found.values()]


def isolated(
    rows: pa.Table, units: Sequence[Ints], error_of: Callable[[pa.Table], Error | None], error: Error
) -> tuple[pa.Table, list[Refused]]:
    """The rows that can be committed together, in their order, and the others: each unit of them is refused with what
    is left. `error` is what all of them raised.

    What is refused is halved until it is one unit: by itself first, which finds most of what is wrong in parts that get
    smaller, then, if what is left is refused, in order, with all that was found good before. What needs others may be
    among the refused by then, so each of these is tried again with all that is good. Raises `error` again if more than
    `MOST` units are refused. Cost: checks of the whole batch, as often as what is refused can be halved by itself; then
    one for each unit that is refused, and where units do not go together, one for each halving.
    """

    def alone(good: Sequence[Ints], tried: Sequence[Ints]) -> Error | None:
        return error_of(_taken(rows, tried))

    def together(good: Sequence[Ints], tried: Sequence[Ints]) -> Error | None:
        return error_of(_taken(rows, [*good, *tried]))

    good, bad = _halved(units, alone, error)
    if together(good, ()) is not None:
        good, more = _halved(good, together, error)
        bad += more
    again = True
    while again:
        left = [each for each in bad if not _goes_in(each, good, together)]
        bad, again = left, len(left) < len(bad)
    return _taken(rows, good), [Refused(_taken(rows, [unit]), why) for unit, why in bad]


_Check = Callable[[Sequence[Ints], Sequence[Ints]], Error | None]


def _halved(units: Sequence[Ints], refusal: _Check, error: Error) -> tuple[list[Ints], list[tuple[Ints, Error]]]:
    """The units that are good, and those that are refused, each with why."""
    good: list[Ints] = []
    bad: list[tuple[Ints, Error]] = []
    pending = [list(units)]
    while pending:
        block = pending.pop()
        why = refusal(good, block) if block else None
        if why is None:
            good += block
        elif len(block) > 1:
            half = len(block) // 2
            pending += [block[half:], block[:half]]
        else:
            bad.append((block[0], why))
            if len(bad) > MOST:
                raise type(error)(f"{error}; more than {MOST} rows are refused, so none was put aside") from error
    return good, bad


def _goes_in(refused: tuple[Ints, Error], good: list[Ints], together: _Check) -> bool:
    """Whether a unit that was refused can be committed with the good ones after all; it is one of them then."""
    unit, why = refused
    if isinstance(why, TypeMismatchError) or together(good, [unit]) is not None:  # which no other row helps
        return False
    good.append(unit)
    return True


def _taken(rows: pa.Table, units: Sequence[Ints]) -> pa.Table:
    places = np.sort(np.concatenate([*units, np.empty(0, np.int64)]))
    return rows.take(pa.array(places)) if len(places) < rows.num_rows else rows
