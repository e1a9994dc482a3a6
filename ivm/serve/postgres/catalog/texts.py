"""What functions of Postgres's tell of things by their numbers: relations that no query names."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pyarrow as pa

from ivm.serve.postgres.catalog.asked import Asked, table
from ivm.serve.postgres.catalog.relations import description, index_text, view_text
from ivm.serve.postgres.catalog.seen import keys, relations
from ivm.serve.postgres.types import TYPES, WRITTEN

_NAMED, _NUMBERED = "i:ivm_oid t:ivm_name t:ivm_text", "i:ivm_oid i:ivm_number t:ivm_text"


def _types(asked: Asked) -> pa.Table:
    rows = [(each.oid, each.name, WRITTEN.get(each.name, each.name)) for each in TYPES]
    arrays = [(each.array, f"_{each.name}", f"{WRITTEN.get(each.name, each.name)}[]") for each in TYPES if each.array]
    return table([*rows, *arrays], _NAMED)


def _classes(asked: Asked) -> pa.Table:
    rows = [(each.oid, each.name, each.schema) for each in relations(asked.catalog)]
    indexes = [(key.index, key.name, key.of.schema) for key in keys(asked.catalog) if key.index]
    return table([*rows, *indexes], "i:ivm_oid t:ivm_name t:ivm_schema")


def _constraints(asked: Asked) -> pa.Table:
    return table([(key.oid, key.name, key.text) for key in keys(asked.catalog)], _NAMED)


def _indexes(asked: Asked) -> pa.Table:
    """Whole ones have the number 0, each of their columns its own."""
    rows = []
    for key in keys(asked.catalog):
        if key.index:
            names = [key.of.fields[place - 1].name for place in key.columns]
            rows += [(key.index, number, text) for number, text in enumerate((index_text(key), *names))]
    return table(rows, _NUMBERED)


def _views(asked: Asked) -> pa.Table:
    views = [each for each in relations(asked.catalog) if each.kind != "r"]
    return table([(each.oid, each.name, view_text(asked, each)) for each in views], _NAMED)


def _descriptions(asked: Asked) -> pa.Table:
    told = description(asked).select(["objoid", "objsubid", "description"])
    return told.rename_columns(["ivm_oid", "ivm_number", "ivm_text"])


TEXTS: Mapping[str, Callable[[Asked], pa.Table]] = {
    "ivm_types": _types, "ivm_classes": _classes, "ivm_constraint_texts": _constraints, "ivm_index_texts": _indexes,
    "ivm_view_texts": _views, "ivm_descriptions": _descriptions,
}  # fmt: skip
"""By their names."""
