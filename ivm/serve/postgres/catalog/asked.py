"""Of what relations of pg_catalog are made, and how."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from ivm.catalog.catalog import Catalog

INT, TEXT, BOOL, LIST = pa.int64(), pa.string(), pa.bool_(), pa.list_(pa.int64())


@dataclass(frozen=True, slots=True)
class Asked:
    """Of what it is asked: what exists, how many rows tables have, who asks, and what settings are."""

    catalog: Catalog
    rows: Mapping[str, int]
    user: str
    settings: Mapping[str, str]


def table(rows: Iterable[Sequence[Any]], columns: str) -> pa.Table:
    """Rows as a table; `columns` are names with i (a number), t (a text), b or l (a list of numbers) and a colon."""
    kinds = {"i": INT, "t": TEXT, "b": BOOL, "l": LIST}
    named = [(name, kinds[kind]) for kind, _, name in (each.partition(":") for each in columns.split())]
    values = list(zip(*rows, strict=True)) or [()] * len(named)
    return pa.table({name: pa.array(column, kind) for (name, kind), column in zip(named, values, strict=True)})
