"""What changed in a view, as its readers see it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from ivm.catalog.schema import Schema
from ivm.catalog.schema import View as Definition
from ivm.catalog.types import SqlType
from ivm.trace.columns.arrow import numbers_from, to_arrow
from ivm.trace.consolidate import consolidate
from ivm.trace.delta import Delta
from ivm.trace.text.dictionary import TextDictionary
from ivm.trace.text.texts import Strings


def view_changes(definition: Definition, delta: Delta | None, dictionary: TextDictionary) -> pa.Table | None:
    """The changes of a view as its readers see them, as an Arrow table; None if there are none."""
    net = None if delta is None else seen_changes(definition, delta)
    return None if net is None else changes_to_arrow(definition.schema, net, dictionary.now())


def seen_changes(definition: Definition, delta: Delta) -> Delta | None:
    """Updates of a view as its readers see them, consolidated: what only changes a hidden column is no change."""
    types = types_of(definition.schema)
    return consolidate(delta, types, [delta.column(i) for i in range(len(types))] if definition.hidden else None)


def changes_to_arrow(schema: Schema, delta: Delta, strings: Strings) -> pa.Table:
    """Updates of a view as an Arrow table: its columns, then `_time` and `_diff`, both BIGINT; sorted by time."""
    taken = delta if isinstance(delta.times, int) else delta.take(np.argsort(delta.times, kind="stable"))
    arrays = [to_arrow(taken.column(i), field.type, strings) for i, field in enumerate(schema)]
    arrays += [numbers_from(taken.time_array()), numbers_from(taken.diff_array())]
    return pa.Table.from_arrays(arrays, names=[*(f.name for f in schema), "_time", "_diff"])


def types_of(schema: Schema) -> Sequence[SqlType]:
    """The types of the columns."""
    return [field.type for field in schema]
