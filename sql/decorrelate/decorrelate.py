"""Dependent joins written without dependence, bottom-up."""

from __future__ import annotations

from sql.decorrelate.combine import combine
from sql.decorrelate.expand import expand
from sql.decorrelate.push import Push
from sql.decorrelate.pushed import Domain, column, independent, moved, project
from sql.decorrelate.unique import has_one_row
from sql.ir.rebuild import FreeOuters, Known, is_settled, map_scalars, rebuilt, row
from sql.ir.relation import Apply, Relation
from sql.ir.scalar import Scalar, substitute


def decorrelate(relation: Relation) -> Relation:
    """`relation` without Apply and Outer.

    What stands in several places stays one object. Cost: each node once for each Apply around it.
    """
    return expand(independent_joins(relation))


def independent_joins(relation: Relation) -> Relation:
    """`relation` with no Apply whose right side depends on its left, the first of the two steps of `decorrelate`.

    An Apply of kind `single` remains only where its right side may have two rows for a left one.
    """
    free = FreeOuters()
    typed: dict[tuple[object, ...], Known] = {}

    def removed(node: Relation) -> Relation:
        return _removed(node, free, typed) if isinstance(node, Apply) else node

    return rebuilt(relation, removed, done=is_settled)


def _removed(apply: Apply, free: FreeOuters, typed: dict[tuple[object, ...], Known]) -> Relation:
    """The Apply without dependence; neither side holds a dependent one.

    `typed` remembers right sides whose outer columns have been told what the left side says of NULL. It may say more
    than it did to the binder, and one column must be one expression.
    """
    left, width = apply.left, len(apply.left.schema)
    depends = apply.binding in free.of(apply.right)
    if not depends and (apply.kind == "full" or (apply.kind != "single" and not has_one_row(apply.right))):
        return apply
    domain = Domain(left, apply.binding)
    if depends:
        same = typed.setdefault((apply.binding, *(f.nullable for f in left.schema)), {})
        right = Push(domain, free)(map_scalars(apply.right, lambda s: domain.bound(s, domain.outer), same))
    else:
        right = independent(apply.right)
    values = (*row(left), *(moved(s, width) for s in right.outputs))
    predicates = tuple(substitute(p, values) for p in apply.predicates)

    def outer(scalar: Scalar) -> Scalar:
        return domain.bound(scalar, lambda c: column(left, c))

    relation, appended = combine(apply.kind, left, right, tuple(map(outer, predicates)), outer)
    return project(relation, (*row(left), *appended), tuple(f.name for f in apply.schema))
