"""Renders what makes rows of lists: of the lists of a column, or of what makes their elements."""

from __future__ import annotations

from ivm.operators.held_back import MfpByRound
from ivm.operators.mfp import Mfp
from ivm.operators.unnest import ListsOf, Unnest, Unnesting
from ivm.plan.unnest import UnnestPlan
from ivm.render.context import RenderContext
from ivm.render.scalars.bodies.series import MAKERS
from ivm.render.scalars.columns import Rows, dense
from ivm.render.scalars.functions import Context
from ivm.render.scalars.interpret import interpreter
from ivm.trace.columns.lists import Lists, elements_in
from ivm.trace.delta import Delta
from ivm.trace.text.dictionary import TextDictionary
from sql.ir.functions.series import MOST_ELEMENTS
from sql.ir.scalar import Call, Scalar, columns_of


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
        return _made(scalar, Context(dictionary))
    (index,) = columns_of(scalar)
    return lambda delta: elements_in(delta.column(index), scalar.type, dictionary)


def _made(call: Call, context: Context) -> ListsOf:
    """The elements that a function makes of its arguments, columns and literals."""
    make, arguments = MAKERS[call.function], [interpreter(arg, context) for arg in call.args]

    def lists(delta: Delta) -> Lists:
        rows = Rows(delta)
        return make(call, [dense(argument(rows), rows.length) for argument in arguments], context.dictionary)

    return lists
