"""A batch of rows as it came, Arrow data: the source of what a commit changes, and how its columns are read."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import pyarrow as pa

from ivm.catalog.types import Kind, Physical, SqlType
from ivm.kernels.memory.exported import BYTES, OFFSET_BYTES, SEEN, WIDTH
from ivm.kernels.memory.places import ADDRESS, STRIDE, VALIDITY, WORDS
from ivm.trace.columns.arrow import numbers_from, to_column
from ivm.trace.columns.column import Array, Column, Ints, concat, empty_column, readonly
from ivm.trace.columns.computed import Read, TextFunction, compute
from ivm.trace.columns.exported import ArrowRows, Memory, array_at, located, memory_of, stride_of, texts_at
from ivm.trace.columns.few_texts import MOST_ROWS, WantedTexts
from ivm.trace.columns.places import tell_of
from ivm.trace.delta import Source
from ivm.trace.text.dictionary import TextDictionary
from ivm.trace.text.seen_texts import MOST_TEXTS, SeenTexts
from ivm.trace.text.texts import Texts


class Reader:
    """`to_column` for one column, array after array."""

    def __init__(self, type: SqlType, dictionary: TextDictionary) -> None:
        self.type = type
        self._dictionary = dictionary
        self._seen: SeenTexts | None = None

    def read(self, arrays: Sequence[pa.Array]) -> Column:
        """Arrays, one after the other, as a column; see `to_column`."""
        read = [to_column(each, self.type, self._dictionary) for each in arrays]
        return concat(read or [empty_column(self.type.physical)])

    def encode(self, data: Array, offsets: Array) -> Column:
        """The codes of texts, none of which is NULL; see `text_buffers`."""
        return Column(self._dictionary.encode_parts(data, offsets))

    def seen(
        self, rows: ArrowRows, index: int, place: Sequence[int], function: TextFunction | None = None
    ) -> Column | None:
        """The codes of column `index` of rows, or values of a function of its texts, by what is known of the dictionary
        that they came with; None where it is not known where codes lie, or that is not worth it.
        """
        number, seen = 0 if place[STRIDE] else place[SEEN], self._seen
        if not number or (function is None and self.type.kind is not Kind.VARCHAR):
            return None
        if seen is None or seen.number != number:
            texts = rows.column(index).dictionary
            if len(texts) > MOST_TEXTS:
                return None
            seen = self._seen = SeenTexts(number, texts, self._dictionary)
        return seen.read(place[ADDRESS], place[WIDTH], rows.num_rows, function)


class Readers:
    """A reader for each column; they remember what they know of the schema that came last."""

    def __init__(self, each: Sequence[Reader], wanted: WantedTexts | None = None) -> None:
        """`wanted`: what is read of few texts, where batches are for a table."""
        self.each, self.wanted = tuple(each), wanted
        self._known: tuple[pa.Schema, Ints] | None = None

    def strides(self, schema: pa.Schema) -> Ints:
        """`stride_of` each column, int64."""
        known = self._known
        if known is None or not schema.equals(known[0]):
            strides = [stride_of(given, reader.type) for reader, given in zip(self.each, schema.types, strict=True)]
            known = self._known = schema, np.array(strides, np.int64)
        return known[1]


class Batch(Source):
    """A source over the rows of one batch; a column is made when it is first read, then kept.

    Plain values are read where they lie, which takes a microsecond a column.
    """

    def __init__(self, rows: ArrowRows, readers: Readers, addresses: Ints | None = None) -> None:
        """`addresses`: where the columns of the rows lie, which are a record batch then, if that is known."""
        self.rows = rows
        self.addresses = addresses
        self._readers = readers
        self._places = addresses
        self._is_mine = False
        self._memory: Memory | None = None
        self._made: dict[Read, Column] = {}
        self._room: Ints | None = None

    def __len__(self) -> int:
        return int(self.rows.num_rows)

    def column(self, index: Read) -> Column:
        """Column `index` in physical form, or a function of one, computed in the better of both ways."""
        column = self._made.get(index)
        if column is None:
            column = self._made[index] = self._computed(*index) if isinstance(index, tuple) else self._converted(index)
        return column

    def gather(self, index: Read, rows: Array) -> Column:
        """Column `index` of `rows`; texts that a function makes are made for these alone."""
        if isinstance(index, int) or index in self._made or index[1].type.physical is not Physical.CODE:
            return Source.gather(self, index, rows)
        column, function = index
        if not self.computes(column, (function,)):
            return Source.gather(self, index, rows)
        return compute(_arrays(self.rows.column(column).take(numbers_from(rows))), function)

    def places(self, columns: Iterable[int]) -> Ints:
        """Where columns lie, as `Source.places` has it: where they came, or else where they were converted to.

        What lies under NULL is anything where they came, which `column` reads as zero. All of it holds as long as the
        batch's rows are there, and nobody writes to it. Cost: 10 microseconds for 16 columns at the first call.
        """
        places = self._located() if self._places is None else self._places
        for index in columns:
            if index >= len(places) or not places.item(index, STRIDE):
                places = self._with(index)
        return places

    def _with(self, index: int) -> Ints:
        """The places, with that of a column that was not read yet, or of a function by its number."""
        wanted, places = self._readers.wanted, self._located()
        if not self._is_mine or len(places) <= index:  # others may have been given the same, who hold nothing made here
            own: Ints = np.zeros((len(places) if wanted is None else wanted.most, WORDS), np.int64)
            own[: len(places)] = places
            self._places, self._is_mine, places = own, True, own
        read = index if wanted is None else wanted.numbered(index) or index
        if wanted is not None and self._room is None and len(self) <= MOST_ROWS:
            self._room = wanted.of_batch(len(self), places)
            self._memory = None  # of what is known now too
            if not places.item(index, STRIDE):
                wanted.want(index)
        if not places.item(index, STRIDE):
            tell_of(self.column(read), places, index)
        return places

    @property
    def numbered_by(self) -> int:
        """See `Source.numbered_by`."""
        wanted = self._readers.wanted
        return 0 if wanted is None else wanted.numbering

    def number_of(self, index: int, function: TextFunction) -> int:
        """See `Source.number_of`."""
        wanted = self._readers.wanted
        return -1 if wanted is None else wanted.number_of(index, function)

    def _located(self) -> Ints:
        """Where columns lie as they came; others have no stride, as all have of rows in several pieces."""
        places = self._places
        if places is None:
            found = located(self.rows, self._readers.strides(self.rows.schema))
            if found is None:
                places, self._is_mine = np.zeros((len(self._readers.each), WORDS), np.int64), True
            else:
                self.rows, places = found
                self.addresses = places
            self._places = places
        return places

    def computes(self, index: int, functions: Sequence[TextFunction]) -> int:
        """See `Source.computes`: if they are computed already, or nobody has wanted codes of the texts."""
        wanted, places = self._readers.wanted, self._places
        if wanted is not None and places is not None and self._room is not None and places.item(index, STRIDE):
            return wanted.numbering if all(self._is_told(places, index, each) for each in functions) else 0
        if index in self._made:
            return 0
        return 1 if wanted is None else wanted.numbering

    def _is_told(self, places: Ints, index: int, function: TextFunction) -> bool:
        """Whether the places tell of the values of a function."""
        number = -1 if self._readers.wanted is None else self._readers.wanted.known(index, function)
        return number >= 0 and places.item(number, STRIDE) != 0

    def _converted(self, index: int) -> Column:
        reader = self._readers.each[index]
        place = self._place(index)
        stride, validity, size = place[STRIDE], place[VALIDITY], place[OFFSET_BYTES]
        if stride and not validity:
            return self._there(place, reader.type.physical)
        if not stride and size and not place[WIDTH]:
            return reader.encode(*texts_at(place[ADDRESS], size, place[BYTES], len(self)))
        seen = reader.seen(self.rows, index, place)
        return reader.read(self._arrays(index)) if seen is None else seen

    def _there(self, place: Sequence[int], physical: Physical) -> Column:
        """Values that lie at a place, none of which is NULL."""
        if self._memory is None:
            self._memory = memory_of((self.rows, self._room))
        return Column(array_at(self._memory, place[ADDRESS], physical, len(self), place[STRIDE]))

    def _place(self, index: int) -> Sequence[int]:
        """Where a column lies, as `Located` has it."""
        place: list[int] = self._located()[index].tolist()
        return place

    def _arrays(self, index: int) -> Sequence[pa.Array]:
        """The column as it came."""
        return _arrays(self.rows.column(index))

    def _computed(self, index: int, function: TextFunction) -> Column:
        wanted = self._readers.wanted
        if wanted is not None and self._room is not None and (number := wanted.known(index, function)) >= 0:
            there = self._place(number)
            if there[STRIDE] and not there[VALIDITY]:
                return self._there(there, function.type.physical)
        place = self._place(index)
        if index not in self._made and not place[STRIDE]:
            reader = self._readers.each[index]
            if place[OFFSET_BYTES] and not place[WIDTH]:
                data, offsets = texts_at(place[ADDRESS], place[OFFSET_BYTES], place[BYTES], len(self))
                return function.of_texts(Texts(readonly(data), readonly(offsets[:-1]), readonly(offsets[1:])))
            seen = reader.seen(self.rows, index, place, function)
            return compute(self._arrays(index), function) if seen is None else seen
        return function.of_codes(self.column(index))

    def take(self, rows: Ints) -> Batch:
        """The batch of the rows at `rows`."""
        taken = Batch(self.rows.take(numbers_from(rows)), self._readers)
        taken._made = {index: column.take(rows) for index, column in self._made.items()}
        return taken


def _arrays(column: pa.Array | pa.ChunkedArray) -> Sequence[pa.Array]:
    return column.chunks if isinstance(column, pa.ChunkedArray) else [column]
