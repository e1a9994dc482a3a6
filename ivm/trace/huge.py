"""HUGEINT, UUID and ENUM in Arrow tables: a decimal of scale 0 as DECIMAL(38,0) is, a text, and a dictionary, which
lacks the labels where there are no rows; told from these by what their fields say.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

_WHAT = b"ivm.type"
_NAMES = ("HUGEINT", "UUID")
_ENUM = "ENUM("


def with_huge(table: pa.Table, types: Sequence[object]) -> pa.Table:
    """The table, whose columns have these SQL types, with the fields of those that need it saying which they are."""
    names = [str(each) for each in types]
    special = [name in _NAMES or name.startswith(_ENUM) for name in names]
    if not any(special):
        return table
    fields = [
        field.with_metadata({_WHAT: name.encode()}) if says else field
        for field, name, says in zip(table.schema, names, special, strict=True)
    ]
    return pa.Table.from_arrays(table.columns, schema=pa.schema(fields))


def huge_columns(table: pa.Table) -> list[str]:
    """The names of the columns that are HUGEINT."""
    return [field.name for field in table.schema if said(field) == "HUGEINT"]


def enum_columns(table: pa.Table) -> dict[int, str]:
    """The places of the columns that are ENUMs, with the SQL text of the type of each."""
    names = {place: said(field) for place, field in enumerate(table.schema)}
    return {place: name for place, name in names.items() if name.startswith(_ENUM) and name.endswith(")")}


def said(field: pa.Field) -> str:
    """The SQL type that a field says it has; empty where its Arrow type tells it."""
    return (field.metadata or {}).get(_WHAT, b"").decode()
