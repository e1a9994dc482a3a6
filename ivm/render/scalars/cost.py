"""What the evaluation of a predicate costs and risks, so that the cheap and safe ones are asked first."""

from __future__ import annotations

from catalog.types import Kind
from ivm.analysis.ranges import can_raise
from ivm.render.scalars.bodies.table import BODIES
from sql.ir.scalar import Call, Scalar, walk


def cost_rank(predicate: Scalar) -> int:
    """In which order predicates are asked: 0 plain ones, 1 those that look strings up, 2 those that can raise."""
    if can_raise(predicate):
        return 2
    return int(any(isinstance(s, Call) and _reads_text(s) for s in walk(predicate)))


def _reads_text(call: Call) -> bool:
    return not BODIES[call.function].by_code and any(a.type.kind is Kind.VARCHAR for a in call.args)
