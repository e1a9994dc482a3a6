"""A join of very many inputs is made in steps, each of which joins some more of them to what there is."""

from __future__ import annotations

from ivm.sql.ir.classes import merged_classes
from ivm.sql.ir.rebuild import offsets
from ivm.sql.ir.relation import Join, Relation
from ivm.transform.fuse_joins import MOST_INPUTS
from ivm.transform.rewrite import at_each, names, projected

_MOST_AT_ONCE = 2 * MOST_INPUTS
"""A join of n inputs has n paths of n - 1 lookups, which have to be found, made and kept."""


@at_each(Join)
def split_joins(relation: Join) -> Relation:
    """Join(X1, .., Xn) of more than `_MOST_AT_ONCE` inputs becomes Join(Join(Join(..), ..), ..) of `MOST_INPUTS` each.

    An input comes after one that it shares a class with, where there is one, so that no step is a needless product.
    What the steps find is kept, as `fuse_joins` has it where there are too many inputs.
    """
    if len(relation.inputs) <= _MOST_AT_ONCE:
        return relation
    starts, order = offsets(relation.inputs), _connected(relation)
    columns = [c for i in order for c in range(starts[i], starts[i + 1])]
    moved = {column: place for place, column in enumerate(columns)}
    classes = merged_classes([moved[c] for c in group] for group in relation.equivalences)
    inputs = [relation.inputs[i] for i in order]
    made: Relation = inputs[0]
    for at in range(1, len(inputs), MOST_INPUTS - 1):
        step = (made, *inputs[at : at + MOST_INPUTS - 1])
        before, width = len(made.schema), offsets(step)[-1]
        made = Join(step, merged_classes(_new(group, before, width) for group in classes))
    return projected(made, tuple(moved[c] for c in range(len(columns))), names(relation))


def _new(group: tuple[int, ...], before: int, width: int) -> list[int]:
    """The members of a class that a step adds to those before, of which one stands for all."""
    return [*[c for c in group if c < before][:1], *(c for c in group if before <= c < width)]


def _connected(join: Join) -> list[int]:
    """The inputs in an order in which each shares a class with one before it, as far as there is one that does."""
    starts = offsets(join.inputs)
    owners = [i for i, each in enumerate(join.inputs) for _ in each.schema]
    partners: list[list[int]] = [[] for _ in join.inputs]
    for group in join.equivalences:
        for column in group[1:]:
            partners[owners[group[0]]].append(owners[column])
            partners[owners[column]].append(owners[group[0]])
    order: dict[int, None] = {}
    for first in range(len(starts) - 1):
        waiting = [first]
        for each in waiting:
            if each not in order:
                order[each] = None
                waiting += sorted(partners[each])
    return list(order)
