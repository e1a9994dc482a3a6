"""ASOF joins written in the other nodes, for those that depend on an outer row, or on a name of a loop.

The times of both sides stand in one order, by key, and a window says of each row of the left which time of the right is
the last before it; by that and the keys the row of the right is looked up.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ivm.catalog.types import INTEGER
from ivm.sql.ir.conditions import comparison, is_null, negation
from ivm.sql.ir.rebuild import column, row
from ivm.sql.ir.relation import Apply, Asof, Filter, Map, Order, Project, Relation, TopK, Union, Window
from ivm.sql.ir.scalar import Column, Literal, Scalar, some_value
from ivm.sql.ir.window_function import Frame, WindowFunction

_OF_LEFT, _OF_RIGHT = Literal(1, INTEGER), Literal(0, INTEGER)


def expanded(asof: Asof) -> Relation:
    """The same rows, with an Apply of which no side depends on the other."""
    width = len(asof.left.schema)
    places = (*(right for _, right in asof.keys), asof.times[1])
    near = TopK(_with_time(asof.right, asof.times[1]), places, (), 1)
    rows = _with_times(asof, near, places)
    joined = Apply("left" if asof.outer else "inner", rows, near, tuple(_matching(asof, rows, near)))
    start = len(rows.schema)
    return Project(joined, (*range(width), *range(start, start + len(near.schema))), tuple(f.name for f in asof.schema))


def _with_time(right: Relation, time: int) -> Relation:
    return Filter(right, (negation(is_null(column(right, time))),)) if right.schema[time].nullable else right


def _with_times(asof: Asof, near: Relation, places: tuple[int, ...]) -> Relation:
    """The rows of the left with keys, time, a 1, and, last but for a NULL, the time of the right that is nearest."""
    left, fields, count = asof.left, asof.left.schema, len(places)
    time = fields[asof.times[0]].type
    names = (*(field.name for field in fields), *(f"key{i}" for i in range(count - 1)), "time", "side", "of_right")
    keys = (column(left, c) for c, _ in asof.keys)
    ours: tuple[Scalar, ...] = (*row(left), *keys, column(left, asof.times[0]), _OF_LEFT, Literal(None, time))
    nothing = tuple(Literal(None if field.nullable else some_value(field.type), field.type) for field in fields)
    marks = tuple(column(near, place) for place in places)
    both = Union((_expressed(left, ours, names), _expressed(near, (*nothing, *marks, _OF_RIGHT, marks[-1]), names)))
    at = len(fields) + count - 1
    back = asof.function in ("ge", "gt")
    # Of equal times those of the right come first if they count, else last.
    order = (Order(at, not back, nulls_first=True), Order(at + 1, asof.function in ("gt", "lt")))
    nearest = WindowFunction("max" if back else "min", (column(both, at + 2),), time, True, Frame(None, 0, True))
    window = Window(both, tuple(range(len(fields), at)), order, (nearest,), ("nearest",))
    return Filter(window, (comparison("eq", column(window, at + 1), _OF_LEFT),))


def _expressed(relation: Relation, scalars: Sequence[Scalar], names: Sequence[str]) -> Relation:
    start = len(relation.schema)
    mapped = Map(relation, tuple(scalars), tuple(f"asof {name}" for name in names))
    return Project(mapped, tuple(range(start, start + len(scalars))), tuple(names))


def _matching(asof: Asof, rows: Relation, near: Relation) -> Iterator[Scalar]:
    """What says over (left, right) that the right one is the nearest."""
    width = len(rows.schema)

    def there(place: int) -> Column:
        field = near.schema[place]
        return Column(width + place, field.type, field.nullable)

    yield comparison("eq", column(rows, width - 1), there(asof.times[1]))
    for left, right in asof.keys:
        key = column(rows, left), there(right)
        nullable = all(each.nullable for each in key)
        yield negation(comparison("is_distinct", *key)) if nullable else comparison("eq", *key)
