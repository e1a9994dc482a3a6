"""How ties between changes of a join's inputs go, and which inputs need no path: by what tables declare of changes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate

from ivm.analysis.references import references
from ivm.plan.mfp import table_of
from ivm.plan.node import Plan
from ivm.sql.ir.relation import Relation


@dataclass(frozen=True)
class Ties:
    """Of a join's inputs: `ranks`, by which ties between changes at equal times go; `silent` ones have no path.

    A change of an input sees those of lower rank at its own time, of higher rank before it only.
    """

    ranks: tuple[int, ...]
    silent: frozenset[int]


def ties(plans: Sequence[Plan], relations: Sequence[Relation], classes: Iterable[tuple[int, ...]]) -> Ties:
    """The ranks that leave the fewest inputs with a path; `classes` are the equal columns of all inputs side by side.

    What is static has no change. And let i refer to append-only j by an enforced foreign key along the join. A new row
    of j at time t finds no row of i before t: that would have had its partner then, which would still be there and have
    the new row's key. So if j ranks before i, the rows of i at t find the new row, and it need not look for them.
    """
    links = _links(plans, relations, tuple(classes))
    # What enters a loop changes before its rounds begin.
    order = _targets_first(sorted(range(len(plans)), key=lambda i: plans[i].is_lifted), links)
    ranks = tuple(order.index(i) for i in range(len(plans)))
    unmet = {target for source, target in links if ranks[target] < ranks[source]}
    silent = unmet.union(i for i, plan in enumerate(plans) if plan.is_static)
    if len(silent) == len(plans):
        silent.remove(len(plans) - 1)  # by one path at least the join is hydrated
    return Ties(ranks, frozenset(silent))


def _links(
    plans: Sequence[Plan], relations: Sequence[Relation], classes: tuple[tuple[int, ...], ...]
) -> set[tuple[int, int]]:
    """Pairs (i, j): along a foreign key of input i the join meets input j, of rows of an append-only table."""
    starts = tuple(accumulate((len(plan.row) for plan in plans), initial=0))
    number = {column: i for i, group in enumerate(classes) for column in group}
    found: set[tuple[int, int]] = set()
    for i, relation in enumerate(relations):
        for each in references(relation):
            for j, target in enumerate(map(table_of, plans)):
                if i == j or target is None or not target[0].append_only or target[0].name != each.table:
                    continue
                table, passed = target
                places = {c: starts[j] + place for place, c in enumerate(passed)}
                own = [number.get(starts[i] + c, -1) for c in each.columns]
                other = [number.get(places.get(c, -1)) for c in each.referenced]
                if own == other and not any(table.row[c].type.is_float for c in each.referenced):
                    found.add((i, j))
    return found


def _targets_first(inputs: Sequence[int], links: set[tuple[int, int]]) -> list[int]:
    """The inputs, each after those that it refers to; else, and where they refer in a circle, in their own order."""
    left = list(inputs)
    order: list[int] = []
    while left:
        ready = (i for i in left if not any((i, j) in links for j in left))
        order.append(next(ready, left[0]))
        left.remove(order[-1])
    return order
