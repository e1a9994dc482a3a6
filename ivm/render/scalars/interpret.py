"""Expressions as vectorized numpy: answers at once, without compiling anything.

An expression is turned, once, into a tree of closures; running it costs a few numpy calls per function and row
batch.
"""

from __future__ import annotations

from catalog.errors import UnsupportedError
from catalog.types import Physical
from ivm.render.scalars import bits, casts, compare, date_parts, dates, logic, maths, numeric, texts
from ivm.render.scalars.columns import constant
from ivm.render.scalars.functions import Apply, Context, Evaluate, Lazy, Strict
from ivm.render.scalars.rows import Rows
from ivm.trace.column import Column as Values
from sql.ir.scalar import Call, Column, Literal, Scalar

_STRICT: dict[str, Strict] = {
    **numeric.STRICT, **compare.STRICT, **logic.STRICT, **maths.STRICT, **dates.STRICT,
    **bits.STRICT, **date_parts.STRICT, "cast": casts.cast, "try_cast": casts.cast,
}  # fmt: skip
_LAZY: dict[str, Lazy] = {**compare.LAZY, **logic.LAZY, **maths.LAZY, **dates.LAZY, **date_parts.LAZY, **texts.LAZY}

FUNCTIONS = frozenset(_STRICT) | frozenset(_LAZY)


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
    lazy = _LAZY.get(scalar.function)
    if lazy is not None:
        return lazy(scalar, context, lambda s: interpreter(s, context))
    strict = _STRICT.get(scalar.function)
    if strict is None:
        raise UnsupportedError(f"cannot evaluate {scalar.function}: the engine has no such function")
    return _applied(strict(scalar, context), [interpreter(a, context) for a in scalar.args])


def _literal(literal: Literal, context: Context) -> Values:
    value = literal.value
    if literal.type.physical is Physical.CODE and value is not None:
        value = context.dictionary.code(value)
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
