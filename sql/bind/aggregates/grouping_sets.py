"""GROUPING SETS, ROLLUP and CUBE as the plain sets of expressions that they stand for."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

from sqlglot import exp

from sql.bind.context import BindContext
from sql.tree import values_of

Set = tuple[exp.Expr, ...]

MOST_SETS = 128


def written_sets(context: BindContext, nodes: Sequence[exp.Expr]) -> list[Set]:
    """The grouping sets of a GROUP BY list: what its items are, combined with each other.

    A plain expression is one set of one. Each set becomes a Reduce of its own, so their number is bounded.
    """
    sets: list[Set] = [()]
    for node in nodes:
        sets = [(*left, *right) for left in sets for right in _item(context, node)]
        if len(sets) > MOST_SETS:
            context.refuse(node, f"this makes more than {MOST_SETS} grouping sets; name those that are wanted")
    return sets


def is_set(node: exp.Expr) -> bool:
    """Whether this stands for several grouping sets."""
    return isinstance(node, exp.Rollup | exp.Cube | exp.GroupingSets)


def _item(context: BindContext, node: exp.Expr) -> list[Set]:
    if isinstance(node, exp.Rollup):
        units = list(map(_unit, node.expressions))
        return [_flat(units[:length]) for length in range(len(units), -1, -1)]
    if isinstance(node, exp.Cube):
        units = list(map(_unit, node.expressions))
        if 2 ** len(units) > MOST_SETS:
            context.refuse(node, f"CUBE of {len(units)} makes more than {MOST_SETS} grouping sets; name those wanted")
        return [_flat(chosen) for n in range(len(units), -1, -1) for chosen in combinations(units, n)]
    if isinstance(node, exp.GroupingSets):
        return [each for inner in node.expressions for each in _item(context, inner)]
    return [_unit(node)]


def _unit(node: exp.Expr) -> Set:
    """(a, b) counts as one in ROLLUP and CUBE; (a) is a; () is nothing."""
    return tuple(values_of(node))


def _flat(units: Sequence[Set]) -> Set:
    return tuple(each for unit in units for each in unit)
