"""Joins by pairs of equal expressions, the predicates that these come from, and the rows that find a partner."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ivm.catalog.schema import Schema
from ivm.catalog.types import BOOLEAN
from ivm.sql.ir.aggregate import Aggregate
from ivm.sql.ir.classes import merged_classes
from ivm.sql.ir.conditions import coalesced, comparison, conjuncts, is_null
from ivm.sql.ir.functions import Nulls, Raises, function_of
from ivm.sql.ir.rebuild import column, row
from ivm.sql.ir.relation import Filter, Join, Map, Project, Reduce, Relation
from ivm.sql.ir.scalar import TRUE, Call, Column, Literal, Scalar, columns_of, remap, some_value, walk


@dataclass(frozen=True)
class Pair:
    """`left` over the left row equals `right` over the right row; NULL equals NULL only if `null_safe`."""

    left: Scalar
    right: Scalar
    null_safe: bool = False

    def flipped(self) -> Pair:
        """The same with the sides exchanged."""
        return Pair(self.right, self.left, self.null_safe)


@dataclass(frozen=True)
class Split:
    """Predicates of a join: `pairs` of equal expressions, those of one side over its row, the `rest` over both."""

    pairs: tuple[Pair, ...] = ()
    left_only: tuple[Scalar, ...] = ()
    right_only: tuple[Scalar, ...] = ()
    rest: tuple[Scalar, ...] = ()

    def flipped(self, left_width: int, right_width: int) -> Split:
        """The same join seen from the other side, whose row is (right, left)."""

        def moved(column: int) -> int:
            return column + right_width if column < left_width else column - left_width

        rest = tuple(remap(p, moved) for p in self.rest)
        return Split(tuple(pair.flipped() for pair in self.pairs), self.right_only, self.left_only, rest)


def split(predicates: Iterable[Scalar], width: int) -> Split:
    """The conjuncts of `predicates`, in which columns from position `width` on are the right side's.

    One that reads no column counts as the left side's.
    """
    pairs: list[Pair] = []
    left: list[Scalar] = []
    right: list[Scalar] = []
    rest: list[Scalar] = []
    for predicate in conjuncts(predicates):
        sides = _sides(predicate, width)
        pair = _pair(predicate, width)
        if pair is not None:
            pairs.append(pair)
        elif sides == {True, False}:
            rest.append(predicate)
        elif sides == {True}:
            right.append(remap(predicate, lambda i: i - width))
        else:
            left.append(predicate)
    return Split(tuple(dict.fromkeys(pairs)), tuple(left), tuple(right), tuple(rest))


def rejects_null(predicate: Scalar, column: int) -> bool:
    """Whether the predicate is never TRUE on a row in which `column` is NULL; False if in doubt."""
    match predicate:
        case Call("and"):
            return any(rejects_null(arg, column) for arg in predicate.args)
        case Call("or"):
            return all(rejects_null(arg, column) for arg in predicate.args)
        case Call("not", (Call("is_null", (arg,)),)):
            return null_with(arg, column)
        case Call("is_distinct", (left, Literal(None))) | Call("is_distinct", (Literal(None), left)):
            return null_with(left, column)
        case Call("not", (Call("is_distinct", (left, right)),)):
            return (null_with(left, column) and not right.nullable) or (null_with(right, column) and not left.nullable)
    return null_with(predicate, column)


def null_with(scalar: Scalar, column: int) -> bool:
    """Whether the expression is NULL on every row in which `column` is NULL; False if in doubt."""
    if isinstance(scalar, Column):
        return scalar.index == column
    if not isinstance(scalar, Call):
        return isinstance(scalar, Literal) and scalar.value is None
    match function_of(scalar.function).nulls:
        case Nulls.ANY:
            return any(null_with(arg, column) for arg in scalar.args)
        case Nulls.ALL | Nulls.LOGIC:
            return all(null_with(arg, column) for arg in scalar.args)
        case Nulls.FIRST:
            return null_with(scalar.args[0], column)
    return False


def equalities(predicate: Scalar) -> tuple[Scalar, ...]:
    """The predicate itself; a NULL-safe equality as equalities that together are TRUE on the same rows."""
    match predicate:
        case Call("not", (Call("is_distinct", (one, other)),)):
            keys = [(one, other)]
            if one.nullable and other.nullable:
                keys = list(zip(null_safe_key(one), null_safe_key(other), strict=True))
            return tuple(comparison("eq", *pair) for pair in keys)
    return (predicate,)


def is_harmless(scalar: Scalar) -> bool:
    """Whether evaluating the expression cannot raise; False if in doubt."""
    return all(function_of(s.function).raises is Raises.NEVER for s in walk(scalar) if isinstance(s, Call))


def null_safe_key(scalar: Scalar) -> tuple[Scalar, Scalar]:
    """Two expressions, never NULL, that are equal on two rows where `scalar` is not distinct on them."""
    stand_in = Literal(some_value(scalar.type), scalar.type)
    return coalesced(scalar, stand_in), is_null(scalar)


def _sides(scalar: Scalar, width: int) -> set[bool]:
    """False for the left side, True for the right."""
    return {column >= width for column in columns_of(scalar)}


def equated(predicate: Scalar) -> tuple[Scalar, Scalar, bool] | None:
    """What an equality equates, and whether NULL equals NULL in it; None if the predicate is none."""
    match predicate:
        case Call("eq", (one, other)):
            return one, other, False
        case Call("not", (Call("is_distinct", (one, other)),)):
            return one, other, one.nullable and other.nullable
    return None


def _pair(predicate: Scalar, width: int) -> Pair | None:
    equality = equated(predicate)
    if equality is None:
        return None
    one, other, null_safe = equality
    sides = (_sides(one, width), _sides(other, width))
    if sides == ({True}, {False}):
        one, other = other, one
    elif sides != ({False}, {True}):
        return None
    return Pair(one, remap(other, lambda i: i - width), null_safe)


def filtered(relation: Relation, predicates: tuple[Scalar, ...]) -> Relation:
    """A filter over `relation`; the relation itself if there is nothing to test."""
    return Filter(relation, predicates) if predicates else relation


def padded(relation: Relation, missing: Schema) -> Map:
    """The rows with NULLs in columns as `missing` behind."""
    nulls = tuple(Literal(None, field.type) for field in missing)
    return Map(relation, nulls, tuple(field.name for field in missing))


def with_columns(relation: Relation, scalars: Sequence[Scalar], name: str) -> tuple[Relation, tuple[int, ...]]:
    """The relation with the expressions that are no column of it appended, and where each of them stands."""
    width = len(relation.schema)
    computed = list(dict.fromkeys(s for s in scalars if not isinstance(s, Column)))
    places = tuple(s.index if isinstance(s, Column) else width + computed.index(s) for s in scalars)
    if computed:
        relation = Map(relation, tuple(computed), tuple(f"{name}{i}" for i in range(len(computed))))
    return relation, places


def joined(left: Relation, right: Relation, pairs: Iterable[Pair]) -> Relation:
    """The rows (l, r) that agree in all `pairs`; a cross product without any."""
    keys = [key for pair in pairs for key in _keys(pair)]
    first, ours = with_columns(left, [one for one, _ in keys], "key")
    second, theirs = with_columns(right, [other for _, other in keys], "key")
    start = len(first.schema)
    classes = merged_classes((one, start + other) for one, other in zip(ours, theirs, strict=True))
    both = Join((first, second), classes)
    columns = (*range(len(left.schema)), *range(start, start + len(right.schema)))
    return both if len(columns) == len(both.schema) else Project(both, columns)


def _keys(pair: Pair) -> list[tuple[Scalar, Scalar]]:
    if not pair.null_safe:
        return [(pair.left, pair.right)]
    return list(zip(null_safe_key(pair.left), null_safe_key(pair.right), strict=True))


def distinct(relation: Relation, keys: Sequence[Scalar], aggregates: tuple[Aggregate, ...] = ()) -> Reduce:
    """One row for each value of `keys` (NULL equals NULL); without keys one row TRUE if there is any row at all."""
    wanted = tuple(keys) or (TRUE,)
    names = (*(f"key{i}" for i in range(len(wanted))), *(f"value{i}" for i in range(len(aggregates))))
    return Reduce(relation, wanted, aggregates, names)


def matches(left: Relation, right: Relation, split: Split) -> Relation:
    """The rows (l, r) that satisfy the join's predicates."""
    both = joined(filtered(left, split.left_only), filtered(right, split.right_only), split.pairs)
    return filtered(both, split.rest)


def partnered(left: Relation, right: Relation, split: Split) -> Relation:
    """The rows of `left` for which there is a row of `right`, as often as they are in `left`."""
    below = filtered(left, split.left_only)
    groups, pairs = grouped(below, right, split)
    both = joined(below, groups, pairs)
    return Project(both, tuple(range(len(left.schema))))


def grouped(
    left: Relation, right: Relation, split: Split, aggregates: tuple[Aggregate, ...] = ()
) -> tuple[Reduce, tuple[Pair, ...]]:
    """The partners of the rows of `left`, a group for each way in which a row of `left` can be partnered.

    Returns the groups with `aggregates` over the columns of `right`, and the pairs by which `left` finds its group:
    at most one for each row. With a predicate over both sides the groups are by what the predicates read of `left`.
    """
    below = filtered(right, split.right_only)
    if not split.rest:
        keys = tuple(dict.fromkeys(pair.right for pair in split.pairs))
        groups = distinct(below, keys, aggregates)
        found = (Pair(p.left, column(groups, keys.index(p.right)), p.null_safe) for p in split.pairs)
        return groups, tuple(found)
    read = sorted(_read(split, len(left.schema)))
    places = {column: i for i, column in enumerate(read)}
    own = row(left)
    domain = distinct(left, [own[c] for c in read])
    pairs = tuple(Pair(remap(p.left, places.__getitem__), p.right, p.null_safe) for p in split.pairs)
    both = joined(domain, below, pairs)
    width, shift = len(left.schema), len(read) - len(left.schema)
    rest = (remap(p, lambda i: places[i] if i < width else i + shift) for p in split.rest)
    moved = tuple(_moved(aggregate, len(read)) for aggregate in aggregates)
    groups = distinct(Filter(both, tuple(rest)), row(domain), moved)
    return groups, tuple(
        Pair(own[c], column(groups, i), own[c].nullable and not _never_null(split, c)) for i, c in enumerate(read)
    )


def _moved(aggregate: Aggregate, by: int) -> Aggregate:
    if aggregate.arg is None:
        return aggregate
    arg = remap(aggregate.arg, lambda i: i + by)
    return Aggregate(aggregate.function, arg, aggregate.type, aggregate.nullable)


def _read(split: Split, width: int) -> set[int]:
    """The columns of the left side that the predicates over both sides read."""
    found = {c for pair in split.pairs for c in columns_of(pair.left)}
    return found | {c for predicate in split.rest for c in columns_of(predicate) if c < width}


def _never_null(split: Split, column: int) -> bool:
    """Whether a row of the left side in which `column` is NULL has no partner."""
    if any(rejects_null(predicate, column) for predicate in split.rest):
        return True
    equal = (Call("eq", (p.left, p.left), BOOLEAN) for p in split.pairs if not p.null_safe)
    return any(rejects_null(predicate, column) for predicate in equal)
