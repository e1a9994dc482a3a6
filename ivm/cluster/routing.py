"""From changes to what each shard gets of them, as Arrow record batches, and back."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa

from ivm.catalog.schema import Schema
from ivm.catalog.types import SqlType
from ivm.cluster.hashing import shards_of
from ivm.distribute.placement import Gathered, Hashed, Placement
from ivm.engine.transaction import Change
from ivm.trace.columns.arrow import numbers_from, numbers_in, to_arrow, to_column
from ivm.trace.columns.column import Ints
from ivm.trace.consolidate import consolidate
from ivm.trace.delta import Delta, concat_deltas, delta_of
from ivm.trace.text.dictionary import TextDictionary

_TIME, _DIFF = "_time", "_diff"
Routed = tuple[int, pa.RecordBatch]
"""A shard, and what it gets."""


def routed(
    delta: Delta, fields: Schema, to: Placement, sender: int, shards: int, dictionary: TextDictionary
) -> Iterator[Routed]:
    """What each of `shards` gets of a delta that the `sender` has: the columns, `_time` and `_diff`, of those rows
    whose place it is; or all.

    Cost: a pass over what is sent, after that which adds up diffs of equal rows where some are negative.
    """
    types = [field.type for field in fields]
    net = delta if delta.diffs is None else consolidate(delta, types)
    if net is None or not len(net):
        return
    columns = net.columns()  # first: reading a cold column gives its texts codes
    strings = dictionary.now()
    arrays = [to_arrow(column, type_, strings) for column, type_ in zip(columns, types, strict=True)]
    arrays += [numbers_from(net.time_array()), numbers_from(net.diff_array())]
    names = [*(f"c{i}" for i in range(len(types))), _TIME, _DIFF]
    batch = pa.RecordBatch.from_arrays([_in_one(each) for each in arrays], names=names)
    if not isinstance(to, Hashed | Gathered):
        yield from ((shard, batch) for shard in range(shards))
        return
    chosen = shards_of([arrays[c] for c in to.columns], [types[c] for c in to.columns], len(net), shards)
    if isinstance(to, Gathered):
        chosen = (chosen + last_of(sender, to.of)) % shards
    yield from _parts(batch, chosen, shards)


def last_of(sender: int, of: int) -> int:
    """What tells the shards that share a place by `Gathered` from the others: different numbers, far from each other.

    It is their last one, so that the first shard, where all ends that is at one, has no part of it on the way.
    """
    return (sender // of + 1) * of - 1


def arrived(
    batches: Sequence[pa.RecordBatch], types: Sequence[SqlType], dictionary: TextDictionary, as_of: int | None = None
) -> Delta | None:
    """The updates that were sent, net, in the order of their times: what one shard takes back, another may have sent.

    `as_of`: the time at which all of them are to be. None if nothing is left. Cost: that of taking texts into the
    dictionary, a copy, and a pass that adds up.
    """
    found = []
    for batch in batches:
        columns = [to_column(batch.column(i), type_, dictionary) for i, type_ in enumerate(types)]
        times = _one(numbers_in(batch.column(len(types)))) if as_of is None else as_of
        diffs = numbers_in(batch.column(len(types) + 1))
        found.append(delta_of(columns, times, None if (diffs == 1).all() else diffs, batch.num_rows))
    whole = concat_deltas(found)
    if whole is not None and (len(found) > 1 or as_of is not None) and whole.diffs is not None:
        whole = consolidate(whole, types)
    if whole is None or isinstance(whole.times, int):
        return whole
    return whole.take(np.argsort(whole.times, kind="stable"))


def change_parts(change: Change, place: Hashed, shards: int) -> Iterator[tuple[int, Change]]:
    """What each shard gets of the changes of a table whose rows are hashed by `place`, which are columns of its key, if
    it has one; rows that all go may have these alone.
    """
    rows, table = change.data, change.table
    fields = [table.fields[c] for c in place.columns]
    has_all = rows.num_columns == len(table.fields)
    columns = [_in_one(rows.column(c if has_all else table.key_indexes.index(c))) for c in place.columns]
    chosen = shards_of(columns, [field.type for field in fields], rows.num_rows, shards)
    for shard in np.unique(chosen).tolist():
        taken = np.flatnonzero(chosen == shard)
        part = change._replace(addresses=None)
        if len(taken) < rows.num_rows:
            part = part._replace(
                data=rows.take(pa.array(taken)),
                diffs=None if change.diffs is None else change.diffs[taken],
                times=None if change.times is None else change.times[taken],
            )
        yield shard, part


def _parts(batch: pa.RecordBatch, chosen: Ints, shards: int) -> Iterator[Routed]:
    order = np.argsort(chosen, kind="stable")
    bounds = np.searchsorted(chosen[order], np.arange(shards + 1))
    for shard in range(shards):
        first, last = bounds[shard], bounds[shard + 1]
        if first == last:
            continue
        yield shard, batch if last - first == batch.num_rows else batch.take(pa.array(order[first:last]))


def _in_one(array: pa.Array | pa.ChunkedArray) -> pa.Array:
    """Text beyond 2 GiB comes in pieces."""
    return array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array


def _one(times: Ints) -> Ints | int:
    return int(times[0]) if len(times) and times[0] == times[-1] and (times == times[0]).all() else times
