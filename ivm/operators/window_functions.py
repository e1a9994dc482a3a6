"""Window functions as the columnar half has them, and the values that nodes keep for them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from ivm.catalog.types import Physical, SqlType
from ivm.kernels.windows import reach as window_reach
from ivm.kernels.windows import values as window_values
from ivm.trace.columns.column import Column, Ints, zeroed
from ivm.trace.ordered.row_order import RowOrder, Term, ordered_words, values_of
from ivm.trace.text.dictionary import Literals

KINDS = {
    "row_number": window_values.ROW_NUMBER,
    "rank": window_values.RANK,
    "dense_rank": window_values.DENSE_RANK,
    "percent_rank": window_values.PERCENT_RANK,
    "cume_dist": window_values.CUME_DIST,
    "ntile": window_values.NTILE,
    "lag": window_values.LAG,
    "nth_value": window_values.NTH,
    "last_value": window_values.LAST,
    "min": window_values.EXTREME,
    "max": window_values.EXTREME,
}
DOUBLES = ("percent_rank", "cume_dist")
OF_PEERS = ("rank", "dense_rank", "percent_rank", "cume_dist")
REACHES = {
    "near": window_reach.NEAR,
    "onward": window_reach.ONWARD,
    "backward": window_reach.BACKWARD,
    "behind": window_reach.ONWARD,
    "before": window_reach.BACKWARD,
    "ranked": window_reach.RANKED,
    "numbered": window_reach.NUMBERED,
    "shared": window_reach.SHARED,
    "partition": window_reach.PARTITION,
}


_HOLES = {"": window_values.NOTHING, "current row": window_values.ROW, "group": window_values.GROUP,
          "ties": window_values.TIES}  # fmt: skip


class FrameSpec(NamedTuple):
    """The rows that a function sees: from `start` to `end`, offsets from the current row, None where unbounded.

    With `peers` they count groups of peers. `lower` and `upper` are the columns of the input with the values up to
    which it goes, None where the offset says it. `exclude`: "current row", "group", "ties" or nothing.
    """

    start: int | None
    end: int | None
    peers: bool = False
    exclude: str = ""
    lower: int | None = None
    upper: int | None = None

    @property
    def bounds(self) -> tuple[int, ...]:
        """The columns with the values up to which it goes."""
        return tuple(column for column in (self.lower, self.upper) if column is not None)

    @property
    def asks_for_peers(self) -> bool:
        """Whether it depends on which rows are peers."""
        return self.peers or self.exclude in ("group", "ties")

    @property
    def hole(self) -> int:
        """What it leaves out, as kernels know it."""
        return _HOLES[self.exclude]


@dataclass(frozen=True, slots=True)
class FunctionSpec:
    """One window function: `function` over column `argument` of the input, with its result's type.

    row_number, rank, dense_rank, percent_rank, cume_dist, ntile, lag (lead has a negative `number`), nth_value,
    last_value, or an aggregate. `number` is that of lag, ntile and nth_value; `default`, in engine form, lag's.
    `reach`, `before` and `after` say which rows a change may concern: see `ivm.kernels.windows.reach`. `numbered` is
    the column with the number where it is another for each row, taken `number` times; of ntile it is the argument, too.
    """

    function: str
    argument: int | None
    type: SqlType
    frame: FrameSpec
    skips_nulls: bool
    number: int
    default: int | float | bool | str | None
    reach: str
    before: int
    after: int
    numbered: int | None = None

    @property
    def is_sum(self) -> bool:
        """Whether it is computed from sums and counts."""
        return self.function not in KINDS


@dataclass(frozen=True, slots=True)
class Argument:
    """An argument whose values are kept: its place in a node; a word says whether there is one, then come its own."""

    at: int
    type: SqlType

    @property
    def words(self) -> int:
        """All words."""
        return 3 if self.type.physical is Physical.WIDE else 2

    def encode(self, column: Column, out: Ints) -> None:
        """Write the words of values."""
        out[:, 0] = True if column.valid is None else column.valid
        out[:, 1:] = ordered_words(column.values, self.type.physical)
        if column.valid is not None:
            out[:, 1:] *= out[:, :1]

    def decode(self, words: Ints) -> Column:
        """The values of words."""
        plain, valid = values_of(np.ascontiguousarray(words[:, 1:]), self.type.physical), words[:, 0] != 0
        return Column(plain) if valid.all() else Column(zeroed(plain, valid), valid)


@dataclass(frozen=True, slots=True)
class Bound:
    """The values up to which a frame goes: their place in a node, and how they compare, which is as the `term` does."""

    at: int
    term: Term

    @property
    def words(self) -> int:
        """All words."""
        return self.term.words

    @property
    def type(self) -> SqlType:
        """The type of the values."""
        return self.term.type

    def encode(self, column: Column, out: Ints) -> None:
        """Write the words of values."""
        out[:] = self._order.encode([column], len(column.values))

    def decode(self, words: Ints) -> Column:
        """The values of words."""
        return self._order.decode(np.ascontiguousarray(words))[0]

    @property
    def _order(self) -> RowOrder:
        return RowOrder((replace(self.term, column=0),))


def words_of(value: int | float | bool | str, physical: Physical, literals: Literals) -> Ints:
    """The words by which a value is kept."""
    if isinstance(value, str):
        return np.array([literals.code(value)], np.int64)
    if physical is Physical.WIDE:
        low = int(value) & (2**64 - 1)
        pair = np.array([[low - (low >> 63 << 64), int(value) >> 64]], np.int64)
        return ordered_words(pair, physical)[0]
    return ordered_words(np.array([value]), physical)[0]
