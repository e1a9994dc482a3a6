"""Comparisons of widened values are made on the values themselves: `CAST(x AS BIGINT) = 5` is `x = 5`."""

from __future__ import annotations

from dataclasses import replace

from ivm.catalog.types import Kind, SqlType
from ivm.sql.ir.limits import limits
from ivm.sql.ir.rebuild import with_scalars
from ivm.sql.ir.relation import Relation
from ivm.sql.ir.scalar import Call, Literal, Scalar, rewrite
from ivm.transform.rewrite import bottom_up

_COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge", "is_distinct", "in")


@bottom_up
def unwrap_casts(relation: Relation) -> Relation:
    """Take casts that lose nothing off both sides of a comparison, so that it is one of plain columns again.

    A literal that the narrower type does not hold keeps the cast.
    """
    return with_scalars(relation, lambda scalar: rewrite(scalar, _unwrap))


def _unwrap(scalar: Scalar) -> Scalar:
    if not isinstance(scalar, Call) or scalar.function not in _COMPARISONS:
        return scalar
    sources = {arg.args[0].type for arg in scalar.args if isinstance(arg, Call) and arg.function == "cast"}
    if len(sources) != 1:
        return scalar
    (source,) = sources
    if not widens(source, scalar.args[0].type):
        return scalar
    args = tuple(_narrowed(arg, source) for arg in scalar.args)
    found = tuple(arg for arg in args if arg is not None)
    return replace(scalar, args=found) if len(found) == len(args) else scalar


def widens(source: SqlType, target: SqlType) -> bool:
    """Whether a cast keeps every value of an exact type, and their order, without ever raising."""
    exact = all(t.is_integer or t.kind is Kind.DECIMAL for t in (source, target))
    if not exact or target.scale < source.scale:
        return False
    held, allowed = limits(source), limits(target)
    factor: int = 10 ** (target.scale - source.scale)
    return allowed[0] <= held[0] * factor and held[1] * factor <= allowed[1]


def _narrowed(arg: Scalar, source: SqlType) -> Scalar | None:
    match arg:
        case Literal(None):
            return Literal(None, source)
        case Literal(int(value), wide):
            narrow, lost = divmod(value, 10 ** (wide.scale - source.scale))
            least, greatest = limits(source)
            return None if lost or not least <= narrow <= greatest else Literal(narrow, source)
        case Call("cast", (inner,)):
            return inner
    return None
