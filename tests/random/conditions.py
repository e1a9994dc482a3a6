"""Random conditions: three-valued logic, and subqueries of every form."""

from __future__ import annotations

from tests.random.kinds import BASIC, KINDS
from tests.random.literals import random_literal
from tests.random.scalars import Scalars
from tests.random.scope import Scope

COMPARISONS = ("=", "=", "<>", "<", "<=", ">", ">=")
_THEN = "(localtimestamp - (localtimestamp - TIMESTAMP '2020-02-15 12:00:00'))"
CLOCKS = {"TS": _THEN, "DATE": f"{_THEN}::DATE"}
"""What depends on what time it is, for the engine, and lies among the values of columns."""


class Conditions(Scalars):
    """Conditions over a scope. `subquery` is made by whoever inherits this."""

    subqueries: int
    """How many more subqueries the query may have."""

    def subquery(self, kinds: tuple[str, ...] | None, scope: Scope, depth: int) -> str:
        """A query, without parentheses, of columns of the kinds (None: any)."""
        raise NotImplementedError

    def condition(self, scope: Scope, depth: int) -> str:
        """A condition."""
        roll = self.rng.random()
        if depth > 0 and roll < 0.22:
            a, b = self.condition(scope, depth - 1), self.condition(scope, depth - 1)
            return f"({a} {self.rng.choice(('AND', 'OR'))} {b})"
        if depth > 0 and roll < 0.28:
            return f"NOT ({self.condition(scope, depth - 1)})"
        if depth > 0 and self.subqueries > 0 and roll < 0.45:
            return self._of_subquery(scope, depth - 1)
        return self._simple(scope, depth - 1)

    def _kind(self, scope: Scope) -> str:
        kinds = [kind for kind in scope.kinds() if kind != "BOOL"]
        return self.rng.choice(kinds or BASIC)

    def _simple(self, scope: Scope, depth: int) -> str:
        kind = self._kind(scope)
        a, b = self.value(kind, scope, depth), self.value(kind, scope, depth)
        op = self.rng.choice(COMPARISONS)
        match self.rng.randrange(14):
            case 0:
                return f"{a} IS {self.rng.choice(('', 'NOT '))}NULL"
            case 1:
                return f"{a} IS {self.rng.choice(('', 'NOT '))}DISTINCT FROM {b}"
            case 2:
                return f"{a} {self.rng.choice(('', 'NOT '))}BETWEEN {b} AND {self.value(kind, scope, depth)}"
            case 3:
                items = ", ".join(random_literal(self.rng, kind) for _ in range(self.rng.randint(1, 3)))
                return f"{a} {self.rng.choice(('', 'NOT '))}IN ({items})"
            case 4:
                own = [*KINDS["STR"].conditions, *(c for each in scope.kinds() for c in KINDS[each].conditions)]
                return self.filled(self.rng.choice(own), scope, depth)
            case 5:
                column = scope.pick(self.rng, "BOOL")
                return column or f"{a} {op} {b}"
            case 6 if kind in ("INT", "DEC", "DBL"):
                return f"{a} {op} {self.value(self.rng.choice(('INT', 'DEC', 'DBL')), scope, depth)}"
            case 7:
                return f"({a} {op} {b}) IS {self.rng.choice(('TRUE', 'NOT TRUE', 'FALSE', 'NOT FALSE', 'NULL'))}"
            case 8:
                return self.rng.choice(("true", "false", "CAST(NULL AS BOOLEAN)", f"{a} {op} {a}"))
            case 9 if kind in CLOCKS:
                return f"{a} {op} {CLOCKS[kind]}"
            case _:
                return f"{a} {op} {b}"

    def _of_subquery(self, scope: Scope, depth: int) -> str:
        self.subqueries -= 1
        inner = Scope(scope.columns if scope.nested else (), scope.outer)
        kind = self._kind(scope)
        a = self.value(kind, scope, min(depth, 1))
        match self.rng.randrange(8):
            case 0 | 1:
                return f"{self.rng.choice(('', 'NOT '))}EXISTS ({self.subquery(None, inner, depth)})"
            case 2 | 3 | 4:
                return f"{a} {self.rng.choice(('', 'NOT '))}IN ({self.subquery((kind,), inner, depth)})"
            case 5:
                word = self.rng.choice(("ANY", "ALL"))
                return f"{a} {self.rng.choice(COMPARISONS)} {word} ({self.subquery((kind,), inner, depth)})"
            case 6:
                other = self._kind(scope)
                pair = f"({a}, {self.value(other, scope, 0)})"
                rows = self.subquery((kind, other), inner, depth)
                return f"{pair} {self.rng.choice(('', 'NOT '))}IN ({rows})"
            case _:
                return f"{a} {self.rng.choice(COMPARISONS)} {self.scalar_subquery(kind, scope, depth)}"
