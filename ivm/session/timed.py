"""Changes that have times of their own, taken apart by these and put together again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa

from ivm.catalog.schema import Table
from ivm.durable.payload import Commit
from ivm.durable.replay import change_of
from ivm.durable.several import Several
from ivm.engine.transaction import Change
from ivm.intake.as_it_is import DIFF, TIME
from ivm.trace.columns.arrow import arrow_type, numbers_from
from ivm.trace.columns.column import Array, Ints


def times_of(change: Change) -> Ints:
    """The times of changes that come from a source, each of which has one."""
    assert change.times is not None, "each has a time"
    return change.times


def rows_of(change: Change, which: Array) -> Change:
    """Some rows of a change; all of it is the change itself."""
    if which.all():
        return change
    return change._replace(
        data=change.data.filter(pa.array(which)), addresses=None,
        diffs=None if change.diffs is None else change.diffs[which], times=times_of(change)[which],
    )  # fmt: skip


def whole(change: Change) -> Change:
    """A change with all columns of its table: of rows that go, the key alone may be there, and NULL takes the place of
    the others.
    """
    data, fields = change.data, change.table.fields
    if data.num_columns == len(fields):
        return change
    there = data.schema.names
    columns = [
        data.column(field.name) if field.name in there else pa.nulls(data.num_rows, arrow_type(field.type))
        for field in fields
    ]
    return change._replace(data=pa.Table.from_arrays(columns, names=[field.name for field in fields]), addresses=None)


def declared(change: Change, table: Table) -> pa.Table:
    """The rows of a change with their times and diffs, for a table as it is by now: NULL in columns that are new."""
    data = pa.table(change.data).rename_columns([field.name for field in change.table.fields])
    for field in table.given:
        if field.name not in data.column_names and field.nullable and table.default(field.name) is None:
            data = data.append_column(field.name, pa.nulls(data.num_rows, arrow_type(field.type)))
    data = data.append_column(TIME, numbers_from(times_of(change)))
    return data if change.diffs is None else data.append_column(DIFF, numbers_from(change.diffs))


def batches(changes: Sequence[Change], to: int) -> Iterator[tuple[list[Change], int]]:
    """What is committed together, each table's changes in one, and the time up to which all is complete then.

    That is all of it; where changes of a table are not alike, each time.
    """
    tables, several = {change.table.name: change.table for change in changes}, Several()
    for change in changes:
        commit = Commit.of([change], to, None)
        if not several.fits(commit):
            yield from _by_time(changes)
            return
        several.add(commit)
    if changes:
        yield [change_of(given, tables[given.table]) for given in several.one().given], to


def _by_time(changes: Sequence[Change]) -> Iterator[tuple[list[Change], int]]:
    for time in np.unique(np.concatenate(list(map(times_of, changes)))).tolist():
        each = [rows_of(change, times_of(change) == time) for change in changes]
        yield [change for change in each if change.data.num_rows], time + 1


def placed(changes: Sequence[Change], present: int) -> list[Change]:
    """Changes at logical times: those of the sources, or as soon after each other and the present as can be."""
    times = list(map(times_of, changes))
    distinct: Ints = np.unique(np.concatenate(times))
    places = np.arange(len(distinct))
    found: Ints = np.maximum(np.maximum.accumulate(distinct - places), present + 1) + places
    return [
        change._replace(times=found[np.searchsorted(distinct, each)])
        for change, each in zip(changes, times, strict=True)
    ]
