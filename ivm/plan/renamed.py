"""Plans that read tables and views by other names, and are the same otherwise."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeVar

from ivm.plan.arrangement import ArrangementPlan
from ivm.plan.node import Plan
from ivm.plan.table import TablePlan, ViewPlan

P = TypeVar("P", bound=Plan | ArrangementPlan)


class Renaming:
    """Gives plans in which what is called by one of the `names` is called otherwise. Cost: that of the plans, once."""

    def __init__(self, names: Mapping[str, str]) -> None:
        self.names = names
        self._known: dict[int, tuple[object, object]] = {}
        """By the id of a part of a plan, which is kept so that no other takes its id."""

    def plan(self, plan: P) -> P:
        """The plan; itself where it reads none of these."""
        found: P = self._renamed(plan)
        return found

    def _renamed(self, part: Any) -> Any:
        if isinstance(part, tuple):
            made = tuple(self._renamed(each) for each in part)
            return part if all(new is old for new, old in zip(made, part, strict=True)) else made
        if not is_dataclass(part):
            return part
        known = self._known.get(id(part))
        if known is None:
            known = self._known[id(part)] = part, self._made(part)
        return known[1]

    def _made(self, part: Any) -> Any:
        if isinstance(part, TablePlan | ViewPlan):
            name = self.names.get(part.name)
            return part if name is None else replace(part, name=name)
        own = {field.name: getattr(part, field.name) for field in fields(part) if field.init}
        new = {name: self._renamed(value) for name, value in own.items()}
        changed = {name: value for name, value in new.items() if value is not own[name]}
        return replace(part, **changed) if changed else part
