"""Aggregates with DISTINCT, and mode, become aggregates over groups: of each value once, or with how often it occurs.

    count(DISTINCT x), sum(y) BY k
becomes
    count(x), sum(y) BY k of (k, x, NULL of each group by k and x) and (k, NULL, y of each row)

No join puts the aggregates of a group together again: each sees NULLs in the rows that are not its own, and skips them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from ivm.analysis.unique_keys import is_unique
from ivm.catalog.types import BIGINT, INTEGER
from ivm.sql.ir.aggregate import Aggregate
from ivm.sql.ir.aggregates import aggregate_of
from ivm.sql.ir.relation import Map, Project, Reduce, Relation, Union
from ivm.sql.ir.scalar import Column, Literal, Scalar
from ivm.transform.rewrite import at_each

_ONE = Literal(1, INTEGER)

Values = tuple[Scalar, ...]


@at_each(Reduce)
def expand_distinct(relation: Reduce) -> Relation:
    """Rewrite each Reduce that has aggregates with DISTINCT or mode.

    Where the values are unique in each group already, they only lose the DISTINCT. Memory: the distinct values of each
    group, once for all aggregates of the same values.
    """
    if not any(map(_is_special, relation.aggregates)):
        return relation
    aggregates = tuple(_simpler(relation, aggregate) for aggregate in relation.aggregates)
    relation = replace(relation, aggregates=aggregates)
    return _expanded(relation) if any(map(_is_special, aggregates)) else relation


def _is_special(aggregate: Aggregate) -> bool:
    return aggregate.distinct or aggregate.function == "mode"


def _simpler(relation: Reduce, aggregate: Aggregate) -> Aggregate:
    """Without DISTINCT where a group has each value once; mode is the least value then."""
    if not _is_special(aggregate):
        return aggregate
    known = [s.index for s in (*relation.keys, *_values(aggregate)) if isinstance(s, Column)]
    if not is_unique(relation.input, known):
        return aggregate
    return replace(aggregate, function="min") if aggregate.function == "mode" else _of_distinct(aggregate)


def _of_distinct(aggregate: Aggregate) -> Aggregate:
    """Without DISTINCT, over values that are; those of rows that are counted are never NULL, and need not be read."""
    return replace(aggregate, distinct=False, others=() if aggregate.function == "count" else aggregate.others)


def _values(aggregate: Aggregate) -> Values:
    """What is distinct together: the argument with the others. It determines what it is ordered by."""
    assert aggregate.arg is not None, "DISTINCT is of something"
    return tuple(dict.fromkeys(aggregate.scalars))


@dataclass(slots=True)
class _Part:
    """Some rows of the new input: columns of their own, which are NULL in the rows of every other part."""

    relation: Relation
    scalars: tuple[Scalar, ...]  # keys first
    places: dict[Scalar, int] = field(default_factory=dict)  # of what an aggregate reads, in the new input
    extra: int = -1  # where the tag or the count stands


def _expanded(relation: Reduce) -> Reduce:
    width = len(relation.keys)
    plain = [a for a in relation.aggregates if not _is_special(a)]
    parts: dict[Values, _Part] = {}
    if plain:
        read = tuple(dict.fromkeys(scalar for aggregate in plain for scalar in aggregate.scalars))
        parts[()] = _Part(relation.input, (*relation.keys, *read, _ONE))
    for aggregate in filter(_is_special, relation.aggregates):
        parts.setdefault(_values(aggregate), _counted(relation, _values(aggregate)))
    at = width
    for values, part in parts.items():
        names = part.scalars[width:-1] if values == () else values
        part.places = {scalar: at + i for i, scalar in enumerate(names)}
        part.extra = at + len(names)
        at = part.extra + 1
    rows = tuple(_padded(part, list(parts.values()), width) for part in parts.values())
    below = rows[0] if len(rows) == 1 else Union(rows)
    aggregates = tuple(_over(a, parts[_values(a) if _is_special(a) else ()], below) for a in relation.aggregates)
    return Reduce(below, _columns(below, range(width)), aggregates, relation.names)


def _counted(relation: Reduce, values: Values) -> _Part:
    """Each of the values once for each group, with how often it occurs."""
    keys = (*relation.keys, *values)
    names = tuple(f"value{i}" for i in range(len(keys)))
    count = Aggregate("count_star", None, BIGINT, nullable=False)
    reduce = Reduce(relation.input, keys, (count,), (*names, "count"))
    return _Part(reduce, _columns(reduce, range(len(keys) + 1)))


def _padded(part: _Part, parts: Sequence[_Part], width: int) -> Relation:
    """The part's rows with all columns of the new input."""
    scalars = list(part.scalars[:width])
    for other in parts:
        own = other.scalars[width:]
        scalars.extend(own if other is part else (Literal(None, scalar.type) for scalar in own))
    start = len(part.relation.schema)
    computed = [scalar for scalar in dict.fromkeys(scalars) if not isinstance(scalar, Column)]
    mapped = Map(part.relation, tuple(computed), tuple(f"part{i}" for i in range(len(computed))))
    columns = tuple(s.index if isinstance(s, Column) else start + computed.index(s) for s in scalars)
    return Project(mapped if computed else part.relation, columns)


def _over(aggregate: Aggregate, part: _Part, below: Relation) -> Aggregate:
    """The aggregate over the new input."""
    (extra,) = _columns(below, (part.extra,))
    if aggregate.function == "count_star":
        return Aggregate("count", extra, BIGINT, nullable=False)
    moved = aggregate.map(lambda scalar: _columns(below, (part.places[scalar],))[0])
    if not _is_special(aggregate):
        # One that takes NULLs must know its rows.
        taken = aggregate_of(aggregate.function).skips_nulls
        return moved if taken else replace(moved, others=(*moved.others, extra))
    if aggregate.function == "mode":
        return replace(moved, function="arg_max", others=(extra,))
    if aggregate.function == "list":
        return replace(moved, distinct=False, others=(*moved.others, extra))
    return _of_distinct(moved)


def _columns(relation: Relation, positions: Iterable[int]) -> tuple[Column, ...]:
    schema = relation.schema
    return tuple(Column(i, schema[i].type, schema[i].nullable) for i in positions)
