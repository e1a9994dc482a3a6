"""The rows of tables in stretches, which are brought to new shards one after the other: so nobody has all at once.

Constraints are checked of each stretch. So rows that others refer to come before these, and at once where they refer to
each other.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import pyarrow as pa

from ivm.catalog.names import key
from ivm.catalog.schema import Table
from ivm.engine.transaction import Change
from ivm.trace.rows.table_store import TableStore

BYTES = 1 << 26
"""A stretch of rows that are here has some more at most."""
ROWS = 1 << 20
"""So many rows a shard sends at a time."""
_PIECE = 1 << 16
"""So many rows are read at a time."""


class InTurn(NamedTuple):
    """Tables that come one after the other; `at_once`: with all of their rows, as these refer to each other."""

    tables: tuple[Table, ...]
    at_once: bool


class Stretch(NamedTuple):
    """One of so many parts of the rows of tables."""

    tables: tuple[Table, ...]
    part: int = 0
    of: int = 1


def in_turn(tables: Sequence[Table]) -> list[InTurn]:
    """All tables, each after those to which its foreign keys refer, if they are checked."""
    refers = {key(each.name): {key(f.table) for f in each.foreign_keys if f.enforced} for each in tables}
    below = {name: _below(name, refers) for name in refers}
    found = dict[frozenset[str], list[Table]]()
    for table in sorted(tables, key=lambda each: len(below[key(each.name)] | {key(each.name)})):
        name = key(table.name)
        alike = frozenset({name, *(other for other in below[name] if name in below[other])})
        found.setdefault(alike, []).append(table)
    return [InTurn(tuple(several), key(several[0].name) in below[key(several[0].name)]) for several in found.values()]


def _below(name: str, refers: Mapping[str, set[str]]) -> set[str]:
    """All to which a table refers, through others too."""
    found, left = set[str](), [name]
    while left:
        new = refers[left.pop()] - found
        found |= new
        left += new
    return found


def stretches_here(tables: Sequence[Table], stores: Mapping[str, TableStore]) -> Iterator[list[Change]]:
    """All rows of tables as changes, to be committed one list after the other. Cost: memory for one of them."""
    changes, size = list[Change](), 0
    for several, at_once in in_turn(tables):
        for table in several:
            for piece in _pieces(stores[table.name]):
                changes.append(Change(table, piece))
                size += piece.nbytes
                if size >= BYTES and not at_once:
                    yield changes
                    changes, size = [], 0
        if size >= BYTES:
            yield changes
            changes, size = [], 0
    if changes:
        yield changes


def stretches_elsewhere(tables: Sequence[Table], rows: Mapping[str, float], shards: int) -> Iterator[Stretch]:
    """What so many shards are to send of tables that have so many rows: of small ones together."""
    small, count, most = list[Table](), 0.0, ROWS * shards
    for several, at_once in in_turn(tables):
        more = sum(rows[each.name] for each in several)
        if small and count + more > most:
            yield Stretch(tuple(small))
            small, count = [], 0
        if more > most:
            of = 1 if at_once else int(-(-more // most))
            yield from (Stretch(several, part, of) for part in range(of))
        elif more:
            small += several
            count += more
    if small:
        yield Stretch(tuple(small))


def _pieces(store: TableStore) -> Iterator[pa.Table]:
    """All rows of a table, some at a time, of which none has more bytes than a stretch, or a single row."""
    of = -(-store.reader().rows // _PIECE)
    for part in range(of):
        rows = store.part(part, of)
        most = max(1, rows.num_rows // max(1, -(-rows.nbytes // BYTES)))
        for first in range(0, rows.num_rows, most):
            yield rows.slice(first, most)
