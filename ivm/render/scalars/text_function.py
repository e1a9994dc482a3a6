"""Functions of one text column that a store or a batch can compute without codes, and where expressions have them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from catalog.types import BOOLEAN, VARCHAR, Kind
from ivm.render.scalars.bodies.texts import is_light, native_of
from ivm.render.scalars.functions import Context
from ivm.render.scalars.text_memo import TextMemo
from ivm.render.scalars.text_natives import learning
from ivm.trace.column import DTYPES
from ivm.trace.column import Column as Values
from ivm.trace.texts import Texts
from sql.ir.scalar import Call, Column, Literal, Scalar, columns_of

Run = Callable[[Texts], Any]

_TEXT = Column(0, VARCHAR)


class NativeFunction:
    """Natives one after the other, the last of which gives what the expression is; see `ivm.trace.computed`."""

    def __init__(self, scalar: Scalar, run: Run, light: bool, context: Context) -> None:
        self.scalar = scalar
        self.type = scalar.type
        self.light = light
        self._run = run
        self._context = context

    def of_texts(self, texts: Texts) -> Values:
        """Its values of strings where they lie."""
        found = self._run(texts)
        if isinstance(found, Texts):
            encoded: Values = self._context.dictionary.encode_texts(found)
            return encoded
        return Values(found.astype(DTYPES[self.type.physical], copy=False), texts.valid)

    def of_codes(self, column: Values) -> Values:
        """Its values of strings that have codes; remembered by code."""
        run, physical, dictionary = self._run, self.type.physical, self._context.dictionary

        def make() -> TextMemo:
            return TextMemo(dictionary, learning(run, physical, dictionary), physical)

        return self._context.memo(self.scalar, make).lookup(column)


class NullTest:
    """Whether a text is NULL."""

    type = BOOLEAN
    light = True

    def of_texts(self, texts: Texts) -> Values:
        """Its values of strings where they lie."""
        return Values(np.zeros(len(texts), np.bool_) if texts.valid is None else ~texts.valid)

    def of_codes(self, column: Values) -> Values:
        """Its values of strings that have codes."""
        return Values(np.zeros(len(column), np.bool_) if column.valid is None else ~column.valid)


Function = NativeFunction | NullTest


def function_of(scalar: Scalar, context: Context) -> tuple[int, Function] | None:
    """The text column that the expression is a native function of, and that; equal expressions have the same one."""
    if not isinstance(scalar, Call):
        return None
    if scalar.function == "is_null":
        text = scalar.args[0]
        if isinstance(text, Column) and text.type.kind is Kind.VARCHAR:
            return text.index, context.shared("is_null", NullTest)
        return None
    chain = _chain(scalar)
    if chain is None:
        return None
    run, light = chain
    (index,) = columns_of(scalar)
    key = _of_column_zero(scalar)
    return index, context.shared(key, lambda: NativeFunction(key, run, light, context))


def functions_in(scalars: Iterable[Scalar], width: int, context: Context) -> dict[int, dict[Scalar, Function]]:
    """For each text column below `width` that the expressions read by native functions alone: what they are.

    Each is found by the expression in which it stands.
    """
    found: dict[int, dict[Scalar, Function]] = {}
    read: set[int] = set()

    def visit(scalar: Scalar) -> None:
        known = function_of(scalar, context)
        if known is not None and known[0] < width:
            found.setdefault(known[0], {})[scalar] = known[1]
        elif isinstance(scalar, Column):
            read.add(scalar.index)
        elif isinstance(scalar, Call):
            for arg in scalar.args:
                if not isinstance(arg, Literal):
                    visit(arg)

    for scalar in scalars:
        visit(scalar)
    return {index: functions for index, functions in found.items() if index not in read}


def _chain(call: Call) -> tuple[Run, bool] | None:
    """What computes the function of the bytes of its column, and whether it is light; None if nothing does."""
    run = native_of(call)
    if run is None:
        return None
    inner = next(arg for arg in call.args if not isinstance(arg, Literal))
    if isinstance(inner, Column):
        return run, is_light(call)
    before = _chain(inner) if isinstance(inner, Call) else None
    if before is None:
        return None
    first, light = before
    return lambda texts: run(first(texts)), light and is_light(call)


def _of_column_zero(scalar: Scalar) -> Scalar:
    """The expression over column 0 instead, whether or not that can be NULL."""
    if isinstance(scalar, Call):
        return Call(scalar.function, tuple(_of_column_zero(arg) for arg in scalar.args), scalar.type)
    return _TEXT if isinstance(scalar, Column) else scalar
