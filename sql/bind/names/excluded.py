"""Columns of one table that * leaves out: EXCLUDE (table.column)."""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set

from ivm.catalog.names import key
from ivm.sql.bind.names.scope import Scope, ScopeColumn

Named = tuple[str, str]
"""A column by the keys of its table and of its name."""


def without(
    scope: Scope, columns: Sequence[ScopeColumn], excluded: Named, apart: Set[Named], whole: bool
) -> tuple[ScopeColumn, ...]:
    """The columns that a star stands for, less one that is `excluded`.

    Of columns that USING has joined the next that is not set `apart` is there in the place of the first, if the star
    is that of the `whole` FROM.
    """
    of, name = excluded
    tables = [key(table) for table in scope.tables]
    joined = sorted((c for c in scope.columns if key(c.name) == name and key(c.table) in tables), key=_place(tables))
    if not whole or not any(column.merged for column in joined):
        return tuple(c for c in columns if (key(c.table), key(c.name)) != excluded)
    if key(joined[0].table) != of:
        return tuple(columns)
    left = next((c for c in joined if (key(c.table), name) not in apart), None)
    rest = [c for c in columns if key(c.name) != name]
    if left is not None:
        behind = (i for i, c in enumerate(rest) if _place(tables)(c) > _place(tables)(left))
        rest.insert(next(behind, len(rest)), left)
    return tuple(rest)


def _place(tables: Sequence[str]) -> Callable[[ScopeColumn], tuple[int, int]]:
    """Where a column stands before any is joined."""
    return lambda c: (tables.index(key(c.table)) if key(c.table) in tables else -1, c.column.index)
