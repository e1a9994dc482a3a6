"""What makes lists and structs of their parts and takes them apart, over Arrow's arrays of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from catalog.types import BIGINT, SqlType
from ivm.render.scalars.bodies.body import Body
from ivm.render.scalars.columns import dense
from ivm.render.scalars.functions import Apply, Context
from ivm.trace.columns.arrow import arrow_type, to_arrow, to_column
from ivm.trace.columns.column import Column
from sql.ir.scalar import Call, Literal, columns_of


def _made(call: Call, context: Context, apply: Apply) -> Apply:
    """What makes the value; of constants alone it is made once, and its code stays for as long as the context does."""
    if columns_of(call):
        return apply
    known: list[Column] = []

    def constant(*columns: Column) -> Column:
        if not known:
            found = apply(*columns)
            context.literals.hold(found.values)
            known.append(found)
        return known[0]

    return constant


def _arrays(columns: tuple[Column, ...], types: list[SqlType], context: Context) -> list[pa.Array]:
    length, strings = max((len(column.values) for column in columns), default=1), context.dictionary.now()
    found = [to_arrow(dense(column, length), type_, strings) for column, type_ in zip(columns, types, strict=True)]
    return [pa.concat_arrays(each.chunks) if isinstance(each, pa.ChunkedArray) else each for each in found]


def list_value(call: Call, context: Context) -> Apply:
    """The list of its arguments."""
    types, element = [arg.type for arg in call.args], call.type.element
    assert element is not None, "a list has elements"

    def apply(*columns: Column) -> Column:
        arrays = _arrays(columns, types, context)
        width, rows = len(arrays), len(arrays[0]) if arrays else 1
        together = pa.concat_arrays(arrays) if arrays else pa.array([], arrow_type(element))
        elements = together.take(pa.array(np.arange(width * rows).reshape(width, rows).T.reshape(-1)))
        offsets = pa.array(np.arange(rows + 1) * width, pa.int32())
        return to_column(pa.ListArray.from_arrays(offsets, elements), call.type, context.dictionary)

    return _made(call, context, apply)


def struct_pack(call: Call, context: Context) -> Apply:
    """The struct of its arguments."""
    types, names = [arg.type for arg in call.args], list(call.type.names)

    def apply(*columns: Column) -> Column:
        return to_column(
            pa.StructArray.from_arrays(_arrays(columns, types, context), names), call.type, context.dictionary
        )

    return _made(call, context, apply)


def field(call: Call, context: Context) -> Apply:
    """The field of a struct at a place."""
    place = call.args[1]
    assert isinstance(place, Literal), "the binder has looked for it"
    assert isinstance(place.value, int), "it counts"
    wanted, type_ = place.value, call.args[0].type

    def apply(structs: Column) -> Column:
        return to_column(_whole(structs, type_, context).flatten()[wanted], call.type, context.dictionary)

    return apply


def element(call: Call, context: Context) -> Apply:
    """The element of a list at a place, which counts from 1, or from the end; NULL where there is none."""
    type_ = call.args[0].type

    def apply(lists: Column, places: Column) -> Column:
        rows = max(len(lists.values), len(places.values))
        array, place = _whole(lists, type_, context), _numbers(places)
        lengths = np.asarray(array.value_lengths().fill_null(0)).astype(np.int64)
        begins = np.concatenate([[0], np.cumsum(lengths)])[:-1]
        offset = np.where(place < 0, lengths + place, place - 1)
        there = (offset >= 0) & (offset < lengths) & (place != 0)
        if places.valid is not None:
            there = there & places.valid
        indices = pa.array(np.broadcast_to(begins + offset, rows), mask=np.broadcast_to(~there, rows))
        return to_column(array.flatten().take(indices), call.type, context.dictionary)

    return apply


def list_length(call: Call, context: Context) -> Apply:
    """How many elements a list has."""
    type_ = call.args[0].type

    def apply(lists: Column) -> Column:
        lengths = _whole(lists, type_, context).value_lengths().cast(pa.int64())
        return to_column(lengths, BIGINT, context.dictionary)

    return apply


def _whole(column: Column, type_: SqlType, context: Context) -> Any:
    found = to_arrow(dense(column, len(column.values)), type_, context.dictionary.now())
    return pa.concat_arrays(found.chunks) if isinstance(found, pa.ChunkedArray) else found


def _numbers(column: Column) -> Any:
    return column.values if column.valid is None else np.where(column.valid, column.values, 0)


BODIES = (
    Body("list_value", strict=list_value),
    Body("struct_pack", strict=struct_pack),
    Body("field", values=(0,), strict=field),
    Body("element", strict=element),
    Body("list_length", strict=list_length),
)
