"""Expressions as vectorized numpy: answers at once, without compiling anything.

An expression is turned, once, into a tree of closures; running it costs a few numpy calls per function and row
batch.
"""

from __future__ import annotations

from catalog.types import Physical
from ivm.render.scalars.arrays import over_arrays
from ivm.render.scalars.bodies.table import BODIES
from ivm.render.scalars.columns import constant
from ivm.render.scalars.functions import Apply, Context, Evaluate
from ivm.render.scalars.rows import Rows
from ivm.trace.column import Column as Values
from sql.ir.functions import function_of
from sql.ir.scalar import Call, Column, Literal, Scalar


def interpreter(scalar: Scalar, context: Context) -> Evaluate:
    """The function from rows to the expression's column (of length one if it is constant).

    It raises NumericError where the expression does. Raises UnsupportedError now if a function is not known.
    """
    if isinstance(scalar, Column):
        index = scalar.index
        return lambda rows: rows.column(index)
    if isinstance(scalar, Literal):
        column = _literal(scalar, context)
        return lambda rows: column
    assert isinstance(scalar, Call), "decorrelation leaves no column of an outer query"
    body = BODIES[function_of(scalar.function).name]

    def build(part: Scalar) -> Evaluate:
        return interpreter(part, context)

    if body.lazy is not None:
        return body.lazy(scalar, context, build)
    apply = None if body.strict is None else body.strict(scalar, context)
    if apply is None:
        return over_arrays(body, scalar, context, build)
    return _applied(apply, [build(scalar.args[place]) for place in body.places(scalar)])


def _literal(literal: Literal, context: Context) -> Values:
    value = literal.value
    if literal.type.physical is Physical.CODE and value is not None:
        value = context.literals.code(str(value))
    return constant(value, literal.type.physical)


def _applied(apply: Apply, arguments: list[Evaluate]) -> Evaluate:
    if len(arguments) == 1:
        only = arguments[0]
        return lambda rows: apply(only(rows))
    if len(arguments) == 2:
        first, second = arguments

        def evaluate(rows: Rows) -> Values:
            return apply(first(rows), second(rows))

        return evaluate
    return lambda rows: apply(*[argument(rows) for argument in arguments])
