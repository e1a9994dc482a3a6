"""Groups from finer groups: counts and sums are added up, extremes taken of extremes."""

from __future__ import annotations

from collections.abc import Sequence

from ivm.catalog.types import BIGINT, HUGEINT
from ivm.sql.ir.aggregate import Aggregate
from ivm.sql.ir.aggregates import aggregate_of
from ivm.sql.ir.conditions import coalesced
from ivm.sql.ir.rebuild import row
from ivm.sql.ir.relation import Map, Project, Reduce, Relation
from ivm.sql.ir.scalar import Call, Column, Literal, Scalar


def decomposes(aggregates: Sequence[Aggregate]) -> bool:
    """Whether all aggregates of a group follow from those of its parts, exactly; a rounded sum of doubles does not."""
    return all(not a.distinct and _of_parts(a) is not None for a in aggregates)


def _of_parts(aggregate: Aggregate) -> str | None:
    over = aggregate_of(aggregate.function).of_parts
    return None if over == "sum" and aggregate.type.is_float else over


def coarser(finest: Reduce, keys: Sequence[int], wanted: Sequence[int] | None = None) -> Relation:
    """The aggregates of `finest` over the groups by fewer of its keys: those keys, then the aggregates.

    `wanted`: which of the aggregates, all by default; they decompose. A change costs what it changes in the finer
    groups, and extremes are kept of the finer groups' only.
    """
    width = len(finest.keys)
    columns = row(finest)
    chosen = range(len(finest.aggregates)) if wanted is None else wanted
    over = tuple(_over(finest.aggregates[i], columns[width + i], bool(keys)) for i in chosen)
    names = (*(finest.names[i] for i in keys), *(finest.names[width + i] for i in chosen))
    reduced = Reduce(finest, tuple(columns[i] for i in keys), over, names)
    counts = [place for place, i in enumerate(chosen) if _is_count(finest.aggregates[i])]
    if not counts:
        return reduced
    start = len(keys)
    added = tuple(_counted(row(reduced)[start + i]) for i in counts)
    mapped = Map(reduced, added, tuple(names[start + i] for i in counts))
    total = len(reduced.schema)
    places = [total + counts.index(i) if i in counts else start + i for i in range(len(over))]
    return Project(mapped, (*range(start), *places))


def _over(aggregate: Aggregate, column: Column, grouped: bool) -> Aggregate:
    nullable = column.nullable or not grouped
    function = aggregate_of(aggregate.function).of_parts
    assert function is not None, "it decomposes"
    return Aggregate(function, column, HUGEINT if _is_count(aggregate) else aggregate.type, nullable)


def _is_count(aggregate: Aggregate) -> bool:
    return aggregate.function in ("count", "count_star")


def _counted(total: Scalar) -> Scalar:
    """A sum of counts as a count: 0 of no group."""
    if total.nullable:
        total = coalesced(total, Literal(0, HUGEINT))
    return Call("cast", (total,), BIGINT, False)
