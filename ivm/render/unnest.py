"""Renders what makes rows of lists: of the lists of a column, or of what makes their elements."""

from __future__ import annotations

import numpy as np

from ivm.operators.held_back import MfpByRound
from ivm.operators.mfp import Mfp
from ivm.operators.unnest import ListsOf, Unnest, Unnesting
from ivm.plan.unnest import UnnestPlan
from ivm.render.context import RenderContext
from ivm.render.scalars.bodies.series import MAKERS
from ivm.render.scalars.columns import Rows, all_valid, dense
from ivm.render.scalars.failures import literal_text
from ivm.render.scalars.functions import Context
from ivm.render.scalars.interpret import interpreter
from ivm.sql.ir.functions import function_of
from ivm.sql.ir.functions.series import MOST_ELEMENTS
from ivm.sql.ir.scalar import Call, Literal, Scalar, columns_of
from ivm.trace.columns.column import Column
from ivm.trace.columns.lists import Lists, elements_in, lists_in
from ivm.trace.delta import Delta
from ivm.trace.text.dictionary import TextDictionary

_FEW = 1 << 10
"""Of fewer rows the lists are remembered; for a load they are not worth their place."""


def unnest_operator(context: RenderContext, plan: UnnestPlan) -> Mfp:
    """The operator that carries out `plan`."""
    lists = [_lists_of(each, context.dictionary) for each in plan.lists]
    program = Unnesting(lists, plan.width, MOST_ELEMENTS, numbered=plan.numbered, optional=plan.optional)
    types = [column.type for column in plan.input.row]
    if context.outside is None or not plan.is_risky:
        return Unnest(program, types)
    context.holding.append(MfpByRound(program, types))
    return context.holding[-1]


def _lists_of(scalar: Scalar, dictionary: TextDictionary) -> ListsOf:
    if isinstance(scalar, Call):
        made = _made if scalar.function in MAKERS else _asked
        return made(scalar, Context(dictionary))
    (index,) = columns_of(scalar)
    return lambda delta: elements_in(delta.column(index), scalar.type, dictionary)


def _made(call: Call, context: Context) -> ListsOf:
    """The elements that a function makes of its arguments, columns and literals."""
    make, arguments = MAKERS[call.function], [interpreter(arg, context) for arg in call.args]

    def lists(delta: Delta) -> Lists:
        rows = Rows(delta)
        return make(call, [dense(argument(rows), rows.length) for argument in arguments], context.dictionary)

    return lists


def _asked(call: Call, context: Context) -> ListsOf:
    """The elements of the lists that DuckDB makes; those of few rows, or of rows that repeat, are remembered."""
    function, remembered = function_of(call.function).asked, interpreter(call, context)
    arguments = [None if isinstance(arg, Literal) else interpreter(arg, context) for arg in call.args]
    assert function is not None, "DuckDB makes the list"
    element = call.type.element
    assert element is not None, "it is a list"

    def lists(delta: Delta) -> Lists:
        rows, dictionary = Rows(delta), context.dictionary
        columns = [None if argument is None else dense(argument(rows), rows.length) for argument in arguments]
        given = [column for column in columns if column is not None]
        if rows.length < _FEW or not any(map(_varies, given)):
            return elements_in(dense(remembered(rows), rows.length), call.type, dictionary)
        valid = all_valid(tuple(given))
        there = np.flatnonzero(np.ones(rows.length, np.bool_) if valid is None else valid)
        asked = [
            (literal_text(arg) if isinstance(arg, Literal) else "", arg.type)
            if column is None
            else (column if valid is None else column.take(there), arg.type)
            for column, arg in zip(columns, call.args, strict=True)
        ]
        from ivm.asked import answer_to  # noqa: PLC0415  DuckDB, which takes a while to import

        found = lists_in(answer_to(function, asked, call.type, dictionary), element, dictionary)
        lengths = np.zeros(rows.length, np.int64)
        lengths[there] = found.lengths
        return Lists(lengths, found.elements, valid)

    return lists


def _varies(column: Column) -> bool:
    """Whether most values seem to differ from all others."""
    some = column.values[:_FEW]
    return column.values.ndim > 1 or 2 * len(np.unique(some)) > len(some)
