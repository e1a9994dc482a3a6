"""Random stacks: outer joins, NOT EXISTS, NOT IN and scalar subqueries one upon the other, each of which takes back
rows that those below it bring."""

from __future__ import annotations

from tests.random.aggregates import Aggregates
from tests.random.queries import Queries, numbered
from tests.random.scope import Col, Scope

_OUTER = ("LEFT JOIN", "LEFT JOIN", "FULL JOIN", "RIGHT JOIN")
_MOST_JOINS = 3


class Stacks(Queries):
    """Makes views of three to six such layers."""

    def view(self) -> tuple[str, tuple[tuple[str, str], ...]]:
        """The text of a query for a view, and its columns."""
        self._below, self._columns = self._item((), 0)
        self._conditions: list[str] = []
        self._joins = 0
        for _ in range(self.rng.randint(3, 6)):
            self._add_layer()
        self._close()
        kinds = tuple(column.kind for column in self._columns)
        if self.rng.random() < 0.3:
            names = [column.text for column in self._columns]
            items = self._list([*names, "count(*)"])
            return f"SELECT {items} FROM {self._below} GROUP BY {', '.join(names)}", numbered((*kinds, "INT"))
        return f"SELECT {self._list([c.text for c in self._columns])} FROM {self._below}", numbered(kinds)

    def _add_layer(self) -> None:
        roll = self.rng.random()
        if roll < 0.45 and self._joins < _MOST_JOINS:
            self._joins += 1
            other, more = self._item((), 0)
            kind = self.rng.choice(_OUTER)
            self._below = f"{self._below} {kind} {other} ON {self._equal(self._columns, more)}"
            self._columns = (*self._columns, *more)
        elif roll < 0.6:
            other, more = self._item((), 0)
            equal = self._equal(self._columns, more)
            self._conditions.append(f"NOT EXISTS (SELECT 1 FROM {other} WHERE {equal})")
        elif roll < 0.72:
            self._add_not_in()
        elif roll < 0.9:
            self._add_scalar()
        else:
            self._close()

    def _add_not_in(self) -> None:
        other, more = self._item((), 0)
        pairs = [(a.text, b.text) for a in self._columns for b in more if a.kind == b.kind]
        if pairs:
            outer, inner = self.rng.choice(pairs)
            where = f" WHERE {self._simple(Scope(more), 0)}" if self.rng.random() < 0.7 else ""
            self._conditions.append(f"{outer} NOT IN (SELECT {inner} FROM {other}{where})")

    def _add_scalar(self) -> None:
        other, more = self._item((), 0)
        kind = self.rng.choice(sorted({column.kind for column in more}))
        aggregate = Aggregates.aggregate(self, kind, Scope(more), 0)
        value = f"(SELECT {aggregate} FROM {other} WHERE {self._equal(self._columns, more)})"
        self._close([Col(value, kind)])

    def _equal(self, left: tuple[Col, ...], right: tuple[Col, ...]) -> str:
        pairs = [f"{a.text} = {b.text}" for a in left for b in right if a.kind == b.kind and a.kind != "BOOL"]
        return self.rng.choice(pairs) if pairs else self._simple(Scope((*left, *right)), 0)

    def _close(self, more: list[Col] | None = None) -> None:
        """Make what there is a subquery of at most four columns, with `more` besides."""
        kept = self.rng.sample(self._columns, min(len(self._columns), 4)) + (more or [])
        where = f" WHERE {' AND '.join(self._conditions)}" if self._conditions else ""
        distinct = "DISTINCT " if self.rng.random() < 0.2 else ""
        alias = self._alias("s")
        self._below = f"(SELECT {distinct}{self._list([c.text for c in kept])} FROM {self._below}{where}) AS {alias}"
        self._columns = tuple(Col(f"{alias}.c{i}", column.kind) for i, column in enumerate(kept))
        self._conditions = []
