"""Aggregates over an outer join are computed before it where each group is one row of the preserved side."""

from __future__ import annotations

from dataclasses import replace

from catalog.types import BIGINT
from sql.decorrelate.expand_joins import filtered, row
from sql.decorrelate.expand_predicates import Split, split
from sql.decorrelate.nodes import with_inputs
from sql.decorrelate.pushed import equal, moved, project
from sql.decorrelate.unique import has_at_most_one_row
from sql.ir.relation import Aggregate, Apply, Project, Reduce, Relation, inputs_of
from sql.ir.scalar import Call, Column, Literal, Scalar, remap, substitute

# What an aggregate is over the one row of NULLs that stands for a missing partner: NULL, but for the counts.
_WITHOUT_PARTNER = {"count": 0, "count_star": 1}
_NULL_WITHOUT_PARTNER = frozenset(
    ("sum", "avg", "min", "max", "stddev_samp", "stddev_pop", "var_samp", "var_pop", "string_agg")
)


def aggregate_early(relation: Relation) -> Relation:
    """Reduce(Apply left(L, R)) becomes Apply left(L, Reduce(R)) where the group keys are columns of L that no two of
    its rows share, the aggregates read R alone, and R is joined by equalities alone.

    So a change of R changes one group, whose new value finds its row of L, instead of being joined, padded and grouped
    again. The groups are those of the join's keys, which the expanded join would keep in any case. Cost: linear in the
    number of different nodes.
    """
    known: dict[int, tuple[Relation, Relation]] = {}

    def visit(node: Relation) -> Relation:
        if id(node) not in known:
            known[id(node)] = node, _early(with_inputs(node, tuple(map(visit, inputs_of(node)))))
        return known[id(node)][1]

    return visit(relation)


def _early(relation: Relation) -> Relation:
    if not isinstance(relation, Reduce) or not relation.keys:
        return relation
    below, columns = _peeled(relation.input)
    if not isinstance(below, Apply) or below.kind != "left":
        return relation
    keys = tuple(remap(key, columns.__getitem__) for key in relation.keys)
    aggregates = tuple(a.map(lambda s: remap(s, columns.__getitem__)) for a in relation.aggregates)
    parts = split(below.predicates, len(below.left.schema))
    if not parts.pairs or parts.rest or not _fits(below, keys, aggregates):
        return relation
    return _joined_late(below, parts, keys, aggregates, relation.names)


def _peeled(relation: Relation) -> tuple[Relation, tuple[int, ...]]:
    """The relation below projections, and which of its columns each column is."""
    columns = tuple(range(len(relation.schema)))
    while isinstance(relation, Project):
        columns = tuple(relation.columns[c] for c in columns)
        relation = relation.input
    return relation, columns


def _fits(apply: Apply, keys: tuple[Scalar, ...], aggregates: tuple[Aggregate, ...]) -> bool:
    width = len(apply.left.schema)
    own = frozenset(key.index for key in keys if isinstance(key, Column))
    if len(own) < len(keys) or max(own) >= width or not has_at_most_one_row(apply.left, own):
        return False
    known = all(a.function in _WITHOUT_PARTNER or a.function in _NULL_WITHOUT_PARTNER for a in aggregates)
    # An expression could raise on rows without a partner, which the join would have kept from it.
    return known and all(isinstance(s, Column) and s.index >= width for a in aggregates for s in a.scalars)


def _joined_late(
    apply: Apply, parts: Split, keys: tuple[Scalar, ...], aggregates: tuple[Aggregate, ...], names: tuple[str, ...]
) -> Relation:
    left, width, grouped = apply.left, len(apply.left.schema), len(parts.pairs)
    groups = Reduce(
        filtered(apply.right, parts.right_only),
        tuple(pair.right for pair in parts.pairs),
        tuple(_of_right(aggregate, apply) for aggregate in aggregates),
        (*(f"key{i}" for i in range(grouped)), *names[len(keys) :]),
    )
    joined = replace(apply, right=groups, predicates=(*parts.left_only, *_matching(parts, groups, width)))
    found = (Column(width + grouped + i, a.type) for i, a in enumerate(aggregates))
    values = tuple(_or_without_partner(a, column) for a, column in zip(aggregates, found, strict=True))
    return project(joined, (*(substitute(key, row(left)) for key in keys), *values), names)


def _of_right(aggregate: Aggregate, apply: Apply) -> Aggregate:
    """The aggregate over the rows of the right side, where a column may be known not to be NULL."""
    width, values = len(apply.left.schema), row(apply.right)
    return aggregate.map(lambda s: substitute(remap(s, lambda c: c - width), values))


def _matching(parts: Split, groups: Reduce, width: int) -> tuple[Scalar, ...]:
    """The left keys equal those of the groups, as they equalled those of the rows."""
    keys = (moved(key, width) for key in row(groups))
    return tuple(equal(pair.left, key, pair.null_safe) for pair, key in zip(parts.pairs, keys, strict=False))


def _or_without_partner(aggregate: Aggregate, found: Column) -> Scalar:
    count = _WITHOUT_PARTNER.get(aggregate.function)
    return found if count is None else Call("coalesce", (found, Literal(count, BIGINT)), BIGINT, False)
