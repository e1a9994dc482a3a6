"""Group keys that follow from other keys are not grouped by.

Today those that are identical to another key, or constant. A key that is merely determined by others (the name beside
the primary key) would have to be carried as an arbitrary value of its group, for which the IR has no aggregate.
"""

from __future__ import annotations

from dataclasses import replace

from ivm.analysis.equivalences import Equivalences, equivalences
from ivm.sql.ir.rebuild import row
from ivm.sql.ir.relation import Reduce, Relation
from ivm.sql.ir.scalar import Column, Literal, Scalar, remap
from ivm.transform.rewrite import at_each, expressed


@at_each(Reduce)
def reduce_group_keys(relation: Reduce) -> Relation:
    """Drop keys that are identical to another key or constant, and put them back above the Reduce.

    One key always stays: without any, an empty input would have a group.
    """
    known = equivalences(relation.input)
    constants = {i: value for i, key in enumerate(relation.keys) if (value := _constant(key, known)) is not None}
    if len(constants) == len(relation.keys):
        constants.pop(0, None)
    first: dict[Scalar, int] = {}
    for i, key in sorted(enumerate(relation.keys), key=lambda each: each[1].nullable):  # NOT NULL is worth keeping
        if i not in constants:
            first.setdefault(_canonical(key, known), i)
    kept = sorted(first.values())
    if len(kept) == len(relation.keys):
        return relation
    own = (*kept, *range(len(relation.keys), len(relation.names)))
    keys, called = tuple(relation.keys[i] for i in kept), tuple(relation.names[i] for i in own)
    smaller = replace(relation, keys=keys, names=called)
    columns = row(smaller)
    places = {key: kept.index(i) for key, i in first.items()}
    restored = [constants.get(i) or columns[places[_canonical(key, known)]] for i, key in enumerate(relation.keys)]
    return expressed(smaller, (*restored, *columns[len(kept) :]), relation.names)


def _constant(key: Scalar, known: Equivalences) -> Literal | None:
    if isinstance(key, Literal):
        return key
    found = known.constants.get(key.index) if isinstance(key, Column) else None
    return found if found is not None and found.type == key.type else None


def _canonical(key: Scalar, known: Equivalences) -> Scalar:
    """The key over the first of identical columns, blind to nullability, in which identical columns may differ."""
    if isinstance(key, Column):
        return Column(known.representative(key.index), key.type)
    return remap(key, known.representative)
