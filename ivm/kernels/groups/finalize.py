"""From accumulators to the values of aggregates, a column at a time.

`outputs` is int64 (outputs, 13), an `OutputRow` for each aggregate.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ivm.kernels.compiling.compiled import njit
from ivm.kernels.compiling.part import part
from ivm.kernels.groups.accumulate import COUNT, SUM, SUM_DOUBLE
from ivm.kernels.numbers.exact_float import NOT_FINITE, bits_of, load, scaled, spread
from ivm.kernels.numbers.wide import FLOAT_POWERS, Word, exceeds, fits_int64
from ivm.kernels.types import Bools, Ints


class OutputRow(NamedTuple):
    """How an aggregate is computed.

    `source`: the field of its sum or extreme, `width` words; `scale`: the exponent of the sum's lowest bit (doubles) or
    the digits after the point (DECIMAL); `counted`: the field that counts its values, 0, the multiplicity, where none
    is NULL; `squares`: the field of its squares, or of its products with the `other` sum. `words` of the result begin
    at word `at` of an output row; it may have `digits` digits (0: no bound but 128 bits). `kind`: that of the
    accumulator which is its source.
    """

    function: int
    words: int
    at: int
    source: int = 0
    width: int = 1
    kind: int = COUNT
    counted: int = 0
    scale: int = 0
    squares: int = 0
    squares_width: int = 0
    digits: int = 0
    other: int = 0
    other_width: int = 0


FUNCTION, WORDS, AT, SOURCE, SOURCE_WIDTH, SUM_KIND, COUNTED, SCALE, SQUARES, SQUARES_WIDTH = range(10)
DIGITS, OTHER, OTHER_WIDTH = range(10, len(OutputRow._fields))
COUNTS, TOTAL, MEAN, VAR_POP, VAR_SAMP, STDDEV_POP, STDDEV_SAMP, EXTREMUM, COVAR_POP, COVAR_SAMP = range(10)
MOST_WORD_DIGITS = 19  # an int64 always has this many or fewer


@part()
def _not_finite(fields: Ints, row: Word, at: Word) -> float:
    """What a sum of doubles is because of NaN and infinities among them; 0 if there are none."""
    nan, up, down = fields[row, at], fields[row, at + 1], fields[row, at + 2]
    if nan != 0 or (up != 0 and down != 0):
        return np.nan
    if up != 0:
        return np.inf
    return -np.inf if down != 0 else 0.0


@part()
def _double(outputs: Ints, o: Word, fields: Ints, row: Word, offset: Word, count: Word) -> float:
    """A sum of doubles, or their mean."""
    source = offset + outputs[o, SOURCE]
    special = _not_finite(fields, row, source)
    if special != 0.0:
        return special
    size, exponent = scaled(fields, row, source + NOT_FINITE, outputs[o, SOURCE_WIDTH])
    if outputs[o, FUNCTION] == MEAN:
        size = size / np.float64(count)
    return load(size, exponent + outputs[o, SCALE])


@part()
def _totals(
    outputs: Ints,
    o: Word,
    always: bool,
    fields: Ints,
    first: Word,
    offset: Word,
    groups: Word,
    out: Ints,
    valid: Bools,
    to: Word,
) -> bool:
    """Exact sums; whether one does not fit its type."""
    source, at, wide = offset + outputs[o, SOURCE], outputs[o, AT], outputs[o, WORDS] == 2
    three, digits = outputs[o, SUM_KIND] != SUM, outputs[o, DIGITS]
    overflowed = False
    for i in range(groups):
        row = first + i
        low, high = fields[row, source], fields[row, source + 1]
        if not valid[o, to + i]:
            low = high = np.int64(0)
        out[at, to + i] = low
        if wide:
            out[at + 1, to + i] = high
        narrow = fits_int64(low, high)
        if not narrow or three or digits < MOST_WORD_DIGITS:
            unfit = (not narrow and not wide) or (digits > 0 and exceeds(low, high, digits))
            unfit = unfit or (three and valid[o, to + i] and fields[row, source + 2] != high >> np.int64(63))
            overflowed = overflowed or (unfit and (always or fields[row, offset] != 0))
    return overflowed


@part()
def _means(
    outputs: Ints,
    o: Word,
    fields: Ints,
    first: Word,
    offset: Word,
    groups: Word,
    out: Ints,
    valid: Bools,
    to: Word,
) -> None:
    """Exact sums over their counts: both are rounded to doubles, and so is the quotient."""
    source, at, width = offset + outputs[o, SOURCE], outputs[o, AT], outputs[o, SOURCE_WIDTH]
    counted, unit = offset + outputs[o, COUNTED], FLOAT_POWERS[outputs[o, SCALE]]
    for i in range(groups):
        row = first + i
        if not valid[o, to + i]:
            out[at, to + i] = 0
            continue
        low, high = fields[row, source], fields[row, source + 1]
        total: Word = np.float64(low)
        if not fits_int64(low, high) or width > 2:
            size, exponent = scaled(fields, row, source, width)
            total = load(size, exponent)
        out[at, to + i] = bits_of(total / (np.float64(fields[row, counted]) * unit))


@part()
def _deviation(outputs: Ints, o: Word, fields: Ints, row: Word, offset: Word, count: Word, scratch: Ints) -> float:
    """A variance, a deviation or a covariance."""
    source, function, width = offset + outputs[o, SOURCE], outputs[o, FUNCTION], outputs[o, SOURCE_WIDTH]
    paired = function in (COVAR_POP, COVAR_SAMP)
    other, other_width = source, width
    if paired:
        other, other_width = offset + outputs[o, OTHER], outputs[o, OTHER_WIDTH]
    if _not_finite(fields, row, source) != 0.0 or _not_finite(fields, row, other) != 0.0:
        return np.nan
    if width == 0 or other_width == 0 or outputs[o, SQUARES_WIDTH] == 0:  # all values of one are zero
        return 0.0
    size, exponent = spread(
        fields,
        row,
        source + NOT_FINITE,
        width,
        other + NOT_FINITE,
        other_width,
        offset + outputs[o, SQUARES],
        outputs[o, SQUARES_WIDTH],
        count,
        scratch,
    )
    less = count - 1 if function in (VAR_SAMP, STDDEV_SAMP, COVAR_SAMP) else count
    size = size / (np.float64(count) * np.float64(less))
    if paired:
        return load(size, exponent + outputs[o, SCALE])
    size = max(size, 0.0)
    exponent += 2 * outputs[o, SCALE]
    if function in (VAR_POP, VAR_SAMP):
        return load(size, exponent)
    if exponent & 1:  # the root of an even power of two is a power of two
        size *= 2.0
        exponent -= 1
    return load(math.sqrt(size), exponent // 2)


@njit(cache=True, nogil=True, fastmath=False, _nrt=False)
def finalize(
    outputs: Ints,
    o: Word,
    always: bool,
    fields: Ints,
    first: Word,
    offset: Word,
    groups: Word,
    out: Ints,
    valid: Bools,
    to: Word,
    scratch: Ints,
) -> bool:
    """Compute aggregate o of the groups whose fields are `fields[first + i, offset:]`, for each i < groups.

    Word w of it goes to `out[at + w, to + i]`, its validity to `valid[o, to + i]`; the words of a NULL are zero.
    Returns whether one of a group that exists overflowed. Cost: 1-2 ns a group for counts and sums, 5-20 for means and
    deviations.
    """
    function, at, source = outputs[o, FUNCTION], outputs[o, AT], offset + outputs[o, SOURCE]
    counted, of_doubles = offset + outputs[o, COUNTED], outputs[o, SUM_KIND] == SUM_DOUBLE
    if function == COUNTS:
        for i in range(groups):
            valid[o, to + i] = True
            out[at, to + i] = fields[first + i, source]
        return False
    if function == EXTREMUM:
        for i in range(groups):
            valid[o, to + i] = fields[first + i, source] != 0
            for w in range(outputs[o, WORDS]):
                out[at + w, to + i] = fields[first + i, source + 1 + w]
        return False
    one = np.int64(1) if function in (VAR_SAMP, STDDEV_SAMP, COVAR_SAMP) else np.int64(0)
    for i in range(groups):
        count = fields[first + i, counted]
        valid[o, to + i] = count not in (0, one)
    if function == TOTAL and not of_doubles:
        return _totals(outputs, o, always, fields, first, offset, groups, out, valid, to)
    if function == MEAN and not of_doubles:
        _means(outputs, o, fields, first, offset, groups, out, valid, to)
        return False
    for i in range(groups):
        row = first + i
        count = fields[row, counted]
        if not valid[o, to + i]:
            out[at, to + i] = 0
        elif function in (TOTAL, MEAN):
            out[at, to + i] = bits_of(_double(outputs, o, fields, row, offset, count))
        else:
            out[at, to + i] = bits_of(_deviation(outputs, o, fields, row, offset, count, scratch))
    return False
