"""How many rows a relation can have, as far as its form tells."""

from __future__ import annotations

from collections.abc import Set

from ivm.sql.ir.rebuild import offsets
from ivm.sql.ir.relation import Apply, Constant, Filter, Get, Join, Map, Project, Reduce, Relation, TopK, Window
from ivm.sql.ir.scalar import Call, Column, Scalar, columns_of


def has_one_row(relation: Relation) -> bool:
    """Whether the relation always holds exactly one row; False if in doubt."""
    match relation:
        case Constant():
            return len(relation.rows) == 1
        case Join():
            return all(map(has_one_row, relation.inputs)) and not relation.equivalences
        case Map() | Project() | Window():
            return has_one_row(relation.input)
        case Reduce():
            return not relation.keys
        case Apply("inner" | "left" | "single" | "mark"):
            alone = relation.kind == "mark" or has_one_row(relation.right)
            return has_one_row(relation.left) and alone and (relation.kind == "mark" or not relation.predicates)
    return False


def has_at_most_one_row(relation: Relation, fixed: frozenset[int]) -> bool:
    """Whether at most one row agrees with given values in the columns `fixed`; False if in doubt.

    Cost: linear in the depth of the relation, times the inputs of its joins.
    """
    match relation:
        case Get():
            return any(fixed.issuperset(key) for key in relation.keys)
        case Constant():
            return len(relation.rows) <= 1
        case Map() | Window():
            return has_at_most_one_row(relation.input, _within(fixed, 0, len(relation.input.schema)))
        case Project():
            return has_at_most_one_row(relation.input, frozenset(relation.columns[c] for c in fixed))
        case Filter():
            return has_at_most_one_row(relation.input, _with_equal(fixed, relation.predicates))
        case Join():
            return _join_has(relation, fixed)
        case Reduce():
            return all(i in fixed or not columns_of(key) for i, key in enumerate(relation.keys))
        case TopK():
            one = relation.limit is not None and relation.limit <= 1 and not relation.ties
            few = one and fixed.issuperset(relation.group)
            return few or has_at_most_one_row(relation.input, fixed)
        case Apply("semi" | "anti" | "mark" | "single"):
            return has_at_most_one_row(relation.left, _within(fixed, 0, len(relation.left.schema)))
        case Apply("inner" | "left"):
            return _apply_has(relation, fixed)
    return False


def _with_equal(fixed: frozenset[int], predicates: tuple[Scalar, ...]) -> frozenset[int]:
    """The columns that the predicates fix too: those that equal an expression over fixed ones."""
    known = set(fixed)
    for _ in predicates:
        before = len(known)
        for predicate in predicates:
            if isinstance(predicate, Call) and predicate.function == "eq":
                for one, other in (predicate.args, predicate.args[::-1]):
                    if isinstance(one, Column) and columns_of(other) <= known:
                        known.add(one.index)
        if len(known) == before:
            break
    return frozenset(known)


def _join_has(join: Join, fixed: frozenset[int]) -> bool:
    """One row of each input: an input that has one fixes all its columns, and with them those that they equal."""
    starts = offsets(join.inputs)
    known, waiting = set(fixed), list(range(len(join.inputs)))
    while waiting:
        for group in join.equivalences:
            if known.intersection(group):
                known.update(group)
        ready = [i for i in waiting if has_at_most_one_row(join.inputs[i], _within(known, starts[i], starts[i + 1]))]
        if not ready:
            return False
        for i in ready:
            known.update(range(starts[i], starts[i + 1]))
            waiting.remove(i)
    return True


def _apply_has(apply: Apply, fixed: frozenset[int]) -> bool:
    width, end = len(apply.left.schema), len(apply.schema)
    if not has_at_most_one_row(apply.left, _within(fixed, 0, width)):
        return False
    known = _with_equal(fixed | frozenset(range(width)), apply.predicates)
    return has_at_most_one_row(apply.right, _within(known, width, end))


def _within(columns: Set[int], start: int, end: int) -> frozenset[int]:
    return frozenset(c - start for c in columns if start <= c < end)
