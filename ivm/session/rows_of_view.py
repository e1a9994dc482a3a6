"""The rows of a view that a plain statement asks for: found by values that they must have, or looked at one by one."""

from __future__ import annotations

from itertools import product
from math import prod

from ivm.catalog.schema import View
from ivm.plan.mfp import Mfp
from ivm.render.scalars.columns import column_of_literals
from ivm.render.scalars.functions import Context
from ivm.render.scalars.program import Interpreted
from ivm.render.scalars.shape import Shape
from ivm.session.core import Core
from ivm.sql.bind.rows import BoundRows
from ivm.sql.ir.scalar import Literal, Scalar
from ivm.subscriptions.chosen import can_choose
from ivm.trace.consolidate import consolidate
from ivm.trace.delta import Delta, delta_of
from ivm.trace.log_index import LogIndex
from ivm.trace.text.dictionary import Literals, TextDictionary
from ivm.trace.view_log import Sealed

MOST_KEYS = 1000
"""So many values, or combinations of some, may be looked for."""
_MOST_ROWS = 1 << 17
"""DuckDB looks at so many rows of a view as fast."""
_MOST_UPDATES = 1 << 20
"""Where nobody has read the view since it changed, DuckDB would have to wait until they are consolidated."""

Found = tuple[Delta, tuple[Scalar, ...], TextDictionary]
"""Rows, what is to be looked at still, and their texts."""


def index_of(core: Core, bound: BoundRows) -> LogIndex | None:
    """What finds the rows of a view by the values that they must have; None where there are none, or the first time.

    The caller has no lock, as it may take a while to make it.
    """
    wanted = _wanted(bound)
    installed = core.engine.whole_view(bound.relation.name) if wanted else None
    if installed is None:
        return None
    sealed = installed.log.sealed
    return installed.log.indexes.asked(tuple(wanted), sealed.updates, sealed.length)


def found_in_view(sealed: Sealed, bound: BoundRows, dictionary: TextDictionary, index: LogIndex | None) -> Found | None:
    """The rows of a view among which all are that pass; None where they are too many.

    Where the view changed since it was read, rows that do not pass are not consolidated for this.
    """
    found = None if index is None else _by_index(sealed, bound, dictionary, index)
    if found is not None:
        return found, (), dictionary
    if bound.predicates and not sealed.is_read:
        if sealed.length > _MOST_UPDATES:
            return None
        columns, _, diffs = sealed.updates.part(0, sealed.length)
        rows = delta_of(columns, sealed.last, diffs, sealed.length)
        return _passing(rows, bound.predicates, sealed, dictionary), (), dictionary
    columns, diffs = sealed.rows(None)
    rows = delta_of(columns, sealed.last, diffs, len(diffs))
    return (rows, bound.predicates, dictionary) if len(rows) <= _MOST_ROWS else None


def _wanted(bound: BoundRows) -> dict[int, list[Literal]]:
    """The columns of a view of which a row must have one of some values, in order, with these."""
    if not isinstance(bound.relation, View):
        return {}
    fixed, schema = bound.fixed, bound.relation.schema
    found = {
        column: [value for value in fixed[column][1] if value.value is not None]  # to which nothing is equal
        for column in sorted(fixed)
        if can_choose(schema[column].type)
    }
    return found if prod(map(len, found.values())) <= MOST_KEYS else {}


def _by_index(sealed: Sealed, bound: BoundRows, dictionary: TextDictionary, index: LogIndex) -> Delta | None:
    """The rows that pass, by an index; None if that does not know the log, or if too many are to be looked at."""
    assert isinstance(bound.relation, View), "only views have such an index"
    wanted, schema, texts = _wanted(bound), bound.relation.schema, Literals(dictionary)
    rows = list(product(*wanted.values()))
    keys = [
        column_of_literals([row[place] for row in rows], schema[column].type, texts)
        for place, column in enumerate(wanted)
    ]
    found = index.find(sealed.updates, sealed.length, keys, _MOST_ROWS)
    if found is None:
        return None
    columns, _, diffs = sealed.updates.part(0, sealed.length)
    few = delta_of([column.take(found) for column in columns], sealed.last, diffs[found], len(found))
    return _passing(few, bound.predicates, sealed, dictionary)


def _passing(rows: Delta, predicates: tuple[Scalar, ...], sealed: Sealed, dictionary: TextDictionary) -> Delta:
    """Those that pass, consolidated."""
    program = Mfp(len(rows.layout), (), predicates, (), gathered=True)
    passed = len(rows) > 0 and Interpreted(Shape.of(program), Context(dictionary)).run(rows)
    if isinstance(passed, bool):
        return rows.slice(0, 0)
    rows = rows if passed[0] is None else rows.take(passed[0])
    return (consolidate(rows, sealed.types) if len(rows) else None) or rows.slice(0, 0)
