"""Moments of Arrow's, which say in which zone they are told; they are the same moments in any."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.types as arrow


def told_in(table: pa.Table, zone: str) -> pa.Table:
    """The table with its moments told in a zone, in lists, structs and maps too. Cost: no value is copied."""
    types = [_told(type_, zone) for type_ in table.schema.types]
    if types == table.schema.types:
        return table
    fields = [field.with_type(type_) for field, type_ in zip(table.schema, types, strict=True)]
    return table.cast(pa.schema(fields, table.schema.metadata))


def zone_of(table: pa.Table) -> str | None:
    """The zone in which the first column of moments is told; None where there is none."""
    return next((type_.tz for type_ in table.schema.types if arrow.is_timestamp(type_) and type_.tz), None)


def _told(type_: pa.DataType, zone: str) -> pa.DataType:
    if arrow.is_timestamp(type_):
        return type_ if type_.tz is None else pa.timestamp(type_.unit, zone)
    if arrow.is_struct(type_):
        return pa.struct([field.with_type(_told(field.type, zone)) for field in type_])
    if arrow.is_map(type_):
        key, item = _told(type_.key_type, zone), _told(type_.item_type, zone)
        return type_ if (key, item) == (type_.key_type, type_.item_type) else pa.map_(key, item)  # as one without keys
    return pa.list_(type_.value_field.with_type(_told(type_.value_type, zone))) if arrow.is_list(type_) else type_
