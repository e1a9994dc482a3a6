"""Columns from Arrow arrays and back, without copying where the layouts agree."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from catalog.types import Kind, Physical, SqlType
from ivm.trace.column import DTYPES, Array, Column, concat, empty_column, unpacked, validity_mask, zeroed
from ivm.trace.dictionary import TextDictionary
from ivm.trace.lists import lists_from_arrow, lists_to_arrow
from ivm.trace.stand_ins import enum_array, enum_type, positions_of
from ivm.trace.texts import Strings

_TYPES: dict[Kind, pa.DataType] = {
    Kind.NULL: pa.null(),
    Kind.BOOLEAN: pa.bool_(),
    Kind.TINYINT: pa.int8(),
    Kind.SMALLINT: pa.int16(),
    Kind.INTEGER: pa.int32(),
    Kind.BIGINT: pa.int64(),
    Kind.HUGEINT: pa.decimal128(38, 0),
    Kind.UTINYINT: pa.uint8(),
    Kind.USMALLINT: pa.uint16(),
    Kind.UINTEGER: pa.uint32(),
    Kind.UBIGINT: pa.uint64(),
    Kind.FLOAT: pa.float32(),
    Kind.DOUBLE: pa.float64(),
    Kind.DATE: pa.date32(),
    Kind.TIMESTAMP: pa.timestamp("us"),
    Kind.TIMESTAMPTZ: pa.timestamp("us", "UTC"),
    Kind.TIME: pa.time64("us"),
    Kind.VARCHAR: pa.string(),
    Kind.BLOB: pa.binary(),
    Kind.UUID: pa.string(),
}

_INDEXES = (pa.int8(), pa.int16(), pa.int32())


def arrow_type(type: SqlType) -> pa.DataType:
    """The Arrow type of a column of `type`, as DuckDB exports it; KeyError for INTERVAL, which has no columns."""
    if type.kind is Kind.DECIMAL:
        return pa.decimal128(type.precision, type.scale)
    if type.element is not None:
        return pa.list_(arrow_type(type.element))
    if type.kind is Kind.ENUM:
        return enum_type(type)
    return _TYPES[type.kind]


def is_direct(given: pa.DataType, type: SqlType) -> bool:
    """Whether `to_column` takes arrays of type `given` for a column of `type` without checking a value."""
    if type.kind in (Kind.DECIMAL, Kind.HUGEINT):
        if not (pa.types.is_decimal128(given) or pa.types.is_decimal64(given) or pa.types.is_decimal32(given)):
            return False
        return bool(given.scale == type.scale and given.precision <= arrow_type(type).precision)
    if type.kind in (Kind.UUID, Kind.ENUM):  # of which a text may be none
        return False
    if type.kind is Kind.BLOB:
        return bool(pa.types.is_binary(given) or pa.types.is_large_binary(given))
    return is_text(given) if type.kind is Kind.VARCHAR else bool(given == arrow_type(type))


def is_text(given: pa.DataType) -> bool:
    """Whether this is one of the encodings of text that are kept: Arrow computes little with others."""
    value = given
    if pa.types.is_dictionary(given):
        if given.index_type not in _INDEXES:
            return False
        value = given.value_type
    return bool(pa.types.is_string(value) or pa.types.is_large_string(value))


def to_column(array: pa.Array | pa.ChunkedArray, type: SqlType, dictionary: TextDictionary) -> Column:
    """An Arrow array as a column of `type`; text is put into `dictionary`, values under NULL are zero.

    Takes the type's own Arrow type, any encoding of text, decimals of 32, 64 and 128 bits of the same scale, lists of
    the element's own type; others are cast, and raise pa.ArrowInvalid where a value does not fit. Numbers, dates and
    timestamps without NULL share the array's memory (a narrow decimal128 as a strided view of its low words), which
    must not be written to.
    Cost: constant then; else a pass. Text: see `TextDictionary.encode`.
    """
    if isinstance(array, pa.ChunkedArray):
        if array.num_chunks == 1:
            return to_column(array.chunk(0), type, dictionary)
        return concat([to_column(chunk, type, dictionary) for chunk in array.chunks] or [empty_column(type.physical)])
    if len(array) == 0:
        return empty_column(type.physical)
    if type.element is not None:
        element = type.element
        return lists_from_arrow(array, element, dictionary, lambda given: to_column(given, element, dictionary))
    if type.physical is Physical.CODE:
        return dictionary.encode(array)
    if type.kind is Kind.NULL or pa.types.is_null(array.type):
        return _nulls(len(array), type.physical)
    if type.kind is Kind.ENUM:
        array = positions_of(array, type)
    elif not is_direct(array.type, type):
        array = array.cast(arrow_type(type))
    validity, data = array.buffers()
    valid = validity_mask(array, validity)
    values = _values(array, data, type.physical)
    return Column(values if valid is None else zeroed(values, valid), valid)


def to_arrow(column: Column, type: SqlType, strings: Strings) -> pa.Array:
    """The column as an Arrow array of `arrow_type(type)`; a pa.ChunkedArray only of text beyond 2 GiB.

    Cost: shares the memory of contiguous numbers, dates and timestamps; else a pass.
    """
    n = len(column)
    target = arrow_type(type)
    if type.kind is Kind.NULL:
        return pa.nulls(n)
    if type.element is not None:
        element = type.element
        return lists_to_arrow(column, element, strings, lambda elements: to_arrow(elements, element, strings))
    if type.physical is Physical.CODE:
        texts = strings.decode(column.values, column.valid)
        return texts if type.kind is not Kind.BLOB else texts.cast(target)  # which looks at no byte
    if type.kind is Kind.ENUM:
        return enum_array(column.values, column.valid, type)
    validity = None if column.valid is None else pa.py_buffer(np.packbits(column.valid, bitorder="little"))
    return pa.Array.from_buffers(target, n, [validity, pa.py_buffer(_outward(column.values, target))])


def _values(array: pa.Array, data: pa.Buffer, physical: Physical) -> Any:
    given = array.type
    n, offset = len(array), array.offset
    if physical is Physical.BOOL:
        return unpacked(data, offset, n)
    if pa.types.is_decimal128(given):
        words = view_of(data, "<i8", offset * 16, (n, 2), (16, 8))
        return words if physical is Physical.WIDE else words[:, 0]
    size = given.bit_width // 8
    values = view_of(data, item_of(given), offset * size, (n,), (size,))
    return two_words(values) if physical is Physical.WIDE else values.astype(DTYPES[physical], copy=False)


def item_of(given: pa.DataType) -> str:
    """How numpy calls what lies in the buffer of an Arrow array of numbers, dates or moments."""
    kind = "f" if pa.types.is_floating(given) else "u" if pa.types.is_unsigned_integer(given) else "i"
    return f"<{kind}{given.bit_width // 8}"


def _outward(values: Array, target: pa.DataType) -> Array:
    """The values as they lie in the buffer of an Arrow array."""
    if pa.types.is_boolean(target):
        return np.packbits(values.view(np.bool_), bitorder="little")
    if pa.types.is_decimal(target):
        return np.ascontiguousarray(values) if values.ndim == 2 else two_words(values)
    return np.ascontiguousarray(values if values.ndim == 1 else values[:, 0], item_of(target))


class _Memory:
    """Arrow's memory as numpy asks for it. Writable in name only: kernels are compiled for one kind of array."""

    def __init__(self, owner: object, interface: dict[str, Any]) -> None:
        self.owner = owner
        self.__array_interface__ = interface


def view_at(owner: object, address: int, item: str, shape: tuple[int, ...], strides: tuple[int, ...]) -> Any:
    """An array over memory that `owner` keeps alive, which must not be written to; a copy if it is not aligned.

    `item` is numpy's name of what lies there, such as "<i8".
    """
    interface = {"version": 3, "typestr": item, "shape": shape, "strides": strides, "data": (address, False)}
    view = np.asarray(_Memory(owner, interface))
    return view if view.flags.aligned else view.copy()


def view_of(data: pa.Buffer, item: str, offset: int, shape: tuple[int, ...], strides: tuple[int, ...]) -> Any:
    """As `view_at`, of what a buffer holds from byte `offset` on."""
    return view_at(data, data.address + offset, item, shape, strides)


def two_words(values: Array) -> Array:
    """Integers as 128 bits."""
    words = np.zeros((len(values), 2), np.int64)
    words[:, 0] = values
    if values.dtype.kind != "u":
        words[:, 1] = words[:, 0] >> 63
    return words


def _nulls(n: int, physical: Physical) -> Column:
    shape = (n, 2) if physical is Physical.WIDE else (n,)
    return Column(np.zeros(shape, DTYPES[physical]), np.zeros(n, np.bool_))
