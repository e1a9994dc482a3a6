"""Casts of columns of texts to numbers, from the bytes that the source holds: the texts get no codes for that."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from ivm.catalog.errors import NumericError
from ivm.catalog.types import VARCHAR, SqlType
from ivm.render.scalars.columns import Rows, spread
from ivm.render.scalars.functions import Evaluate
from ivm.render.scalars.text_memo import TextMemo
from ivm.sql.ir.asking import CASTS
from ivm.sql.ir.scalar import Call, Column, Scalar, walk
from ivm.trace.columns.column import Column as Values
from ivm.trace.columns.column import readonly
from ivm.trace.columns.plain_texts import cast_numerals, is_of_numerals
from ivm.trace.delta import Delta
from ivm.trace.text.texts import Texts

_LOAD = 1 << 12
"""Of fewer rows what is remembered is asked: it may be of use to later ones."""


class PlainCast:
    """A cast as a `TextFunction`, which has no value of what Arrow does not read. Whoever asks knows of another way."""

    memo = None

    def __init__(self, type: SqlType) -> None:
        self.type = type

    def of_texts(self, texts: Texts) -> Values:
        """Its values of strings where they lie; NumericError if one is not plain."""
        there = None if texts.valid is None else np.flatnonzero(texts.valid)
        some = texts if there is None else Texts(texts.data, readonly(texts.starts[there]), readonly(texts.ends[there]))
        found = cast_numerals(some.arrow(), self.type)
        if found is None:
            raise NumericError("some text is not written plainly")
        return found if there is None else spread(found, there, len(texts), self.type.physical)

    def of_codes(self, column: Values) -> Values:
        """Nobody asks: what has codes is remembered by them."""
        raise AssertionError("a column that has codes is looked up by them")


def by_bytes(call: Call, memo: TextMemo, index: int) -> Evaluate | None:
    """What casts text column `index`, where that is of use without `memo`, which knows the cast; None of others."""
    if _cast_column(call) is None:
        return None
    cast = PlainCast(call.type)

    def evaluate(rows: Rows) -> Values:
        if rows.length >= _LOAD:
            try:
                found = rows.computed(index, cast)
            except NumericError:  # perhaps of a row that is not among these: the memo tells
                found = None
            if found is not None:
                return found
        return memo.lookup(rows.column(index))

    return evaluate


class PlainCasts:
    """Those that some expressions have."""

    def __init__(self, scalars: Iterable[Scalar]) -> None:
        calls = (part for scalar in scalars for part in walk(scalar) if isinstance(part, Call))
        self._read = [(index, (PlainCast(call.type),)) for call in calls if (index := _cast_column(call)) is not None]

    def gain(self, delta: Delta) -> bool:
        """Whether it is many rows, of which some of the texts need no code yet."""
        if not self._read or delta.length < _LOAD:
            return False
        return any(index < len(delta.layout) and delta.computes(index, cast) for index, cast in self._read)


def _cast_column(call: Call) -> int | None:
    """The text column of which a call is a cast to numbers; None if it is none."""
    if call.function not in CASTS or not is_of_numerals(call.type):
        return None
    (text,) = call.args
    return text.index if isinstance(text, Column) and text.type == VARCHAR else None
