"""Rows that pair off with others, by the values of some columns; NULL is the same as NULL."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from ivm.catalog.schema import Schema
from ivm.duck import Use, answer, connection, offer, with_hugeints
from ivm.trace.columns.column import Ints

_PLACE = "place"


def paired(rows: pa.Table, others: pa.Table, columns: Sequence[int], fields: Schema) -> Ints:
    """The places of those of `rows` that pair off with one of the `others` each, ascending.

    Both have columns of these `fields`. Of rows that agree in the `columns` the first ones, as many as there are of the
    others. Cost: DuckDB hashes the others and reads the columns of the rows.
    """
    if not rows.num_rows or not others.num_rows:
        return np.empty(0, np.int64)
    names = [f"c{place}" for place in range(len(columns))]
    kept = tuple(fields[place] for place in columns)
    one, two = (with_hugeints(each.select(list(columns)).rename_columns(names), kept) for each in (rows, others))
    listed = ", ".join(names)
    alike = " AND ".join(f"r.{name} IS NOT DISTINCT FROM o.{name}" for name in names)
    with connection(Use.OWN) as duck:
        offer(duck, "these", one.append_column(_PLACE, pa.array(np.arange(rows.num_rows))))
        offer(duck, "those", two)
        found = answer(
            duck,
            f"WITH o AS (SELECT {listed}, count(*) AS copies, row_number() OVER () AS number FROM those "
            f"GROUP BY {listed}) SELECT r.{_PLACE} FROM these AS r JOIN o ON {alike} "
            f"QUALIFY row_number() OVER (PARTITION BY o.number ORDER BY r.{_PLACE}) <= o.copies",
        )
    return np.sort(found.column(0).to_numpy())


def without(rows: pa.Table, places: Ints) -> pa.Table:
    """The rows but for those at some places, in their order. Cost: none where there are none, else a copy."""
    if not len(places):
        return rows
    kept = np.ones(rows.num_rows, np.bool_)
    kept[places] = False
    return rows.filter(pa.array(kept))
