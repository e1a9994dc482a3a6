"""References: columns of which every row has its partner in a table, because an enforced foreign key says so."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice

from ivm.analysis.fact import fact
from ivm.sql.ir.rebuild import offsets
from ivm.sql.ir.reference import Reference
from ivm.sql.ir.relation import (
    Filter,
    Get,
    Join,
    LetRec,
    Map,
    Project,
    Reduce,
    Relation,
    Threshold,
    TopK,
    Unnest,
    Window,
)
from ivm.sql.ir.scalar import Column

# A wide join of tables that all repeat a column could have very many; few are ever of use.
_MOST = 64


@fact
def references(relation: Relation) -> tuple[Reference, ...]:
    """The foreign keys whose columns `relation` still has, with their places in it.

    A row without NULL in such columns has, at each time at which it is there, a row of the table.
    """
    match relation:
        case Get():
            return relation.references
        case Map() | Unnest() | Filter() | Threshold() | TopK() | Window():
            return references(relation.input)
        case LetRec():
            return references(relation.last)
        case Project():
            return _placed(references(relation.input), relation.columns)
        case Reduce():
            keys = tuple(key.index if isinstance(key, Column) else -1 for key in relation.keys)
            return _placed(references(relation.input), keys)
        case Join():
            placed = zip(offsets(relation.inputs), relation.inputs, strict=False)
            found = ((start, each) for start, below in placed for each in references(below))
            moved = (Reference(tuple(start + c for c in r.columns), r.table, r.referenced) for start, r in found)
            return tuple(islice(moved, _MOST))
    return ()


def _placed(known: Iterable[Reference], columns: tuple[int, ...]) -> tuple[Reference, ...]:
    """Those that are left of `known` after keeping `columns`, of which a negative one is new."""
    places = {column: position for position, column in reversed(list(enumerate(columns)))}
    return tuple(
        Reference(tuple(places[c] for c in each.columns), each.table, each.referenced)
        for each in known
        if places.keys() >= set(each.columns)
    )
