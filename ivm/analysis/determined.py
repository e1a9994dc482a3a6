"""Which columns of a row follow from others: functional dependencies."""

from __future__ import annotations

from collections.abc import Iterable

from ivm.analysis.equivalences import equivalences
from ivm.analysis.unique_keys import is_unique
from ivm.sql.ir.rebuild import offsets
from ivm.sql.ir.relation import Filter, Join, LetRec, Map, Negate, Project, Reduce, Relation, Threshold, Unnest
from ivm.sql.ir.scalar import Column, columns_of


def determined(relation: Relation, columns: Iterable[int]) -> frozenset[int]:
    """The columns in which rows that agree on `columns` (NULL with NULL) agree too, these included.

    Conservative: there may be more. Rows of negative multiplicity count as well. Cost: linear in the relation.
    """
    given, known = frozenset(columns), equivalences(relation)
    everything = range(len(relation.schema))
    if is_unique(relation, given):
        return frozenset(everything)
    fixed = {known.representative(c) for c in _below(relation, given)}
    return frozenset(c for c in everything if known.representative(c) in fixed or c in known.constants)


def _below(relation: Relation, given: frozenset[int]) -> frozenset[int]:
    """What follows from `given` by what there is below."""
    match relation:
        case Filter() | Threshold() | Negate():
            return determined(relation.input, given)
        case LetRec():
            return determined(relation.last, given)
        case Map():
            width = len(relation.input.schema)
            found = given | determined(relation.input, (c for c in given if c < width))
            for i, scalar in enumerate(relation.scalars):
                if columns_of(scalar) <= found:
                    found |= {width + i}
            return found
        case Unnest():
            width = len(relation.input.schema)
            return given | determined(relation.input, (c for c in given if c < width))
        case Project():
            fixed = determined(relation.input, {relation.columns[c] for c in given})
            return frozenset(i for i, c in enumerate(relation.columns) if c in fixed)
        case Join():
            return _joined(relation, given)
        case Reduce():
            keys = frozenset(range(len(relation.keys)))
            plain = {c: key.index for c, key in enumerate(relation.keys) if isinstance(key, Column)}
            fixed = determined(relation.input, (plain[c] for c in given if c in plain))
            found = given | {c for c, below in plain.items() if below in fixed}
            return frozenset(range(len(relation.names))) if keys <= found else found
    return given


def _joined(join: Join, given: frozenset[int]) -> frozenset[int]:
    """As long as it helps: what each input's columns say of the others, and then the classes of equal columns.

    Equal values of DOUBLE may differ: 0.0 and -0.0.
    """
    starts, found = offsets(join.inputs), given
    classes = [group for group in join.equivalences if not join.schema[group[0]].type.is_float]
    while True:
        more = set(found)
        for relation, start, end in zip(join.inputs, starts, starts[1:], strict=False):
            own = frozenset(c - start for c in found if start <= c < end)
            more |= {start + c for c in determined(relation, own)}
        for group in classes:
            if not more.isdisjoint(group):
                more.update(group)
        if more == found:
            return found
        found = frozenset(more)
