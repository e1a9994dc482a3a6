"""The identity of a plan, or a relation: a text that is the same in every process for equal ones, and for no others."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from datetime import date
from decimal import Decimal
from enum import Enum
from hashlib import sha256

from ivm.plan.arrangement import ArrangementPlan
from ivm.plan.node import Plan
from ivm.sql.ir.relation import Relation

_NODES = Plan | ArrangementPlan | Relation
_PLAIN = (type(None), bool, int, float, str, bytes, Decimal, date)
_EDITION = 2
"""Goes up when what releases kept for plans is not to be believed, and not to be found: 1 may have a group twice.

So too when the plans themselves were wrong: shards that are loaded have those that they were saved with.
"""


class Identities:
    """Identities of plans, each found once. Cost: linear in what is below a plan and has not been met before."""

    def __init__(self) -> None:
        self._known: dict[Plan | ArrangementPlan | Relation, str] = {}
        self._before: dict[Plan | ArrangementPlan | Relation, str] = {}

    def forget(self) -> None:
        """Forget those that nobody has asked for since this was called last."""
        self._before, self._known = self._known, {}

    def of(self, plan: Plan | ArrangementPlan | Relation) -> str:
        """The identity of a plan, 64 hexadecimal digits: the SHA-256 of the edition and of its canonical text, in which
        the plans that it reads stand by theirs.
        """
        known = self._known.get(plan)
        if known is None:
            known = self._before.get(plan) or self._made(plan)
            self._known[plan] = known
        return known

    def _made(self, plan: Plan | ArrangementPlan | Relation) -> str:
        return sha256("".join((str(_EDITION), *self._fields(plan))).encode()).hexdigest()

    def _fields(self, value: object) -> Iterator[str]:
        """The name of a value's class, and all by which it is compared."""
        assert is_dataclass(value), f"a plan is made of dataclasses, not of {type(value).__name__}"
        yield f"({type(value).__name__}"
        for field in fields(value):
            if field.compare:
                yield f" {field.name}="
                yield from self._text(getattr(value, field.name))
        yield ")"

    def _text(self, value: object) -> Iterator[str]:
        if isinstance(value, _NODES):
            yield self.of(value)
        elif isinstance(value, Enum):
            yield value.name
        elif isinstance(value, _PLAIN):
            yield repr(value)
        elif isinstance(value, tuple):
            yield "["
            for each in value:
                yield from self._text(each)
                yield ","
            yield "]"
        elif isinstance(value, frozenset):
            yield from ("{", ",".join(sorted("".join(self._text(each)) for each in value)), "}")
        else:
            yield from self._fields(value)
