"""What `ivm_*` relations show a connection: not what is TEMP of others, and its own as it calls it."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
import pyarrow.compute as pc

from ivm.catalog.names import TEMP, is_temp
from ivm.catalog.paths import Names

Reading = Callable[[], pa.Table]
_OTHERS = "what is TEMP of other connections"


def own_rows(read: Reading, names: Names) -> Reading:
    """The rows of a relation without those of what is TEMP of others; the memory that these take is one row of it.

    Cost: nothing, where nothing is TEMP.
    """
    others = tuple(f"{each}." for each in names.catalog.schema_names if is_temp(each) and each != names.temp)
    own = "" if names.temp == TEMP or names.temp not in names.catalog.schema_names else f"{names.temp}."
    return (lambda: _own(read(), others, own)) if others or own else read


def _own(rows: pa.Table, others: tuple[str, ...], own: str) -> pa.Table:
    foreign = pa.array([False] * rows.num_rows, pa.bool_())
    for place, field in enumerate(rows.schema):
        column = rows.column(place)
        if pa.types.is_string(field.type):
            for each in others:
                foreign = pc.or_(foreign, pc.fill_null(pc.match_substring(column, each), False))
            told = pc.replace_substring(column, own, f"{TEMP}.") if own else column
        elif pa.types.is_list(field.type) and pa.types.is_string(field.type.value_type):
            lists = ([name for name in each or () if not name.startswith(others)] for each in column.to_pylist())
            named = [[f"{TEMP}.{name.removeprefix(own)}" if own and name.startswith(own) else name for name in each]
                     for each in lists]  # fmt: skip
            told = pa.array(named, field.type)
        else:
            continue
        rows = rows.set_column(place, field, told)
    left = rows.filter(pc.invert(foreign))
    return pa.concat_tables([left, _summed(rows.filter(foreign))]) if "arrangement" in rows.column_names else left


def _summed(rows: pa.Table) -> pa.Table:
    """One row of all the state that rows of `ivm_arrangements` tell of; none of none."""
    said = {"arrangement": _OTHERS, "collection": _OTHERS, "key": "", "kind": "derived", "views": []}
    values = [
        [said.get(field.name, None if field.name in said else pc.sum(rows.column(field.name)).as_py())]
        for field in rows.schema
    ] if rows.num_rows else [[] for _ in rows.schema]  # fmt: skip
    return pa.table([pa.array(each, field.type) for each, field in zip(values, rows.schema, strict=True)], rows.schema)
