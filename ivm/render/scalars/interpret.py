"""Expressions as vectorized numpy: answers at once, without compiling anything.

An expression is turned, once, into a tree of closures; running it costs a few numpy calls per function and row batch.
What a `Writer` writes into a loop is here a function of numpy's arrays: a body is written in expressions that mean the
same of arrays as of one row's words: &, | and ~ for truth, and the functions of `ivm.kernels.numbers.elementwise` and
of the calendar. See `ivm.render.scalars.bodies.table`.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache, partial
from math import isfinite
from types import CodeType, FunctionType
from typing import Any

import numpy as np

from ivm.analysis.ranges import can_raise
from ivm.catalog import calendar
from ivm.catalog.types import Physical
from ivm.kernels.numbers import elementwise, wide
from ivm.render.scalars.bodies.body import Body
from ivm.render.scalars.bodies.table import BODIES
from ivm.render.scalars.by_bytes import function_of as text_function_of
from ivm.render.scalars.columns import Rows, constant, from_objects, objects, spread, stored
from ivm.render.scalars.failures import Attempt, Problem, first_bad, overflow
from ivm.render.scalars.functions import Context, Evaluate
from ivm.render.scalars.plain_casts import by_bytes
from ivm.render.scalars.scratch import is_remembered, memo_of, over_scratch, passes_texts
from ivm.render.scalars.texts import by_value, compare_columns, is_by_value
from ivm.render.scalars.writer import Script, Value
from ivm.sql.ir.functions import function_of
from ivm.sql.ir.scalar import Call, Literal, Scalar
from ivm.sql.ir.scalar import Column as Reference
from ivm.sql.types.texts import nearest_single
from ivm.trace.columns.column import Column
from ivm.trace.columns.computed import TextFunction


def interpreter(scalar: Scalar, context: Context) -> Evaluate:
    """The function from rows to the expression's column (of length one if it is constant).

    It raises NumericError where the expression does. Raises UnsupportedError now if a function is not known.
    """
    if isinstance(scalar, Reference):
        index = scalar.index
        return lambda rows: rows.column(index)
    if isinstance(scalar, Literal):
        column = _literal(scalar, context)
        return lambda rows: column
    assert isinstance(scalar, Call), "decorrelation leaves no column of an outer query"
    if context.texts is None:
        if is_remembered(scalar):
            memo, index = memo_of(scalar, context, interpreter)
            return by_bytes(scalar, memo, index) or (lambda rows: memo.lookup(rows.column(index)))
        if passes_texts(scalar):
            return over_scratch(scalar, context, interpreter)
    elif (known := text_function_of(scalar, context)) is not None:
        return partial(_of_text, *known)

    if is_by_value(scalar):
        return by_value(scalar, context, interpreter)
    body = BODIES[function_of(scalar.function).name]
    apply = None if body.strict is None else body.strict(scalar, context)
    if apply is None:
        return over_arrays(body, scalar, context)
    arguments = [interpreter(scalar.args[place], context) for place in body.places(scalar)]
    return lambda rows: apply(*[argument(rows) for argument in arguments])


def _of_text(index: int, function: TextFunction, rows: Rows) -> Column:
    found = rows.computed(index, function)
    return function.of_codes(rows.column(index)) if found is None else found


def _literal(literal: Literal, context: Context) -> Column:
    value = literal.value
    if literal.type.physical is Physical.CODE and value is not None:
        value = context.literals.code(str(value))
    return constant(value, literal.type.physical)


_Run = Callable[[Rows, list[Column]], Column]


def over_arrays(body: Body, call: Call, context: Context) -> Evaluate:
    """The function that a body's steps are; written once for each way in which the arguments' columns have masks."""
    arguments = [interpreter(call.args[place], context) for place in body.places(call)]
    known: dict[tuple[bool, ...], _Run] = {}

    def evaluate(rows: Rows) -> Column:
        columns = [argument(rows) for argument in arguments]
        masked = tuple([column.valid is not None for column in columns])
        run = known.get(masked)
        if run is None:
            run = known[masked] = _function(body, call, _Arrays(context), masked)
        return run(rows, columns)

    return evaluate


class _Arrays(Script):
    """The lines of a function of arrays while a body writes them."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.given: dict[str, Any] = {}
        self.problems: list[Problem] = []

    def value(self, scalar: Scalar) -> Value:
        """What the expression yields on every row."""
        if isinstance(scalar, Literal):
            return self.literal(scalar)
        return self._value(f"{self._give(interpreter(scalar, self.context))}(rows)", scalar)

    def value_where(self, condition: str, scalar: Scalar) -> Value:
        """What it yields where the condition holds; on all rows if it cannot raise, which is cheaper than to narrow."""
        if not can_raise(scalar):
            return self.value(scalar)
        evaluate, physical = self._give(interpreter(scalar, self.context)), self._give(scalar.type.physical)
        return self._value(f"value_where(rows, {condition}, {evaluate}, {physical})", scalar)

    def _value(self, expression: str, scalar: Scalar) -> Value:
        column = self.let(expression)
        wide = scalar.type.physical is Physical.WIDE
        words = tuple(f"{column}.values{place}" for place in (("[:, 0]", "[:, 1]") if wide else ("",)))
        return Value(words, self.let(f"mask({column})") if scalar.nullable else None)

    def _give(self, what: Any) -> str:
        name = f"g{len(self.given)}"
        self.given[name] = what
        return name

    def text_order(self, a: str, b: str) -> str:
        """Their comparison, in which each distinct text is looked at once."""
        return f"{self._give(partial(compare_columns, self.context.dictionary))}({a}, {b})"

    def integer(self, value: int) -> str:
        """A constant."""
        return str(value)

    def double(self, value: float) -> str:
        """A constant."""
        return repr(value) if isfinite(value) else f"float64('{value}')"

    def ordered_set(self, values: Any) -> str:
        """An array."""
        return self._give(values)

    def fail(self, condition: str, valid: str | None, problem: Problem = overflow) -> None:
        """A NumericError where the condition holds on a row that is not NULL."""
        self.line(f"refuse({condition}, {valid}, {len(self.problems)}, columns)")
        self.problems.append(problem)


def _function(body: Body, call: Call, script: _Arrays, masked: tuple[bool, ...]) -> _Run:
    assert body.steps is not None, "a body has some form for the interpreter"
    places = body.places(call)
    given = []
    for i, place in enumerate(places):
        column, physical = f"columns[{i}]", call.args[place].type.physical
        if physical is Physical.WIDE:
            words = [script.let(f"{column}.values[:, 0]"), script.let(f"{column}.values[:, 1]")]
        else:
            widened = ".astype(int64)" if physical is Physical.INT32 and not body.narrow else ""
            words = [script.let(f"{column}.values{widened}")]
        given.append(Value(tuple(words), script.let(f"{column}.valid") if masked[i] else None))
    found = body.steps(script, call, given)
    words_of = f"({', '.join(found.words)},)"
    source = "\n    ".join(["def run(rows, columns):", *script.lines, f"return {words_of}, {found.valid}"])
    names: dict[str, Any] = {"refuse": _refusing(call, places, script.problems), **script.given, **_HELPERS}
    exec(_code(source), names)
    run, physical = names.pop("run"), call.type.physical  # which has the names, and is not to have itself

    def apply(rows: Rows, columns: list[Column]) -> Column:
        values, valid = run(rows, columns)
        if valid is not None and np.ndim(valid) == 0:
            valid = None if valid else np.zeros(1, np.bool_)
        if len(values) == 2:
            return Column(np.stack(np.broadcast_arrays(*map(np.atleast_1d, values)), axis=1), valid)
        values = np.atleast_1d(values[0])
        return Column(values if physical is Physical.BOOL else stored(values, physical), valid)

    return apply


@lru_cache(maxsize=1 << 10)
def _code(source: str) -> CodeType:
    return compile(source, "<body>", "exec")


def _refusing(call: Call, places: tuple[int, ...], problems: list[Problem]) -> Callable[..., None]:
    def refuse(bad: Any, valid: Any, problem: int, columns: list[Column]) -> None:
        if not np.any(bad):
            return
        row = first_bad(np.atleast_1d(bad), valid)
        if row is not None:
            raise problems[problem](Attempt(call, dict(zip(places, columns, strict=True)), row))

    return refuse


def _value_where(rows: Rows, condition: Any, evaluate: Evaluate, physical: Physical) -> Column:
    """The values on the rows on which the condition holds; on the others they are NULL."""
    chosen = np.flatnonzero(np.broadcast_to(condition, rows.length))
    if len(chosen) == rows.length:
        return evaluate(rows)
    found = evaluate(rows.take(chosen)) if len(chosen) else None
    return spread(found, chosen, rows.length, physical)


def _add_checked(a: Any, b: Any) -> tuple[Any, Any]:
    found = a + b
    return found, ((a ^ found) & (b ^ found)) < 0


def _sub_checked(a: Any, b: Any) -> tuple[Any, Any]:
    found = a - b
    return found, ((a ^ b) & (a ^ found)) < 0


def _mul_checked(a: Any, b: Any) -> tuple[Any, Any]:
    """The greatest magnitudes decide whether a product can leave 64 bits, then an estimate, then exact products."""
    found = a * b
    if _fits(a, b):
        return found, False
    lost: Any = np.abs(np.multiply(a, b, dtype=np.float64)) > (1 << 63) * (1 - 1e-12)
    if lost.any():
        exact: Any = a.astype(object) * b.astype(object)
        lost = lost & _outside(exact, 1 << 63)
    return found, lost


def _fits(a: Any, b: Any) -> bool:
    """Whether products of these are sure to fit 64 bits."""
    return a.size == 0 or b.size == 0 or _magnitude(a) * _magnitude(b) < 1 << 63


def _magnitude(values: Any) -> int:
    return max(int(values.max()), -int(values.min()))


def _outside(values: Any, bound: int) -> Any:
    return ((values >= bound) | (values < -bound)).astype(np.bool_)


def _mul_signed(a: Any, b: Any) -> tuple[Any, Any]:
    if _fits(a, b):
        found = a * b
        return found, found >> 63
    pairs = from_objects(a.astype(object) * b.astype(object))
    return pairs[:, 0], pairs[:, 1]


def _wide_mul(al: Any, ah: Any, bl: Any, bh: Any) -> tuple[Any, Any, Any]:
    if (al >> 63 == ah).all() and (bl >> 63 == bh).all():
        return *_mul_signed(al, bl), False
    exact = _joined(al, ah) * _joined(bl, bh)
    lost = _outside(exact, 1 << 127)
    pairs = from_objects(np.where(lost, 0, exact))
    return pairs[:, 0], pairs[:, 1], lost


def _wide_compare(al: Any, ah: Any, bl: Any, bh: Any) -> Any:
    """By the high words, signed, then the low words, unsigned: -1, 0 or 1."""
    one, other = (np.asarray(low, np.int64).view(np.uint64) for low in (al, bl))
    lows = 1 * (one > other) - 1 * (one < other)
    return np.where(ah == bh, lows, 1 * (ah > bh) - 1 * (ah < bh))


def _wide_to_double(low: Any, high: Any, digits: int) -> Any:
    if digits <= 22 and (low >> 63 == high).all() and (np.abs(low) <= 1 << 53).all():  # both are doubles
        return low / 10.0**digits
    return (_joined(low, high) / 10**digits).astype(np.float64)


def _wide_to_single(low: Any, high: Any, digits: int) -> Any:
    exact, power = _joined(low, high), 10**digits
    return np.array([nearest_single(each / power, Fraction(each, power)) for each in exact.tolist()], np.float64)


def _scale_up(low: Any, high: Any, digits: int) -> tuple[Any, Any, Any]:
    power = from_objects(np.array([10**digits], object))
    return _wide_mul(low, high, power[:, 0], power[:, 1])


def _scale_down(low: Any, high: Any, digits: int) -> tuple[Any, Any]:
    pairs = from_objects(elementwise.round_off(_joined(low, high), 10**digits))
    return pairs[:, 0], pairs[:, 1]


def _contains(ordered: Any, values: Any) -> Any:
    return ordered[np.minimum(np.searchsorted(ordered, values), len(ordered) - 1)] == values


def _exceeds(low: Any, high: Any, digits: int) -> Any:
    if digits > 18 and (low >> 63 == high).all():
        return False
    return (np.abs(_joined(low, high)) >= 10**digits).astype(np.bool_)


def _joined(low: Any, high: Any) -> Any:
    return objects(np.stack([low, high], axis=1))


def _plain(part: Any) -> Callable[..., Any]:
    return getattr(part, "py_func", part)


_HELPERS: dict[str, Any] = {
    **{name: f for each in (calendar, elementwise) for name, f in vars(each).items() if isinstance(f, FunctionType)},
    "np": np, "where": np.where,
    "int64": np.int64, "float64": np.float64, "float32": np.float32,
    "add_checked": _add_checked, "sub_checked": _sub_checked, "mul_checked": _mul_checked,
    "wide_add": _plain(wide.add), "wide_sub": _plain(wide.sub), "wide_mul": _wide_mul,
    "wide_neg": lambda low, high: _plain(wide.sub)(0 * low, 0 * high, low, high),
    "wide_compare": _wide_compare, "mul_signed": _mul_signed, "exceeds": _exceeds, "wide_to_double": _wide_to_double,
    "wide_to_single": _wide_to_single,
    "wide_to_float": lambda low, high: _joined(low, high).astype(np.float64),
    "scale_up": _scale_up, "scale_down": _scale_down, "contains": _contains, "value_where": _value_where,
    "mask": lambda column: np.True_ if column.valid is None else column.valid,
    "fits_int64": lambda low, high: low >> 63 == high,
}  # fmt: skip
"""What expressions call, by the names under which a loop imports it."""
