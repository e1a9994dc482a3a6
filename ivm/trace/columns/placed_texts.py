"""Texts of a column of record batches, read where they lie: a few of them cost less so than one call of Arrow's."""

from __future__ import annotations

from collections.abc import Sequence
from struct import Struct
from typing import NamedTuple

import pyarrow as pa

from ivm.catalog.types import Kind, Physical, SqlType
from ivm.kernels.memory.exported import BYTES, OFFSET_BYTES, OFFSETS, WIDTH
from ivm.kernels.memory.places import ADDRESS, WORDS
from ivm.trace.columns.exported import MEMORY, PAGE

_OFFSET_BYTES = {
    **dict.fromkeys((pa.string().id, pa.binary().id), 4),
    **dict.fromkeys((pa.large_string().id, pa.large_binary().id), 8),
}
_CODE = {size: Struct(f"={form}").unpack_from for size, form in ((1, "B"), (2, "H"), (4, "I"), (8, "Q"))}
_BOUNDS = {4: Struct("=2i").unpack_from, 8: Struct("=2q").unpack_from}


class PlacedTexts(NamedTuple):
    """Where the texts of an array lie, none of which is NULL: the first of `offsets`, which have `size` bytes each, and
    the bytes that they count from `data` on; and where they are the values of a dictionary, the first of its `codes`,
    which have `width` bytes each and are small enough to have no sign; else 0.
    """

    offsets: int
    size: int
    data: int
    codes: int = 0
    width: int = 0

    def words(self) -> list[int]:
        """The same as a place; see `ivm.kernels.memory.exported`."""
        words = [0] * WORDS
        words[OFFSET_BYTES], words[BYTES], words[WIDTH] = self.size, self.data, self.width
        words[ADDRESS], words[OFFSETS] = self.codes if self.width else self.offsets, self.offsets
        return words

    def text(self, place: int) -> bytes:
        """The text at a place of the array."""
        if self.width:
            place = _CODE[self.width](MEMORY, self.codes + self.width * place - PAGE)[0]
        begin, end = _BOUNDS[self.size](MEMORY, self.offsets + self.size * place - PAGE)
        data = self.data - PAGE
        return MEMORY[data + begin : data + end]


def texts_in_place(place: Sequence[int]) -> PlacedTexts:
    """What a place says of texts, which has OFFSET_BYTES and no stride."""
    size, data, width = place[OFFSET_BYTES], place[BYTES], place[WIDTH]
    if width:
        return PlacedTexts(place[OFFSETS], size, data, place[ADDRESS], width)
    return PlacedTexts(place[ADDRESS], size, data)


def placed_texts(array: pa.Array, type: SqlType) -> PlacedTexts | None:
    """Where the texts of an array lie; None if some text is NULL, or they are kept in another way."""
    if type.physical is not Physical.CODE or array.null_count:
        return None
    codes = width = 0
    if pa.types.is_dictionary(array.type):
        indices, array = array.indices, array.dictionary
        width = indices.type.bit_width // 8
        codes = indices.buffers()[1].address + width * indices.offset
    size = _OFFSET_BYTES.get(array.type.id)
    if size is None or array.null_count or (width and type.kind is not Kind.VARCHAR):
        return None
    _, offsets, data = array.buffers()
    if offsets is None or data is None:
        return None
    return PlacedTexts(offsets.address + size * array.offset, size, data.address, codes, width)
