"""Intervals where rows are grouped and put in order: by their length, since different ones may be equal.

In the IR an INTERVAL is equal to another if all of its parts are, and stands in some order by these. So what SQL
groups, orders and counts by intervals is written here with their lengths; comparisons are so from the start. Of a
group's intervals, which are of one length, the least by its parts stands for it: a view is a function of its rows.
Lists, structs and maps of intervals are told by the lengths within them likewise.
"""

from __future__ import annotations

from dataclasses import replace

from sql.ir.aggregate import Aggregate
from sql.ir.aggregates import AggregateOrder
from sql.ir.intervals import has_length, length_of
from sql.ir.rebuild import column, is_loop, is_settled, nodes, rebuilt
from sql.ir.relation import Map, Project, Reduce, Relation, TopK, Window
from sql.ir.scalar import Scalar, remap

_EXTREMES = {"min": "arg_min", "max": "arg_max"}
_OF_LENGTH = frozenset(("entropy",))


def by_length(relation: Relation) -> Relation:
    """The relation as it was bound, with what is done by intervals done by their lengths."""
    if not any(has_length(field.type) for node in nodes(relation, _is_done) for field in node.schema):
        return relation
    return rebuilt(relation, _by_length, done=_is_done)


def _is_done(relation: Relation) -> bool:
    """Of a view and a loop that were bound before, this has been done."""
    return is_settled(relation) or is_loop(relation)


def _by_length(node: Relation) -> Relation:
    match node:
        case Reduce():
            return _grouped(node)
        case TopK():
            return _cut(node)
        case Window():
            return _windowed(node)
    return node


def _length(scalar: Scalar) -> Scalar:
    return length_of(scalar) if has_length(scalar.type) else scalar


def _grouped(reduce: Reduce) -> Relation:
    """One group for each length; the intervals that stand for the keys are aggregates, and put in their places."""
    shown = [place for place, key in enumerate(reduce.keys) if has_length(key.type)]
    aggregates = tuple(map(_aggregated, reduce.aggregates))
    if not shown:
        return reduce if aggregates == reduce.aggregates else replace(reduce, aggregates=aggregates)
    keys, count = tuple(map(_length, reduce.keys)), len(reduce.keys)
    told = tuple(Aggregate("min", key, key.type, key.nullable) for key in (reduce.keys[place] for place in shown))
    names = (*reduce.names, *(reduce.names[place] for place in shown))
    places = list(range(len(reduce.names)))
    for number, place in enumerate(shown):
        places[place] = count + len(aggregates) + number
    return Project(Reduce(reduce.input, keys, (*aggregates, *told), names), tuple(places), reduce.names)


def _aggregated(aggregate: Aggregate) -> Aggregate:
    arg = aggregate.arg
    others = tuple(map(_length, aggregate.others))
    order = tuple(replace(term, scalar=_length(term.scalar)) for term in aggregate.order)
    if arg is not None and has_length(arg.type):
        if aggregate.function in _EXTREMES and not aggregate.distinct:
            return replace(aggregate, function=_EXTREMES[aggregate.function], others=(*others, length_of(arg)))
        if aggregate.function in _OF_LENGTH or (aggregate.distinct and aggregate.function == "count"):
            return replace(aggregate, arg=length_of(arg), others=others)
        if order or aggregate.function == "list":  # of which the values themselves decide ties
            order = (*order, AggregateOrder(length_of(arg)))
    changed = (others, order) != (aggregate.others, aggregate.order)
    return replace(aggregate, others=others, order=order) if changed else aggregate


def _cut(top: TopK) -> Relation:
    below = _with_lengths(top.input)
    if below is None:
        return top
    rows, shown = below
    return Project(replace(top, input=rows), shown)


def _windowed(window: Window) -> Relation:
    below = _with_lengths(window.input)
    if below is None:
        return window
    rows, shown = below
    functions = tuple(
        replace(each, args=tuple(remap(arg, shown.__getitem__) for arg in each.args)) for each in window.functions
    )
    found, added = replace(window, input=rows, functions=functions), len(rows.schema)
    return Project(found, (*shown, *range(added, added + len(functions))))


def _with_lengths(relation: Relation) -> tuple[Relation, tuple[int, ...]] | None:
    """The rows with lengths in the place of intervals, and these at their end, so that ties are broken by lengths, too.

    Beside it, where each column stands then. None if there are no intervals.
    """
    schema, width = relation.schema, len(relation.schema)
    of = [place for place, field in enumerate(schema) if has_length(field.type)]
    if not of:
        return None
    lengths = tuple(length_of(column(relation, place)) for place in of)
    rows = Map(relation, lengths, tuple(f"length of {schema[place].name}" for place in of))
    shown = tuple(width + of.index(place) if place in of else place for place in range(width))
    return Project(rows, (*shown, *of)), shown
