"""Constraints of tables over shards: which of them a shard can check by what it has, and what checks the others.

A constraint between rows at different shards is a view that has to stay empty: for a foreign key the values that rows
have and no row of the other table has, for UNIQUE the values that more than one row has. Such a view is a *guard*. It
is distributed as any other, and keeps a group of two counts for each value.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache

import pyarrow as pa

from ivm.catalog.catalog import Catalog
from ivm.catalog.errors import ConstraintError, UnsupportedError
from ivm.catalog.names import key, quoted, written
from ivm.catalog.schema import ForeignKey, Table, Unique, View
from ivm.cluster.protocol.placing import placement_of
from ivm.distribute.placement import Hashed, Replicated
from ivm.sql.bind import bind
from ivm.sql.ir.relation import Relation

_PREFIX = "ivm_constraint "
_REMEMBERED = 256
"""So many guards, since each definition looks at those of all tables."""
_SHOWN = 3
"""So many of the values that break a constraint are told."""


@dataclass(frozen=True, slots=True)
class Guard:
    """A constraint of a table that no shard can check by itself, as a view: the values that break it, and how often."""

    table: str
    constraint: Unique | ForeignKey
    what: str
    view: View
    relation: Relation

    @property
    def name(self) -> str:
        """That of the view, which no user can give."""
        return self.view.name

    def refusal(self, rows: pa.Table) -> ConstraintError:
        """What to raise where the view has rows: some of them, with or without further columns."""
        columns = [rows.column(i).to_pylist() for i in range(len(self.constraint.columns))]
        values = list(dict.fromkeys(map(str, zip(*columns, strict=True))))
        shown = ", ".join(values[:_SHOWN]) + (", ..." if len(values) > _SHOWN else "")
        names, broken = ", ".join(self.constraint.columns), self.constraint
        if isinstance(broken, ForeignKey):
            return ConstraintError(
                f"cannot commit: FOREIGN KEY ({names}) of table {self.table}: row(s) refer to no row of {broken.table} "
                f"({', '.join(broken.referenced)}): {shown}; add the rows referred to in the same transaction, keep "
                "those that are referred to, or declare the key without enforcement"
            )
        return ConstraintError(
            f"cannot change table {self.table}: {broken} would be broken: ({names}) = {shown} would be there more than "
            "once; give other values, or delete the rows that have them. Nothing was changed"
        )


def guards_of(table: Table, catalog: Catalog) -> tuple[Guard, ...]:
    """The guards of a table, which is in `catalog`: those of all constraints that no shard can check by itself."""
    return tuple(_guards(table, catalog.table))


def is_guard(view: str) -> bool:
    """Whether a view is one by its name."""
    return view.startswith(_PREFIX)


def guarded_anew(old: Catalog, new: Catalog, anew: Collection[str]) -> list[Table]:
    """The tables whose guards may be others: those that are not the same in `old`, as new ones and those with other
    indexes, and those of which a guard reads what is made `anew`.
    """
    return [
        table
        for table in new.tables
        if old.content.get(key(table.name)) is not table
        or not {table.name, *(each.table for each in table.foreign_keys)}.isdisjoint(anew)
    ]


def check_replaced(table: Table, old: Collection[str], new: Collection[Guard], anew: Collection[str]) -> None:
    """UnsupportedError for a new table in place of another, if both have guards: the old ones read by its name, unless
    it is known to be made `anew`.
    """
    if old and new and table.name not in anew:
        raise UnsupportedError(
            f"cannot replace table {table.name}: {next(iter(new)).what} is checked between shards; drop it first"
        )


def at_home(table: Table, table_of: Callable[[str], Table]) -> Table:
    """A table as each shard has it: of its constraints those that the shard can check."""
    return replace(
        table,
        unique=tuple(each for each in table.unique if _is_unique_here(table, each)),
        indexes=tuple(each for each in table.indexes if _is_unique_here(table, Unique(each.columns))),
        foreign_keys=tuple(
            replace(each, enforced=each.enforced and _refers_here(table, each, table_of)) for each in table.foreign_keys
        ),
    )


def _guards(table: Table, table_of: Callable[[str], Table]) -> Iterator[Guard]:
    for unique in table.unique_constraints:
        if not _is_unique_here(table, unique):
            yield _guard(table, unique, str(unique), _twice(table, unique), (table,))
    for each in table.foreign_keys:
        if each.enforced and not _refers_here(table, each, table_of):
            other = table if each.table == table.name else table_of(each.table)
            what = f"FOREIGN KEY ({', '.join(each.columns)}) to {each.table}"
            yield _guard(table, each, what, _alone(table, each), (table,) if other is table else (table, other))


@lru_cache(_REMEMBERED)
def _guard(table: Table, constraint: Unique | ForeignKey, what: str, text: str, reads: tuple[Table, ...]) -> Guard:
    catalog = Catalog()
    for each in reads:  # without the constraints, by which the query would be known to be empty
        catalog.add_table(replace(each, unique=(), indexes=(), foreign_keys=(), checks=()))
    bound = bind(text, catalog)
    view = View(f"{_PREFIX}{what} of {table.name}", text, bound.schema, bound.uses, maintained=True)
    return Guard(table.name, constraint, what, view, bound.relation)


def _twice(table: Table, unique: Unique) -> str:
    """The values that more than one row has."""
    names = _names(unique.columns)
    return (
        f"SELECT {names}, count(*) AS times FROM {quoted(table.name)} WHERE {_known(unique.columns)} "
        f"GROUP BY {names} HAVING count(*) > 1"
    )


def _alone(table: Table, foreign: ForeignKey) -> str:
    """The values that some rows have, and no row of the other table."""
    places = [f"k{i}" for i in range(len(foreign.columns))]
    own = ", ".join(f"{quoted(column)} AS {place}" for column, place in zip(foreign.columns, places, strict=True))
    names = ", ".join(places)
    return (
        f"SELECT {names}, count(own) AS times FROM ("
        f"SELECT {own}, 1 AS own, NULL::INTEGER AS other FROM {quoted(table.name)} WHERE {_known(foreign.columns)} "
        f"UNION ALL SELECT {_names(foreign.referenced)}, NULL, 1 FROM {quoted(foreign.table)}"
        f") GROUP BY {names} HAVING count(own) > 0 AND count(other) = 0"
    )


def _names(columns: tuple[str, ...]) -> str:
    return ", ".join(map(quoted, columns))


def _known(columns: tuple[str, ...]) -> str:
    return " AND ".join(f"{quoted(column)} IS NOT NULL" for column in columns)


def _is_unique_here(table: Table, unique: Unique) -> bool:
    """Whether rows that agree are at one shard."""
    placement = placement_of(table)
    if not isinstance(placement, Hashed):
        return True
    return all(written(table.fields[c].name, unique.columns) for c in placement.columns)


def _refers_here(table: Table, foreign: ForeignKey, table_of: Callable[[str], Table]) -> bool:
    """Whether rows are where those are that they refer to."""
    other = table if foreign.table == table.name else table_of(foreign.table)
    own, there = placement_of(table), placement_of(other)
    if isinstance(there, Replicated):
        return True
    refers = dict(zip(table.places(foreign.columns), other.places(foreign.referenced), strict=True))
    if not isinstance(own, Hashed) or not isinstance(there, Hashed):
        return False
    return tuple(refers.get(c) for c in own.columns) == there.columns
