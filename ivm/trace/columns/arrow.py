"""Columns from Arrow arrays and back, without copying where the layouts agree.

`pa.array` imports pandas, where it is installed, to see whether what it is given belongs to it. That takes 0.3 s, which
a program that has nothing to do with pandas is spared: by `array_from` and `numbers_from`.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from itertools import accumulate
from typing import Any

import numpy as np
import pyarrow as pa

from ivm.catalog.types import Kind, Physical, SqlType
from ivm.trace.columns.column import (
    DTYPES,
    Array,
    Bools,
    Column,
    Ints,
    concat,
    empty_column,
    unpacked,
    validity_buffer,
    validity_mask,
    zeroed,
)
from ivm.trace.columns.nested import codes_of, codes_of_runs, values_of
from ivm.trace.columns.stand_ins import enum_array, enum_type, map_of, positions_of
from ivm.trace.text.dictionary import Codes, TextDictionary
from ivm.trace.text.texts import Strings

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
    Kind.TIMESTAMP_S: pa.timestamp("s"),
    Kind.TIMESTAMP_MS: pa.timestamp("ms"),
    Kind.TIMESTAMP_NS: pa.timestamp("ns"),
    Kind.TIME: pa.time64("us"),
    Kind.VARCHAR: pa.string(),
    Kind.BLOB: pa.binary(),
    Kind.UUID: pa.string(),
    Kind.JSON: pa.string(),
    Kind.INTERVAL: pa.month_day_nano_interval(),
}

NO_TEXTS = TextDictionary()
"""Of columns that have no codes."""
_INDEXES = (pa.int8(), pa.int16(), pa.int32())
_LOOKED_AT = (Kind.UUID, Kind.JSON, Kind.ENUM, Kind.INTERVAL)
"""Kinds of which a text may be none, or a value finer than it is."""
_FEW = 1 << 12
_PLAIN: dict[type, tuple[pa.DataType, str, object]] = {
    int: (pa.int64(), "<i8", 0),
    float: (pa.float64(), "<f8", 0.0),
    bool: (pa.bool_(), "?", False),
}


def arrow_type(type: SqlType) -> pa.DataType:
    """The Arrow type of a column of `type`, as DuckDB exports it."""
    found = _TYPES.get(type.kind)
    if found is not None:
        return found
    if type.kind is Kind.DECIMAL:
        return pa.decimal128(type.precision, type.scale)
    return enum_type(type) if type.kind is Kind.ENUM else _nested_type(type)


def plain_type(given: pa.DataType) -> SqlType:
    """A type whose columns have this Arrow type, which is no DECIMAL, ENUM or nested one."""
    return SqlType(next(kind for kind, each in _TYPES.items() if each == given))


def _nested_type(type: SqlType) -> pa.DataType:
    if type.kind is Kind.STRUCT:
        return pa.struct([(name, arrow_type(field)) for name, (_, field) in zip(type.names, type.fields, strict=True)])
    assert type.element is not None, "it is a list or a map"
    if type.kind in (Kind.LIST, Kind.ARRAY):
        return pa.list_(arrow_type(type.element), type.size or -1)
    (_, key), (_, value) = type.element.fields
    return map_of(arrow_type(key), arrow_type(value))


def is_direct(given: pa.DataType, type: SqlType) -> bool:
    """Whether `to_column` takes arrays of type `given` for a column of `type` without checking a value."""
    if type.is_nested:  # but for a map, of which a key may be there twice
        alike = is_alike(given, type) and type.kind is not Kind.MAP
        return alike and all(map(is_direct, within(given), types_within(type)))
    if type.kind in (Kind.DECIMAL, Kind.HUGEINT):
        if not (pa.types.is_decimal128(given) or pa.types.is_decimal64(given) or pa.types.is_decimal32(given)):
            return False
        return bool(given.scale == type.scale and given.precision <= arrow_type(type).precision)
    if type.kind in _LOOKED_AT:
        return False
    if type.kind is Kind.BLOB:
        return bool(pa.types.is_binary(given) or pa.types.is_large_binary(given))
    if type.kind is Kind.VARCHAR:
        return is_text(given)
    return bool(given == arrow_type(type) or (type.kind is Kind.BIGINT and given == pa.int32()))


def is_alike(given: pa.DataType, type: SqlType) -> bool:
    """Whether both are lists, or arrays of a size, or maps, or structs with fields of the same names in their order."""
    if type.kind is Kind.ARRAY:
        return bool(pa.types.is_fixed_size_list(given)) and given.list_size == type.size
    if type.kind is Kind.LIST:
        return bool(pa.types.is_list(given))
    if type.kind is Kind.MAP:
        return bool(pa.types.is_map(given))
    return bool(pa.types.is_struct(given)) and tuple(given.names) == type.names


def within(given: pa.DataType) -> list[pa.DataType]:
    """The types of what a nested one is made of."""
    if pa.types.is_map(given):
        return [given.key_type, given.item_type]
    return [given.value_type] if is_list(given) else [field.type for field in given]


def parts_of(column: pa.ChunkedArray) -> list[pa.ChunkedArray]:
    """What the values of a nested column are made of, NULLs aside."""
    parts = [_parts(chunk) for chunk in column.chunks]
    kinds = within(column.type)
    return [pa.chunked_array([each[place] for each in parts], kind) for place, kind in enumerate(kinds)]


def _parts(array: pa.Array) -> list[pa.Array]:
    if pa.types.is_map(array.type):
        first, last = (array.offsets[0].as_py(), array.offsets[-1].as_py()) if len(array) else (0, 0)
        return [array.keys[first:last], array.items[first:last]]
    return [array.flatten()] if is_list(array.type) else array.flatten()


def types_within(type: SqlType) -> list[SqlType]:
    """The same of a SQL type."""
    if type.kind in (Kind.LIST, Kind.ARRAY):
        assert type.element is not None, "a list has elements"
        return [type.element]
    fields = type.fields if type.element is None else type.element.fields
    return [field for _, field in fields]


def is_list(given: pa.DataType) -> bool:
    """Whether this is a list of Arrow's, of any lengths or of one."""
    return bool(pa.types.is_list(given) or pa.types.is_fixed_size_list(given))


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

    Takes the type's own Arrow type, any encoding of text, decimals of 32, 64 and 128 bits of the same scale, BIGINT of
    32 bits, nested values of its own type; others are cast, and raise pa.ArrowInvalid where a value does not fit.
    Numbers, dates and timestamps without NULL share the array's memory (a narrow decimal128 as a strided view of its
    low words), which must not be written to, unless they are shorter there.
    Cost: constant then; else a pass. Text: see `TextDictionary.encode`.
    """
    if isinstance(array, pa.ChunkedArray):
        if array.num_chunks == 1:
            return to_column(array.chunk(0), type, dictionary)
        return concat([to_column(chunk, type, dictionary) for chunk in array.chunks] or [empty_column(type.physical)])
    if len(array) == 0:
        return empty_column(type.physical)
    if type.is_nested:
        return codes_of(array, type, dictionary, _leaf)
    if type.physical is Physical.CODE:
        return dictionary.encode(array)
    if type.kind is Kind.NULL or pa.types.is_null(array.type):
        shape = (len(array), 2) if type.physical is Physical.WIDE else len(array)
        return Column(np.zeros(shape, DTYPES[type.physical]), np.zeros(len(array), np.bool_))
    if type.kind is Kind.ENUM:
        array = positions_of(array, type)
    elif array.type != arrow_type(type) and not is_direct(array.type, type):
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
    if type.is_nested:
        return values_of(column, type, strings, _array_of)
    if type.physical is Physical.CODE:
        texts = strings.decode(column.values, column.valid)
        return texts if type.kind is not Kind.BLOB else texts.cast(target)  # which looks at no byte
    if type.kind is Kind.ENUM:
        return enum_array(column.values, column.valid, type)
    validity = validity_buffer(column.valid)
    return pa.Array.from_buffers(target, n, [validity, pa.py_buffer(_outward(column.values, target))])


def _values(array: pa.Array, data: pa.Buffer, physical: Physical) -> Any:
    given = array.type
    n, offset = len(array), array.offset
    if physical is Physical.BOOL:
        return unpacked(data, offset, n)
    if pa.types.is_decimal128(given) or pa.types.is_interval(given):
        words = view_of(data, "<i8", offset * 16, (n, 2), (16, 8))
        return words if physical is Physical.WIDE else words[:, 0]
    size = given.bit_width // 8
    values = view_of(data, item_of(given), offset * size, (n,), (size,))
    return two_words(values) if physical is Physical.WIDE else values.astype(DTYPES[physical], copy=False)


def numbers_in(array: pa.Array) -> Any:
    """The numbers of an array without NULL, not copied; nobody writes to them."""
    size, n = array.type.bit_width // 8, len(array)
    return view_of(array.buffers()[1], item_of(array.type), array.offset * size, (n,), (size,))


def bools_from(values: Bools) -> pa.Array:
    """As `pa.array`, which would load pandas."""
    return pa.Array.from_buffers(pa.bool_(), len(values), [None, pa.py_buffer(np.packbits(values, bitorder="little"))])


def bools_in(array: pa.Array) -> Bools:
    """The truth values of an array without NULL."""
    return unpacked(array.buffers()[1], array.offset, len(array))


def item_of(given: pa.DataType) -> str:
    """How numpy calls what lies in the buffer of an Arrow array of numbers, dates or moments."""
    kind = "f" if pa.types.is_floating(given) else "u" if pa.types.is_unsigned_integer(given) else "i"
    return f"<{kind}{given.bit_width // 8}"


def _outward(values: Array, target: pa.DataType) -> Array:
    """The values as they lie in the buffer of an Arrow array."""
    if pa.types.is_boolean(target):
        return np.packbits(values.view(np.bool_), bitorder="little")
    if pa.types.is_decimal(target) or pa.types.is_interval(target):
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


def lists_of(column: Column, offsets: Ints, element: SqlType, dictionary: TextDictionary) -> Codes:
    """The codes of the lists of each run [offsets[c], offsets[c + 1]) of a column's values, NULLs included."""
    elements = to_arrow(column, element, dictionary.now())
    if isinstance(elements, pa.ChunkedArray):
        elements = pa.concat_arrays(elements.cast(pa.large_string()).chunks)
    return codes_of_runs(elements, offsets, element, dictionary, _leaf)


def _leaf(array: pa.Array, type: SqlType) -> Column:
    return to_column(array, type, NO_TEXTS)


def _array_of(column: Column, type: SqlType) -> pa.Array:
    return to_arrow(column, type, NO_TEXTS.now())


def joined(column: Column, offsets: Ints, separator: str, dictionary: TextDictionary) -> Array:
    """The codes of the texts of each run [offsets[c], offsets[c + 1]) of a column of codes, joined. Cost: the bytes."""
    codes = np.full(2 * len(column), dictionary.code(separator), np.int32)  # behind each text a separator
    codes[::2] = column.values
    is_there = np.ones(len(codes), np.bool_)
    is_there[2 * offsets[1:][np.diff(offsets) > 0] - 1] = False  # but behind the last of a run
    data, begins = dictionary.now().packed(codes, is_there)
    return dictionary.encode_parts(data, begins[2 * offsets])


def array_from(values: Sequence[object]) -> pa.Array | pa.ChunkedArray:
    """As `pa.array`; a few values that are plain are read here, as long as nobody uses pandas."""
    if not isinstance(values, list) or len(values) > _FEW or "pandas" in sys.modules:
        return pa.array(values)
    if all(value is None for value in values):
        return pa.nulls(len(values))
    array = _plain(values)
    return pa.array(values) if array is None else array


def numbers_from(values: Array) -> pa.Array:
    """As `pa.array`, of whole numbers, or of what is stored as such; nothing is copied if they lie side by side."""
    together = np.ascontiguousarray(values)
    return pa.Array.from_buffers(pa.from_numpy_dtype(values.dtype), len(together), [None, pa.py_buffer(together)])


def _plain(values: list[object]) -> pa.Array | None:
    """The array that Arrow would infer for values of one plain type and None; None if they are others."""
    kinds = {value.__class__ for value in values if value is not None}
    if len(kinds) != 1:
        return None
    (kind,) = kinds
    if kind is str:
        return _strings(values)
    if kind not in _PLAIN:
        return None
    arrow, dtype, nothing = _PLAIN[kind]
    try:
        data = np.array([nothing if value is None else value for value in values], dtype)
    except OverflowError:
        return None
    bits = np.packbits(data, bitorder="little") if kind is bool else data
    return pa.Array.from_buffers(arrow, len(values), [_validity(values), pa.py_buffer(bits)])


def _strings(values: list[object]) -> pa.Array:
    texts = [value.encode() if isinstance(value, str) else b"" for value in values]
    ends = np.array([0, *accumulate(map(len, texts))], "<i4")
    buffers = [_validity(values), pa.py_buffer(ends), pa.py_buffer(b"".join(texts))]
    return pa.Array.from_buffers(pa.string(), len(values), buffers)


def _validity(values: list[object]) -> pa.Buffer | None:
    there = np.array([value is not None for value in values], np.bool_)
    return validity_buffer(None if there.all() else there)
