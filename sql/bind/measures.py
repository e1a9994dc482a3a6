"""Rows grouped, counted and put in order by values that may be equal though they differ: by their measures.

In the IR values are equal if they are the same, and stand in the order that such have. So what SQL groups, orders and
counts by INTERVALs, and by texts with a collation, is written here with their measures (`ivm.sql.ir.measures`);
comparisons are so from the start. Of a group's values, which are of one measure, the least of all stands for it: a view
is a function of its rows.
"""

from __future__ import annotations

from dataclasses import replace

from ivm.catalog.types import INTERVAL, holds
from ivm.sql.ir.aggregate import Aggregate
from ivm.sql.ir.aggregates import AggregateOrder
from ivm.sql.ir.measures import has_measure, measure_of, measured
from ivm.sql.ir.rebuild import column, is_loop, is_settled, nodes, rebuilt, scalars_of
from ivm.sql.ir.relation import Map, Project, Reduce, Relation, TopK, Window
from ivm.sql.ir.scalar import remap

_EXTREMES = {"min": "arg_min", "max": "arg_max"}
_OF_LENGTH = frozenset(("entropy",))
"""Those that go by the length of intervals; of texts they go by the texts themselves, as in DuckDB."""


def by_measure(relation: Relation) -> Relation:
    """The relation as it was bound, with what is done by values done by their measures."""
    if not any(map(_has_measures, nodes(relation, _is_done))):
        return relation
    return rebuilt(relation, _by_measure, done=_is_done)


def _has_measures(node: Relation) -> bool:
    return any(has_measure(each.type) for each in (*node.schema, *scalars_of(node)))


def _is_done(relation: Relation) -> bool:
    """Of a view and a loop that were bound before, this has been done."""
    return is_settled(relation) or is_loop(relation)


def _by_measure(node: Relation) -> Relation:
    match node:
        case Reduce():
            return _grouped(node)
        case TopK():
            return _cut(node)
        case Window():
            return _windowed(node)
    return node


def _grouped(reduce: Reduce) -> Relation:
    """One group for each measure; the values that stand for the keys are aggregates, and put in their places."""
    shown = [place for place, key in enumerate(reduce.keys) if has_measure(key.type)]
    aggregates = tuple(map(_aggregated, reduce.aggregates))
    if not shown:
        return reduce if aggregates == reduce.aggregates else replace(reduce, aggregates=aggregates)
    keys, count = tuple(map(measured, reduce.keys)), len(reduce.keys)
    told = tuple(Aggregate("min", key, key.type, key.nullable) for key in (reduce.keys[place] for place in shown))
    names = (*reduce.names, *(reduce.names[place] for place in shown))
    places = list(range(len(reduce.names)))
    for number, place in enumerate(shown):
        places[place] = count + len(aggregates) + number
    return Project(Reduce(reduce.input, keys, (*aggregates, *told), names), tuple(places), reduce.names)


def _aggregated(aggregate: Aggregate) -> Aggregate:
    arg = aggregate.arg
    others = tuple(map(measured, aggregate.others))
    order = tuple(replace(term, scalar=measured(term.scalar)) for term in aggregate.order)
    if arg is not None and has_measure(arg.type):
        if aggregate.function in _EXTREMES and not aggregate.distinct:
            return replace(aggregate, function=_EXTREMES[aggregate.function], others=(*others, measure_of(arg)))
        of_length = aggregate.function in _OF_LENGTH and holds(arg.type, INTERVAL)
        if of_length or (aggregate.distinct and aggregate.function == "count"):
            return replace(aggregate, arg=measure_of(arg), others=others)
        if order or aggregate.function == "list":  # of which the values themselves decide ties
            order = (*order, AggregateOrder(measure_of(arg)))
    changed = (others, order) != (aggregate.others, aggregate.order)
    return replace(aggregate, others=others, order=order) if changed else aggregate


def _cut(top: TopK) -> Relation:
    below = _with_measures(top.input)
    if below is None:
        return top
    rows, shown = below
    return Project(replace(top, input=rows), shown)


def _windowed(window: Window) -> Relation:
    below = _with_measures(window.input)
    if below is None:
        return window
    rows, shown = below
    functions = tuple(
        replace(each, args=tuple(remap(arg, shown.__getitem__) for arg in each.args)) for each in window.functions
    )
    found, added = replace(window, input=rows, functions=functions), len(rows.schema)
    return Project(found, (*shown, *range(added, added + len(functions))))


def _with_measures(relation: Relation) -> tuple[Relation, tuple[int, ...]] | None:
    """The rows with measures in the place of values, and these at their end, so that ties are broken by measures, too.

    Beside it, where each column stands then. None if there are none.
    """
    schema, width = relation.schema, len(relation.schema)
    of = [place for place, field in enumerate(schema) if has_measure(field.type)]
    if not of:
        return None
    measures = tuple(measure_of(column(relation, place)) for place in of)
    rows = Map(relation, measures, tuple(f"measure of {schema[place].name}" for place in of))
    shown = tuple(width + of.index(place) if place in of else place for place in range(width))
    return Project(rows, (*shown, *of)), shown
