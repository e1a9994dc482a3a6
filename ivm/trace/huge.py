"""HUGEINT and UUID in Arrow tables: a decimal of scale 0 as DECIMAL(38,0) is, and a text; told from these by what
their fields say.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

_SAID = {name: {b"ivm.type": name.encode()} for name in ("HUGEINT", "UUID")}


def with_huge(table: pa.Table, types: Sequence[object]) -> pa.Table:
    """The table, whose columns have these SQL types, with the fields of those that are HUGEINT or UUID saying so."""
    if not any(str(each) in _SAID for each in types):
        return table
    fields = [f.with_metadata(_SAID.get(str(t), f.metadata)) for f, t in zip(table.schema, types, strict=True)]
    return pa.Table.from_arrays(table.columns, schema=pa.schema(fields))


def huge_columns(table: pa.Table) -> list[str]:
    """The names of the columns that are HUGEINT."""
    return [field.name for field in table.schema if (field.metadata or {}).items() >= _SAID["HUGEINT"].items()]
