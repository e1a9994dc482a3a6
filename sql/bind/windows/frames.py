"""The OVER of a window function, bound: its spec, and its frame."""

from __future__ import annotations

from sqlglot import exp

from catalog.names import suggestion
from sql.bind.expressions.binder import Binder
from sql.bind.windows.specs import Spec, resolved
from sql.ir.relation import WHOLE_PARTITION, Frame

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
