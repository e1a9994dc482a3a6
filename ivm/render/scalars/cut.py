"""Programs cut into stages, so that what is compiled at once is small.

The compiler takes time with the square of a loop's length: 20 columns of sums take a second, 100 take twenty.
"""

from __future__ import annotations

from dataclasses import replace

from catalog.types import Kind, Physical
from ivm.analysis.ranges import can_raise
from ivm.render.scalars.shape import Shape
from sql.ir.scalar import Call, Scalar, walk

MOST = 180
"""What one loop may weigh; that takes the compiler a second or two."""

_OUTPUT = 3
_LIGHT = frozenset(("eq", "ne", "lt", "le", "gt", "ge", "is_null", "is_distinct", "not", "in"))
_JUNCTIONS = frozenset(("and", "or"))
_SEARCHED = (Physical.INT32, Physical.INT64, Physical.CODE)


def weight(scalar: Scalar) -> int:
    """What an expression adds to the time in which its loop compiles; a sum of two columns is 6."""
    return sum(_weight(each) for each in walk(scalar) if isinstance(each, Call))


def cut(shape: Shape) -> list[Shape]:
    """Programs that do the same one after the other, each over what the one before it gives; mostly one.

    All but the last keep every column and add theirs behind. Each weighs at most `MOST`, or is one expression.
    """
    pieces = _pieces(shape)
    stages: list[Shape] = []
    done = 0
    for number, (early, maps, late) in enumerate(pieces):
        width, last = shape.width + done, number == len(pieces) - 1
        own = shape.maps[done : done + maps]
        done += maps
        outputs = shape.projection if last else tuple(range(shape.width + done))
        kept = tuple(sorted({c - width for c in outputs if c >= width}))
        stages.append(replace(shape, maps=own, early=early, late=late, width=width, projection=outputs, kept_maps=kept))
    return stages


def is_too_heavy(shape: Shape) -> bool:
    """Whether a stage is left to the interpreter."""
    return _total(shape) > MOST


def _total(shape: Shape) -> int:
    return sum(map(weight, (*shape.early, *shape.maps, *shape.late))) + _OUTPUT * len(shape.maps)


_Piece = tuple[tuple[Scalar, ...], int, tuple[Scalar, ...]]
"""Predicates before maps, how many maps, predicates that may read these."""


def _pieces(shape: Shape) -> list[_Piece]:
    """The steps of a program in their order, as many together as weigh enough."""
    if _total(shape) <= MOST:
        return [(shape.early, len(shape.maps), shape.late)]
    steps: list[tuple[int, Scalar | None, int]] = [(weight(p), p, 0) for p in shape.early]
    steps += [(weight(m) + _OUTPUT, None, 1) for m in shape.maps]
    steps += [(weight(p), p, 0) for p in shape.late]
    pieces: list[_Piece] = []
    early: list[Scalar] = []
    late: list[Scalar] = []
    maps = total = 0
    for heavy, predicate, count in steps:
        if total and total + heavy > MOST:
            pieces.append((tuple(early), maps, tuple(late)))
            early, late, maps, total = [], [], 0, 0
        if predicate is not None:
            (late if maps else early).append(predicate)
        maps, total = maps + count, total + heavy
    pieces.append((tuple(early), maps, tuple(late)))
    return pieces


def _weight(call: Call) -> int:
    if call.function in _JUNCTIONS:
        return len(call.args) - 1
    if call.function in ("case", "coalesce"):
        return len(call.args) // 2
    if call.function == "in" and call.args[0].type.physical not in _SEARCHED:
        return len(call.args)
    if any(each.type.physical is Physical.WIDE for each in (call, *call.args)):
        return 15
    if call.function in _LIGHT:
        return 2
    if any(each.type.kind is Kind.VARCHAR for each in call.args):
        return 8
    return 6 if can_raise(call) else 3
