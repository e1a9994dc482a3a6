"""The stored columns that stay as they came: Arrow batches, not copied, whose numbers and dates are read in place."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import pairwise

import numpy as np
import pyarrow as pa

from ivm.catalog.types import Kind, SqlType
from ivm.kernels.memory.exported import OFFSET_BYTES
from ivm.kernels.memory.places import STRIDE, WORDS
from ivm.trace.columns.arrow import arrow_type, numbers_from, to_column
from ivm.trace.columns.batches import FAN, SEALED, Batches, Lying
from ivm.trace.columns.column import Array, Column, Ints, ascending, concat, empty_column
from ivm.trace.columns.few_texts import WantedTexts
from ivm.trace.columns.in_place import InPlace, is_readable, is_readable_in
from ivm.trace.columns.placed_texts import PlacedTexts, placed_texts, texts_in_place
from ivm.trace.columns.segment import in_one
from ivm.trace.columns.together import Together, as_declared
from ivm.trace.text.dictionary import TextDictionary
from ivm.trace.text.texts import Texts, texts_of

_SMALL = 256
_READ = 16
"""Of so many rows each text is read by itself."""
_LET_GO = 4
"""How many batches of which a copy was made are let go of at once."""


class ColdColumns:
    """Columns of `types` in record batches one after the other; those at `indexes` of them, the others have left.

    Small batches are put together in `tidy`, `FAN` at once, so that their number grows with the logarithm of the number
    of small commits, and a value is copied four times at most. What was read stays where it is for whoever reads it.
    """

    def __init__(self, types: Sequence[SqlType], dictionary: TextDictionary, indexes: Sequence[int]) -> None:
        self._types = tuple(types)
        self._dictionary = dictionary
        self._places = {index: place for place, index in enumerate(indexes)}
        self.batches = Batches()
        """Others take their place as they are put together."""
        self._merge: Together | None = None
        self._small = 0
        self.is_untidy = False
        """Whether `tidy` may have something to do."""

    @property
    def indexes(self) -> tuple[int, ...]:
        """The columns that are here."""
        return tuple(self._places)

    @property
    def nbytes(self) -> int:
        """Bytes of the values of the batches, whoever else may hold them."""
        return sum(batch.nbytes for batch in self.batches.batches)

    def fixed(self, rows: int) -> ColdColumns:
        """The same columns of the first `rows` rows, which do not change when these do. Cost: lists batches."""
        fixed = ColdColumns(self._types, self._dictionary, self.indexes)
        if self._places:
            fixed.batches = self.batches.first(rows)
        return fixed

    def append(self, batch: pa.RecordBatch, places: Ints | None = None) -> None:
        """Add a batch of all columns (of any encoding that fits) at the end; nothing is copied.

        `places`: where they lie, if that is known (see `Located`), which nobody writes to.
        """
        if batch.num_rows:
            self.hold(batch, places)
            self.batches.pieces.push(batch.num_rows)

    def hold(self, batch: pa.RecordBatch, places: Ints | None) -> None:
        """Hold a batch as `append` does, whose rows are the next of the pieces, or are just becoming it."""
        kept, level = self.batches, SEALED
        if batch.num_rows < _SMALL:
            level, self._small = 0, self._small + 1
            if self._small >= FAN:
                self.is_untidy = True
        kept.batches.append(batch if len(self._places) == batch.num_columns else batch.select(list(self._places)))
        kept.levels.append(level)
        kept.places.append(places)
        kept.texts.append({})

    def wider(self, types: Sequence[SqlType], more: Mapping[str, pa.Scalar], rows: int) -> ColdColumns:
        """The same rows, `rows` of them, and behind the others further columns of these types, each of one value."""
        first = len(self._types)
        indexes = (*self._places, *range(first, first + len(types)))
        made = ColdColumns((*self._types, *types), self._dictionary, indexes)
        kept = self.batches
        if not self._places and rows:  # of which there were no batches
            kept = Batches([pa.RecordBatch.from_struct_array(pa.nulls(rows, pa.struct([])))], [SEALED], [None], [{}])
            kept.pieces.push(rows)
        made.batches, made.is_untidy = kept.wider(more), True  # what was being put together is begun anew
        return made

    def without(self, index: int) -> ColdColumns:
        """The same rows without a column, which is not read in place."""
        rest = [i for i in self._places if i != index]
        made = ColdColumns(self._types, self._dictionary, rest)
        if rest:
            kept, rows = [self._places[i] for i in rest], self.batches
            batches = [batch.select(kept) for batch in rows.batches]
            texts: list[dict[int, PlacedTexts | None]] = [{} for _ in batches]
            made.batches = Batches(
                batches, list(rows.levels), list(rows.places), texts, rows.pieces.first(len(batches))
            )
            made.is_untidy = True  # what was being put together is begun anew
        return made

    def truncate(self, rows: int) -> None:
        """Cut off the rows from `rows` on, where a batch begins."""
        self.batches.truncate(rows)

    def tidy(self, forget: Callable[[], None]) -> None:
        """Put small batches together, a little at a time. It may be interrupted, and called again.

        `forget` is called where what was told of places does not hold any longer. Cost: amortized constant for a batch.
        """
        merge, rows = self._merge, self.batches
        if merge is None:
            first = rows.ready()
            if first is None:
                self._small, self.is_untidy = rows.levels[-FAN:].count(0), False
            else:
                self._merge = Together(rows, first, {index: self._types[index] for index in self._places})
        elif rows is not merge.made:
            made = merge.made or merge.go_on(rows)
            if made is not None:
                self._put(merge, made, forget)
        elif merge.batches:
            del merge.batches[-_LET_GO:]
        else:
            self._merge = None

    def _put(self, merge: Together, made: Batches, forget: Callable[[], None]) -> None:
        """Let what was put together take the place of its batches. It may be interrupted, and called again."""
        for index, column in self.batches.in_place.items():
            if column.pieces is not made.pieces:
                whole = merge.columns[index]
                fits = column.can_join(merge.first + FAN, whole)
                if not fits:
                    forget()
                column.join(merge.first, FAN, whole if fits else None, made.pieces)
        self.batches = made

    def table(self, rows: Ints) -> pa.Table:
        """The columns of `rows`, ascending, as a table of one batch. Cost: copies them."""
        return pa.table({str(index): self._copied(index, rows) for index in self._places})

    def gather(self, index: int, rows: Array | slice) -> Column:
        """A column's values of `rows` in physical form. Cost: a random access a row for what is read in place; else a
        gather for each batch that the rows lie in, and text is encoded.
        """
        if is_readable(self._types[index]):
            return self._read(index, rows)
        if isinstance(rows, slice):
            return self._converted(index, self._sliced(index, rows.start, rows.stop))
        if (texts := self.texts(index, rows)) is not None:
            return self._dictionary.encode_texts(texts)
        distinct, places = ascending(rows)
        found = self._converted(index, self._taken(index, distinct))
        return found if places is None else found.take(places)

    def settle(self, indexes: Sequence[int]) -> None:
        """Bring these columns, as far as they are read in place, up to date."""
        for index in indexes:
            if is_readable(self._types[index]):
                self._readable(index)

    def tell(self, index: int, place: Ints) -> None:
        """Write down where a column lies, as of now, if it is read in place; else it has no stride."""
        if is_readable(self._types[index]):
            self._readable(index).tell(place)
        else:
            place[STRIDE] = 0

    def tells(self, index: int, rows: int) -> bool:
        """Whether it is written down where the first `rows` rows of a column lie, whatever has come behind them."""
        column = self.batches.in_place.get(index)
        return column is not None and column.tells(rows)

    def arrow(self, index: int, rows: Ints | slice) -> pa.ChunkedArray:
        """A column's values of `rows`, ascending, as Arrow has the type; a slice of that type is not copied."""
        type_, arrays = self._types[index], self.arrays(index, rows)
        return pa.chunked_array([as_declared(array, type_) for array in arrays], type=arrow_type(type_))

    def arrays(self, index: int, rows: Ints | slice) -> list[pa.Array]:
        """A column's values of `rows`, ascending, in the encodings that they came in; slices are not copied."""
        return self._sliced(index, rows.start, rows.stop) if isinstance(rows, slice) else self._taken(index, rows)

    def cell(self, index: int, row: int) -> pa.Array:
        """A column's value of one row, in the encoding that it came in."""
        number = self.batches.pieces.piece_of(row)
        return self._array(number, index).slice(row - self.batches.pieces.start(number), 1)

    def text(self, index: int, row: int) -> bytes | None:
        """A text of one row, read where it lies; None where that is not known, or it is NULL."""
        number = self.batches.pieces.piece_of(row)
        lie = self._texts_in(number, index)
        return None if lie is None else lie.text(row - self.batches.pieces.start(number))

    def texts(self, index: int, rows: Array) -> Texts | None:
        """The texts of a few rows, read where they lie; None where that is not known, one is NULL, or they are many."""
        if len(rows) > _READ:
            return None
        found = [self.text(index, row) for row in rows.tolist()]
        few = [text for text in found if text is not None]
        return texts_of(few) if len(few) == len(found) else None

    def _texts_in(self, number: int, index: int) -> PlacedTexts | None:
        """Where the texts of a batch lie."""
        texts, places = self.batches.texts[number], self.batches.places[number]
        if index not in texts:
            if places is not None and self._lies_at(places, index):
                texts[index] = texts_in_place(places[index].tolist())
            else:
                texts[index] = placed_texts(self._array(number, index), self._types[index])
        return texts[index]

    def _lies_at(self, places: Ints, index: int) -> bool:
        """Whether places say where the texts of a column lie."""
        told = places.item(index, OFFSET_BYTES) != 0 and places.item(index, STRIDE) == 0
        return told and self._types[index].kind is Kind.VARCHAR

    def few_texts(self, wanted: WantedTexts, rows: Ints, places: Ints) -> Ints | None:
        """Let `places` tell of what is known of the texts of a few rows; see `WantedTexts.of_rows`."""
        pieces = self.batches.pieces.block
        return wanted.of_rows(rows, self._where_texts_lie(wanted.columns), pieces, places)

    def _where_texts_lie(self, columns: frozenset[int]) -> Ints:
        """Where the addresses of places stand, of each batch, that say where the texts of these columns lie.

        Cost: constant for each batch that has come since.
        """
        lying = self.batches.lying
        if lying.columns != columns:
            lying = self.batches.lying = Lying(columns)
        for number in range(lying.addresses.length, len(self.batches.batches)):
            places = self.batches.places[number]
            missing = [i for i in columns if i in self._places and (places is None or not self._lies_at(places, i))]
            if missing or places is None:
                places = np.zeros((len(self._types), WORDS), np.int64) if places is None else places.copy()
                for index in missing:
                    lie = self._texts_in(number, index)
                    places[index] = 0 if lie is None else lie.words()
            lying.add(number, places)
        return lying.block

    def kept(self, index: int, rows: Ints | slice) -> pa.Array:
        """A column's values of `rows`, ascending, in one array of the encoding that they came in, if they have one."""
        arrays = self.arrays(index, rows)
        if len(arrays) == 1:
            return arrays[0]
        first = arrays[0].type if arrays else arrow_type(self._types[index])
        if pa.types.is_dictionary(first) or any(array.type != first for array in arrays):
            return in_one(self.arrow(index, rows))
        return in_one(pa.chunked_array(arrays, type=first))

    def _copied(self, index: int, rows: Ints) -> pa.Array:
        """A column's values of `rows`, in the form in which all of them are read in place, if there is one."""
        arrays = self._taken(index, rows)
        if arrays and all(is_readable_in(array.type, self._types[index]) for array in arrays):
            with suppress(pa.ArrowInvalid, pa.ArrowTypeError):
                return pa.concat_arrays(arrays)
        return self.arrow(index, rows).combine_chunks()

    def _array(self, number: int, index: int) -> pa.Array:
        return self.batches.batches[number].column(self._places[index])

    def _read(self, index: int, rows: Array | slice) -> Column:
        column = self._readable(index)
        if not isinstance(rows, slice):
            return column.gather(rows)
        begin, end = rows.start, min(rows.stop, self.batches.pieces.rows)
        if begin >= end:
            return empty_column(self._types[index].physical)
        return column.gather(np.arange(begin, end))

    def _readable(self, index: int) -> InPlace:
        """A column over all batches; those in a form that cannot be read in place are made anew. So are all that have
        fewer bytes a value than one that comes takes, which happens but once.
        """
        rows = self.batches
        column = rows.in_place.get(index)
        if column is None:
            column = rows.in_place[index] = InPlace(self._types[index], rows.pieces)
        for number in range(len(column), len(rows.batches)):
            places = rows.places[number]
            if places is not None and column.add_at(places, index):
                continue
            array = self._array(number, index)
            read = column.add(array)
            if read is None:
                rows.in_place[index] = column.wider()
                return self._readable(index)
            if read is not array:
                self._replace(number, index, read)
        return column

    def _replace(self, number: int, index: int, array: pa.Array) -> None:
        batch, place = self.batches.batches[number], self._places[index]
        self.batches.places[number] = None  # nobody keeps what lies there
        self.batches.texts[number] = {}
        self.batches.batches[number] = batch.set_column(place, batch.schema.field(place).name, array)

    def _converted(self, index: int, arrays: list[pa.Array]) -> Column:
        wanted = self._types[index]
        if not arrays:
            return empty_column(wanted.physical)
        if len(arrays) > 1 and all(array.type == arrays[0].type for array in arrays):
            arrays = [pa.concat_arrays(arrays)]
        return concat([to_column(array, wanted, self._dictionary) for array in arrays])

    def _taken(self, index: int, rows: Ints) -> list[pa.Array]:
        return [self._array(number, index).take(numbers_from(inside)) for number, inside in self._by_batch(rows)]

    def _by_batch(self, rows: Ints) -> Iterator[tuple[int, Ints]]:
        """Ascending rows as (number of their batch, positions in it)."""
        owner = np.searchsorted(self.batches.pieces.starts, rows, side="right") - 1
        bounds = [0, *(np.flatnonzero(owner[1:] != owner[:-1]) + 1).tolist(), len(rows)]
        for begin, end in pairwise(bounds):
            if begin < end:
                number = int(owner[begin])
                yield number, rows[begin:end] - self.batches.pieces.start(number)

    def _sliced(self, index: int, begin: int, end: int) -> list[pa.Array]:
        arrays: list[pa.Array] = []
        end = min(end, self.batches.pieces.rows)
        while begin < end:
            number = self.batches.pieces.piece_of(begin)
            start, stop = self.batches.pieces.start(number), min(self.batches.pieces.start(number + 1), end)
            arrays.append(self._array(number, index).slice(begin - start, stop - begin))
            begin = stop
        return arrays
