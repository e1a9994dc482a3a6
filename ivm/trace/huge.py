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
    said = [name in _NAMES or name.startswith(_ENUM) for name in names]
    if not any(said):
        return table
    fields = [
        field.with_metadata({_WHAT: name.encode()}) if says else field
        for field, name, says in zip(table.schema, names, said, strict=True)
    ]
    return pa.Table.from_arrays(table.columns, schema=pa.schema(fields))


def huge_columns(table: pa.Table) -> list[str]:
    """The names of the columns that are HUGEINT."""
    return [field.name for field in table.schema if _said(field) == "HUGEINT"]


def enum_columns(table: pa.Table) -> dict[int, str]:
    """The places of the columns that are ENUMs, with the SQL text of the type of each."""
    said = {place: _said(field) for place, field in enumerate(table.schema)}
    return {place: name for place, name in said.items() if name.startswith(_ENUM) and name.endswith(")")}


def _said(field: pa.Field) -> str:
    return (field.metadata or {}).get(_WHAT, b"").decode()
