"""HUGEINT, UUID, JSON, ENUM and ROW(..) in Arrow data, where something else stands for them: a decimal of scale 0,
as for DECIMAL(38,0), a text, a dictionary whose values are the labels in order, and a struct. Fields of tables say
which they are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as arrow

from ivm.catalog.types import SqlType
from ivm.catalog.uuids import uuid_of
from ivm.trace.columns.intervals import INTERVAL, lengths

_INDEXES = ((pa.uint8(), 0xFF), (pa.uint16(), 0xFFFF), (pa.uint32(), 0xFFFF_FFFF))
_SHOWN = 10
UUID_BYTES = 16
_HUGEINT: Any = pa.opaque(pa.binary(16), "hugeint", "DuckDB")
_WHAT, _COLLATION = b"ivm.type", b"ivm.collation"
_NAMES = ("HUGEINT", "UUID", "JSON")
_ENUM = "ENUM("
_ROW = "TUPLE("
_AT_ONCE = 1 << 16
_NESTED_ENDS = ("]", ")")


def enum_type(type: SqlType) -> pa.DataType:
    """Arrow's type of an ENUM, as DuckDB exports it: indices as narrow as the number of labels lets them be."""
    index = next(index for index, most in _INDEXES if len(type.labels) <= most)
    return pa.dictionary(index, pa.string())


@lru_cache
def enum_labels(type: SqlType) -> pa.Array:
    """The labels of an ENUM as an array of texts."""
    return pa.array(type.labels, pa.string())


def enum_array(positions: Any, valid: Any, type: SqlType) -> pa.Array:
    """Positions of labels, where `valid` if that is not None, as an array of `enum_type`."""
    indices = pa.array(positions, mask=None if valid is None else np.logical_not(valid))
    return pa.DictionaryArray.from_arrays(indices.cast(enum_type(type).index_type), enum_labels(type))


def positions_of(array: pa.Array, type: SqlType) -> pa.Array:
    """The position of each text among the labels, int32; NULL where it is none of them. Cost: a pass."""
    labels = enum_labels(type)
    if not arrow.is_dictionary(array.type):
        return pc.index_in(array.cast(pa.string()), labels)
    if array.dictionary.equals(labels):
        return array.indices.cast(pa.int32())
    return pc.index_in(array.dictionary.cast(pa.string()), labels).take(array.indices)


def to_enum(values: pa.ChunkedArray, type: SqlType) -> pa.ChunkedArray:
    """Texts as an ENUM; ValueError for one that is none of its labels, with its row."""
    target, chunks, before = enum_type(type), [], 0
    for chunk in values.chunks:
        positions = positions_of(chunk, type)
        if positions.null_count > chunk.null_count:
            row = int(np.flatnonzero(positions.is_null().to_numpy(False) & chunk.is_valid().to_numpy(False))[0])
            known = ", ".join(map(repr, type.labels[:_SHOWN])) + (", ..." if len(type.labels) > _SHOWN else "")
            raise ValueError(f"row {before + row} counted from 0: {chunk[row].as_py()!r} is none of its labels {known}")
        chunks.append(pa.DictionaryArray.from_arrays(positions.cast(target.index_type), enum_labels(type)))
        before += len(chunk)
    return pa.chunked_array(chunks, target)


def in_order(column: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    """What sorts as the column does: the positions of an ENUM, the lengths of INTERVALs, all else as it is."""
    if column.type == INTERVAL:
        return lengths(column)
    if not arrow.is_dictionary(column.type):
        return column
    if isinstance(column, pa.ChunkedArray):
        return pa.chunked_array([chunk.indices for chunk in column.chunks], column.type.index_type)
    return column.indices


def to_uuids(values: pa.ChunkedArray) -> pa.ChunkedArray:
    """Texts, or 16 bytes each, as UUIDs in their one form; ValueError for a text that is none.

    Cost: a pass in Python.
    """
    plain = values.to_pylist()
    if arrow.is_fixed_size_binary(values.type):
        plain = [None if value is None else value.hex() for value in plain]
    return pa.chunked_array([pa.array([None if text is None else uuid_of(text) for text in plain], pa.string())])


def as_bytes(texts: pa.ChunkedArray) -> pa.ChunkedArray:
    """UUIDs in their one form as Arrow's own type of them. Cost: a pass in Python."""
    raw = [None if text is None else bytes.fromhex(text.replace("-", "")) for text in texts.to_pylist()]
    storage = pa.array(raw, pa.binary(UUID_BYTES))
    return pa.chunked_array([pa.ExtensionArray.from_storage(pa.uuid(), storage)], pa.uuid())


def as_hugeints(integers: pa.ChunkedArray) -> pa.ChunkedArray:
    """Decimals of scale 0 as the type that DuckDB knows as its HUGEINT, of the same bytes. Cost: none."""
    return pa.chunked_array([_as_hugeints(chunk) for chunk in integers.chunks], _HUGEINT)


def _as_hugeints(array: pa.Array) -> pa.Array:
    storage = pa.Array.from_buffers(pa.binary(16), len(array), array.buffers(), offset=array.offset)
    return pa.ExtensionArray.from_storage(_HUGEINT, storage)


def as_json(texts: pa.ChunkedArray) -> pa.ChunkedArray:
    """Texts that are JSON as Arrow's own type of it. Cost: none."""
    given = pa.json_(texts.type)
    return pa.chunked_array([pa.ExtensionArray.from_storage(given, chunk) for chunk in texts.chunks], given)


def with_huge(table: pa.Table, types: Sequence[object]) -> pa.Table:
    """The table, whose columns have these SQL types, with the fields of those that need it saying which they are."""
    names = [str(each) for each in types]
    special = [name in _NAMES or name.startswith((_ENUM, _ROW)) or _is_nested_special(name) for name in names]
    if not any(special):
        return table
    fields = [
        field.with_metadata({_WHAT: name.encode()}) if says else field
        for field, name, says in zip(table.schema, names, special, strict=True)
    ]
    return pa.Table.from_arrays(table.columns, schema=pa.schema(fields))


def with_collations(table: pa.Table, types: Sequence[SqlType]) -> pa.Table:
    """The table, whose columns have these types, with the fields of texts with a collation saying which that is."""
    if not any(each.collation for each in types):
        return table
    fields = [
        field.with_metadata({_COLLATION: each.collation.encode()}) if each.collation else field
        for field, each in zip(table.schema, types, strict=False)
    ]
    return pa.Table.from_arrays(table.columns, schema=pa.schema([*fields, *list(table.schema)[len(fields) :]]))


def huge_columns(table: pa.Table) -> list[int]:
    """The places of the columns that are HUGEINT."""
    return [place for place, field in enumerate(table.schema) if said(field) == "HUGEINT"]


def made_in_sql(table: pa.Table) -> dict[int, str]:
    """The places of the columns that SQL makes of what stands for them, with what is written behind each: the cast to
    an ENUM, or to what holds something for which something else stands, and a collation.
    """
    names = {place: said(field) for place, field in enumerate(table.schema)}
    made = {place: f"::{name}" for place, name in names.items() if name.startswith(_ENUM) or _is_nested_special(name)}
    for place, field in enumerate(table.schema):
        collation = (field.metadata or {}).get(_COLLATION, b"").decode()
        if collation:
            made[place] = f' COLLATE "{collation}"'
    return made


def _is_nested_special(name: str) -> bool:
    """Whether the SQL text of a type may be that of a list, struct or map of what something else stands for."""
    return name.endswith(_NESTED_ENDS) and any(each in name for each in (*_NAMES, _ENUM, _ROW)) and name not in _NAMES


def undivided(table: pa.Table) -> pa.Table:
    """The table as DuckDB reads it: of lists, structs and maps none that is a part of another, and none with ENUMs.

    Cost: a copy of these.
    """
    if not any(map(arrow.is_nested, table.schema.types)):
        return table
    plain = [with_leaves(given, of_dictionary) if arrow.is_nested(given) else given for given in table.schema.types]
    fields = [field.with_type(given) for field, given in zip(table.schema, plain, strict=True)]
    schema = pa.schema(fields, table.schema.metadata)
    batches = [
        pa.RecordBatch.from_arrays(list(map(_whole, batch.columns, plain)), schema=schema)
        for batch in table.to_batches(_AT_ONCE)
    ]
    return pa.Table.from_batches(batches, schema)


def _whole(array: pa.Array, plain: pa.DataType) -> pa.Array:
    if not arrow.is_nested(plain):
        return array
    copied = pa.concat_arrays([array[:0], array])
    return copied if plain == array.type else copied.cast(plain)


def map_of(key: pa.DataType, item: pa.DataType) -> pa.DataType:
    """The type of maps. Arrow has none whose keys are of its null type, as those of DuckDB's empty MAP {} are."""
    return pa.map_(pa.int32() if arrow.is_null(key) else key, item)


def with_leaves(given: pa.DataType, leaf: Callable[[pa.DataType], pa.DataType]) -> pa.DataType:
    """A type, nested or not, in which `leaf` says what stands in the place of each that is not."""
    if arrow.is_map(given):
        return map_of(with_leaves(given.key_type, leaf), with_leaves(given.item_type, leaf))
    if arrow.is_list(given) or arrow.is_fixed_size_list(given):
        return pa.list_(with_leaves(given.value_type, leaf), getattr(given, "list_size", -1))
    if arrow.is_struct(given):
        return pa.struct([(field.name, with_leaves(field.type, leaf)) for field in given])
    return leaf(given)


def of_dictionary(given: pa.DataType) -> pa.DataType:
    """The type of the values that a dictionary has; of any other type that itself."""
    return given.value_type if arrow.is_dictionary(given) else given


def said(field: pa.Field) -> str:
    """The SQL type that a field says it has; empty where its Arrow type tells it."""
    return (field.metadata or {}).get(_WHAT, b"").decode()
