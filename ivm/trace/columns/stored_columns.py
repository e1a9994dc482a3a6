"""The columns of a store's rows, by the numbers that the rows have: appended to, cut off at the end, never moved."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import copy

import numpy as np
import pyarrow as pa

from ivm.catalog.types import Kind, SqlType
from ivm.kernels.memory.append import copy_rows
from ivm.trace.columns.appended_columns import AppendedColumns
from ivm.trace.columns.arrow import to_arrow
from ivm.trace.columns.cold_columns import ColdColumns
from ivm.trace.columns.column import Array, Column, Ints, ascending, part_of
from ivm.trace.columns.computed import MOST_KEPT, Computed, Read, TextFunction, compute
from ivm.trace.columns.few_texts import WantedTexts
from ivm.trace.columns.growable import HotColumn
from ivm.trace.columns.in_place import is_readable
from ivm.trace.columns.placed_columns import NOTHING_PLACED
from ivm.trace.columns.places import tell_of
from ivm.trace.columns.segment import few_values, in_one
from ivm.trace.delta import Source
from ivm.trace.index.keys import KeysAt
from ivm.trace.text.dictionary import TextDictionary
from ivm.trace.text.texts import Strings

_CONVERT_ROWS = 1 << 15
_MOST_BYTES = 17
"""A value takes so many bytes at most, with one that tells whether it is NULL."""


class StoredColumns(AppendedColumns, Source):
    """Rows 0 to `rows` of columns of `types`.

    A column is "hot" if it is kept contiguous, in physical form. With `cold`, columns stay Arrow batches as they came,
    not copied: numbers, dates and timestamps are read there, text and truth values become hot for who reads them by
    row number (`heat`), and leave the batches. Size: the hot values and the batches.
    """

    def __init__(
        self, types: Sequence[SqlType], dictionary: TextDictionary, *, cold: bool, wanted: WantedTexts | None = None
    ) -> None:
        super().__init__(types, dictionary, cold=cold, wanted=wanted)
        self.numbering = object()
        """What is the same as long as a row has the same number; it holds nothing."""
        self._strings: Strings | None = None
        self._fixed = dict[int, Column]()

    @property
    def nbytes(self) -> int:
        """Bytes of the columns in use."""
        return sum(column.nbytes for column in self._hot.values()) + self._computed.nbytes + self._cold.nbytes

    def empty(self) -> StoredColumns:
        """No rows yet, of columns that are hot and cold as these are."""
        made = StoredColumns(self.types, self._dictionary, cold=True, wanted=self.wanted)
        made._cold = ColdColumns(self.types, self._dictionary, self._cold.indexes)
        made._hot = made._empty(self._hot)
        made._computed = self._computed.empty()
        made.want(self._wanted)
        return made

    def wider(self, types: Sequence[SqlType], more: Mapping[str, pa.Scalar]) -> StoredColumns:
        """The same rows, and behind the others further columns of these types, each of one value, by its name.

        Hot columns are shared; `take_over` is to follow, before anything is added.
        """
        made = StoredColumns((*self.types, *types), self._dictionary, cold=True)
        made.rows, made._hot, made._computed = self.rows, self._hot, self._computed
        made._cold = self._cold.wider(types, more, self.rows)
        made.want(self._wanted)
        return made

    def take_over(self, other: StoredColumns) -> None:
        """Stand in the place of those columns that these were made of. Done again, it changes nothing."""
        other._forget()  # whoever was told where they lie asks anew
        for index, hot in self._hot.items():
            hot.tell(self._rows[index])
        self._placed = NOTHING_PLACED

    def fixed(self, rows: int, strings: Strings) -> StoredColumns:
        """The first `rows` rows, which stay what they are, whatever happens to these columns. Cost: lists batches."""
        fixed = StoredColumns(self.types, self._dictionary, cold=True, wanted=self.wanted)
        fixed.rows, fixed._strings, fixed._is_fixed = rows, strings, True
        fixed._cold, fixed._hot, fixed._computed = self._cold.fixed(rows), self._hot, self._computed
        return fixed

    def held(self) -> StoredColumns:
        """The same columns, of which those that are cold now stay cold, for `fixed` later. Cost: a few references."""
        return copy(self)

    def codes(self) -> list[Array]:
        """The codes of each column that is kept as such."""
        return [column.codes() for column in (*self._hot.values(), *self._computed.columns())]

    def tidy(self) -> None:
        """After a commit: the batch that came last is no longer at hand, and small batches are put together."""
        self._newest = None
        if self._cold.is_untidy:
            self._cold.tidy(self._forget)

    def copy_from(self, other: StoredColumns, rows: Ints) -> None:
        """Add the rows `rows` of `other`, ascending, whose columns are hot and cold as these are."""
        for i, column in self._hot.items():
            column.append(other.gather(i, rows))
        self._forget()
        if self._cold.indexes:
            for batch in other._cold.table(rows).to_batches():
                self._cold.append(batch)
        self._computed.append_from(other._computed, rows)
        self.rows += len(rows)

    def is_like(self, other: StoredColumns) -> bool:
        """Whether the same columns are hot, and the same functions of columns kept."""
        return self._hot.keys() == other._hot.keys() and self._computed.is_like(other._computed)

    def column(self, index: Read) -> Column:
        """Column `index`, or a function of one, all rows; not copied if it is hot, and a cold one stays cold."""
        return self.gather(index, slice(0, self.rows))

    def keys_at(self, form: Ints, columns: Sequence[int], row: int, stop: int) -> KeysAt:
        """Keys of rows, which are of these columns, as `form` says too, where kernels find them."""
        newest = self._newest
        if newest is not None and row >= newest[0]:
            return form, newest[1].places(columns), row - newest[0], stop - row
        return form, self.places(columns), row, stop - row

    def piece(self, index: Read) -> Column | None:
        """Column `index` if it is hot, or the function if its values are kept."""
        kept = self._computed.get(*index) if isinstance(index, tuple) else self._hot.get(index)
        return None if kept is None else kept.part(0, self.rows)

    def places(self, columns: Iterable[int], rows: int | None = None) -> Ints:
        """Where columns are kept, hot or cold, see `Source.places`; of the first `rows` rows (None: of all)."""
        if not self._told.issuperset(columns):
            for index in columns:
                if index not in self._told and (rows is None or not self._cold.tells(index, rows)):
                    self._tell(index)
        return self._places.words

    def told(self, columns: Iterable[int], rows: int | None = None) -> int:
        """Where the `places` of columns stand, which is the same for all of them as long as there are any."""
        if not self._told.issuperset(columns):
            self.places(columns, rows)
        return self._places.address

    def want(self, columns: Iterable[int]) -> None:
        """The places of these columns are read by who looks at the `edition`, and has them told anew by that."""
        self._wanted.update(columns)
        self._forget()

    def tell_wanted(self) -> int:
        """Tell of all places that are wanted; where these stand."""
        return self.told(self._wanted)

    def are_hot(self, columns: Iterable[int]) -> bool:
        """Whether all of these columns are."""
        return all(index in self._hot for index in columns)

    def values_of(self, index: int, function: TextFunction) -> HotColumn | None:
        """See `Source.values_of`."""
        return self._computed.get(index, function)

    @property
    def every(self) -> Ints:
        """The numbers of all columns, and of functions whose values are kept, as far as these have places here."""
        placed = self._at_hand()
        return np.arange(len(self.types)) if placed is None else placed.every

    def few_texts(self, rows: Ints, places: Ints) -> Ints | None:
        """Let `places` tell of what is known of the texts of a few rows; see `WantedTexts.of_rows`."""
        return None if self._is_fixed else self._cold.few_texts(self.wanted, rows, places)

    def _tell(self, index: int) -> None:
        """Write down where a column is kept; what has been told of it holds until rows come or go."""
        hot, place = self._hot.get(index), self._rows[index]
        if hot is None and index < len(self.types):
            self._cold.tell(index, place)
        elif hot is not None and self._is_fixed:
            self._fixed[index] = hot.part(0, self.rows)
            tell_of(self._fixed[index], self._places.words, index)
        self._told.add(index)
        self._coming = None

    def gather(self, index: Read, rows: Array | slice) -> Column:
        """Column `index` of `rows`; a cold column stays cold. A slice of a hot column is not copied.

        A function of a column is computed now where its values are not kept.
        """
        piece = self.piece(index)
        if piece is not None:
            return part_of(piece, rows)
        if isinstance(index, tuple):
            return self._compute(*index, rows)
        if self._newest is not None and isinstance(rows, slice) and rows.start >= self._newest[0]:
            first, batch = self._newest
            return part_of(batch.column(index), slice(rows.start - first, rows.stop - first))
        return self._cold.gather(index, rows)

    def copy_to(self, places: Ints, columns: Ints, rows: Ints) -> Ints:
        """Copy `rows` of these columns, as far as kernels can read them, in one call; `places` tell where to.

        The memory that the copies lie in. Columns that cannot be read keep no stride; items are as large as those that
        are kept, as most of those that come are.
        """
        told = self.places(columns.tolist())
        room: Ints = np.empty((len(rows) + 7 >> 3) * len(columns) * _MOST_BYTES, np.int64)
        copy_rows(told, rows, columns, room, places)
        return room

    def settle(self, columns: Sequence[int]) -> None:
        """Let reading these columns, which are prepared, change nothing until rows come: threads may do it together."""
        self._cold.settle([index for index in columns if index not in self._hot])

    def arrow(self, index: int, rows: Ints | slice) -> pa.ChunkedArray:
        """Column `index` of `rows`, ascending, as Arrow has its type; cold columns come straight from their batches."""
        hot = self._hot.get(index)
        if hot is None:
            return self._cold.arrow(index, rows)
        strings = self._strings or self._dictionary.now()
        values = to_arrow(part_of(hot.part(0, self.rows), rows), self.types[index], strings)
        return values if isinstance(values, pa.ChunkedArray) else pa.chunked_array([values])

    def cell(self, index: int, row: int) -> pa.Array | pa.ChunkedArray:
        """Column `index` of one row, as it is kept."""
        return self.arrow(index, slice(row, row + 1)) if index in self._hot else self._cold.cell(index, row)

    def text(self, index: int, row: int) -> bytes | None:
        """The bytes of a text, if it lies where that can be read at once."""
        return None if index in self._hot else self._cold.text(index, row)

    def kept(self, index: int, rows: Ints | slice) -> pa.Array:
        """Column `index` of `rows`, ascending, as it is kept, in one piece: text of few values with a dictionary."""
        if index not in self._hot:
            return self._cold.kept(index, rows)
        whole = in_one(self.arrow(index, rows))
        return few_values(whole) if self.types[index].kind is Kind.VARCHAR else whole

    def heat(self, index: int) -> Iterator[int]:
        """Let column `index` be read by row number without converting values again and again.

        Where that makes it hot it is done bit by bit, yielding the rows of each. Between two bits commits may be made.
        """
        if is_readable(self.types[index]) or index in self._hot:
            return
        hot = HotColumn(self.types[index].physical)
        yield from self._fill(hot, index)
        if index not in self._hot:
            self._forget()
            self._hot, self._cold = {**self._hot, index: hot}, self._cold.without(index)
            hot.tell(self._rows[index])

    def computes(self, index: int, functions: Sequence[TextFunction]) -> bool:
        """Whether the column is cold, or their values are kept."""
        if index not in self._hot:
            return True
        return self._computed.is_used and all(self._computed.get(index, each) is not None for each in functions)

    def keep_computed(self, index: int, functions: Sequence[TextFunction]) -> Iterator[int]:
        """Let functions of text column `index` be read by row number without computing them again and again.

        Their values are kept for as long as the functions are; where the column is hot, or those are many, its codes
        will do. Done bit by bit, as `heat` is.
        """
        more = [function for function in functions if self._computed.get(index, function) is None]
        if more and self._computed.count(index) + len(more) > MOST_KEPT:
            yield from self.heat(index)
        for function in more:
            if index not in self._hot:
                column = HotColumn(function.type.physical)
                yield from self._fill(column, (index, function))
                if self.piece((index, function)) is None:
                    self._computed.put(index, function, column)

    def prepare(self, columns: Sequence[int], computed: Computed = ()) -> Iterator[int]:
        """Let these columns, and functions of columns, be read by row number without a wait; see `heat`."""
        for column in columns:
            yield from self.heat(column)
        for column, functions in computed:
            yield from self.keep_computed(column, functions)

    def _fill(self, hot: HotColumn, index: Read) -> Iterator[int]:
        """Give a column the values of all rows, unless somebody else has kept them meanwhile."""
        while self.piece(index) is None and len(hot) < self.rows:
            rows = slice(len(hot), min(len(hot) + _CONVERT_ROWS, self.rows))
            hot.append(self.gather(index, rows))
            yield rows.stop - rows.start

    def _compute(self, index: int, function: TextFunction, rows: Array | slice) -> Column:
        if index in self._hot:
            return function.of_codes(self.gather(index, rows))
        if isinstance(rows, slice):
            return compute(self._cold.arrays(index, rows), function)
        texts = self._cold.texts(index, rows)
        if texts is not None:
            return function.of_texts(texts)
        distinct, places = ascending(rows)
        found = compute(self._cold.arrays(index, distinct), function)
        return found if places is None else found.take(places)
