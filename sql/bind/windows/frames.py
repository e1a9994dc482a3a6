"""The frame in OVER (...): ROWS, GROUPS and RANGE, with what EXCLUDE leaves out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite

from sqlglot import exp

from ivm.catalog.types import BIGINT, INTERVAL, TIME, VARCHAR
from ivm.sql.bind.expressions.binder import Binder
from ivm.sql.bind.expressions.comparisons import unified
from ivm.sql.bind.expressions.constants import constant, value_as
from ivm.sql.bind.expressions.operand import Operand
from ivm.sql.bind.windows.framed import GROUPS, ROWS, VALUES
from ivm.sql.bind.windows.specs import Spec
from ivm.sql.ir.aggregates import AggregateOrder
from ivm.sql.ir.conditions import coalesced, comparison, is_null, junction, negation
from ivm.sql.ir.measures import measures_of
from ivm.sql.ir.scalar import FALSE, TRUE, Call, Literal, Scalar
from ivm.sql.ir.window_function import WHOLE_PARTITION, Frame

FAR = 1 << 31
"""Farther than any row is from another, as collections hold fewer: what is counted beyond means the same."""
_HOLES = {"NO OTHERS": "", "": ""}

Term = tuple[Scalar, bool, bool]
"""A term of ORDER BY: what it orders by, whether it descends, whether NULLs come first."""


@dataclass(frozen=True, slots=True)
class Framed:
    """The frame of an OVER, with its bounds, and the order of the rows, whose first term the bounds compare with.

    `by` and, where it `varies`, the bounds are those of `ivm.sql.bind.windows.framed.FramedAggregate`.
    """

    frame: Frame
    order: tuple[Term, ...]
    bounds: tuple[Scalar | None, Scalar | None] = (None, None)
    by: str = ROWS
    varies: bool = False

    @property
    def terms(self) -> tuple[AggregateOrder, ...]:
        """The order, as one within an aggregate."""
        return tuple(AggregateOrder(*term) for term in self.order)

    @property
    def is_kept(self) -> bool:
        """Whether there is a window operator for such frames: their ends are as far from each row."""
        return not self.varies


def bind_frame(binder: Binder, node: exp.Expr, spec: Spec, order: tuple[Term, ...]) -> Framed:
    """The frame of an OVER; without one, up to the last peer if there is ORDER BY, else the whole partition."""
    written = spec.frame
    if written is None:
        return (
            Framed(Frame(None, 0, True), order, by=_of_peers(order)) if spec.order else Framed(WHOLE_PARTITION, order)
        )
    kind = str(written.args.get("kind")).upper()
    _check_sides(binder, node, written)
    ends = [_written_end(written, "start"), _written_end(written, "end")]
    exclude = _exclude(binder, node, written, kind == "ROWS" and ends != [None, None])
    if kind == "RANGE" and any(isinstance(end, exp.Expr) for end in ends):
        return _by_value(binder, node, spec, order, ends, exclude)
    first, last = (_offset(binder, node, written, name, value, kind) for name, value in zip(_ENDS, ends, strict=True))
    bounds = (first if isinstance(first, Call) else None, last if isinstance(last, Call) else None)
    start, end = (
        _sign(written, name) if isinstance(each, Call) else each
        for name, each in zip(_ENDS, (first, last), strict=True)
    )
    if start is None and end is None:
        return Framed(Frame(None, None, exclude=exclude), order)
    peers, varies = kind != "ROWS", bounds != (None, None)
    whole = peers and not spec.order and not start and not end
    by = ROWS if not peers else GROUPS if start or end or varies else _of_peers(order)
    frame = Frame(None, None, exclude=exclude) if whole else Frame(start, end, peers, exclude)
    return Framed(frame, order, bounds, by, varies)


def _of_peers(order: tuple[Term, ...]) -> str:
    """What tells peers: the value that they are ordered by, or their group where there are several."""
    return VALUES if len(order) == 1 else GROUPS


def _sign(frame: exp.Expr, end: str) -> int:
    return -1 if _is_preceding(frame, end) else 1


_ENDS = ("start", "end")


def _written_end(frame: exp.Expr, end: str) -> exp.Expr | int | None:
    """The distance of an end as it is written, 0 for CURRENT ROW, None for UNBOUNDED."""
    value = frame.args.get(end)
    if isinstance(value, exp.Expr):
        return value
    return None if str(value).upper() == "UNBOUNDED" else 0


def _check_sides(binder: Binder, node: exp.Expr, frame: exp.Expr) -> None:
    """Refuse what DuckDB does not read: a frame whose start is behind its end, whatever the distances."""
    start, end = (_written_end(frame, each) for each in _ENDS)
    starts, ends = (str(frame.args.get(f"{each}_side")).upper() for each in _ENDS)
    after, before = "FOLLOWING", "PRECEDING"
    unbounded = (start is None and starts == after) or (end is None and ends == before)
    from_here = start == 0 and end != 0 and ends == before
    from_behind = start is not None and start != 0 and starts == after and (end == 0 or ends == before)
    if unbounded or from_here or from_behind:
        binder.fail(node, "this window frame ends before it begins; write the lower bound first")


def _exclude(binder: Binder, node: exp.Expr, frame: exp.Expr, cuts_ties: bool) -> str:
    written = frame.args.get("exclude")
    exclude = written.name.upper() if isinstance(written, exp.Expr) else ""
    if cuts_ties and exclude in ("GROUP", "TIES"):
        what = f"EXCLUDE {exclude} in a frame by ROWS is not maintained: which rows that tie are in the frame is open"
        binder.refuse(node, f"{what}; write GROUPS or RANGE, or EXCLUDE CURRENT ROW")
    return _HOLES.get(exclude, exclude.lower())


def _offset(
    binder: Binder, node: exp.Expr, frame: exp.Expr, end: str, value: exp.Expr | int | None, kind: str
) -> int | Call | None:
    """One end of a frame as an offset, or the expression that computes it; None where it is unbounded."""
    if not isinstance(value, exp.Expr):
        return value
    operand = constant(binder, value)
    if operand is None:
        return _varying(binder, binder.bind(value), kind, _is_preceding(frame, end))
    literal = None if operand.type == INTERVAL else value_as(binder, operand, BIGINT)
    if literal is None:
        binder.refuse(node, f"the offset of a frame by {kind} is an integer; write the number")
    if not isinstance(literal.value, int) or literal.value < 0:
        binder.fail(value, f"the offset of a frame by {kind} cannot be negative or NULL; write PRECEDING or FOLLOWING")
    distance = min(literal.value, FAR)
    return -distance if _is_preceding(frame, end) else distance


def _varying(binder: Binder, operand: Operand, kind: str, before: bool) -> Call:
    """How many rows or groups an end is from the row, whose own this is: an error where that is negative or NULL."""
    if not operand.type.is_integer:
        binder.mismatch(operand.node, f"the offset of a frame by {kind} is an integer, not {operand.type}; cast it")
    distance = Call("least", (binder.cast(operand, BIGINT), Literal(FAR, BIGINT)), BIGINT, operand.scalar.nullable)
    checked = _checked(kind, operand.scalar, distance)
    return Call("neg", (checked,), BIGINT, checked.nullable) if before else checked


def _checked(kind: str, distance: Scalar, value: Scalar, only: Scalar = TRUE) -> Call:
    """The value, or an error where a distance is negative or NULL, of rows for which `only` holds."""
    zero = Literal(0, INTERVAL if distance.type == INTERVAL else distance.type)
    tests: list[Scalar] = [comparison("lt", *measures_of((distance, zero), distance.type))]
    if distance.nullable:
        tests = [is_null(distance), coalesced(tests[0], FALSE)]
    wrong = junction("and", [only, junction("or", tests)]) if only != TRUE else junction("or", tests)
    message = f"the offset of a frame by {kind} cannot be negative or NULL; write PRECEDING or FOLLOWING"
    return Call("raise_if", (wrong, Literal(message, VARCHAR), value), value.type, value.nullable)


def _is_preceding(frame: exp.Expr, end: str) -> bool:
    return str(frame.args.get(f"{end}_side")).upper() == "PRECEDING"


def _by_value(
    binder: Binder,
    node: exp.Expr,
    spec: Spec,
    order: tuple[Term, ...],
    ends: Sequence[exp.Expr | int | None],
    exclude: str,
) -> Framed:
    """A frame by RANGE with offsets: its bounds are computed of the one expression of ORDER BY."""
    if len(spec.order) != 1:
        binder.fail(node, "a RANGE frame with an offset must have one ORDER BY expression; name one, or write ROWS")
    if not order:
        binder.refuse(node, "a RANGE frame with an offset over a constant is not supported; write ROWS")
    ((key, descending, nulls_first),) = order
    if key.type == INTERVAL:
        binder.refuse(node, "a RANGE frame with an offset over an INTERVAL is not maintained; order by epoch_us(..)")
    if key.type == TIME:
        binder.refuse(node, "a RANGE frame with an offset over a TIME is not maintained; order by a TIMESTAMP")
    by = Operand(spec.order[0].this, key)
    bounds: list[Operand | None] = []
    signs: list[int | None] = []
    assert spec.frame is not None, "it has offsets"
    for name, value in zip(_ENDS, ends, strict=True):
        ahead = not _is_preceding(spec.frame, name)
        offset = isinstance(value, exp.Expr)
        bounds.append(_moved(binder, by, value, ahead != descending) if isinstance(value, exp.Expr) else None)
        signs.append((1 if ahead else -1) if offset else None if value is None else 0)
    given = [bound for bound in bounds if bound is not None]
    scalars, type_ = unified(binder, node, "the ORDER BY with the offsets of a RANGE frame", [by, *given])
    rest = iter(scalars[1:])
    low, high = (None if bound is None else next(rest) for bound in bounds)
    first = () if type_ == key.type else ((scalars[0], descending, nulls_first),)  # peers are still those of the key
    varies = any(isinstance(end, exp.Expr) and constant(binder, end) is None for end in ends)
    frame = Frame(signs[0], signs[1], True, exclude)
    return Framed(frame, (*first, *order), (low, high), VALUES, varies)


def _moved(binder: Binder, by: Operand, distance: exp.Expr, add: bool) -> Operand:
    """The expression of ORDER BY plus or minus a distance that is not negative."""
    operand = constant(binder, distance)
    if operand is None:
        operand = binder.bind(distance)
        if operand.type != INTERVAL and not operand.type.is_numeric:
            what = "the offset of a frame by RANGE is a number or an INTERVAL"
            binder.mismatch(distance, f"{what}, not {operand.type}; cast it")
        there = negation(is_null(by.scalar)) if by.scalar.nullable else TRUE
        operand = Operand(distance, _checked("RANGE", operand.scalar, operand.scalar, there))
    else:
        _check_distance(binder, operand)
    known, moved = binder.known, (exp.Add if add else exp.Sub)(this=exp.Null(), expression=exp.Null())
    moved.meta.update(distance.meta)
    binder.known = {**known, id(moved.this): by, id(moved.expression): operand}
    try:
        return binder.bind(moved)
    finally:
        binder.known = known


def _check_distance(binder: Binder, operand: Operand) -> None:
    interval = operand.interval
    if interval is not None:
        parts = (interval.months, interval.days, interval.micros)
        if min(parts) < 0 < max(parts):
            binder.refuse(operand.node, "an INTERVAL that goes both ways is no distance here; write one that does not")
        wrong = min(parts) < 0
    else:
        value = getattr(operand.scalar, "value", None)
        if isinstance(value, str):
            binder.mismatch(operand.node, "the offset of a frame by RANGE is a number or an INTERVAL, not a text")
        wrong = value is None or value < 0 or not isfinite(value)
    if wrong:
        what = "the offset of a frame by RANGE cannot be negative, infinite or NULL"
        binder.fail(operand.node, f"{what}; write PRECEDING or FOLLOWING")
