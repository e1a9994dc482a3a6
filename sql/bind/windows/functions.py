"""A window function: what stands before OVER, and in it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NoReturn

from sqlglot import exp

from catalog.names import suggestion
from catalog.types import BIGINT, DOUBLE, INTERVAL
from sql.aggregate_nodes import FUNCTIONS
from sql.bind.aggregates.calls import AGGREGATES
from sql.bind.aggregates.types import bind_aggregate
from sql.bind.expressions.binder import Aggregates, Binder
from sql.bind.expressions.operand import Operand
from sql.bind.windows.specs import Spec, resolved
from sql.ir.aggregates import aggregate_of
from sql.ir.scalar import Literal, Scalar
from sql.ir.window_function import WHOLE_PARTITION, Frame, WindowFunction
from sql.sql_text import text_of

FAR = 1 << 31
"""Farther than any row is from another, as collections hold fewer: what is counted beyond means the same."""
_MOST_DIGITS = 19


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


def bind_frame(binder: Binder, node: exp.Expr, spec: Spec) -> Frame:
    """The frame of an OVER; without one, up to the last peer if there is ORDER BY, else the whole partition."""
    written = spec.frame
    if written is None:
        return Frame(None, 0, True) if spec.order else WHOLE_PARTITION
    kind = str(written.args.get("kind")).upper()
    if kind == "GROUPS":
        binder.refuse(node, "a GROUPS frame is not maintained; write ROWS, or a RANGE of UNBOUNDED and CURRENT ROW")
    start = _offset(binder, node, written, "start", kind)
    end = _offset(binder, node, written, "end", kind) if written.args.get("end") else 0
    if start is not None and end is not None and start > end:
        binder.fail(node, "this window frame ends before it begins; write the lower bound first")
    if kind == "ROWS" or (start is None and end is None):
        return Frame(start, end)
    return Frame(start, end, True) if spec.order else WHOLE_PARTITION


def _offset(binder: Binder, node: exp.Expr, frame: exp.Expr, end: str, kind: str) -> int | None:
    """One end of a frame as an offset; None where it is unbounded."""
    value, side = frame.args.get(end), str(frame.args.get(f"{end}_side")).upper()
    if not isinstance(value, exp.Expr):
        return None if str(value).upper() == "UNBOUNDED" else 0
    if kind == "RANGE":
        what = "a RANGE frame with an offset is not maintained"
        binder.refuse(node, f"{what}; write ROWS with a number of rows, or join with a condition on the range")
    if not isinstance(value, exp.Literal) or not value.is_int:
        binder.refuse(node, "the offset of a ROWS frame must be an integer literal; write the number of rows")
    if len(value.name) > _MOST_DIGITS or int(value.name) >= 1 << 63:
        binder.fail(value, "the offset of a ROWS frame is beyond 64 bits; write UNBOUNDED")
    rows = min(int(value.name), FAR)
    return -rows if side == "PRECEDING" else rows


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
_SHIFTS: dict[type[exp.Expr], str] = {exp.Lag: "lag", exp.Lead: "lead"}
_OFFERED = (
    "row_number, rank, dense_rank, ntile, lag, lead, first_value, last_value, nth_value, sum, count, avg, min and max"
)


def bind_function(binder: Binder, node: exp.Expr, frame: Frame) -> WindowFunction:
    """The function before the OVER of `node`; what is literal in its arguments is a literal."""
    call, skips = node.this, False
    if isinstance(call, exp.IgnoreNulls | exp.RespectNulls):
        call, skips = call.this, isinstance(call, exp.IgnoreNulls)
    kind = type(call)
    if kind in _RANKS:
        type_ = DOUBLE if kind in (exp.PercentRank, exp.CumeDist) else BIGINT
        return WindowFunction(_RANKS[kind], (), type_, False)
    if kind is exp.Ntile:
        return WindowFunction("ntile", (_positive(binder, call, call.this),), BIGINT, False)
    if kind in _SHIFTS:
        return _shift(binder, call, skips)
    if kind in VALUES:
        return _value(binder, call, frame, skips)
    return _aggregate(binder, node, call, frame, skips)


def _value(binder: Binder, call: exp.Expr, frame: Frame, skips: bool) -> WindowFunction:
    name = VALUES[type(call)]
    arg = _argument(binder, call)
    args: tuple[Scalar, ...] = (arg,)
    if name == "nth_value":
        if skips:
            binder.refuse(call, "nth_value() with IGNORE NULLS is not maintained; write first_value or last_value")
        args = (arg, _positive(binder, call, call.args.get("offset")))
    return WindowFunction(name, args, arg.type, True, frame, skips and arg.nullable)


def _argument(binder: Binder, call: exp.Expr) -> Scalar:
    if call.this is None:
        binder.fail(call, "this window function needs an argument")
    if isinstance(call.this, exp.Order | exp.Distinct):
        binder.refuse(call, "ORDER BY and DISTINCT inside a window function are not supported; leave them out")
    return binder.value(call.this).stored


def _positive(binder: Binder, call: exp.Expr, node: exp.Expr | None) -> Literal:
    number = None if node is None else binder.value(node).integer
    if number is None or number < 1:
        binder.refuse(call, "this window function counts by an integer literal of 1 or more; write the number")
    return Literal(min(number, FAR), BIGINT)


def _shift(binder: Binder, call: exp.Expr, skips: bool) -> WindowFunction:
    name, arg = _SHIFTS[type(call)], _argument(binder, call)
    offset, default = 1, Literal(None, arg.type)
    if call.args.get("offset"):
        written = binder.value(call.args["offset"]).integer
        if written is None:
            binder.refuse(call, f"{name}() needs its offset as an integer literal; write the number of rows")
        offset = max(-FAR, min(written, FAR))
    if call.args.get("default"):
        cast = binder.cast(binder.value(call.args["default"]), arg.type)
        if not isinstance(cast, Literal):
            binder.refuse(call, f"{name}() needs its default as a literal; write coalesce({name}(...) OVER ..., ...)")
        default = cast
    if offset < 0:
        name, offset = ("lead" if name == "lag" else "lag"), -offset
    nullable = arg.nullable or default.nullable
    args = (arg, Literal(offset, BIGINT), default)
    return WindowFunction(name, args, arg.type, nullable, ignore_nulls=skips and arg.nullable and offset > 0)


def _aggregate(binder: Binder, node: exp.Expr, call: exp.Expr, frame: Frame, skips: bool) -> WindowFunction:
    inner = call.this if isinstance(call, exp.Filter) else call
    if not isinstance(inner, AGGREGATES) or skips:
        what = f"{text_of(call)[:60]} OVER is not maintained"
        binder.refuse(node, f"{what}{' with IGNORE NULLS' if skips else ''}; window functions are {_OFFERED}")
    _refuse_unwindowed(binder, node, inner)
    own, binder.aggregates = binder.aggregates, Aggregates(0, grouped=False)
    known = binder.known
    try:
        if own is not None:
            binder.known = {**known, **_inner_aggregates(binder, inner, own)}
        bind_aggregate(binder, node.this)
        bound, *more = binder.aggregates.found
    finally:
        binder.aggregates, binder.known = own, known
    if more or (bound.type == INTERVAL and bound.function in ("min", "max")):
        what = f"{text_of(call)[:60]} OVER, of INTERVALs, is not maintained"
        binder.refuse(node, f"{what}; write epoch_us(..) of them, and to_microseconds(..) of what comes of it")
    if bound.distinct or bound.order or bound.others or not aggregate_of(bound.function).windowed:
        _refuse(binder, node, inner)
    args = () if bound.arg is None else (bound.arg,)
    counts = bound.function in ("count", "count_star")
    return WindowFunction(bound.function, args, bound.type, not counts, frame)


def _refuse_unwindowed(binder: Binder, node: exp.Expr, call: exp.Expr) -> None:
    if aggregate_of(FUNCTIONS[type(call)]).written is not None:
        _refuse(binder, node, call)


def _refuse(binder: Binder, node: exp.Expr, call: exp.Expr) -> NoReturn:
    what = f"{text_of(call)[:60]} OVER is not maintained"
    binder.refuse(node, f"{what}; window functions are {_OFFERED}, without DISTINCT or ORDER BY inside")


def _inner_aggregates(binder: Binder, call: exp.Expr, aggregates: Aggregates) -> dict[int, Operand]:
    """The aggregates inside the argument of an aggregate OVER, which are those of the block."""
    outer, binder.aggregates = binder.aggregates, aggregates
    try:
        inside = [n for n in call.find_all(*AGGREGATES) if n is not call]
        outermost = [n for n in inside if not any(a in inside for a in _above(n, call))]
        return {id(n): bind_aggregate(binder, n) for n in outermost}
    finally:
        binder.aggregates = outer


def _above(node: exp.Expr, top: exp.Expr) -> Iterable[exp.Expr]:
    above = node.parent
    while above is not None and above is not top:
        yield above
        above = above.parent
