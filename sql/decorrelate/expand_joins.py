"""Relations joined by pairs of equal expressions, and the rows of one side that find a partner on the other."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from catalog.schema import Schema
from catalog.types import BOOLEAN
from sql.decorrelate.expand_predicates import Pair, Split, null_safe_key, rejects_null
from sql.ir.classes import merged_classes
from sql.ir.rebuild import column, row
from sql.ir.relation import Aggregate, Filter, Join, Map, Project, Reduce, Relation
from sql.ir.scalar import TRUE, Call, Column, Literal, Scalar, columns_of, remap


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


def one_group(relation: Relation, aggregates: tuple[Aggregate, ...]) -> Reduce:
    """All rows as one group, which is there without any row too."""
    return Reduce(relation, (), aggregates, tuple(f"value{i}" for i in range(len(aggregates))))


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
