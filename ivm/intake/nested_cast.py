"""Lists, structs and maps as a column takes them: of Arrow data, and of values of Python's."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.types as arrow

from ivm.catalog.names import key, suggestion
from ivm.catalog.types import Kind, SqlType
from ivm.trace.columns.arrow import arrow_type
from ivm.trace.columns.nested import arrays_of

Cast = Callable[[pa.ChunkedArray, SqlType], pa.ChunkedArray]
"""As `exact_cast`, of what values are made of."""
Made = Callable[[list[Any], SqlType], pa.ChunkedArray]
"""Values of Python's as `to_column` takes them."""


def nested_cast(values: pa.ChunkedArray, type: SqlType, cast: Cast) -> pa.ChunkedArray:
    """Arrow's lists, of any layout, structs and maps for a column of `type`; a list of keys and values is a map, too.

    Structs have their fields by name, in any case, and NULL for those that they lack. TypeError where types do not go
    together or a field is not known, ValueError where a value does not fit, a key is NULL or there twice.
    """
    of_kind = {Kind.LIST: _cast_list, Kind.ARRAY: _cast_array, Kind.STRUCT: _cast_struct, Kind.MAP: _cast_map}[
        type.kind
    ]
    chunks = [of_kind(chunk, type, cast) for chunk in values.chunks]
    return pa.chunked_array(chunks, arrow_type(type) if not chunks else chunks[0].type)


def _cast_list(array: pa.Array, type: SqlType, cast: Cast) -> pa.Array:
    assert type.element is not None, "a list has elements"
    offsets, elements = _runs(array)
    return pa.ListArray.from_arrays(offsets, _one(cast(pa.chunked_array([elements]), type.element)), mask=_mask(array))


def _cast_array(array: pa.Array, type: SqlType, cast: Cast) -> pa.Array:
    return _of_size(_cast_list(array, type, cast), type)


def _of_size(lists: pa.ListArray, type: SqlType) -> pa.Array:
    """Lists as arrays; ValueError for one that has not as many elements."""
    lengths = lists.value_lengths().drop_null()
    other = next((length for length in lengths.unique().to_pylist() if length != type.size), None)
    if other is not None:
        raise ValueError(f"it holds a list of {other} elements, and {type} has {type.size}")
    return arrays_of(lists, type.size)


def _cast_struct(array: pa.Array, type: SqlType, cast: Cast) -> pa.Array:
    if not arrow.is_struct(array.type):
        raise TypeError(f"it has Arrow type {array.type}")
    given = {key(name): each for name, each in zip(array.type.names, array.flatten(), strict=True)}
    _check_names(array.type.names, type)
    fields = [
        _one(cast(pa.chunked_array([given.get(key(name), pa.nulls(len(array)))]), field)) for name, field in type.fields
    ]
    return _struct_of(fields, type, _mask(array))


def _cast_map(array: pa.Array, type: SqlType, cast: Cast) -> pa.Array:
    assert type.element is not None, "a map has entries"
    (_, of_keys), (_, of_values) = type.element.fields
    if arrow.is_map(array.type):
        offsets, first, last = array.offsets, array.offsets[0].as_py(), array.offsets[-1].as_py()
        keys, values = array.keys[first:last], array.items[first:last]
        offsets = pa.array(np.asarray(offsets) - first, pa.int32())
    else:
        offsets, entries = _runs(array)
        if not arrow.is_struct(entries.type) or entries.type.num_fields != 2:
            raise TypeError(f"it has Arrow type {array.type}")
        keys, values = entries.flatten()
    keys = _one(cast(pa.chunked_array([keys]), of_keys))
    _check_keys(keys, np.asarray(offsets))
    return pa.MapArray.from_arrays(offsets, keys, _one(cast(pa.chunked_array([values]), of_values)), mask=_mask(array))


def _check_keys(keys: pa.Array, offsets: Any) -> None:
    """ValueError for a key that is NULL or there twice; of keys that are nested the latter is not looked for."""
    if keys.null_count:
        raise ValueError("a key of a map is NULL")
    if arrow.is_nested(keys.type) or not len(keys):
        return
    rows = pa.array(np.repeat(np.arange(len(offsets) - 1), np.diff(offsets)))
    plain = keys.dictionary_decode() if arrow.is_dictionary(keys.type) else keys
    distinct = pa.table([rows, plain], ["row", "key"]).group_by(["row", "key"]).aggregate([])
    if distinct.num_rows < len(keys):
        raise ValueError("a key of a map is there twice")


def _runs(array: pa.Array) -> tuple[pa.Array, pa.Array]:
    """Where the list of each row begins and the last one ends, and the elements of all."""
    given = array.type
    if not (arrow.is_list(given) or arrow.is_large_list(given)):
        others = (arrow.is_fixed_size_list, arrow.is_list_view, arrow.is_large_list_view)
        if not any(is_such(given) for is_such in others):
            raise TypeError(f"it has Arrow type {given}")
        array = array.cast(pa.large_list(given.value_type))
    lengths = np.asarray(array.value_lengths().fill_null(0)).astype(np.int64)
    return _offsets(lengths), array.flatten()


def _offsets(lengths: Any) -> pa.Array:
    return pa.array(np.concatenate([[0], np.cumsum(lengths)]), pa.int32())


def _one(values: pa.ChunkedArray) -> pa.Array:
    if not values.num_chunks:
        return pa.array([], values.type)
    return values.chunk(0) if values.num_chunks == 1 else pa.concat_arrays(values.chunks)


def _mask(array: pa.Array) -> pa.Array | None:
    return array.is_null() if array.null_count else None


def _struct_of(fields: list[pa.Array], type: SqlType, mask: pa.Array | None) -> pa.Array:
    named = [pa.field(name, each.type) for name, each in zip(arrow_type(type).names, fields, strict=True)]
    return pa.StructArray.from_arrays(fields, fields=named, mask=mask)


def _check_names(names: Sequence[str], type: SqlType) -> None:
    known = [name for name, _ in type.fields]
    for name in names:
        if key(name) not in map(key, known):
            raise TypeError(f"a struct has a field {name!r}, which {type} has not{suggestion(name, known)}")


def nested_array(values: Sequence[Any], type: SqlType, made: Made) -> pa.Array:
    """Python's lists, dicts for structs, dicts or lists of pairs for maps, as `nested_cast` has them; its errors."""
    missing = [value is None for value in values]
    mask = pa.array(missing) if any(missing) else None
    if type.kind is Kind.STRUCT:
        return _of_dicts(values, type, made, mask)
    pairs = type.kind is Kind.MAP
    lists = [() if value is None else _elements(value, pairs=pairs) for value in values]
    offsets, elements = pa.array([0, *accumulate(map(len, lists))], pa.int32()), [each for one in lists for each in one]
    assert type.element is not None, "it is a list or a map"
    if not pairs:
        found = pa.ListArray.from_arrays(offsets, _one(made(elements, type.element)), mask=mask)
        return _of_size(found, type) if type.kind is Kind.ARRAY else found
    (_, of_keys), (_, of_values) = type.element.fields
    keys = _one(made([each for each, _ in elements], of_keys))
    _check_keys(keys, np.asarray(offsets))
    return pa.MapArray.from_arrays(offsets, keys, _one(made([each for _, each in elements], of_values)), mask=mask)


def _of_dicts(values: Sequence[Any], type: SqlType, made: Made, mask: pa.Array | None) -> pa.Array:
    found = []
    for value in values:
        if value is not None and not isinstance(value, Mapping):
            raise TypeError(f"it holds a {value.__class__.__name__} where a dict of fields is wanted")
        _check_names(list(map(str, value or ())), type)
        found.append({key(str(name)): each for name, each in (value or {}).items()})
    fields = [_one(made([each.get(key(name)) for each in found], field)) for name, field in type.fields]
    return _struct_of(fields, type, mask)


def _elements(value: Any, *, pairs: bool) -> Sequence[Any]:
    if pairs and isinstance(value, Mapping):
        return list(value.items())
    if isinstance(value, np.ndarray):
        return list(value)
    if not isinstance(value, list | tuple):
        raise TypeError(f"it holds a {value.__class__.__name__} where a {'dict' if pairs else 'list'} is wanted")
    if pairs and not all(isinstance(each, list | tuple) and len(each) == 2 for each in value):
        raise TypeError("it holds a list that is not one of pairs of a key and a value")
    return value
