"""A join of each kind whose right side has been freed from the outer row."""

from __future__ import annotations

from collections.abc import Callable

from catalog.types import BOOLEAN
from sql.decorrelate.expand_joins import filtered
from sql.decorrelate.pushed import Pushed, equal, maybe_missing, moved
from sql.decorrelate.unique import has_at_most_one_row, has_one_row
from sql.ir.conditions import coalesced, comparison, is_null, junction
from sql.ir.rebuild import column
from sql.ir.relation import Apply, Map, Project, Relation
from sql.ir.scalar import FALSE, TRUE, Call, Column, Literal, Scalar, columns_of

_TESTS = ("semi", "anti", "mark")


def combine(
    kind: str, left: Relation, right: Pushed, predicates: tuple[Scalar, ...], outer: Callable[[Scalar], Scalar]
) -> tuple[Relation, tuple[Scalar, ...]]:
    """The join of `left` with `right`, and what it appends to each row of `left`, over the rows of the relation.

    `predicates` read the columns of `left` and, behind them, those of the carrier of `right`. `outer` puts columns of
    `left` in the place of the outer row's. The relation begins with the columns of `left`.
    """
    width = len(left.schema)
    carrier = right.carrier
    exact = right.total or (not right.keys and not right.pending and has_one_row(carrier))
    matched = [equal(outer(key.term), moved(column(carrier, key.column), width), key.null_safe) for key in right.keys]
    matched.extend(outer(moved(p, width)) for p in right.pending)
    outputs = tuple(outer(moved(s, width)) for s in right.outputs)
    if exact:
        relation: Relation = Apply("left" if matched else "inner", left, carrier, tuple(matched))
        return _of_one(kind, relation, width, outputs, predicates)
    if kind in _TESTS:
        relation = _tested(kind, left, carrier, (*matched, *predicates))
        return relation, (Column(width, BOOLEAN, False),) if kind == "mark" else ()
    if kind == "inner":
        return Apply("inner", left, carrier, (*matched, *predicates)), outputs
    if kind == "single" and not predicates:
        fixed = frozenset(key.column for key in right.keys)
        kind = "left" if has_at_most_one_row(carrier, fixed) else kind
    return _optional(kind, left, carrier, (*matched, *predicates), outputs)


def _of_one(
    kind: str, relation: Relation, width: int, outputs: tuple[Scalar, ...], predicates: tuple[Scalar, ...]
) -> tuple[Relation, tuple[Scalar, ...]]:
    """Each row of the left side has exactly one row beside it, which satisfies `predicates` or not."""
    own = tuple(range(width))
    if kind == "inner":
        return filtered(relation, predicates), outputs
    if kind == "semi":
        return Project(filtered(relation, predicates), own), ()
    holds = junction("and", predicates) if predicates else TRUE
    fails = comparison("is_distinct", holds, TRUE) if predicates else FALSE
    if kind == "anti":
        return Project(filtered(relation, (fails,)), own), ()
    if kind == "mark":
        return relation, (coalesced(holds, FALSE),)
    if not predicates:
        return relation, outputs
    return relation, tuple(Call("case", (holds, s, Literal(None, s.type)), s.type) for s in outputs)


def _tested(kind: str, left: Relation, carrier: Relation, predicates: tuple[Scalar, ...]) -> Relation:
    """Semi, anti or mark; what a semi-join asks of the left side alone is a filter."""
    if kind != "semi":
        return Apply(kind, left, carrier, predicates)
    width = len(left.schema)
    alone = tuple(p for p in predicates if all(c < width for c in columns_of(p)))
    return Apply(kind, filtered(left, alone), carrier, tuple(p for p in predicates if p not in alone))


def _optional(
    kind: str, left: Relation, carrier: Relation, predicates: tuple[Scalar, ...], outputs: tuple[Scalar, ...]
) -> tuple[Relation, tuple[Scalar, ...]]:
    """A join that keeps the left rows without a partner; what is computed after it must be NULL for those."""
    width = len(left.schema)
    outputs = tuple(maybe_missing(s, width) for s in outputs)
    if all(_is_of_carrier(s, width) for s in outputs):
        return Apply(kind, left, carrier, predicates), outputs
    present = width + len(carrier.schema)
    relation = Apply(kind, left, Map(carrier, (TRUE,), ("present",)), predicates)
    absent = is_null(Column(present, BOOLEAN))
    return relation, tuple(
        s if _is_of_carrier(s, width) else Call("case", (absent, Literal(None, s.type), s), s.type) for s in outputs
    )


def _is_of_carrier(scalar: Scalar, width: int) -> bool:
    return isinstance(scalar, Column) and scalar.index >= width
