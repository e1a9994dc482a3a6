"""Outer joins that are more than they need be: rows that something above drops need not be made."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

from ivm.sql.decorrelate.expand_joins import filtered, is_harmless, null_with, padded, rejects_null
from ivm.sql.ir.aggregate import Aggregate
from ivm.sql.ir.aggregates import aggregate_of
from ivm.sql.ir.conditions import conjuncts
from ivm.sql.ir.rebuild import is_settled, offsets, row, with_inputs
from ivm.sql.ir.relation import (
    Apply,
    Constant,
    Filter,
    Get,
    Join,
    Map,
    Negate,
    Project,
    Reduce,
    Relation,
    TopK,
    Union,
    Unnest,
    Window,
    inputs_of,
)
from ivm.sql.ir.scalar import Call, Scalar, columns_of, remap

Columns = frozenset[int]
NONE: Columns = frozenset()


def simplify_outer(relation: Relation) -> Relation:
    """An equal relation in which outer joins that may be so are left, inner or anti joins.

    - A row with NULL in a column is not needed where a predicate above, or a join's equality, is never TRUE of it:
      left becomes inner, full becomes left or inner.
    - A left join of which only the rows without partner are kept (`WHERE right.key IS NULL`) is an anti join.
    - Predicates on the side that a join keeps whole are tested before the join.
    - A reduce that sees of the right side only what it skips where it is NULL needs no rows without partner, beyond
      one for each group to be there.

    Cost: linear in the number of nodes, for each set of columns that are asked of a node.
    """
    return _Simplification().of(relation, NONE)


class _Simplification:
    """Remembers what became of each node, so that what stands in several places stays one object."""

    def __init__(self) -> None:
        self.known: dict[tuple[int, Columns], tuple[Relation, Relation]] = {}

    def of(self, relation: Relation, wanted: Columns) -> Relation:
        """The relation without rows that are NULL in one of the columns `wanted`, as far as that is of use."""
        if is_settled(relation):
            return relation
        key = id(relation), wanted
        if key not in self.known:
            self.known[key] = relation, self._of(relation, wanted)
        return self.known[key][1]

    def _of(self, relation: Relation, wanted: Columns) -> Relation:
        match relation:
            case Get() | Constant():
                return relation
            case Filter():
                return self._filter(relation, wanted)
            case Apply():
                return self._apply(relation, wanted)
            case Unnest(optional=True) if any(c >= len(relation.input.schema) for c in wanted):
                return self.of(replace(relation, optional=False), wanted)
            case Reduce():
                simple = self._inputs(relation, wanted)
                assert isinstance(simple, Reduce), "it has other inputs at most"
                fewer = over_matches(simple)
                return simple if fewer is simple else self._inputs(fewer, wanted)
        return self._inputs(relation, wanted)

    def _inputs(self, relation: Relation, wanted: Columns) -> Relation:
        """The same node over simplified inputs."""
        asked = _asked(relation, wanted)
        inputs = tuple(self.of(each, need) for each, need in zip(inputs_of(relation), asked, strict=True))
        return with_inputs(relation, inputs)

    def _filter(self, relation: Filter, wanted: Columns) -> Relation:
        below = relation.input
        if isinstance(below, Project) and isinstance(below.input, Apply):
            moved = tuple(remap(p, below.columns.__getitem__) for p in relation.predicates)
            return self.of(replace(below, input=Filter(below.input, moved)), wanted)
        predicates = conjuncts(relation.predicates)
        if isinstance(below, Apply) and below.kind in ("left", "single", "mark"):
            below, predicates = _sunk(below, predicates)
            alone = _without_partner(below, predicates)
            if alone is not None:
                return self.of(alone, wanted)
        tested = {c for p in predicates for c in columns_of(p) if rejects_null(p, c)}
        return filtered(self.of(below, wanted | tested), predicates)

    def _apply(self, apply: Apply, wanted: Columns) -> Relation:
        width = len(apply.left.schema)
        lost = any(c < width for c in wanted), any(c >= width for c in wanted)
        if apply.kind == "full" and any(lost):
            return self._apply(replace(apply, kind="left"), wanted) if lost[0] else self._flipped(apply, wanted)
        if apply.kind == "left" and lost[1]:
            apply = replace(apply, kind="inner")
        tested = frozenset(c for p in apply.predicates for c in columns_of(p) if rejects_null(p, c))
        left = {"inner": wanted | tested, "semi": wanted | tested, "full": NONE}.get(apply.kind, wanted)
        right = {"inner": wanted | tested, "full": NONE}.get(apply.kind, tested)
        one = self.of(apply.left, frozenset(c for c in left if c < width))
        other = self.of(apply.right, frozenset(c - width for c in right if c >= width))
        return apply if one is apply.left and other is apply.right else replace(apply, left=one, right=other)

    def _flipped(self, apply: Apply, wanted: Columns) -> Relation:
        """A full join of which only rows with a right side are needed: the left join of right and left."""
        width, total = len(apply.left.schema), len(apply.schema)
        shift = total - width
        predicates = tuple(remap(p, lambda i: i + shift if i < width else i - width) for p in apply.predicates)
        moved = frozenset(c + shift if c < width else c - width for c in wanted)
        joined = self._apply(
            replace(apply, kind="left", left=apply.right, right=apply.left, predicates=predicates), moved
        )
        return Project(joined, (*range(shift, total), *range(shift)))


def _sunk(apply: Apply, predicates: tuple[Scalar, ...]) -> tuple[Apply, tuple[Scalar, ...]]:
    """Predicates on the left side are tested below: each of its rows is in the result, so none is tested anew.

    One that might raise does not overtake a predicate that stays.
    """
    width = len(apply.left.schema)
    below: list[Scalar] = []
    here: list[Scalar] = []
    for predicate in predicates:
        sinks = all(c < width for c in columns_of(predicate)) and (not here or is_harmless(predicate))
        (below if sinks else here).append(predicate)
    return (replace(apply, left=filtered(apply.left, tuple(below))) if below else apply), tuple(here)


def _without_partner(apply: Apply, predicates: tuple[Scalar, ...]) -> Relation | None:
    """The rows of a left join under predicates of which one holds only where there is no partner."""
    width = len(apply.left.schema)
    for predicate in predicates:
        match predicate:
            case Call("is_null", (tested,)) if apply.kind == "left":
                index = getattr(tested, "index", -1)
                if index >= width and _is_filled(apply, index):
                    rest = tuple(p for p in predicates if p is not predicate)
                    return filtered(padded(replace(apply, kind="anti"), apply.right.schema), rest)
    return None


def _is_filled(apply: Apply, column: int) -> bool:
    """Whether a right column is never NULL in a row with partner."""
    if not apply.right.schema[column - len(apply.left.schema)].nullable:
        return True
    return any(rejects_null(p, column) for p in apply.predicates)


def _asked(relation: Relation, wanted: Columns) -> tuple[Columns, ...]:
    """For each input the columns in which a NULL makes that `relation` does not need the row."""
    match relation:
        case Project():
            return (frozenset(relation.columns[c] for c in wanted),)
        case Map():
            width = len(relation.input.schema)
            own = row(relation.input)
            kept = {c for c in wanted if c < width}
            computed = [relation.scalars[c - width] for c in wanted if c >= width]
            return (frozenset(kept | {c.index for s in computed for c in own if null_with(s, c.index)}),)
        case Unnest():
            return (frozenset(c for c in wanted if c < len(relation.input.schema)),)
        case Join():
            return _asked_of_join(relation, wanted)
        case Reduce():
            keys = [key for i, key in enumerate(relation.keys) if i in wanted]
            return (frozenset(c for key in keys for c in columns_of(key) if null_with(key, c)),)
        case TopK():
            return (wanted & set(relation.group),)
        case Window():
            return (wanted & set(relation.partition),)
        case Union() if not any(isinstance(each, Negate) for each in relation.inputs):
            return (wanted,) * len(relation.inputs)
    # A row that is added here and taken away there must be in both or in none.
    return (NONE,) * len(inputs_of(relation))


def _asked_of_join(join: Join, wanted: Columns) -> tuple[Columns, ...]:
    wanted = wanted.union(*join.equivalences)
    ends = pairwise(offsets(join.inputs))
    return tuple(frozenset(c - start for c in wanted if start <= c < end) for start, end in ends)


def over_matches(reduce: Reduce) -> Reduce:
    """The reduce over (L join R) + (L with NULLs) in place of L left join R, where that is the same.

    It is if the keys read L and each aggregate skips the rows in which all columns of R are NULL: those rows only say
    that a group is there, and that they do as well for a group that has partners. So no row has to be taken away
    when its first partner comes, and nobody has to know which rows have one.
    """
    renamed = _below(reduce)
    if renamed is None:
        return reduce
    apply, keys, aggregates = renamed
    width, total = len(apply.left.schema), len(apply.schema)
    if not all(c < width for key in keys for c in columns_of(key)):
        return reduce
    if not all(_skips(aggregate, width, total) for aggregate in aggregates):
        return reduce
    matches: Relation = replace(apply, kind="inner")
    if keys:
        matches = Union((matches, padded(apply.left, apply.right.schema)))
    return Reduce(matches, keys, aggregates, reduce.names)


def _below(reduce: Reduce) -> tuple[Apply, tuple[Scalar, ...], tuple[Aggregate, ...]] | None:
    """The left join that is reduced, with keys and aggregates over its columns."""
    keys, aggregates, relation = reduce.keys, reduce.aggregates, reduce.input
    while isinstance(relation, Project):
        columns = relation.columns
        # None that reads more than its argument.
        if any(a.arg is None or a != Aggregate(a.function, a.arg, a.type, a.nullable) for a in aggregates):
            return None
        keys = tuple(remap(key, columns.__getitem__) for key in keys)
        aggregates = tuple(replace(a, arg=remap(a.arg, columns.__getitem__)) for a in aggregates if a.arg is not None)
        relation = relation.input
    if isinstance(relation, Apply) and relation.kind == "left":
        return relation, keys, aggregates
    return None


def _skips(aggregate: Aggregate, width: int, total: int) -> bool:
    arg = aggregate.arg
    if arg is None or not aggregate_of(aggregate.function).skips_nulls:
        return False
    return any(null_with(arg, column) for column in range(width, total))
