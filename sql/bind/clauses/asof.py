"""ASOF JOIN: each row of the left with the row of the right that comes nearest by an inequality.

It is written in what there is. The times of both sides stand in one order, by key, and a window says of each row of the
left which time of the right is the last before it; by that and the keys the row of the right is looked up. So a late
row costs a logarithm, and what it moves: the rows up to the next one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp

from catalog.types import INTEGER
from sql.bind.context import BindContext, Nearest
from sql.bind.expressions.binder import Binder
from sql.bind.expressions.subqueries import condition
from sql.decorrelate.expand_joins import Pair, filtered, split, with_columns
from sql.ir.conditions import comparison, is_null, negation
from sql.ir.functions import MIRRORED
from sql.ir.rebuild import column, row
from sql.ir.relation import Apply, Filter, Map, Order, Project, Relation, TopK, Union, Window
from sql.ir.scalar import Call, Column, Literal, Scalar, columns_of, remap, some_value, walk
from sql.ir.window_function import Frame, WindowFunction

KINDS = ("inner", "left", "semi", "anti")
_INEQUALITIES = ("ge", "gt", "le", "lt")
_OF_LEFT, _OF_RIGHT = Literal(1, INTEGER), Literal(0, INTEGER)


@dataclass(frozen=True, slots=True)
class _Condition:
    """The rows agree in `pairs`, and the one side's time is `function` (ge, gt, le, lt) the other's.

    `left` and `right` are what else is asked of a row of either side; of the right before the nearest is looked for.
    """

    pairs: tuple[Pair, ...]
    function: str
    times: tuple[Scalar, Scalar]
    left: tuple[Scalar, ...]
    right: tuple[Scalar, ...]


def join_asof(
    context: BindContext,
    binder: Binder,
    node: exp.Join,
    kind: str,
    sides: tuple[Relation, Relation],
    equal: Sequence[Scalar],
) -> Relation:
    """The rows of both sides, or of the left alone, joined as the ASOF JOIN `node` says.

    `equal` are the equalities of USING, the last of which stands for the inequality. Of several rows of the right that
    are equally near, the first by all its columns, ascending, NULLs last, is taken, and the oracle is told so.
    """
    left, right = sides
    width = len(left.schema)
    on = node.args.get("on")
    if on is not None and on.find(exp.Query) is not None:
        context.refuse(on, "a subquery in ON of an ASOF JOIN is not maintained; join it in FROM before")
    predicates = _of_using(equal) if on is None else condition(binder, on)
    found = _condition(context, node, predicates, width)
    keys = [pair.right for pair in found.pairs]
    near = _candidates(right, found)
    near, places = with_columns(near, [*keys, found.times[1]], "asof")
    near = TopK(near, places, (), 1)
    context.nearest.append(_told(context, binder, node, width, len(right.schema)))
    rows = _with_times(left, near, places, found)
    joined = Apply(kind, rows, near, (*found.left, *_matching(rows, near, places, found)))
    if kind in ("semi", "anti"):
        return Project(joined, tuple(range(width)))
    start = len(rows.schema)
    return Project(joined, (*range(width), *range(start, start + len(right.schema))))


def _of_using(equal: Sequence[Scalar]) -> list[Scalar]:
    *rest, last = equal
    assert isinstance(last, Call), "it is a comparison"
    return [*rest, comparison("ge", *last.args)]


def _condition(context: BindContext, node: exp.Join, predicates: Sequence[Scalar], width: int) -> _Condition:
    parts = split(predicates, width)
    inequalities = []
    for predicate in parts.rest:
        inequality = _inequality(predicate, width)
        if inequality is None:
            what = "the ON of an ASOF JOIN holds equalities, one inequality of the two sides, and conditions on either"
            context.refuse(node, f"{what}; put the rest in WHERE, or write a LATERAL subquery with LIMIT 1")
        inequalities.append(inequality)
    if len(inequalities) != 1:
        what = "several inequalities" if inequalities else "no inequality"
        context.fail(node, f"this ASOF JOIN has {what} of its two sides; write one of >=, >, <= and <")
    ((function, times),) = inequalities
    if any(isinstance(s, Call) and s.function == "interval_length" for time in times for s in walk(time)):
        context.refuse(node, "an ASOF JOIN by an INTERVAL is not maintained; compare epoch_us(..) of both sides")
    return _Condition(parts.pairs, function, times, parts.left_only, parts.right_only)


def _inequality(predicate: Scalar, width: int) -> tuple[str, tuple[Scalar, Scalar]] | None:
    """A comparison of the two sides as (function, (left, right)), over their own rows."""
    if not isinstance(predicate, Call) or predicate.function not in _INEQUALITIES:
        return None
    function, (one, other) = predicate.function, predicate.args
    if any(c >= width for c in columns_of(one)):
        function, one, other = MIRRORED[function], other, one
    if any(c >= width for c in columns_of(one)) or not all(c >= width for c in columns_of(other)):
        return None
    return function, (one, remap(other, lambda i: i - width))


def _candidates(right: Relation, found: _Condition) -> Relation:
    """The rows of the right that some row of the left may have."""
    asked = [pair.right for pair in found.pairs if not pair.null_safe and pair.right.nullable]
    asked += [found.times[1]] if found.times[1].nullable else []
    return filtered(right, (*found.right, *(negation(is_null(scalar)) for scalar in asked)))


def _with_times(left: Relation, near: Relation, places: tuple[int, ...], found: _Condition) -> Relation:
    """The rows of the left with keys, time, a 1, and, last but for a NULL, the time of the right that is nearest."""
    fields = left.schema
    time, count = found.times[1].type, len(places)
    keys = tuple(f"key{i}" for i in range(count - 1))
    names = (*(field.name for field in fields), *keys, "time", "side", "of_right")
    ours = (*row(left), *(pair.left for pair in found.pairs), found.times[0], _OF_LEFT, Literal(None, time))
    nothing = (Literal(None if field.nullable else some_value(field.type), field.type) for field in fields)
    marks = tuple(column(near, place) for place in places)
    both = Union((_expressed(left, ours, names), _expressed(near, (*nothing, *marks, _OF_RIGHT, marks[-1]), names)))
    at = len(fields) + count - 1
    back = found.function in ("ge", "gt")
    # Of equal times those of the right come first if they count, else last.
    order = (Order(at, not back, nulls_first=True), Order(at + 1, found.function in ("gt", "lt")))
    nearest = WindowFunction("max" if back else "min", (column(both, at + 2),), time, True, Frame(None, 0, True))
    window = Window(both, tuple(range(len(fields), at)), order, (nearest,), ("nearest",))
    return Filter(window, (comparison("eq", column(window, at + 1), _OF_LEFT),))


def _expressed(relation: Relation, scalars: Sequence[Scalar], names: Sequence[str]) -> Relation:
    start = len(relation.schema)
    mapped = Map(relation, tuple(scalars), tuple(f"asof {name}" for name in names))
    return Project(mapped, tuple(range(start, start + len(scalars))), tuple(names))


def _matching(rows: Relation, near: Relation, places: tuple[int, ...], found: _Condition) -> list[Scalar]:
    """What says over (left, right) that the right one is the nearest."""
    width, first = len(rows.schema), len(rows.schema) - len(places) - 3

    def there(place: int) -> Column:
        field = near.schema[place]
        return Column(width + place, field.type, field.nullable)

    tests: list[Scalar] = [comparison("eq", column(rows, width - 1), there(places[-1]))]
    for i, pair in enumerate(found.pairs):
        key = column(rows, first + i), there(places[i])
        tests.append(negation(comparison("is_distinct", *key)) if pair.null_safe else comparison("eq", *key))
    return tests


def _told(context: BindContext, binder: Binder, node: exp.Join, width: int, columns: int) -> Nearest:
    """What the oracle is to be told: by what the rows of the right are compared, and what is asked of them before."""
    names = [exp.column(item.name, node.this.alias_or_name) for item in node.args.get("using") or ()]
    if names:
        return Nearest(node, tuple(names), (), columns)
    by, where = [], []
    waiting = [node.args["on"]]
    while waiting:
        part = waiting.pop().unnest()
        if isinstance(part, exp.And):
            waiting.extend((part.expression, part.this))
            continue
        ends = [end for end in (part.args.get("this"), part.args.get("expression")) if isinstance(end, exp.Expr)]
        of_right = [end for end in ends if _is_of_right(binder, end, width)]
        if len(ends) == 2 and len(of_right) == 1 and _reads(binder, part, width) == {True, False}:
            by.append(of_right[0])
        elif _is_of_right(binder, part, width):
            where.append(part)
    return Nearest(node, tuple(by), tuple(where), columns)


def _is_of_right(binder: Binder, node: exp.Expr, width: int) -> bool:
    return _reads(binder, node, width) == {True}


def _reads(binder: Binder, node: exp.Expr, width: int) -> set[bool]:
    """Whether an expression reads columns of the left (False), of the right (True)."""
    return {c >= width for c in columns_of(binder.bind(node).scalar)}
