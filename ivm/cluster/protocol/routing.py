"""From changes to Arrow record batches, with what says for which shard each row is, and back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from ivm.catalog.schema import Schema
from ivm.catalog.types import SqlType
from ivm.cluster.protocol.hashing import shards_of
from ivm.distribute.placement import Gathered, Hashed, Placement
from ivm.trace.columns.arrow import numbers_from, numbers_in, to_arrow, to_column
from ivm.trace.columns.column import Ints
from ivm.trace.columns.exported import ArrowRows
from ivm.trace.concatenation import concat_deltas
from ivm.trace.consolidate import consolidate
from ivm.trace.delta import Delta, delta_of
from ivm.trace.text.dictionary import TextDictionary

_TIME, _DIFF = "_time", "_diff"


class Address(NamedTuple):
    """For which shard a row is: the one that the hash of some columns chooses, or so many `beyond` it."""

    columns: tuple[int, ...]
    types: tuple[SqlType, ...]
    beyond: int = 0

    def shards(self, rows: ArrowRows, shards: int) -> Ints:
        """Which of so many each row is for, but for what is `beyond`. Cost: see `shards_of`."""
        columns = [_in_one(rows.column(c)) for c in self.columns]
        return shards_of(columns, self.types, rows.num_rows, shards)


class Routed(NamedTuple):
    """Rows, and for whom they are; None: all go to all shards."""

    rows: pa.RecordBatch
    to: Address | None


def routed(delta: Delta, fields: Schema, to: Placement, sender: int, dictionary: TextDictionary) -> Routed | None:
    """What is sent of a delta that the `sender` has: the columns, `_time` and `_diff`, and to whom. None for nothing.

    Cost: a pass over what is sent, after that which adds up diffs of equal rows where some are negative.
    """
    types = [field.type for field in fields]
    net = delta if delta.diffs is None else consolidate(delta, types)
    if net is None or not len(net):
        return None
    columns = net.columns()  # first: reading a cold column gives its texts codes
    strings = dictionary.now()
    arrays = [to_arrow(column, type_, strings) for column, type_ in zip(columns, types, strict=True)]
    arrays += [numbers_from(net.time_array()), numbers_from(net.diff_array())]
    names = [*(f"c{i}" for i in range(len(types))), _TIME, _DIFF]
    batch = pa.RecordBatch.from_arrays([_in_one(each) for each in arrays], names=names)
    if not isinstance(to, Hashed | Gathered):
        return Routed(batch, None)
    beyond = last_of(sender, to.of) if isinstance(to, Gathered) else 0
    return Routed(batch, Address(tuple(to.columns), tuple(types[c] for c in to.columns), beyond))


def last_of(sender: int, of: int) -> int:
    """What tells the shards that share a place by `Gathered` from the others: different numbers, far from each other.

    It is their last one, so that the first shard, where all ends that is at one, has no part of it on the way.
    """
    return (sender // of + 1) * of - 1


def arrived(
    batches: Sequence[pa.RecordBatch], types: Sequence[SqlType], dictionary: TextDictionary, as_of: int | None = None
) -> Delta | None:
    """The updates that were sent, net, in the order of their times: what one shard takes back, another may have sent.
    They are put together first, so that texts are looked up once.

    `as_of`: the time at which all of them are to be. None if nothing is left. Cost: that of taking texts into the
    dictionary, a copy, and a pass that adds up.
    """
    found = []
    for batch in _together(batches):
        columns = [to_column(batch.column(i), type_, dictionary) for i, type_ in enumerate(types)]
        times = _one(numbers_in(batch.column(len(types)))) if as_of is None else as_of
        diffs = numbers_in(batch.column(len(types) + 1))
        found.append(delta_of(columns, times, None if (diffs == 1).all() else diffs, batch.num_rows))
    whole = concat_deltas(found)
    if whole is not None and whole.diffs is not None:
        whole = consolidate(whole, types)
    if whole is None or isinstance(whole.times, int):
        return whole
    return whole.take(np.argsort(whole.times, kind="stable"))


def _together(batches: Sequence[pa.RecordBatch]) -> Sequence[pa.RecordBatch]:
    """The rows in one batch, if they are held alike, and Arrow can have them so."""
    if len(batches) < 2 or any(each.schema != batches[0].schema for each in batches):
        return batches
    return pa.Table.from_batches(batches).combine_chunks().to_batches()


def _in_one(array: pa.Array | pa.ChunkedArray) -> pa.Array:
    """Text beyond 2 GiB comes in pieces."""
    return array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array


def _one(times: Ints) -> Ints | int:
    return int(times[0]) if len(times) and times[0] == times[-1] and (times == times[0]).all() else times
