"""Functions of two vectors, which are lists or arrays of FLOAT or DOUBLE, and what makes arrays of values."""

from __future__ import annotations

from sqlglot import exp

from ivm.catalog.types import DOUBLE, FLOAT, NULL, Kind, SqlType, array_of, list_of
from ivm.sql.bind.expressions.binder import Binder, Handler
from ivm.sql.bind.expressions.comparisons import unified
from ivm.sql.bind.expressions.operand import Operand
from ivm.sql.bind.functions.computed import computed
from ivm.sql.ir.functions.nested import VECTORS
from ivm.sql.ir.scalar import Call, Literal
from ivm.sql.signs import CosineDistance

_CROSSED = 3
"""A cross product is of vectors of so many numbers."""


def bind_array_value(binder: Binder, node: exp.Expr) -> Operand:
    """ARRAY_VALUE(a, b, ..): an array of the values."""
    if not node.expressions:
        binder.fail(node, "array_value() needs at least one value")
    scalars, element = unified(binder, node, "an array", [binder.bind(item) for item in node.expressions])
    listed = Operand(node, Call("list_value", scalars, list_of(element), nullable=False))
    return Operand(node, binder.cast(listed, array_of(element, len(scalars))))


def _of_lists(name: str) -> Handler:
    """A function of two vectors of any kind, as lists."""

    def bind(binder: Binder, node: exp.Expr) -> Operand:
        given = [binder.as_list(operand) for operand in _two(binder, node, name)]
        number = _number(binder, node, name, given)
        scalars = [binder.cast(operand, list_of(number)) for operand in given]
        return computed(node, name, scalars, number)

    return bind


def _of_arrays(name: str, size: int = 0) -> Handler:
    """A function of two arrays of a size, or of one size; `size` numbers make an array again."""

    def bind(binder: Binder, node: exp.Expr) -> Operand:
        given = _two(binder, node, name)
        known = next((operand.type.size for operand in given if operand.type.kind is Kind.ARRAY), 0)
        wanted = size or known
        for operand in given:
            is_taken = operand.type.size == wanted if operand.type.kind is Kind.ARRAY else bool(size)
            if operand.type != NULL and not is_taken:
                what = f"two arrays of {size} numbers" if size else "two arrays of one size"
                binder.mismatch(
                    operand.node, f"{name}() takes {what}, not {operand.type}; cast it to FLOAT[{wanted or 3}]"
                )
        number = _number(binder, node, name, given, cast=bool(size))
        if not wanted:
            return Operand(node, Literal(None, number))
        scalars = [binder.cast(operand, array_of(number, wanted)) for operand in given]
        return computed(node, name, scalars, array_of(number, size) if size else number)

    return bind


def _two(binder: Binder, node: exp.Expr, name: str) -> list[Operand]:
    args = [node.this, node.expression] if isinstance(node, exp.Binary) else node.expressions
    if len(args) != 2:
        binder.fail(node, f"{name}() takes two vectors, not {len(args)}")
    operands = [binder.bind(each) for each in args]
    for operand in operands:
        element = operand.type.element
        is_list = operand.type.kind in (Kind.LIST, Kind.ARRAY) and element is not None
        if operand.type != NULL and not (is_list and element is not None and (element.is_numeric or element == NULL)):
            binder.mismatch(operand.node, f"{name}() takes lists or arrays of numbers, not {operand.type}; cast it")
    return operands


def _number(binder: Binder, node: exp.Expr, name: str, given: list[Operand], *, cast: bool = True) -> SqlType:
    """What is computed with: FLOAT where one is of it and none of DOUBLE, as in DuckDB."""
    elements = [operand.type.element for operand in given]
    if not cast and FLOAT not in elements and DOUBLE not in elements:
        binder.mismatch(node, f"{name}() takes arrays of FLOAT or DOUBLE; cast one of them")
    return FLOAT if FLOAT in elements and DOUBLE not in elements else DOUBLE


BY_NAME: dict[str, Handler] = {
    "array_value": bind_array_value,
    "array_cross_product": _of_arrays("array_cross_product", _CROSSED),
    **{f"list_{name}": _of_lists(f"list_{name}") for name in VECTORS},
    **{f"array_{name}": _of_arrays(f"array_{name}") for name in VECTORS},
}
"""How they are bound, by their names."""

HANDLERS: dict[type[exp.Expr], Handler] = {
    exp.Distance: BY_NAME["list_distance"],
    CosineDistance: BY_NAME["list_cosine_distance"],
}
