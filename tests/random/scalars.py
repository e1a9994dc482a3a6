"""Random scalar expressions of a wanted kind, which never fail."""

from __future__ import annotations

from random import Random

from tests.random.calls import random_call
from tests.random.kinds import BASIC, KINDS, expanded, random_kind
from tests.random.literals import random_literal
from tests.random.scope import Scope


class Scalars:
    """Expressions over a scope. `condition` and `subquery` are made by whoever inherits this."""

    rng: Random

    def condition(self, scope: Scope, depth: int) -> str:
        """A boolean expression."""
        raise NotImplementedError

    def scalar_subquery(self, kind: str, scope: Scope, depth: int) -> str:
        """A subquery of one value."""
        raise NotImplementedError

    def value(self, kind: str, scope: Scope, depth: int) -> str:
        """An expression of a kind."""
        roll = self.rng.random()
        if depth <= 0 or roll < 0.45:
            return self.leaf(kind, scope)
        if roll < 0.48:
            return self.scalar_subquery(kind, scope, depth - 1)
        if roll < 0.6:
            return self._any_kind(kind, scope, depth - 1)
        if kind == "BOOL":
            return f"({self.condition(scope, depth - 1)})"
        return self.call(kind, scope, depth - 1, 0.2)

    def _some_kind(self, scope: Scope) -> str:
        """A kind that the scope has, if it has any."""
        return self.rng.choice(scope.kinds()) if scope.columns else random_kind(self.rng)

    def call(self, kind: str, scope: Scope, depth: int = 0, registered: float = 0.6) -> str:
        """One of the forms of a kind, or a call of the registry, so many of them; of values of a depth."""
        called = random_call(self.rng, kind) if self.rng.random() < registered else ""
        return self.filled(called or self.rng.choice(KINDS[kind].forms), scope, depth)

    def filled(self, template: str, scope: Scope, depth: int) -> str:
        """A template with expressions in its places."""
        return expanded(self.rng, template, lambda kind: self.value(kind, scope, depth), frozenset(KINDS))

    def leaf(self, kind: str, scope: Scope) -> str:
        """A column of the kind, or a literal."""
        column = scope.pick(self.rng, kind)
        return column if column is not None and self.rng.random() < 0.85 else random_literal(self.rng, kind)

    def _any_kind(self, kind: str, scope: Scope, depth: int) -> str:
        a, b = (self.value(kind, scope, depth) for _ in range(2))
        match self.rng.randrange(7):
            case 0:
                return f"coalesce({a}, {b})"
            case 1:
                return f"nullif({a}, {b})"
            case 2 if kind not in ("BOOL", "MAP"):
                return f"{self.rng.choice(('greatest', 'least'))}({a}, {b})"
            case 3:
                return f"CASE WHEN {self.condition(scope, depth)} THEN {a} END"
            case 4:
                other = self.rng.choice(BASIC)
                subject, match_ = self.value(other, scope, depth), self.leaf(other, scope)
                return f"CASE {subject} WHEN {match_} THEN {a} ELSE {b} END"
            case 5:
                return f"if({self.condition(scope, depth)}, {a}, {b})"
            case _:
                return f"CASE WHEN {self.condition(scope, depth)} THEN {a} ELSE {b} END"
