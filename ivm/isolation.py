"""Which rows of a batch cannot be committed, so that the others can."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from catalog.errors import Error
from catalog.names import key
from catalog.schema import Table
from ivm.change_feed import marks_of
from ivm.trace.column import Ints

MOST = 1_000
"""More rows than that are no exceptions."""


class Refused(NamedTuple):
    """Rows that cannot be committed with those that were, and why."""

    rows: pa.Table
    error: Error


def units_of(rows: pa.Table, table: Table) -> list[Ints]:
    """The rows that go together, by their positions: those of one primary key, without one those that are equal."""
    marks = set(marks_of(rows, table).values())
    keys = {key(name) for name in table.primary_key}
    names = [name for name in rows.column_names if (key(name) in keys if keys else name not in marks)]
    found: dict[str, list[int]] = {}
    for place, values in enumerate(zip(*(rows.column(name).to_pylist() for name in names), strict=True)):
        found.setdefault(repr(values), []).append(place)
    return [np.array(places, np.int64) for places in found.values()]


def isolated(
    rows: pa.Table, units: Sequence[Ints], error_of: Callable[[pa.Table], Error | None], error: Error
) -> tuple[pa.Table, list[Refused]]:
    """The rows that can be committed together, in their order, and the others: each unit of them is refused with what
    is left. `error` is what all of them raised.

    It halves what is refused until it is one unit, in order, each time with all that was found good before; what was
    refused is tried again in the end, since what it needs may have come after it. Raises `error` again if more than
    1,000 units are refused. Cost: for each that is refused the check of the batch, as often as it can be halved.
    """
    good: list[Ints] = []

    def refusal(tried: Sequence[Ints]) -> Error | None:
        return error_of(_taken(rows, [*good, *tried]))

    bad: list[Ints] = []
    pending = [list(units)]
    while pending:
        block = pending.pop()
        if refusal(block) is None:
            good += block
        elif len(block) > 1:
            half = len(block) // 2
            pending += [block[half:], block[:half]]
        else:
            bad += block
            if len(bad) > MOST:
                raise type(error)(f"{error}; more than {MOST} rows are refused, so none was put aside") from error
    while late := [unit for unit in bad if _goes_in(unit, good, refusal)]:
        bad = [unit for unit in bad if not any(unit is each for each in late)]
    refused = (Refused(_taken(rows, [unit]), _told(rows, unit, refusal, error_of) or error) for unit in bad)
    return _taken(rows, good), list(refused)


def _goes_in(unit: Ints, good: list[Ints], refusal: Callable[[Sequence[Ints]], Error | None]) -> bool:
    """Whether a unit can be committed with the good ones; it is one of them then."""
    if refusal([unit]) is not None:
        return False
    good.append(unit)
    return True


def _told(
    rows: pa.Table,
    unit: Ints,
    refusal: Callable[[Sequence[Ints]], Error | None],
    error_of: Callable[[pa.Table], Error | None],
) -> Error | None:
    """What is wrong with a unit by itself, where rows are counted in it; else with it beside the others."""
    return error_of(_taken(rows, [unit])) or refusal([unit])


def _taken(rows: pa.Table, units: Sequence[Ints]) -> pa.Table:
    places = np.sort(np.concatenate([*units, np.empty(0, np.int64)]))
    return rows.take(pa.array(places)) if len(places) < rows.num_rows else rows
