"""Bodies of functions run over whole columns: what a `Writer` writes into a loop is here a function of numpy's arrays.

A body is written in expressions that mean the same of arrays as of one row's words: &, | and ~ for truth, and the
functions of `ivm.kernels.numbers.elementwise` and of the calendar. See `ivm.render.scalars.bodies.table`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from types import CodeType, FunctionType
from typing import Any

import numpy as np

from catalog import calendar
from catalog.types import Physical
from ivm.kernels.numbers import elementwise, wide
from ivm.render.scalars.columns import from_objects, objects, stored
from ivm.render.scalars.failures import Problem, describe, first_bad, overflow
from ivm.render.scalars.functions import Apply
from ivm.render.scalars.writer import Steps, Value
from ivm.trace.column import Column
from sql.ir.scalar import Call


def over_arrays(steps: Steps, call: Call, narrow: bool) -> Apply:
    """The function of columns that a body's steps are; written once for each way in which columns have masks."""
    known: dict[tuple[bool, ...], Apply] = {}

    def apply(*columns: Column) -> Column:
        masked = tuple([column.valid is not None for column in columns])
        function = known.get(masked)
        if function is None:
            function = known[masked] = _function(steps, call, masked, narrow)
        return function(*columns)

    return apply


class _Arrays:
    """The lines of a function of arrays while a body writes them."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.problems: list[Problem] = []
        self._names = 0

    def let(self, expression: str) -> str:
        """A name for what the expression yields."""
        (name,) = self.lets(expression, 1)
        return name

    def lets(self, expression: str, count: int) -> tuple[str, ...]:
        """A name for each of the values that the expression yields."""
        names = tuple(f"v{self._names + i}" for i in range(count))
        self._names += count
        self.lines.append(f"{', '.join(names)} = {expression}")
        return names

    def double(self, value: float) -> str:
        """A constant."""
        return repr(value)

    def fail(self, condition: str, valid: str | None, problem: Problem = overflow) -> None:
        """A NumericError where the condition holds on a row that is not NULL."""
        self.lines.append(f"refuse({condition}, {valid}, {len(self.problems)}, columns)")
        self.problems.append(problem)

    def both(self, *values: Value) -> str | None:
        """The name that is True where all values are not NULL."""
        names = list(dict.fromkeys(value.valid for value in values if value.valid is not None))
        return self.let(" & ".join(names)) if len(names) > 1 else names[0] if names else None


def _function(steps: Steps, call: Call, masked: tuple[bool, ...], narrow: bool) -> Apply:
    script = _Arrays()
    given = []
    types = [arg.type.physical for arg in call.args[len(call.args) - len(masked) :]]
    for i, physical in enumerate(types):
        column = f"columns[{i}]"
        if physical is Physical.WIDE:
            words = [script.let(f"{column}.values[:, 0]"), script.let(f"{column}.values[:, 1]")]
        else:
            words = [script.let(f"{column}.values{'.astype(int64)' * (physical is Physical.INT32 and not narrow)}")]
        given.append(Value(tuple(words), script.let(f"{column}.valid") if masked[i] else None))
    found = steps(script, call, given)
    words_of = f"({', '.join(found.words)},)"
    source = "\n    ".join(["def run(columns):", *script.lines, f"return {words_of}, {found.valid}"])
    names: dict[str, Any] = {"refuse": _refusing(call, script.problems), **_HELPERS}
    exec(_code(source), names)
    run, physical = names["run"], call.type.physical

    def apply(*columns: Column) -> Column:
        values, valid = run(columns)
        if len(values) == 2:
            return Column(np.stack(np.broadcast_arrays(*map(np.atleast_1d, values)), axis=1), valid)
        values = np.atleast_1d(values[0])
        return Column(values if physical is Physical.BOOL else stored(values, physical), valid)

    return apply


@lru_cache(maxsize=1 << 10)
def _code(source: str) -> CodeType:
    return compile(source, "<body>", "exec")


def _refusing(call: Call, problems: list[Problem]) -> Callable[..., None]:
    def refuse(bad: Any, valid: Any, problem: int, columns: tuple[Column, ...]) -> None:
        if not np.any(bad):
            return
        row = first_bad(np.atleast_1d(bad), valid)
        if row is not None:
            raise problems[problem](describe(call, columns)(row), call.type)

    return refuse


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


def _wide_neg(low: Any, high: Any) -> Any:
    return _plain(wide.sub)(0 * low, 0 * high, low, high)


def _wide_compare(al: Any, ah: Any, bl: Any, bh: Any) -> Any:
    """By the high words, signed, then the low words, unsigned: -1, 0 or 1."""
    lows = 1 * (np.uint64(al) > np.uint64(bl)) - 1 * (np.uint64(al) < np.uint64(bl))
    return np.where(ah == bh, lows, 1 * (ah > bh) - 1 * (ah < bh))


def _exceeds(low: Any, high: Any, digits: int) -> Any:
    if digits > 18 and (low >> 63 == high).all():
        return False
    return (np.abs(_joined(low, high)) >= 10**digits).astype(np.bool_)


def _joined(low: Any, high: Any) -> Any:
    return objects(np.stack([low, high], axis=1))


def _plain(part: Any) -> Callable[..., Any]:
    return getattr(part, "py_func", part)


def _functions_of(module: Any) -> dict[str, Any]:
    return {name: value for name, value in vars(module).items() if isinstance(value, FunctionType)}


_HELPERS: dict[str, Any] = {
    **_functions_of(calendar), **_functions_of(elementwise), "np": np, "where": np.where,
    "int64": np.int64, "float64": np.float64, "float32": np.float32,
    "add_checked": _add_checked, "sub_checked": _sub_checked, "mul_checked": _mul_checked,
    "wide_add": _plain(wide.add), "wide_sub": _plain(wide.sub), "wide_mul": _wide_mul, "wide_neg": _wide_neg,
    "wide_compare": _wide_compare, "mul_signed": _mul_signed, "exceeds": _exceeds,
}  # fmt: skip
"""What expressions call, by the names under which a loop imports it."""
