"""Programs whose functions of text are columns of their input: a source computes them from the bytes that it holds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import lru_cache, partial

import numpy as np

from ivm.catalog.types import BOOLEAN, VARCHAR, Kind, Physical
from ivm.render.scalars.bodies.texts import native_of
from ivm.render.scalars.functions import Context
from ivm.render.scalars.scratch import is_remembered, passes_texts
from ivm.render.scalars.shape import Shape, cost_rank
from ivm.render.scalars.text_memo import TextMemo
from ivm.render.scalars.text_natives import Native, column_of
from ivm.sql.ir.scalar import Call, Column, Literal, Scalar, columns_of, remap, rewrite
from ivm.trace.columns.column import Array, Ints
from ivm.trace.columns.column import Column as Values
from ivm.trace.delta import Delta, Layout
from ivm.trace.text.texts import Texts

_MOST_LAYOUTS, _NUMBERING = 64, 40
_Asked = tuple[int, int, tuple["Function", ...]]
"""A bit for a text column, the column, and the functions that are read of it."""


class TextInputs:
    """The text columns that a program reads by native functions alone, each with the expressions by which it does."""

    def __init__(self, shape: Shape, context: Context) -> None:
        self.shape = shape
        self.expressions = functions_in((*shape.early, *shape.maps, *shape.late), shape.width, context)
        self._asked: list[_Asked] = [
            (1 << i, index, tuple(dict.fromkeys(each.values())))
            for i, (index, each) in enumerate(self.expressions.items())
        ]
        self._extended = lru_cache(_MOST_LAYOUTS)(partial(_extended, shape.width, self._asked))
        self._located = lru_cache(_MOST_LAYOUTS)(partial(_located, self._asked))

    def wanted(self, delta: Delta) -> int:
        """Those that the delta's sources better compute themselves, a bit for each text column; see `rewritten`.

        Above these bits it says by which numberings; see `Source.computes`.
        """
        bits, groups, numberings = 0, delta.groups, 0
        for bit, group, index, functions in self._located(delta.layout):
            if said := groups[group].source.computes(index, functions):
                bits += bit
                numberings = numberings << _NUMBERING | said
        return numberings << len(self._asked) | bits

    def bits_of(self, wanted: int) -> int:
        """The bits alone."""
        return wanted & ((1 << len(self._asked)) - 1)

    def rewritten(self, wanted: int) -> Shape:
        """The program that reads these functions as columns, which lie behind those of the input."""
        shape = self.shape
        chosen = [(index, functions) for bit, index, functions in self._asked if wanted & bit]
        more = {key: shape.width + i for i, key in enumerate((c, f) for c, functions in chosen for f in functions)}
        columns: dict[Scalar, Column] = {}
        for index, _ in chosen:
            for scalar, function in self.expressions[index].items():
                columns[scalar] = Column(more[index, function], scalar.type, scalar.nullable)

        made = frozenset(each.index for each in columns.values() if each.type.physical is Physical.CODE)

        moved = partial(_moved, columns=columns, width=shape.width, more=len(more))
        return replace(
            shape,
            maps=tuple(map(moved, shape.maps)),
            early=tuple(sorted(map(moved, shape.early), key=cost_rank)),
            late=tuple(sorted(map(moved, shape.late), key=cost_rank)),
            width=shape.width + len(more),
            made=made if shape.early or shape.late else frozenset(),
        )

    def extended(self, layout: Layout, wanted: int) -> Layout | None:
        """The layout with these functions as columns behind its own; None if they are none."""
        return self._extended(layout, wanted) if wanted else None

    def bound(self, delta: Delta, wanted: int) -> Delta:
        """The delta with these functions as columns behind its own."""
        layout = self._extended(delta.layout, wanted)
        return Delta(delta.groups, layout, delta.length, delta.times, delta.diffs)


def _located(asked: list[_Asked], layout: Layout) -> list[tuple[int, int, int, tuple[Function, ...]]]:
    """What is asked of which source, by the number of its group, where columns are its own."""
    found = []
    for bit, index, functions in asked:
        place = layout.places[index]
        if place is not None and not isinstance(place[1], tuple):
            found.append((bit, place[0], place[1], functions))
    return found


def _extended(width: int, asked: list[_Asked], layout: Layout, wanted: int) -> Layout:
    """The layout of a delta of so many columns with the wanted functions behind them."""
    places = list(layout.places[:width])
    for bit, index, functions in asked:
        if wanted & bit:
            place = places[index]
            assert place is not None, f"column {index} is not bound"
            group, column = place
            assert not isinstance(column, tuple), f"column {index} is a function itself"
            places += [(group, (column, function)) for function in functions]
    return Layout(places)


_TEXT = Column(0, VARCHAR)


class NativeFunction:
    """Natives one after the other, the last of which gives what the expression is; see `ivm.trace.columns.computed`."""

    def __init__(self, scalar: Scalar, run: Native, context: Context) -> None:
        self.scalar = scalar
        self.type = scalar.type
        self._run = run
        self._context = context

    def of_texts(self, texts: Texts) -> Values:
        """Its values of strings where they lie."""
        return column_of(self._run, texts, self._context.dictionary)

    def of_codes(self, column: Values) -> Values:
        """Its values of strings that have codes; remembered by code."""
        return self._memo().lookup(column)

    @property
    def memo(self) -> Ints:
        """The words of its memo."""
        return self._memo().words

    def _memo(self) -> TextMemo:
        run, dictionary = self._run, self._context.dictionary

        def compute(codes: Array) -> Values:
            return column_of(run, dictionary.now().texts(codes), dictionary)

        return self._context.memo(self.scalar, lambda: TextMemo(dictionary, compute, self.type.physical))


class NullTest:
    """Whether a text is NULL."""

    type = BOOLEAN
    memo = None

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
    run = _chain(scalar)
    if run is None:
        return None
    (index,) = columns_of(scalar)
    # Of column 0 instead, whether or not this can be NULL.
    key = rewrite(scalar, lambda part: _TEXT if isinstance(part, Column) else part)
    return index, context.shared(key, lambda: NativeFunction(key, run, context))


def _moved(scalar: Scalar, columns: Mapping[Scalar, Column], width: int, more: int) -> Scalar:
    """The expression over a row that has so many columns more behind `width`; some expressions are `columns` there."""
    if scalar in columns:
        return columns[scalar]
    if isinstance(scalar, Column) and scalar.index >= width:
        return replace(scalar, index=scalar.index + more)
    if passes_texts(scalar):
        return remap(scalar, lambda index: index + more * (index >= width))
    if isinstance(scalar, Call):
        return replace(scalar, args=tuple(_moved(arg, columns, width, more) for arg in scalar.args))
    return scalar


def functions_in(scalars: Iterable[Scalar], width: int, context: Context) -> dict[int, dict[Scalar, Function]]:
    """For each text column below `width` that the expressions read by native functions alone: what they are.

    Each is found by the expression in which it stands.
    """
    found: dict[int, dict[Scalar, Function]] = {}
    read: set[int] = set()
    waiting = [*scalars][::-1]
    while waiting:
        scalar = waiting.pop()
        known = function_of(scalar, context)
        if known is not None and known[0] < width:
            found.setdefault(known[0], {})[scalar] = known[1]
        elif passes_texts(scalar):
            read.update(columns_of(scalar) if is_remembered(scalar) else ())
        elif isinstance(scalar, Column):
            read.add(scalar.index)
        elif isinstance(scalar, Call):
            waiting += [arg for arg in reversed(scalar.args) if not isinstance(arg, Literal)]
    return {index: functions for index, functions in found.items() if index not in read}


def _chain(call: Call) -> Native | None:
    """What computes the function of the bytes of its column; None if nothing does."""
    run = native_of(call)
    if run is None:
        return None
    inner = next(arg for arg in call.args if not isinstance(arg, Literal))
    if isinstance(inner, Column):
        return run
    first = _chain(inner) if isinstance(inner, Call) else None
    return None if first is None else lambda texts: run(first(texts))
