"""Dependent joins written without dependence, bottom-up, and then joins of every kind in the nodes of bag algebra."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from ivm.catalog.schema import Schema
from ivm.catalog.types import BIGINT, BOOLEAN, VARCHAR
from ivm.sql.decorrelate.expand_asof import expanded
from ivm.sql.decorrelate.expand_joins import (
    Split,
    equalities,
    filtered,
    grouped,
    joined,
    matches,
    padded,
    partnered,
    split,
)
from ivm.sql.decorrelate.pulled import pulled
from ivm.sql.decorrelate.push import Push
from ivm.sql.decorrelate.pushed import Domain, combine, independent, moved, project
from ivm.sql.decorrelate.simplify_outer import simplify_outer
from ivm.sql.decorrelate.unique import has_one_row
from ivm.sql.ir.aggregate import Aggregate
from ivm.sql.ir.conditions import conjuncts
from ivm.sql.ir.linear import names_read
from ivm.sql.ir.rebuild import FreeOuters, Known, column, is_settled, map_scalars, rebuilt, row
from ivm.sql.ir.relation import Apply, Asof, Join, Map, Negate, Project, Reduce, Relation, Union
from ivm.sql.ir.scalar import FALSE, TRUE, Call, Literal, Scalar, substitute


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
    known: Known = {}

    def removed(node: Relation) -> Relation:
        if isinstance(node, Asof) and names_read(node):  # a loop has no state that goes by rounds for it
            return rebuilt(expanded(node), removed, known)
        return _removed(node, free, typed) if isinstance(node, Apply) else node

    return rebuilt(relation, removed, known, is_settled)


def _removed(apply: Apply, free: FreeOuters, typed: dict[tuple[object, ...], Known]) -> Relation:
    """The Apply without dependence; neither side holds a dependent one.

    `typed` remembers right sides whose outer columns have been told what the left side says of NULL. It may say more
    than it did to the binder, and one column must be one expression.
    """
    left, width = apply.left, len(apply.left.schema)
    above = pulled(apply, lambda below: _removed(below, free, typed))
    if above is not None:
        return project(above, row(above), tuple(f.name for f in apply.schema))
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


MORE_THAN_ONE = "a subquery used as a value returned more than one row"


def expand(relation: Relation) -> Relation:
    """`relation` with each `Apply` written in the other nodes; none of them may depend on its left side.

    With S the rows of the left L that have a partner in the right R (each as often as in L):

    - semi: S, a join of L with the distinct keys of R. Where a predicate reads both sides and is no equality, a join
      of L with the distinct values that the predicates read of L and for which R has a partner;
    - anti: L - S;   mark: S with TRUE + (L - S) with FALSE;
    - left: the join + (L - S) with NULLs;   full: that + the same for R;
    - single: as left, R grouped by its keys first; a group of more than one row raises where a row of L meets it.

    Outer joins are simplified first (`simplify_outer`). What stands in several places is one object. Cost: linear in
    the number of different nodes.
    """
    return rebuilt(simplify_outer(relation), _node, done=is_settled)


def _node(relation: Relation) -> Relation:
    """The node without Apply; its inputs hold none any more."""
    if not isinstance(relation, Apply):
        return relation
    if relation.kind == "inner":
        return _inner(relation.left, relation.right, relation.predicates)
    parts = split(relation.predicates, len(relation.left.schema))
    return _KINDS[relation.kind](relation.left, relation.right, parts)


def _inner(left: Relation, right: Relation, predicates: tuple[Scalar, ...]) -> Relation:
    """A filtered cross product: the transforms find the keys, and leave what can raise above the join."""
    tested = tuple(part for each in conjuncts(predicates) for part in equalities(each) if part != TRUE)
    return filtered(Join((left, right)), tested)


def _mark(left: Relation, right: Relation, parts: Split) -> Relation:
    found = partnered(left, right, parts)
    marked = [Map(each, (value,), ("mark",)) for each, value in ((found, TRUE), (left, FALSE), (found, FALSE))]
    return Union((*marked[:2], Negate(marked[2])))


def _left(left: Relation, right: Relation, parts: Split) -> Relation:
    if parts == Split() and has_one_row(right):
        return Join((left, right))
    return Union((matches(left, right, parts), *_alone(left, partnered(left, right, parts), right.schema)))


def _full(left: Relation, right: Relation, parts: Split) -> Relation:
    widths = len(left.schema), len(right.schema)
    found = partnered(right, left, parts.flipped(*widths))
    columns = (*range(widths[1], sum(widths)), *range(widths[1]))
    alone = (Project(padded(each, left.schema), columns) for each in (right, found))
    both = Union((matches(left, right, parts), *_alone(left, partnered(left, right, parts), right.schema)))
    return Union((*both.inputs, next(alone), Negate(next(alone))))


def _single(left: Relation, right: Relation, parts: Split) -> Relation:
    own, values = row(left), row(right)
    first = tuple(Aggregate("min", value, value.type) for value in values)
    aggregates = (*first, Aggregate("count_star", None, BIGINT, False))
    below = filtered(left, parts.left_only)
    if parts.pairs or parts.rest:
        groups, pairs = grouped(below, right, parts, aggregates)
        both = joined(below, groups, pairs)
        rest = _alone(left, Project(both, tuple(range(len(own)))), right.schema)
    else:
        rest = _alone(left, below, right.schema) if parts.left_only else ()
        if has_one_row(right) and not parts.right_only:
            return Union((Join((below, right)), *rest)) if rest else Join((below, right))
        names = tuple(f"value{i}" for i in range(len(aggregates)))
        both = Join((below, Reduce(filtered(right, parts.right_only), (), aggregates, names)))
    checked = _checked(both, len(values))
    columns = (*range(len(own)), *range(len(both.schema), len(both.schema) + len(values)))
    alone = Project(checked, columns, tuple(f.name for f in left.schema + right.schema))
    return Union((alone, *rest)) if rest else alone


def _checked(both: Relation, width: int) -> Map:
    """Appends the `width` values before the last column, which counts the rows that they come from."""
    *values, count = row(both)[-width - 1 :]
    several = Call("gt", (count, Literal(1, BIGINT)), BOOLEAN, False)
    message = Literal(MORE_THAN_ONE, VARCHAR)
    checked = tuple(Call("raise_if", (several, message, v), v.type, v.nullable) for v in values)
    return Map(both, checked, tuple(f"value{i}" for i in range(width)))


def _alone(left: Relation, found: Relation, missing: Schema) -> Iterable[Relation]:
    """The rows of `left` without those `found`, with NULLs in the columns `missing`."""
    return padded(left, missing), Negate(padded(found, missing))


_KINDS: dict[str, Callable[[Relation, Relation, Split], Relation]] = {
    "semi": partnered,
    "anti": lambda left, right, parts: Union((left, Negate(partnered(left, right, parts)))),
    "mark": _mark,
    "left": _left,
    "full": _full,
    "single": _single,
}
