"""Lists as bytes: one after the other, each element a byte that says whether it is there, then its value's bytes.

Equal lists have equal bytes, and the text dictionary holds any bytes, so a list is a code like a text. Elements that
are texts, or lists, are their codes.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa

from catalog.types import Physical, SqlType
from ivm.trace.column import DTYPES, Array, Column, Ints, validity_mask
from ivm.trace.dictionary import Codes, TextDictionary
from ivm.trace.sequences import numbers_from
from ivm.trace.texts import Strings, Texts


def element_size(physical: Physical) -> int:
    """Bytes that an element takes."""
    return 1 + DTYPES[physical].itemsize * (2 if physical is Physical.WIDE else 1)


def lists_of(column: Column, offsets: Ints, physical: Physical, dictionary: TextDictionary) -> Codes:
    """The codes of the lists of each run [offsets[c], offsets[c + 1]) of a column's values, NULLs included."""
    size = element_size(physical)
    data = np.zeros((len(column), size), np.uint8)
    values = np.ascontiguousarray(column.values, DTYPES[physical])
    data[:, 0] = True if column.valid is None else column.valid
    data[:, 1:] = values.view(np.uint8).reshape(len(column), size - 1)
    if column.valid is not None:
        data[~column.valid, 1:] = 0
    codes = dictionary.encode_parts(data.reshape(-1), offsets * size)
    if physical is Physical.CODE:
        elements = column.values if column.valid is None else column.values[column.valid]
        dictionary.note_lists(codes, np.ascontiguousarray(elements, np.int32))
    return codes


def joined(column: Column, offsets: Ints, separator: str, dictionary: TextDictionary) -> Array:
    """The codes of the texts of each run [offsets[c], offsets[c + 1]) of a column of codes, joined. Cost: the bytes."""
    codes = np.full(2 * len(column), dictionary.code(separator), np.int32)  # behind each text a separator
    codes[::2] = column.values
    is_there = np.ones(len(codes), np.bool_)
    is_there[2 * offsets[1:][np.diff(offsets) > 0] - 1] = False  # but behind the last of a run
    data, begins = dictionary.now().packed(codes, is_there)
    return dictionary.encode_parts(data, begins[2 * offsets])


def elements_of(texts: Texts) -> Codes:
    """The codes that are elements of lists of codes."""
    data, _ = texts.packed()
    size = element_size(Physical.CODE)
    parts = data[: int((texts.ends - texts.starts).sum())].reshape(-1, size)
    there = parts[parts[:, 0] != 0, 1:]
    return np.ascontiguousarray(there).view(np.int32).reshape(-1)


def lists_to_arrow(
    column: Column, element: SqlType, strings: Strings, to_arrow: Callable[[Column], pa.Array]
) -> pa.Array:
    """A column of lists as an Arrow array; `to_arrow` makes one of a column of elements. Cost: copies the elements."""
    texts = strings.decode(column.values, column.valid)
    chunks = texts.chunks if isinstance(texts, pa.ChunkedArray) else [texts]
    lists = []
    start = 0
    for chunk in chunks:
        valid = None if column.valid is None else column.valid[start : start + len(chunk)]
        lists.append(_chunk_to_arrow(chunk, valid, element, to_arrow))
        start += len(chunk)
    return lists[0] if len(lists) == 1 else pa.chunked_array(lists)


def lists_from_arrow(
    array: pa.Array, element: SqlType, dictionary: TextDictionary, to_column: Callable[[pa.Array], Column]
) -> Column:
    """The column that `lists_to_arrow` made an array of; `to_column` makes one of an array of elements."""
    ends = np.concatenate([[0], np.cumsum(array.value_lengths().fill_null(0).to_numpy())])
    codes = lists_of(to_column(array.flatten()), ends, element.physical, dictionary)
    return Column(codes, validity_mask(array, array.buffers()[0]))


def _chunk_to_arrow(
    texts: pa.Array, valid: Array | None, element: SqlType, to_arrow: Callable[[Column], pa.Array]
) -> pa.Array:
    _, ends, data = texts.buffers()
    size = element_size(element.physical)
    offsets = np.frombuffer(ends, np.int32, len(texts) + 1, texts.offset * 4) // size
    raw = np.frombuffer(data, np.uint8, int(offsets[-1] - offsets[0]) * size, int(offsets[0]) * size)
    parts = raw.reshape(-1, size)
    dtype = DTYPES[element.physical]
    values = np.ascontiguousarray(parts[:, 1:]).view(dtype)
    there = parts[:, 0] != 0
    values = values if element.physical is Physical.WIDE else values.reshape(len(parts))
    elements = to_arrow(Column(values, None if there.all() else there))
    mask = None if valid is None else pa.array(np.logical_not(valid))
    return pa.ListArray.from_arrays(numbers_from(offsets - offsets[0]), elements, mask=mask)
