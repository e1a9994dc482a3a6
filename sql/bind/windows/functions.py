"""A window function: what stands before OVER, and in it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from sqlglot import exp

from ivm.catalog.names import key, suggestion
from ivm.catalog.types import (
    BIGINT,
    BOOLEAN,
    DOUBLE,
    INTEGER,
    NULL,
    SMALLINT,
    TINYINT,
    UINTEGER,
    USMALLINT,
    UTINYINT,
    VARCHAR,
    list_of,
)
from ivm.sql.aggregate_nodes import FUNCTIONS
from ivm.sql.bind.aggregates.calls import AGGREGATES, AggregateCall, read_call
from ivm.sql.bind.aggregates.operands import order_by
from ivm.sql.bind.aggregates.types import bind_aggregate, inside, typed_aggregate
from ivm.sql.bind.expressions.binder import Aggregates, Binder
from ivm.sql.bind.expressions.operand import Operand
from ivm.sql.bind.windows.framed import FramedAggregate
from ivm.sql.bind.windows.frames import FAR, Framed
from ivm.sql.bind.windows.own_order import bare
from ivm.sql.bind.windows.partitions import OF_PARTITION, Composed, of_partition
from ivm.sql.bind.windows.specs import Spec, resolved
from ivm.sql.folded import folded
from ivm.sql.ir.aggregate import Aggregate
from ivm.sql.ir.aggregates import aggregate_of, reverse_of
from ivm.sql.ir.conditions import coalesced, comparison, is_null
from ivm.sql.ir.measures import has_measure
from ivm.sql.ir.scalar import FALSE, TRUE, Call, Column, Literal, Scalar
from ivm.sql.ir.window_function import WHOLE_PARTITION, WindowFunction
from ivm.sql.sql_text import text_of


def bind_spec(binder: Binder, node: exp.Expr) -> Spec:
    """The spec of an OVER; the error that fits if it names a window that is not there."""
    spec = resolved(node)
    if spec is None:
        select = node.find_ancestor(exp.Select)
        names = [each.this.name for each in (select.args.get("windows") or ())] if select else []
        name = node.args["alias"]
        what = f"there is no window {name.name!r} in the WINDOW clause{suggestion(name.name, names)}"
        binder.fail(name if "start" in name.meta else node, what)
    return spec


_RANKS: dict[type[exp.Expr], str] = {
    exp.RowNumber: "row_number",
    exp.Rank: "rank",
    exp.DenseRank: "dense_rank",
    exp.PercentRank: "percent_rank",
    exp.CumeDist: "cume_dist",
}
VALUES: dict[type[exp.Expr], str] = {
    exp.FirstValue: "first_value",
    exp.LastValue: "last_value",
    exp.NthValue: "nth_value",
}
_VALUES_THERE: dict[type[exp.Expr], type[exp.Expr]] = {exp.First: exp.FirstValue, exp.Last: exp.LastValue}
"""What these aggregates are with IGNORE NULLS."""
_SHIFTS: dict[type[exp.Expr], str] = {exp.Lag: "lag", exp.Lead: "lead"}
_COUNTING = frozenset((TINYINT, SMALLINT, INTEGER, BIGINT, UTINYINT, USMALLINT, UINTEGER, NULL))
"""The types of the numbers that window functions count by."""
_OFFERED = (
    "row_number, rank, dense_rank, ntile, lag, lead, first_value, last_value, nth_value, sum, count, avg, min and max"
)


def bind_function(binder: Binder, node: exp.Expr, spec: Spec, framed: Framed) -> WindowFunction | Composed:
    """The function before the OVER of `node`; what is literal in its arguments is a literal."""
    call, skips = node.this, False
    if isinstance(call, exp.IgnoreNulls | exp.RespectNulls) and not isinstance(call.this, exp.AnyValue):
        call, skips = call.this, isinstance(call, exp.IgnoreNulls)
    kind = type(call)
    if kind in _RANKS:
        if any(not isinstance(each, exp.Order) for each in call.iter_expressions()):
            binder.fail(call, f"{text_of(call)[:60]} takes no argument; leave it out")
        type_ = DOUBLE if kind in (exp.PercentRank, exp.CumeDist) else BIGINT
        return WindowFunction(_RANKS[kind], (), type_, False)
    if kind is exp.Ntile:
        return _ntile(binder, call)
    if kind in _SHIFTS:
        return _shift(binder, call, skips)
    if skips and kind in _VALUES_THERE:  # for DuckDB's text too
        value = _VALUES_THERE[kind](**call.args)
        call.replace(value)
        call, kind = value, type(value)
    if kind in VALUES:
        return _value(binder, call, framed, skips)
    return _aggregate(binder, node, call, spec, framed, skips)


def _value(binder: Binder, call: exp.Expr, framed: Framed, skips: bool) -> WindowFunction | Composed:
    name = VALUES[type(call)]
    if not framed.is_kept or any(isinstance(each, exp.Order) for each in call.args.values()):
        return _value_of_frame(binder, call, framed, skips)
    arg = _argument(binder, call)
    args: tuple[Scalar, ...] = (arg,)
    if name == "nth_value":
        args = (arg, _place(binder, call, call.args.get("offset")))
    return WindowFunction(name, args, arg.type, True, framed.frame, skips and arg.nullable, framed.bounds)


def _value_of_frame(binder: Binder, call: exp.Expr, framed: Framed, skips: bool) -> Composed:
    """first_value, last_value and nth_value over a frame that no window operator keeps, or in an order of their own."""
    given = {name: each for name, each in call.args.items() if isinstance(each, exp.Expr)}
    own = next((each.expressions for each in given.values() if isinstance(each, exp.Order)), [])
    arg, offset, name = _argument(binder, call), bare(given.get("offset")), VALUES[type(call)]
    order = order_by(binder, own) + framed.terms
    back = name == "last_value"
    if back:
        order = reverse_of(order)
    if name != "nth_value":
        found = Aggregate("any_value" if skips else "first", arg, arg.type, order=order)
        return _composed(Column(0, arg.type), (found,), (name,), framed, in_order=True, back=back)
    others = (Call("case", (is_null(arg), Literal(None, BOOLEAN), TRUE), BOOLEAN),) if skips else ()
    found = Aggregate("list", arg, list_of(arg.type), others=others, order=order)
    number = _place(binder, call, offset)
    at = Column(1, BIGINT, number.nullable)  # where it is below 1, there is no such row
    at_least = Call("case", (comparison("ge", at, Literal(1, BIGINT)), at, Literal(None, BIGINT)), BIGINT)
    nth = Call("element", (Column(0, found.type), at_least), arg.type)
    made = _composed(nth, (found,), (name,), framed, in_order=True)
    return replace(made, functions=(*made.functions, _of_row(number)), names=(*made.names, "number"))


def _composed(
    value: Scalar, aggregates: Sequence[Aggregate], names: Sequence[str], framed: Framed, **said: bool
) -> Composed:
    """An expression over aggregates of the frame of each row."""
    made = tuple(FramedAggregate(each, framed.frame, framed.by, framed.bounds, **said) for each in aggregates)
    return Composed(value, made, tuple(names))


def _argument(binder: Binder, call: exp.Expr) -> Scalar:
    value = bare(call.this)
    if value is None or isinstance(value, exp.Distinct):
        binder.fail(call, "this window function needs an argument, without DISTINCT")
    return binder.bind(value).stored


def _number(binder: Binder, call: exp.Expr, node: exp.Expr | None) -> Scalar:
    """The number that a function counts by: a literal, or a BIGINT that is computed of each row."""
    if node is None:
        binder.fail(call, f"{text_of(call)[:60]} needs a number behind its argument; write it")
    operand = binder.bind(node)
    if operand.type not in _COUNTING and not operand.is_text_literal:
        binder.mismatch(node, f"this window function counts by an integer, not {operand.type}; cast it to BIGINT")
    scalar = folded(binder.cast(operand, BIGINT))
    if isinstance(scalar, Literal) and isinstance(scalar.value, int):
        return Literal(max(-FAR, min(scalar.value, FAR)), BIGINT)
    return scalar


def _place(binder: Binder, call: exp.Expr, node: exp.Expr | None) -> Scalar:
    """The number of nth_value(); of less than 1 there is no such row, and none behind all."""
    number = _number(binder, call, node)
    return Literal(FAR, BIGINT) if isinstance(number, Literal) and _is_below_one(number.value) else number


def _is_below_one(value: object) -> bool:
    return isinstance(value, int) and value < 1


def _ntile(binder: Binder, call: exp.Expr) -> WindowFunction:
    number, what = _number(binder, call, bare(call.this)), "ntile() needs a number of 1 or more"
    if isinstance(number, Literal):
        if _is_below_one(number.value):
            binder.fail(call, f"{what}; write how many tiles there are to be")
        return WindowFunction("ntile", (number,), BIGINT, number.value is None)
    wrong = comparison("lt", number, Literal(1, BIGINT))
    checked = Call("raise_if", (coalesced(wrong, FALSE), Literal(what, VARCHAR), number), BIGINT, number.nullable)
    return WindowFunction("ntile", (checked,), BIGINT, checked.nullable)


def _shift(binder: Binder, call: exp.Expr, skips: bool) -> WindowFunction | Composed:
    """lag() and lead(): the default is that of the row itself."""
    name, arg = _SHIFTS[type(call)], _argument(binder, call)
    default: Scalar = Literal(None, arg.type)
    otherwise, distance = bare(call.args.get("default")), bare(call.args.get("offset"))
    if otherwise is not None:
        default = binder.cast(binder.bind(otherwise), arg.type)
    offset = Literal(1, BIGINT) if distance is None else _number(binder, call, distance)
    given = offset.value if isinstance(offset, Literal) else None
    if isinstance(given, int) and given < 0:
        name, given, offset = ("lead" if name == "lag" else "lag"), -given, Literal(-given, BIGINT)
    skips = skips and arg.nullable and given != 0

    def shift(of: Scalar, otherwise: Literal) -> WindowFunction:
        nullable = of.nullable or otherwise.nullable or offset.nullable
        return WindowFunction(name, (of, offset, otherwise), of.type, nullable, ignore_nulls=skips)

    if isinstance(default, Literal):
        return shift(arg, default)
    found, own = shift(arg, Literal(None, arg.type)), _of_row(default)
    there: Scalar = Call("case", (is_null(arg), Literal(None, BOOLEAN), TRUE), BOOLEAN) if skips else TRUE
    nullable = arg.nullable or default.nullable or offset.nullable
    missing = comparison("eq", Column(2, BOOLEAN, nullable), FALSE)  # not where the offset is NULL, nor then a default
    chosen = (missing, Column(1, arg.type, default.nullable), Column(0, arg.type))
    value = Call("case", chosen, arg.type, nullable)
    return Composed(value, (found, own, shift(there, FALSE)), (name, "default", "there"))


def _of_row(scalar: Scalar) -> WindowFunction:
    """What an expression is of the row itself."""
    args = (scalar, Literal(0, BIGINT), Literal(None, scalar.type))
    return WindowFunction("lag", args, scalar.type, scalar.nullable)


def _aggregate(
    binder: Binder, node: exp.Expr, call: exp.Expr, spec: Spec, framed: Framed, skips: bool
) -> WindowFunction | Composed:
    inner = call.this if isinstance(call, exp.Filter) else call
    if isinstance(inner, exp.IgnoreNulls) and isinstance(inner.this, exp.AnyValue):  # which skips them by itself
        inner = inner.this
    if not isinstance(inner, AGGREGATES) or skips:
        what = f"{text_of(call)[:60]} OVER is not maintained"
        binder.refuse(node, f"{what}{' with IGNORE NULLS' if skips else ''}; window functions are {_OFFERED}")
    whole = framed.frame == WHOLE_PARTITION
    own, binder.aggregates = binder.aggregates, Aggregates(0, grouped=False)
    known = binder.known
    try:
        if own is not None:
            binder.known = {**known, **_inner_aggregates(binder, inner, own)}
        if (framed.order or not whole) and FUNCTIONS[type(inner)] in _GO_BY_ORDER:
            in_order = _in_order(binder, read_call(binder, node.this), framed)
            if in_order is not None:
                return in_order
        value = bind_aggregate(binder, node.this).scalar
        found = binder.aggregates
    finally:
        binder.aggregates, binder.known = own, known
    by_measure = any(has_measure(bound.type) and bound.function in ("min", "max") for bound in found.found)
    plain = all(map(_is_plain, found.found))
    if whole and (by_measure or len(found.found) > 1 or not plain):
        _check_order(binder, inner, spec, found)
        return of_partition(inner, value, found)
    if by_measure or not plain or not framed.is_kept:
        _check_order(binder, inner, spec, found)
        inner.meta[OF_PARTITION] = True
        return _composed(value, found.found, found.names, framed)
    if FUNCTIONS[type(inner)] in _GO_BY_ORDER:  # of a partition without an order: the least or the greatest
        inner.meta[OF_PARTITION] = True
    functions = tuple(_over(bound, framed) for bound in found.found)
    return functions[0] if len(functions) == 1 else Composed(value, functions, tuple(found.names))


def _in_order(binder: Binder, call: AggregateCall, framed: Framed) -> Composed | None:
    """An aggregate that goes by the order in OVER, of a frame; None where it says itself what it goes by."""
    if call.order or call.distinct:
        return None
    terms, back = framed.terms, call.function == "last"
    known, nodes = binder.known, [exp.Null() for _ in terms]
    binder.known = {**known, **{id(at): Operand(at, each.scalar) for at, each in zip(nodes, terms, strict=True)}}
    order = tuple(
        exp.Ordered(this=at, desc=each.descending, nulls_first=each.nulls_first)
        for at, each in zip(nodes, terms, strict=True)
    )
    try:
        with inside(binder, call):
            found = typed_aggregate(binder, replace(call, order=order))
    finally:
        binder.known = known
    found = replace(found, order=found.order[: len(terms)])  # without what decides of ties in groups
    return _composed(Column(0, found.type), (found,), (call.function,), framed, in_order=True, back=back)


def _is_plain(bound: Aggregate) -> bool:
    return not (bound.distinct or bound.order or bound.others) and aggregate_of(bound.function).windowed


def _over(bound: Aggregate, framed: Framed) -> WindowFunction:
    args = () if bound.arg is None else (bound.arg,)
    counts = bound.function in ("count", "count_star")
    return WindowFunction(bound.function, args, bound.type, not counts, framed.frame, bounds=framed.bounds)


def _check_order(binder: Binder, call: exp.Expr, spec: Spec, aggregates: Aggregates) -> None:
    """Refuse what OVER orders and does not say so itself: DuckDB would go by the order of the window."""
    goes_by_order = any(each.function in _GO_BY_ORDER and not each.order for each in aggregates.found)
    counts = FUNCTIONS[type(call)] in ("histogram", "histogram_exact")
    if spec.order and goes_by_order and not counts:
        binder.refuse(call, f"ORDER BY in OVER is not that of {text_of(call)[:60]}; put it into its parentheses")


_GO_BY_ORDER = frozenset(("list", "string_agg", "first", "last", "any_value"))


def _inner_aggregates(binder: Binder, call: exp.Expr, aggregates: Aggregates) -> dict[int, Operand]:
    """The aggregates inside the argument of an aggregate OVER, also by their aliases: they are those of the block."""
    outer, binder.aggregates = binder.aggregates, aggregates
    try:
        inside = [n for n in call.find_all(*AGGREGATES) if n is not call]
        outermost = [n for n in inside if not any(a in inside for a in _above(n, call))]
        named = [n for n in call.find_all(exp.Column) if _names_aggregate(binder, n)]
        return {**{id(n): bind_aggregate(binder, n) for n in outermost}, **{id(n): binder.bind(n) for n in named}}
    finally:
        binder.aggregates = outer


def _names_aggregate(binder: Binder, node: exp.Column, open_: frozenset[str] = frozenset()) -> bool:
    """Whether a name is the alias of an expression that has aggregates, also by other aliases than those `open_`."""
    name = key(node.name)
    alias = None if node.table or name in open_ or binder.scope.find(node.name) else binder.aliases.get(name)
    if alias is None or alias.find(*AGGREGATES) is not None:
        return alias is not None
    return any(_names_aggregate(binder, each, open_ | {name}) for each in alias.find_all(exp.Column))


def _above(node: exp.Expr, top: exp.Expr) -> Iterable[exp.Expr]:
    above = node.parent
    while above is not None and above is not top:
        yield above
        above = above.parent
