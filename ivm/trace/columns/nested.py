"""Lists, structs and maps as bytes that are equal where the values are, and in the order in which DuckDB has them.

So one is a code of the text dictionary, and whatever groups, joins, orders or compares texts does the same with it. The
bytes are

* of a struct its fields, one after the other; of a list or an array its elements; of a map its entries, as structs of
  two fields. Within another, a list ends with a zero;
* of a field or an element a 1, and its value, or a 2 for NULL, which is above all values, and what stands for one;
* of a number, a day, a truth or a label as many bytes as it has, the highest first, so that they are in its order.
  Zeros of both signs are one, and so are all NaNs, above all numbers;
* of a text its bytes, each one higher, and a zero; of a BLOB the same, where 0 and 1 take two bytes.

`Leaf` and `ArrayOf` are how Arrow's arrays and columns become each other of what is not nested.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ivm.catalog.types import Kind, Physical, SqlType
from ivm.kernels.texts.dictionary import Bytes
from ivm.kernels.texts.nested import BACK, OPEN, PASS, TO_ZERO, find_elements, find_ends, put_parts
from ivm.kernels.texts.parts import pack_texts
from ivm.trace.columns.column import (
    ALL,
    DTYPES,
    Array,
    Bools,
    Column,
    Ints,
    item_size,
    offsets_of,
    readonly,
    validity_buffer,
    validity_mask,
)
from ivm.trace.text.dictionary import Codes, TextDictionary
from ivm.trace.text.texts import Strings, text_buffers

Leaf = Callable[[pa.Array, SqlType], Column]
ArrayOf = Callable[[Column, SqlType], pa.Array]
Parts = tuple[Bytes, Ints]
"""Bytes, and where each part of them begins and the last one ends, int64 (n + 1,)."""

_THERE, _NULL = 1, 2
_SIGN32, _SIGN64 = np.uint32(1 << 31), np.uint64(1 << 63)
_REST = np.int64((1 << 63) - 1)
_MOST_BYTES = 2**31 - 1


def codes_of(array: pa.Array, type_: SqlType, dictionary: TextDictionary, leaf: Leaf) -> Column:
    """The codes of nested values in Arrow's form, adding new ones. Cost: some passes over what they are made of."""
    valid = validity_mask(array, array.buffers()[0])
    parts = _fields(array, type_, leaf) if type_.kind is Kind.STRUCT else _lists(array, type_, leaf)
    return Column(dictionary.encode_parts(*parts, valid), valid)


def codes_of_runs(elements: pa.Array, offsets: Ints, type_: SqlType, dictionary: TextDictionary, leaf: Leaf) -> Codes:
    """The codes of the lists of each run [offsets[c], offsets[c + 1]) of elements of a type. Cost: as `codes_of`."""
    data, begins = _flagged(elements, type_, leaf)
    return dictionary.encode_parts(data, begins[offsets])


def values_of(column: Column, type_: SqlType, strings: Strings, array_of: ArrayOf) -> pa.Array | pa.ChunkedArray:
    """The nested values that codes stand for in Arrow's form; chunked if they are beyond 2 GiB. Cost: as `codes_of`."""
    valid = column.valid
    found = _decoded(column.values if valid is None else column.values[valid], type_, strings, array_of)
    return found if valid is None else found.take(pa.array(np.cumsum(valid) - 1, pa.int64(), mask=~valid))


def _decoded(codes: Array, type_: SqlType, strings: Strings, array_of: ArrayOf) -> pa.Array | pa.ChunkedArray:
    data, offsets = strings.packed(codes)
    if offsets[-1] > _MOST_BYTES and len(codes) > 1:
        del data
        middle = len(codes) // 2
        halves = [_decoded(half, type_, strings, array_of) for half in (codes[:middle], codes[middle:])]
        return pa.chunked_array([c for h in halves for c in (h.chunks if isinstance(h, pa.ChunkedArray) else [h])])
    if type_.kind is Kind.STRUCT:
        return _Reader(readonly(data), array_of).value(offsets[:-1], type_, None)[0]
    return _Reader(readonly(data), array_of).lists(offsets[:-1], offsets[1:], type_, None)[0]


def arrays_of(lists: pa.ListArray, size: int) -> pa.FixedSizeListArray:
    """Lists of `size` elements each as Arrow's lists of one length, which has NULLs under NULL. Cost: a pass."""
    valid, elements = validity_mask(lists, lists.buffers()[0]), lists.flatten()
    if valid is None:
        return pa.FixedSizeListArray.from_arrays(elements, size)
    places = (np.cumsum(valid)[:, None] - 1) * size + np.arange(size)
    there = np.repeat(valid, size)
    elements = elements.take(pa.array(np.where(there, places.reshape(-1), 0), pa.int64(), mask=~there))
    return pa.FixedSizeListArray.from_arrays(elements, size, mask=pa.array(~valid))


def _flagged(array: pa.Array, type_: SqlType, leaf: Leaf) -> Parts:
    """For each value the byte that says whether it is there, and its bytes."""
    size = _size(type_)
    if size is not None:
        return _of_numbers(leaf(array, type_), type_, size)
    valid = validity_mask(array, array.buffers()[0])
    flags = np.full(len(array), _THERE, np.uint8)
    if valid is not None:
        flags[~valid] = _NULL
    if type_.kind is Kind.STRUCT:
        return _fields(array, type_, leaf, flags)
    data, starts, ends = _texts(array, type_) if type_.element is None else _ends_of(*_lists(array, type_, leaf))
    lengths = ends - starts if valid is None else np.where(valid, ends - starts, 0)
    offsets = offsets_of(lengths + 2)
    out = np.zeros(int(offsets[-1]), np.uint8)
    out[offsets[:-1]] = flags
    put_parts(readonly(data), readonly(starts), readonly(lengths), readonly(offsets[:-1] + 1), out)
    return out, offsets


def _ends_of(data: Bytes, offsets: Ints) -> tuple[Bytes, Ints, Ints]:
    return data, np.ascontiguousarray(offsets[:-1]), np.ascontiguousarray(offsets[1:])


def _lists(array: pa.Array, type_: SqlType, leaf: Leaf) -> Parts:
    """For each list its elements."""
    assert type_.element is not None, "it is a list or a map"
    if pa.types.is_fixed_size_list(array.type):
        array = array.cast(pa.list_(array.type.value_type))
    if pa.types.is_map(array.type):
        entries = pa.StructArray.from_arrays([array.keys, array.items], names=["key", "value"])
        as_list = pa.list_(entries.type)
        array = pa.Array.from_buffers(as_list, len(array), array.buffers()[:2], offset=array.offset, children=[entries])
    valid, lengths = validity_mask(array, array.buffers()[0]), np.asarray(array.value_lengths().fill_null(0))
    offsets = offsets_of(lengths if valid is None else np.where(valid, lengths, 0))
    data, begins = _flagged(array.flatten(), type_.element, leaf)
    return data, begins[offsets]


def _fields(array: pa.Array, type_: SqlType, leaf: Leaf, flags: npt.NDArray[np.uint8] | None = None) -> Parts:
    """For each struct its fields, behind a flag if there are any."""
    fields = [_flagged(each, field, leaf) for each, (_, field) in zip(array.flatten(), type_.fields, strict=True)]
    lengths = [np.diff(offsets) for _, offsets in fields]
    total = np.zeros(len(array), np.int64) if flags is None else np.ones(len(array), np.int64)
    for length in lengths:
        total += length
    offsets = offsets_of(total)
    out = np.zeros(int(offsets[-1]), np.uint8)
    begins = offsets[:-1].copy()
    if flags is not None:
        out[begins] = flags
        begins += 1
    for (data, starts), length in zip(fields, lengths, strict=True):
        put_parts(readonly(data), readonly(starts[:-1]), readonly(length), readonly(begins), out)
        begins = begins + length
    return out, offsets


def _size(type_: SqlType) -> int | None:
    """The bytes of each value; None if they are not all of one length."""
    if type_.kind is Kind.NULL:
        return 0
    return None if type_.physical is Physical.CODE else item_size(type_.physical)


def _of_numbers(column: Column, type_: SqlType, size: int) -> Parts:
    data = np.zeros((len(column), 1 + size), np.uint8)
    data[:, 0] = _THERE
    if size:
        data[:, 1:] = _ordered(column.values, type_.physical)
    if column.valid is not None:
        data[~column.valid] = 0
        data[~column.valid, 0] = _NULL
    return data.reshape(-1), np.arange(len(column) + 1) * (1 + size)


def _ordered(values: Any, physical: Physical) -> npt.NDArray[np.uint8]:
    """The bytes (n, size) of values, in their order."""
    if physical is Physical.BOOL:
        return np.ascontiguousarray(values, np.bool_).view(np.uint8).reshape(-1, 1)
    if physical is Physical.WIDE:
        words = np.stack([values[:, 1].view(np.uint64) ^ _SIGN64, values[:, 0].view(np.uint64)], axis=1)
        return np.ascontiguousarray(words.astype(">u8")).view(np.uint8).reshape(-1, 16)
    if physical is Physical.INT32:
        return _bytes_of(np.ascontiguousarray(values, np.int32).view(np.uint32) ^ _SIGN32, ">u4")
    if physical is Physical.FLOAT64:
        bits = np.where(np.isnan(values), np.nan, values + 0.0).view(np.int64)
        values = bits ^ ((bits >> 63) & _REST)
    return _bytes_of(np.ascontiguousarray(values, np.int64).view(np.uint64) ^ _SIGN64, ">u8")


def _bytes_of(words: Any, item: str) -> npt.NDArray[np.uint8]:
    return words.astype(item).view(np.uint8).reshape(-1, np.dtype(item).itemsize)


def _numbers(data: npt.NDArray[np.uint8], physical: Physical) -> Array:
    """The values of bytes (n, size), as `_ordered` has made them."""
    data = np.ascontiguousarray(data)
    if physical is Physical.BOOL:
        return data.reshape(-1).view(np.bool_)
    if physical is Physical.INT32:
        return (data.view(">u4").reshape(-1).astype(np.uint32) ^ _SIGN32).view(np.int32)
    words = data.view(">u8").reshape(len(data), -1).astype(np.uint64)
    words[:, 0] ^= _SIGN64
    if physical is Physical.WIDE:
        return np.ascontiguousarray(words[:, ::-1]).view(np.int64)
    values = np.ascontiguousarray(words[:, 0]).view(np.int64)
    return (values ^ ((values >> 63) & _REST)).view(np.float64) if physical is Physical.FLOAT64 else values


def _texts(array: pa.Array, type_: SqlType) -> tuple[Bytes, Ints, Ints]:
    """The bytes of texts or BLOBs, none of which is zero, and where each begins and ends."""
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    given, where, _ = text_buffers(array)
    offsets = where.astype(np.int64) if len(array) else np.zeros(1, np.int64)
    data = given[offsets[0] : offsets[-1]]
    offsets -= offsets[0]
    if type_.kind is not Kind.BLOB:
        return _ends_of(data + np.uint8(1), offsets)
    low = data < 2
    before = offsets_of(low.astype(np.int64))
    out = np.repeat(data, 1 + low)
    leads = (np.arange(len(data)) + before[:-1])[low]
    out[leads], out[leads + 1] = 1, data[low] + np.uint8(2)
    return _ends_of(out, offsets + before[offsets])


@lru_cache(1 << 10)
def _steps(type_: SqlType, *, flag: bool) -> Ints:
    """How kernels pass a value of a type, behind its flag or with it."""
    return readonly(np.array([(PASS, 1)] * flag + _passed(type_, int(flag)), np.int64).reshape(-1, 2))


def _passed(type_: SqlType, at: int) -> list[tuple[int, int]]:
    """The steps, the first of which is number `at`."""
    size = _size(type_)
    if size is not None:
        return [(PASS, size)]
    if type_.kind is Kind.STRUCT:
        steps = list[tuple[int, int]]()
        for _, field in type_.fields:
            steps += [(PASS, 1), *_passed(field, at + len(steps) + 1)]
        return steps
    if type_.element is None:
        return [(TO_ZERO, 0)]
    within = [(PASS, 1), *_passed(type_.element, at + 2)]
    return [(OPEN, at + len(within) + 2), *within, (BACK, at)]


class _Reader:
    """Reads values where they lie in bytes; each method says where they end, too."""

    def __init__(self, data: Bytes, array_of: ArrayOf) -> None:
        self._data, self._array_of = data, array_of

    def _element(self, starts: Ints, type_: SqlType) -> tuple[pa.Array, Ints]:
        """Values with their flags."""
        there = self._data[starts] == _THERE
        return self.value(starts + 1, type_, None if there.all() else there)

    def value(self, starts: Ints, type_: SqlType, valid: Bools | None) -> tuple[pa.Array, Ints]:
        """Values without flags, NULL where not `valid`."""
        size = _size(type_)
        if size is not None:
            return self._of_size(starts, type_, valid, size)
        if type_.kind is Kind.STRUCT:
            fields, at = list[pa.Array](), starts
            for _, field in type_.fields:
                found, at = self._element(at, field)
                fields.append(found)
            names = [pa.field(name, each.type) for name, each in zip(type_.names, fields, strict=True)]
            return pa.StructArray.from_arrays(fields, fields=names, mask=_mask(valid)), at
        if type_.element is not None:
            found, ends = self.lists(starts, None, type_, valid)
            return found, ends + 1
        return self._texts(starts, type_, valid)

    def lists(self, starts: Ints, stops: Ints | None, type_: SqlType, valid: Bools | None) -> tuple[pa.Array, Ints]:
        """Lists that end at a zero, or are one after the other and end at `stops`; NULL where not `valid`."""
        assert type_.element is not None, "it is a list or a map"
        counts, ends, places = self._elements(starts, stops, type_.element)
        elements, _ = self._element(places, type_.element)
        offsets, mask = pa.array(offsets_of(counts), pa.int32()), _mask(valid)
        if type_.kind is not Kind.MAP:
            lists = pa.ListArray.from_arrays(offsets, elements, mask=mask)
            return arrays_of(lists, type_.size) if type_.kind is Kind.ARRAY else lists, ends
        keys, items = elements.flatten()
        return pa.MapArray.from_arrays(offsets, keys, items, mask=mask), ends

    def _elements(self, starts: Ints, stops: Ints | None, element: SqlType) -> tuple[Ints, Ints, Ints]:
        """How many elements lists have, where they end, and where their elements begin."""
        size = _size(element)
        if size is not None and stops is not None:
            places = np.arange(starts[0], stops[-1], 1 + size) if len(starts) else starts
            return (stops - starts) // (1 + size), stops, places
        stops = np.full(len(starts), len(self._data)) if stops is None else stops
        counts, ends = np.zeros(len(starts), np.int64), np.zeros(len(starts), np.int64)
        places, steps = np.empty(len(self._data) // _least(element) + 1, np.int64), _steps(element, flag=True)
        total = find_elements(self._data, readonly(starts), readonly(stops), steps, counts, ends, places)
        return counts, ends, places[:total]

    def _of_size(self, starts: Ints, type_: SqlType, valid: Bools | None, size: int) -> tuple[pa.Array, Ints]:
        n = len(starts)
        if not size:
            return pa.nulls(n), starts
        stride = 1 + size
        if n and int(starts[-1] - starts[0]) == stride * (n - 1) and (np.diff(starts) == stride).all():
            raw = np.lib.stride_tricks.as_strided(self._data[int(starts[0]) :], (n, size), (stride, 1))
        else:
            raw = self._data[starts[:, None] + np.arange(size)]
        values = _numbers(raw, type_.physical) if n else np.zeros((0, 2) if size == 16 else 0, DTYPES[type_.physical])
        if valid is not None:
            values = np.where(valid[:, None] if values.ndim == 2 else valid, values, np.zeros((), values.dtype))
        return self._array_of(Column(values, valid), type_), starts + size

    def _texts(self, starts: Ints, type_: SqlType, valid: Bools | None) -> tuple[pa.Array, Ints]:
        ends, offsets = np.empty(len(starts), np.int64), np.empty(len(starts) + 1, np.int64)
        find_ends(self._data, readonly(starts), _steps(type_, flag=False), ends)
        data = np.empty(int((ends - starts).sum()) + 8, np.uint8)
        pack_texts(self._data, readonly(starts), readonly(ends - 1), ALL, offsets, data)
        data = data[: int(offsets[-1])]
        if type_.kind is not Kind.BLOB:
            data -= np.uint8(1)
        else:
            leads = data == 1
            data[np.flatnonzero(leads) + 1] -= np.uint8(2)
            data, offsets = data[~leads], offsets - offsets_of(leads.astype(np.int64))[offsets]
        target = pa.binary() if type_.kind is Kind.BLOB else pa.string()
        validity = validity_buffer(valid)
        buffers = [validity, pa.py_buffer(offsets.astype(np.int32)), pa.py_buffer(data)]
        return pa.Array.from_buffers(target, len(starts), buffers), ends


def _least(type_: SqlType) -> int:
    """The fewest bytes that a value takes with its flag."""
    size = _size(type_)
    if size is not None:
        return 1 + size
    return 1 + sum(_least(field) for _, field in type_.fields) if type_.kind is Kind.STRUCT else 2


def _mask(valid: Bools | None) -> pa.Array | None:
    return None if valid is None else pa.array(~valid)
