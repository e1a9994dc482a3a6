"""ASOF JOIN: each row of the left with the row of the right that comes nearest by an inequality."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp

from ivm.sql.bind.context import BindContext, Nearest
from ivm.sql.bind.expressions.binder import Binder
from ivm.sql.bind.expressions.subqueries import condition
from ivm.sql.decorrelate.expand_joins import Pair, filtered, split, with_columns
from ivm.sql.ir.conditions import comparison, is_null, junction, negation
from ivm.sql.ir.functions import MIRRORED
from ivm.sql.ir.rebuild import row
from ivm.sql.ir.relation import Asof, Filter, Map, Project, Relation
from ivm.sql.ir.scalar import TRUE, Call, Literal, Scalar, columns_of, remap, walk

KINDS = ("inner", "left", "semi", "anti")
_INEQUALITIES = ("ge", "gt", "le", "lt")


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
    context.nearest.append(_told(context, binder, node, width, len(right.schema)))
    near, rights = with_columns(_candidates(right, found), [*(p.right for p in found.pairs), found.times[1]], "asof")
    outer = kind in ("left", "anti")
    own, time = (left, _if(found.left, found.times[0])) if outer else (filtered(left, found.left), found.times[0])
    own, lefts = with_columns(own, [*(p.left for p in found.pairs), time], "asof")
    if kind in ("semi", "anti"):
        near = Map(near, (TRUE,), ("there",))
    pairs = tuple(zip(lefts, rights, strict=True))
    joined = Asof(own, near, pairs[:-1], pairs[-1], found.function, outer)
    if kind == "anti":
        return Project(Filter(joined, (is_null(row(joined)[-1]),)), tuple(range(width)))
    if kind == "semi":
        return Project(joined, tuple(range(width)))
    start = len(own.schema)
    return Project(joined, (*range(width), *range(start, start + len(right.schema))))


def _if(conditions: Sequence[Scalar], time: Scalar) -> Scalar:
    """The time of a row of the left; NULL, which has no nearest, where it is not to have any."""
    if not conditions:
        return time
    return Call("case", (junction("and", conditions), time, Literal(None, time.type)), time.type)


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
