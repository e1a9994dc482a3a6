"""The tables of a database over shards, and where the rows of each are."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

from ivm.catalog.altering import Altered
from ivm.catalog.catalog import Catalog
from ivm.catalog.errors import UnsupportedError
from ivm.catalog.names import written
from ivm.catalog.schema import Table
from ivm.cluster.protocol.placing import placement_of
from ivm.cluster.protocol.questions import Question
from ivm.distribute.placement import Hashed, Placement
from ivm.engine.installing import put_or_drop
from ivm.trace.columns.exported import ArrowRows

Ask = Callable[[Question], Sequence[pa.Table]]
"""What asks all shards."""
Sizes = Callable[[], Mapping[str, float]]
"""The rows of each table, as all shards have said."""
_UNKNOWN = 1e6
"""So many rows has a table that is empty, as far as plans go."""
_FEWER = 0.25
"""The share of them that one has which others refer to; and of these the one that they refer to."""
_STEPS = 2
_FAR_FEWER = 1 / 64
"""The share beyond so many steps: lines have orders, these have customers, but all customers together few nations."""
_LEAST = 25.0


@dataclass(frozen=True, slots=True)
class NewTable:
    """A table that is to be there, with the rows that it begins with."""

    table: Table
    rows: ArrowRows | None = None


@dataclass(slots=True)
class ShardedTable:
    """A table over shards, and the time of its last change."""

    table: Table
    last_time: int
    _ask: Ask
    _sizes: Sizes

    @property
    def count(self) -> int:
        """The rows that there are; no shard sends them for that."""
        return int(self._sizes()[self.table.name])

    def nulls(self, column: int) -> int:
        """In how many rows a column is NULL."""
        found = self._ask(Question("nulls", self.table.name, keys=((column,),)))
        return sum(each["nulls"][0].as_py() for each in found)

    def reading(self, as_of: int | None = None) -> Callable[[], pa.Table]:
        """What makes an Arrow table of the rows there are now, or as of a time that is kept."""
        rows = pa.concat_tables(self._ask(Question("table", self.table.name, as_of)))
        return lambda: rows


class ShardedTables(dict[str, ShardedTable]):
    """All tables by name; see `ivm.engine.tables.Tables`."""

    def __init__(self, ask: Ask, sizes: Sizes, shards: int) -> None:
        self._ask = ask
        self._sizes = sizes
        self.shards = shards

    def made(self, table: Table, rows: ArrowRows | None = None, time: int = 0) -> NewTable:
        """A new table. UnsupportedError for a primary key that no shard can check by what it has."""
        self._check(table, placement_of(table))
        return NewTable(table, rows)

    def altered(self, change: Altered, values: Sequence[pa.Scalar]) -> NewTable:
        """The table there is as it is to be; shards know what the rows hold in columns that are new."""
        return NewTable(change.table)

    def referring(self, catalog: Catalog, declared: NewTable) -> dict[str, NewTable]:
        """The other tables of `catalog` whose foreign keys are checked against a table that is to be another."""
        name = declared.table.name
        others = [each for each in catalog.tables if each.name != name]
        return {
            each.name: NewTable(each)
            for each in others
            if any(foreign.enforced and foreign.table == name for foreign in each.foreign_keys)
        }

    def indexed(self, table: Table) -> NewTable:
        """The table there is, with the indexes that `table` has."""
        return NewTable(table)

    def put(self, name: str, made: NewTable | None, time: int) -> None:
        """The table of a name is this one from now on; None: there is none. Called again, it changes nothing."""
        put_or_drop(self, name, None if made is None else ShardedTable(made.table, time, self._ask, self._sizes))

    def changed(self, names: Iterable[str], time: int) -> None:
        """These have changed last at a time."""
        for name in names:
            self[name].last_time = time

    def placed(self) -> dict[str, tuple[Placement, int]]:
        """Where each table is, and at which level of a commit it has changed."""
        return {name: (placement_of(each.table), 1) for name, each in self.items()}

    def estimates(self, sizes: Mapping[str, float], more: Iterable[Table] = ()) -> dict[str, float]:
        """The rows to expect of tables and views, also of empty ones. `more`: tables that are to be there."""
        tables = {name: each.table for name, each in self.items()} | {each.name: each for each in more}
        guessed = {name: _guessed(name, tables, frozenset())[0] for name in tables if not sizes.get(name)}
        return dict(sizes) | guessed

    def tell_times_apart(self, names: Collection[str]) -> bool:
        """Whether what these tables promise is promised as of every time: UNIQUE, and foreign keys from or to them."""
        return any(
            (each.table.unique_constraints and name in names)
            or any(key.enforced and (name in names or key.table in names) for key in each.table.foreign_keys)
            for name, each in self.items()
        )

    def _check(self, table: Table, placement: Placement) -> None:
        by = [table.fields[c].name for c in placement.columns] if isinstance(placement, Hashed) else []
        if table.primary_key and not all(written(name, table.primary_key) for name in by):
            raise UnsupportedError(
                f"cannot create table {table.name}: its rows are spread over shards by ({', '.join(by)}), which are "
                f"not all of its PRIMARY KEY ({', '.join(table.primary_key)}), so that no shard sees whether a key is "
                "there twice; partition by columns of the key, or declare it REPLICATED"
            )


def _guessed(name: str, tables: Mapping[str, Table], above: frozenset[str]) -> tuple[float, int]:
    """The rows of a table, as far as others refer to it, and by how many steps the largest does."""
    referring = [
        _guessed(other, tables, above | {name})
        for other, table in tables.items()
        if other not in above | {name} and any(key.table == name for key in table.foreign_keys)
    ]
    if not referring:
        return _UNKNOWN, 0
    rows, steps = min(referring)
    return max(_LEAST, rows * (_FEWER if steps < _STEPS else _FAR_FEWER)), steps + 1
