"""Plans as plain values, which JSON keeps exactly, and back: how they outlive the process that has made them.

What runs was planned beside other views and by sizes of another day, so that nobody makes the same plan again from the
text of a view.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from ivm.analysis.order_free import RoundOrder, Valued
from ivm.catalog.plain import Plain, plain_type, type_of
from ivm.catalog.types import SqlType
from ivm.plan.arrangement import ArrangementPlan
from ivm.plan.asof import AsofPlan
from ivm.plan.called import CalledPlan
from ivm.plan.iterate import IteratePlan, LoopResultPlan
from ivm.plan.join import BoundPlan, JoinPlan, PathPlan, RacePlan, StagePlan
from ivm.plan.mfp import Mfp, MfpPlan
from ivm.plan.multiplicities import NegatePlan, ThresholdPlan, UnionPlan
from ivm.plan.node import Plan
from ivm.plan.reduce import AggregatePlan, ReducePlan
from ivm.plan.table import ConstantPlan, TablePlan, ViewPlan
from ivm.plan.top_k import TopKPlan
from ivm.plan.unnest import UnnestPlan
from ivm.plan.window import WindowFunctionPlan, WindowPlan
from ivm.plan.within_loop import (
    ByRoundPlan,
    DelayedPlan,
    EnteredPlan,
    FedPlan,
    GivenPlan,
    NumberedPlan,
    SignedPlan,
    UnsignedPlan,
)
from ivm.sql.ir.reference import Reference
from ivm.sql.ir.relation import Order
from ivm.sql.ir.scalar import Call, Column, Literal
from ivm.sql.ir.window_function import Frame

PARTS = (
    *(TablePlan, ViewPlan, ConstantPlan, MfpPlan, ReducePlan, JoinPlan, TopKPlan, WindowPlan, AsofPlan, CalledPlan),
    *(UnionPlan, NegatePlan, ThresholdPlan, UnnestPlan, ArrangementPlan, PathPlan, RacePlan, StagePlan, BoundPlan),
    *(
        IteratePlan,
        LoopResultPlan,
        FedPlan,
        NumberedPlan,
        DelayedPlan,
        EnteredPlan,
        SignedPlan,
        UnsignedPlan,
        ByRoundPlan,
    ),
    *(UnsignedPlan, ByRoundPlan, GivenPlan, RoundOrder, Valued),
    *(AggregatePlan, WindowFunctionPlan, Frame, Order, Mfp, Column, Literal, Call, Reference, SqlType),
)
"""All that plans are made of, beside tuples, numbers and texts."""
_BY_NAME: Mapping[str, Any] = {each.__name__: each for each in PARTS}


def plain_plans(plans: Mapping[str, Plan]) -> Plain:
    """Plans by name: `parts`, each after those that it refers to by their places, and the place of each plan."""
    parts = _Parts()
    places = {name: parts.place(plan) for name, plan in plans.items()}
    return {"parts": parts.plain, "plans": places}


def plans_of(plain: Plain) -> dict[str, Plan]:
    """The plans that `plain_plans` made plain. KeyError, TypeError or ValueError where a release has no such parts."""
    made: list[Any] = []
    for part in plain["parts"]:
        made.append(_made(part, made))
    return {name: made[place] for name, place in plain["plans"].items()}


class _Parts:
    """Parts of plans, each once."""

    def __init__(self) -> None:
        self.plain: list[Plain] = []
        self._places: dict[str, int] = {}
        self._known: dict[int, tuple[object, int]] = {}
        """By the id of an object, which is kept so that no other takes its id."""

    def place(self, part: Any) -> int:
        """Where a part stands; what it is made of stands before it."""
        known = self._known.get(id(part))
        if known is None:
            own = plain_type(part) if isinstance(part, SqlType) else self._fields(part)
            plain = {"is": type(part).__name__} | own
            place = self._places.setdefault(json.dumps(plain), len(self.plain))
            if place == len(self.plain):
                self.plain.append(plain)
            known = self._known[id(part)] = part, place
        return known[1]

    def _fields(self, part: Any) -> Plain:
        assert type(part) in PARTS, f"plans are not made of {type(part).__name__}"
        return {field.name: self._value(getattr(part, field.name)) for field in fields(part)}

    def _value(self, value: Any) -> Any:
        if isinstance(value, tuple):
            return [self._value(each) for each in value]
        if value is None or isinstance(value, bool | int | float | str):
            return value
        return {"at": self.place(value)}


def _made(plain: Plain, before: list[Any]) -> Any:
    """A part, of those that were made before it."""
    if plain["is"] == SqlType.__name__:
        return type_of(plain)
    return _BY_NAME[plain["is"]](**{name: _value(each, before) for name, each in plain.items() if name != "is"})


def _value(plain: Any, before: list[Any]) -> Any:
    if isinstance(plain, list):
        return tuple(_value(each, before) for each in plain)
    return before[plain["at"]] if isinstance(plain, dict) else plain
