"""The tables of a database over shards: where the rows of each are, and what goes where of its changes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

from catalog.errors import UnsupportedError
from catalog.names import written
from catalog.schema import ForeignKey, Table
from ivm.cluster.routing import change_parts
from ivm.cluster.shard import Shard
from ivm.distribute.placement import REPLICATED, Hashed, Placement, Replicated
from ivm.tables import Declared
from ivm.trace.exported import ArrowRows
from ivm.trace.table_store import TableStore
from ivm.transaction import Change

_UNKNOWN = 1e6
"""So many rows has a table that is empty, as far as plans go; one that others refer to has a quarter, and so on."""
_FEWER = 0.25
_LEAST = 25.0


def placement_of(table: Table) -> Placement:
    """Where the rows of a table are: as it declares; else by the first column of its key, or without one by all."""
    if table.replicated:
        return REPLICATED
    columns = table.partitioned_by or table.primary_key[:1] or tuple(field.name for field in table.fields)
    return Hashed(table.places(columns))


@dataclass(frozen=True, slots=True)
class ShardedTable:
    """A table, and the store of each shard's rows; of a replicated one each has all."""

    table: Table
    placement: Placement
    stores: Sequence[TableStore]

    @property
    def count(self) -> int:
        """The rows that there are."""
        return sum(store.count for store in self.own)

    @property
    def last_time(self) -> int:
        """The time of the last change."""
        return max(store.last_time for store in self.stores)

    @property
    def own(self) -> Sequence[TableStore]:
        """The stores that have each row once."""
        return self.stores[:1] if isinstance(self.placement, Replicated) else self.stores

    def reading(self) -> Callable[[], pa.Table]:
        """What makes an Arrow table of the rows there are now, whatever happens meanwhile."""
        readings = [store.reading() for store in self.own]
        return lambda: pa.concat_tables([read() for read in readings])


class ShardedTables(dict[str, ShardedTable]):
    """All tables by name; see `ivm.tables.Tables`."""

    def __init__(self, shards: Sequence[Shard]) -> None:
        self._shards = shards

    def made(self, table: Table, rows: ArrowRows | None = None, time: int = 0) -> Sequence[Declared]:
        """A new table at each shard, with its part of the rows.

        UnsupportedError for a constraint that no shard can check by what it has.
        """
        placement = placement_of(table)
        self._check(table, placement)
        parts: list[ArrowRows | None] = [None] * len(self._shards)
        if rows is not None and rows.num_rows:
            for number, change in _parts(Change(table, rows), placement, len(self._shards)):
                parts[number] = change.data
        each = zip(self._shards, parts, strict=True)
        return [shard.tables.made(table, part, time) for shard, part in each]

    def indexed(self, table: Table) -> Sequence[Declared]:
        """The table there is, with the indexes that `table` has."""
        self._check(table, placement_of(table))
        return [shard.tables.indexed(table) for shard in self._shards]

    def put(self, name: str, parts: Sequence[Declared] | None) -> None:
        """The table of a name is this one from now on; None: there is none. Called again, it changes nothing."""
        for number, shard in enumerate(self._shards):
            shard.put_table(name, None if parts is None else parts[number])
        if parts is None:
            self.pop(name, None)
        else:
            table = parts[0].table
            self[name] = ShardedTable(table, placement_of(table), [part.store for part in parts])

    def parts(self, change: Change) -> Iterable[tuple[int, Change]]:
        """What each shard gets of a change."""
        if change.data.num_rows == 0:
            return ()
        return _parts(change, placement_of(change.table), len(self._shards))

    def estimates(self, sizes: Mapping[str, float]) -> tuple[dict[str, float], dict[tuple[str, int], float]]:
        """The rows to expect of tables and views, also of empty ones, and the distinct values of columns
        that refer to others.
        """
        known = dict(sizes)
        known |= {name: self._guessed(name, frozenset()) for name in self if not known[name]}
        values = {}
        for name, each in self.items():
            for key in each.table.foreign_keys:
                if len(key.columns) == 1 and key.table in known:
                    values[name, each.table.index(key.columns[0])] = known[key.table]
        return known, values

    def _guessed(self, name: str, above: frozenset[str]) -> float:
        """Tables that others refer to are smaller than these."""
        referring = [
            self._guessed(other, above | {name})
            for other, each in self.items()
            if other not in above | {name} and any(key.table == name for key in each.table.foreign_keys)
        ]
        return max(_LEAST, min(referring) * _FEWER) if referring else _UNKNOWN

    def _check(self, table: Table, placement: Placement) -> None:
        if isinstance(placement, Replicated):
            return
        by = [table.fields[c].name for c in placement.columns] if isinstance(placement, Hashed) else []
        what = f"cannot create table {table.name}: its rows are spread over shards by ({', '.join(by)})"
        if table.primary_key and not all(written(name, table.primary_key) for name in by):
            raise UnsupportedError(
                f"{what}, which are not all of its PRIMARY KEY ({', '.join(table.primary_key)}), so that no shard "
                "sees whether a key is there twice; partition by columns of the key, or declare it REPLICATED"
            )
        for unique in table.unique_constraints:
            if not all(written(name, unique.columns) for name in by):
                raise UnsupportedError(
                    f"{what}, which are not all in {unique}, so that no shard sees all rows that could agree; "
                    "partition by columns of it, declare the table REPLICATED, or leave the constraint out"
                )
        for key in table.foreign_keys:
            if key.enforced and not self._together(table, placement, key):
                raise UnsupportedError(
                    f"{what}, and FOREIGN KEY ({', '.join(key.columns)}) refers to {key.table}, whose rows are "
                    "elsewhere; partition both by columns of the key, declare the other table REPLICATED, or leave "
                    "check_foreign_keys out"
                )

    def _together(self, table: Table, placement: Placement, key: ForeignKey) -> bool:
        """Whether rows are where those are that they refer to."""
        other = table if key.table == table.name else self[key.table].table
        there = placement_of(other)
        if isinstance(there, Replicated):
            return True
        refers = dict(zip(table.places(key.columns), other.places(key.referenced), strict=True))
        if not isinstance(placement, Hashed) or not isinstance(there, Hashed):
            return False
        return tuple(refers.get(c) for c in placement.columns) == there.columns


def _parts(change: Change, placement: Placement, shards: int) -> Iterator[tuple[int, Change]]:
    if isinstance(placement, Hashed):
        yield from change_parts(change, placement, shards)
    else:
        yield from ((number, change) for number in range(shards))
