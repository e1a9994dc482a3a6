"""Operators driven by themselves, with their states, as the graph drives them."""

from __future__ import annotations

from collections.abc import Sequence
from weakref import WeakKeyDictionary

from ivm.operators.operator import Operator
from ivm.trace.delta import Delta
from ivm.trace.state import Marks

_marks: WeakKeyDictionary[Operator, Marks] = WeakKeyDictionary()


def step(operator: Operator, inputs: Sequence[Delta | None]) -> Delta | None:
    """Step an operator, its states marked before."""
    _marks.setdefault(operator, Marks()).add(operator.states)
    return operator.step(inputs)


def seal(operator: Operator, upper: int = 0, since: int = 0) -> None:
    """Make the steps since the last seal final."""
    _marks.setdefault(operator, Marks()).seal(upper, since)


def rollback(operator: Operator) -> None:
    """Undo the steps since the last seal."""
    _marks.setdefault(operator, Marks()).rollback()
