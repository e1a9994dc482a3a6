"""Lists that are counted out, or made of what stands in a row: as their elements, and as values.

A maker gives the elements of all rows' lists, one after the other. UNNEST takes them as they are; where the list itself
is asked for, it is made of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from ivm.catalog.calendar import DAY, shift_months
from ivm.catalog.errors import NumericError
from ivm.render.scalars.bodies.body import Body
from ivm.render.scalars.columns import all_valid, dense
from ivm.render.scalars.functions import Apply, Context
from ivm.sql.ir.functions.series import MOST_ELEMENTS
from ivm.sql.ir.scalar import Call
from ivm.trace.columns.arrow import lists_of
from ivm.trace.columns.column import Bools, Column, Ints, concat, empty_column, offsets_of
from ivm.trace.columns.lists import Lists, elements_in, places_of
from ivm.trace.text.dictionary import TextDictionary

Maker = Callable[[Call, Sequence[Column], TextDictionary], Lists]
"""Of a call and the columns of its arguments, all of one length."""

_LAST_DAY = 106_751_990
"""No moment lies on a later day, nor so long before 1970."""


def _numbers(call: Call, columns: Sequence[Column], dictionary: TextDictionary) -> Lists:
    """RANGE and GENERATE_SERIES of integers; NULL where an argument is."""
    starts, ends, steps = (column.values for column in columns)
    valid = all_valid(tuple(columns))
    lengths = _steps(starts, ends, steps, valid, inclusive=call.function == "generate_series")
    _check(call, columns, lengths)
    return Lists(lengths, _counted(starts, steps, lengths), valid)


def _steps(starts: Any, ends: Any, steps: Any, valid: Bools | None, *, inclusive: bool) -> Ints:
    """How many steps there are from each start up to each end; as many as fit where there are more."""
    up = steps > 0
    low, high = np.where(up, starts, ends), np.where(up, ends, starts)
    apart = high.view(np.uint64) - low.view(np.uint64)  # which no difference of 64 bits leaves
    size = np.where(up, steps, -steps).view(np.uint64)
    there = (high >= low if inclusive else high > low) & (steps != 0)
    if valid is not None:
        there &= valid
    whole = (apart if inclusive else apart - np.uint64(1)) // np.maximum(size, np.uint64(1))
    found: Ints = np.where(there, np.minimum(whole, np.uint64(1 << 62)).view(np.int64) + 1, 0)
    return found


def _check(call: Call, columns: Sequence[Column], lengths: Ints) -> None:
    total = float(lengths.sum(dtype=np.float64))
    if total <= MOST_ELEMENTS:
        return
    row = int(lengths.argmax())
    what = f"{call.function.partition(' ')[0]}() makes {int(lengths[row]):,} elements of one row"
    if lengths[row] <= MOST_ELEMENTS:
        what = f"{call.function.partition(' ')[0]}() makes {int(total):,} elements at once"
    raise NumericError(f"{what}, more than {MOST_ELEMENTS:,}, which is the limit; bring its ends together")


def _counted(starts: Any, steps: Any, lengths: Ints) -> Column:
    """From each start so many steps on."""
    rows = np.repeat(np.arange(len(lengths)), lengths)
    return Column(starts[rows] + steps[rows] * places_of(lengths))


def _moments(call: Call, columns: Sequence[Column], dictionary: TextDictionary) -> Lists:
    """RANGE and GENERATE_SERIES of moments, by months, days and microseconds."""
    starts, ends, months, days, micros = (column.values.astype(np.int64) for column in columns)
    valid = all_valid(tuple(columns))
    inclusive = call.function.startswith("generate_series")
    if not months.any():
        steps = days * DAY + micros
        lengths = _steps(starts, ends, steps, valid, inclusive=inclusive)
        _check(call, columns, lengths)
        return Lists(lengths, _counted(starts, steps, lengths), valid)
    return _by_months(call, columns, (starts, ends, months, days * DAY + micros), valid, inclusive=inclusive)


def _by_months(
    call: Call, columns: Sequence[Column], words: tuple[Ints, ...], valid: Bools | None, *, inclusive: bool
) -> Lists:
    """Step by step, all rows at once: what a month later is depends on where it begins."""
    at, ends, months, rest = (each.copy() for each in words)
    up, rows = (months > 0) | (rest > 0), np.arange(len(at))
    lengths, found, total = np.zeros(len(at), np.int64), list[tuple[Ints, Ints]](), 0
    there = np.ones(len(at), np.bool_) if valid is None else valid
    while True:
        before = np.where(up, at < ends, at > ends)
        rows = rows[(before | (at == ends) if inclusive else before)[rows] & there[rows]]
        if not len(rows):
            break
        found.append((rows, at[rows]))
        lengths[rows] += 1
        total += len(rows)
        if total > MOST_ELEMENTS:
            _check(call, columns, lengths)
        day, clock = np.divmod(at[rows], DAY)
        moved: Any = shift_months(day, months[rows]) + rest[rows] // DAY
        rows, clock, moved = (each[np.abs(moved) < _LAST_DAY] for each in (rows, clock, moved))
        at[rows] = moved * DAY + clock + rest[rows] % DAY
    if not found:
        return Lists(lengths, Column(np.zeros(0, np.int64)), valid)
    of = np.concatenate([each for each, _ in found])
    values = np.concatenate([each for _, each in found])
    return Lists(lengths, Column(values[np.argsort(of, kind="stable")]), valid)


def _subscripts(call: Call, columns: Sequence[Column], dictionary: TextDictionary) -> Lists:
    """The places in each list, from 1."""
    lists = elements_in(columns[0], call.args[0].type, dictionary)
    return Lists(lists.lengths, Column(places_of(lists.lengths) + 1), lists.valid)


def _values(call: Call, columns: Sequence[Column], dictionary: TextDictionary) -> Lists:
    """The arguments, row by row."""
    if not columns:
        assert call.type.element is not None, "it makes lists"
        return Lists(np.zeros(1, np.int64), empty_column(call.type.element.physical))
    length, width = len(columns[0]), len(columns)
    together = concat([*columns])
    order = np.arange(length * width).reshape(width, length).T.reshape(-1)
    return Lists(np.full(length, width, np.int64), together.take(order), None)


MAKERS: dict[str, Maker] = {
    "range": _numbers,
    "generate_series": _numbers,
    "range of moments": _moments,
    "generate_series of moments": _moments,
    "generate_subscripts": _subscripts,
    "list_value": _values,
}
"""What makes the elements, by the functions' names."""


def _listed(maker: Maker, call: Call, context: Context) -> Apply:
    element = call.type.element
    assert element is not None, "it makes lists"

    def apply(*columns: Column) -> Column:
        length = max((len(column) for column in columns), default=1)
        lists = maker(call, [dense(column, length) for column in columns], context.dictionary)
        codes = lists_of(lists.elements, offsets_of(lists.lengths), element, context.dictionary)
        return Column(codes, lists.valid)

    return apply


BODIES = tuple(Body(name, strict=partial(_listed, maker)) for name, maker in MAKERS.items())
