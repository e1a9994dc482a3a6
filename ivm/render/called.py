"""Renders calls of the application's functions."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

from ivm.called import Functions, Row
from ivm.operators.called import Called
from ivm.plan.called import CalledPlan
from ivm.render.context import RenderContext


def called_operator(context: RenderContext, plan: CalledPlan) -> Called:
    """The operator that carries out `plan`."""
    functions, types = context.functions, [column.type for column in plan.input.row]
    gives = plan.row[plan.width].type
    answers = functions.remembering(plan.function, [types[place] for place in plan.arguments], gives)

    def ask(new: Sequence[Hashable], rows: Sequence[Row]) -> list[Any]:
        if functions.is_only(plan.function, answers):
            return functions.asked(plan.function, rows)
        return _answers(functions, plan.function, new, rows)

    return Called(answers, ask, plan.width, plan.condition, plan.arguments, types, gives, context.dictionary)


def _answers(functions: Functions, name: str, new: Sequence[Hashable], rows: Sequence[Row]) -> list[Any]:
    """What others remember, so that all views are told the same; else what the function says."""
    known = [functions.find(name, arguments) for arguments in new]
    left = [row for row, answer in zip(rows, known, strict=True) if answer is None]
    asked = iter(functions.asked(name, left) if left else ())
    return [next(asked) if answer is None else answer.value for answer in known]
