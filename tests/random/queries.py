"""Random queries: blocks of SELECT over joins of every kind, groups, windows, set operations, common tables."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from tests.random.aggregates import Aggregates
from tests.random.kinds import random_kind
from tests.random.literals import random_literal
from tests.random.names import quoted, spelled
from tests.random.scope import Col, Relation, Scope

JOINS = ("JOIN", "JOIN", "LEFT JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "SEMI JOIN", "ANTI JOIN")
SETS = ("UNION", "UNION ALL", "UNION ALL", "INTERSECT", "EXCEPT", "INTERSECT ALL", "EXCEPT ALL")


_ELEMENTS = {"LIST": "INT", "ARR": "INT", "WORDS": "STR"}
"""What the elements are of what unnest() takes."""


class Queries(Aggregates):
    """Makes queries over relations; deterministic by the state of `rng`."""

    def __init__(self, rng: Random, relations: Sequence[Relation]) -> None:
        self.rng = rng
        self.relations = list(relations)
        self.subqueries = rng.choice((0, 1, 2, 3, 4))
        self._aliases = 0

    def view(self) -> tuple[str, tuple[tuple[str, str], ...]]:
        """The text of a query for a view, and its columns."""
        before = list(self.relations)
        ctes = []
        if self.rng.random() < 0.15:
            for _ in range(self.rng.choice((1, 1, 2))):
                name = self._alias("w")
                text, kinds = self.query(None, (), 1)
                ctes.append(f"{name} AS ({text})")
                self.relations.append(Relation(name, numbered(kinds)))
        text, kinds = self.query(None, (), self.rng.choice((1, 2, 2, 3)), fuzzy=True)
        self.relations = before
        return (f"WITH {', '.join(ctes)} {text}" if ctes else text), numbered(kinds)

    def query(
        self, kinds: tuple[str, ...] | None, outer: tuple[Col, ...], depth: int, fuzzy: bool = False
    ) -> tuple[str, tuple[str, ...]]:
        """A query of columns c0, c1, ... of the kinds (None: any); with the kinds that it has."""
        if depth > 0 and self.rng.random() < 0.12:
            kinds = kinds or tuple(random_kind(self.rng) for _ in range(self.rng.randint(1, 3)))
            parts = [self.block(kinds, outer, depth - 1)[0] for _ in range(2)]
            text = f"{parts[0]} {self.rng.choice(SETS)} {parts[1]}"
            return self._maybe_limited(text, kinds, 0.1), kinds
        if self.rng.random() < 0.03:
            kinds = kinds or ("INT", "STR")
            rows = [
                f"({', '.join(random_literal(self.rng, kind) for kind in kinds)})"
                for _ in range(self.rng.randint(1, 3))
            ]
            names = ", ".join(name for name, _ in numbered(kinds))
            return f"SELECT * FROM (VALUES {', '.join(rows)}) AS {self._alias('q')} ({names})", kinds
        text, found = self.block(kinds, outer, depth, fuzzy)
        return text, found

    def subquery(self, kinds: tuple[str, ...] | None, scope: Scope, depth: int) -> str:
        """A query that may refer to the scope's columns."""
        return self.query(kinds, scope.inside(), min(depth, 1))[0]

    def scalar_subquery(self, kind: str, scope: Scope, depth: int) -> str:
        """A subquery of at most one row, nearly always."""
        if self.subqueries <= 0:
            return self.leaf(kind, scope)
        self.subqueries -= 1
        outer = scope.inside()
        roll = self.rng.random()
        if roll < 0.03:
            return f"({self.query((kind,), outer, depth)[0]})"
        inner, text = self._from(outer, depth, 2)
        where = self._where(inner, depth)
        if roll < 0.75 or not inner.columns:
            return f"(SELECT {self.aggregate(kind, inner, 0)} FROM {text}{where})"
        return f"(SELECT {self.value(kind, inner, 0)} AS c0 FROM {text}{where} ORDER BY c0 LIMIT 1)"

    def block(
        self, kinds: tuple[str, ...] | None, outer: tuple[Col, ...], depth: int, fuzzy: bool = False
    ) -> tuple[str, tuple[str, ...]]:
        """One SELECT block."""
        scope, text = self._from(outer, depth, 3)
        where = self._where(scope, depth)
        wanted = kinds or tuple(
            self._some_kind(scope) if self.rng.random() < 0.7 else random_kind(self.rng)
            for _ in range(self.rng.randint(1, 4))
        )
        roll = self.rng.random()
        if roll < 0.35:
            return self._grouped(wanted, scope, f"FROM {text}{where}", depth, fuzzy and kinds is None)
        if roll < 0.45 and scope.columns:
            return self._windowed(kinds, wanted, scope, f"FROM {text}{where}")
        items = [self.value(kind, scope, min(depth, 2)) for kind in wanted]
        if roll < 0.55:
            distinct, chance = "DISTINCT ", 0.2
        elif roll < 0.58:
            return self._distinct_on(items, f"FROM {text}{where}"), wanted
        else:
            distinct, chance = "", 0.15
        written = f"SELECT {distinct}{self._list(items)} FROM {text}{where}"
        return self._maybe_limited(written, wanted, chance), wanted

    def _distinct_on(self, items: list[str], rest: str) -> str:
        order = ", ".join(f"c{i}{self.rng.choice(('', ' DESC'))} NULLS LAST" for i in range(len(items)))
        return f"(SELECT DISTINCT ON (c0) {self._list(items)} {rest} ORDER BY {order})"

    def _windowed(
        self, kinds: tuple[str, ...] | None, wanted: tuple[str, ...], scope: Scope, rest: str
    ) -> tuple[str, tuple[str, ...]]:
        text, kind = self.window(scope)
        items = [self.value(k, scope, 1) for k in wanted]
        if kinds is None:
            return f"SELECT {self._list([*items, text])} {rest}", (*wanted, kind)
        if kind == wanted[-1]:
            return f"SELECT {self._list([*items[:-1], text])} {rest}", wanted
        columns = ", ".join(self._ordered(c) for c in scope.columns)
        number = f"row_number() OVER (ORDER BY {columns}) <= {self.rng.randint(1, 3)}"
        return f"SELECT {self._list(items)} {rest} QUALIFY {number}", wanted

    def _grouped(
        self, wanted: tuple[str, ...], scope: Scope, rest: str, depth: int, fuzzy: bool
    ) -> tuple[str, tuple[str, ...]]:
        columns = list(scope.columns)
        keys = [Col(c.text, c.kind) for c in self.rng.sample(columns, min(len(columns), self.rng.choice((0, 1, 1, 2))))]
        computed = []
        if self.rng.random() < 0.25:
            kind = random_kind(self.rng)
            computed.append(Col(self.value(kind, Scope(scope.columns), 1), kind))
            computed = [c for c in computed if any(column.text in c.text for column in columns)]
        found = [Col(self.aggregate(kind, scope, 1), kind) for kind in (*wanted, random_kind(self.rng))]
        local = Scope((*keys, *computed, *found), scope.outer, nested=False)
        visible = Scope(tuple(keys), scope.outer)
        items = [self._of_groups(kind, local, visible, depth) for kind in wanted]
        if fuzzy and self.rng.random() < 0.2:
            number = self.value(self.rng.choice(("INT", "DEC", "DBL")), Scope(scope.columns), 1)
            items.append(f"{self.rng.choice(('stddev', 'var_pop', 'stddev_pop', 'variance'))}({number})::DOUBLE")
            wanted = (*wanted, "DBL")
        having = f" HAVING {self._simple(local, 1)}" if self.rng.random() < 0.3 else ""
        if not having and self.subqueries > 0 and keys and self.rng.random() < 0.1:
            having = f" HAVING {self._of_subquery(visible, 1)}"
        group = ", ".join(c.text for c in (*keys, *computed))
        if len(keys) == 2 and not computed and self.rng.random() < 0.2:
            group = self.rng.choice(("ROLLUP ({})", "CUBE ({})", "GROUPING SETS (({}), ())")).format(group)
        group = f" GROUP BY {group}" if group else ""
        return f"SELECT {self._list(items)} {rest}{group}{having}", wanted

    def _of_groups(self, kind: str, local: Scope, visible: Scope, depth: int) -> str:
        if self.subqueries > 0 and visible.columns and self.rng.random() < 0.08:
            return self.scalar_subquery(kind, visible, 0)
        return self.leaf(kind, local) if self.rng.random() < 0.7 else self._flat(kind, local)

    def _flat(self, kind: str, scope: Scope) -> str:
        """An expression over groups, without subqueries: those see keys only."""
        kept, self.subqueries = self.subqueries, 0
        try:
            return self.value(kind, scope, 1)
        finally:
            self.subqueries = kept

    def _where(self, scope: Scope, depth: int) -> str:
        chance = 0.8 if scope.outer else 0.6
        return f" WHERE {self.condition(scope, max(depth, 1))}" if self.rng.random() < chance else ""

    def _maybe_limited(self, text: str, kinds: tuple[str, ...], chance: float) -> str:
        """With ORDER BY all columns and LIMIT; ties are equal rows."""
        if self.rng.random() > chance:
            return text
        count = f"LIMIT {self.rng.randint(0, 4)}{self.rng.choice(('', '', f' OFFSET {self.rng.randint(0, 2)}'))}"
        if self.rng.random() < 0.3:
            return f"({text} ORDER BY ALL{self.rng.choice(('', ' DESC'))} {count})"
        terms = [f"{i + 1}{self.rng.choice(('', ' DESC', ' NULLS FIRST'))}" for i in range(len(kinds))]
        return f"({text} ORDER BY {', '.join(terms)} {count})"

    def _from(self, outer: tuple[Col, ...], depth: int, most: int) -> tuple[Scope, str]:
        text, columns = self._item(outer, depth)
        for _ in range(self.rng.choice((0, 0, 1, 1, 2)[: most + 2])):
            text, columns = self._joined(text, columns, outer, depth)
        return Scope(columns, outer), text

    def _joined(
        self, text: str, columns: tuple[Col, ...], outer: tuple[Col, ...], depth: int
    ) -> tuple[str, tuple[Col, ...]]:
        roll = self.rng.random()
        if roll < 0.08 and depth > 0 and self.subqueries > 0:
            return self._lateral(text, columns, outer)
        if roll < 0.11:
            return self._elements(text, columns)
        if roll < 0.15:
            return self._nearest(text, columns)
        other, more = self._item(outer, depth)
        if roll < 0.28:
            return f"{text} CROSS JOIN {other}", (*columns, *more)
        kind = self.rng.choice(JOINS)
        both = Scope((*columns, *more), outer, correlation=0.02)
        condition = self._on(columns, more, both, depth)
        visible = columns if kind in ("SEMI JOIN", "ANTI JOIN") else (*columns, *more)
        return f"{text} {kind} {other} ON {condition}", visible

    def _nearest(self, text: str, columns: tuple[Col, ...]) -> tuple[str, tuple[Col, ...]]:
        """With the nearest of the groups by one or two columns, of which no two are equally near."""
        relation, alias = self.rng.choice(self.relations), self._alias("n")
        pairs = [(c.text, n, kind) for c in columns for n, kind in relation.columns if c.kind == kind]
        if not pairs:
            return text, columns
        chosen = [self.rng.choice(pairs) for _ in range(self.rng.choice((1, 2)))]
        keys = ", ".join(f"{spelled(self.rng, name)} AS c{i}" for i, (_, name, _) in enumerate(chosen))
        groups = f"(SELECT {keys}, count(*) AS n FROM {spelled(self.rng, relation.name)} GROUP BY ALL) AS {alias}"
        parts = [f"{chosen[0][0]} {self.rng.choice(('>=', '>', '<=', '<'))} {alias}.c0"]
        parts += [f"{one} = {alias}.c{i}" for i, (one, _, _) in enumerate(chosen) if i]
        kind = self.rng.choice(("JOIN", "LEFT JOIN", "SEMI JOIN", "ANTI JOIN"))
        made = f"{text} ASOF {kind} {groups} ON {' AND '.join(parts)}"
        if kind in ("SEMI JOIN", "ANTI JOIN"):
            return made, columns
        return made, (*columns, *(Col(f"{alias}.c{i}", kind) for i, (_, _, kind) in enumerate(chosen)))

    def _on(self, left: tuple[Col, ...], right: tuple[Col, ...], both: Scope, depth: int) -> str:
        pairs = [f"{a.text} = {b.text}" for a in left for b in right if a.kind == b.kind]
        if pairs and self.rng.random() < 0.75:
            equal = self.rng.choice(pairs)
            return f"{equal} AND {self._simple(both, 1)}" if self.rng.random() < 0.3 else equal
        return self.condition(both, min(depth, 1)) if self.rng.random() < 0.15 else self._simple(both, 1)

    def _lateral(self, text: str, columns: tuple[Col, ...], outer: tuple[Col, ...]) -> tuple[str, tuple[Col, ...]]:
        self.subqueries -= 1
        inner, kinds = self.query(None, (*outer, *columns), 1)
        alias = self._alias("l")
        join = self.rng.choice(("CROSS JOIN LATERAL ({}) AS {}", "LEFT JOIN LATERAL ({}) AS {} ON true"))
        found = tuple(Col(f"{alias}.{name}", kind) for name, kind in numbered(kinds))
        return f"{text} {join.format(inner, alias)}", (*columns, *found)

    def _elements(self, text: str, columns: tuple[Col, ...]) -> tuple[str, tuple[Col, ...]]:
        """Rows made of lists of what stands to the left."""
        one = self.rng.choice(columns)
        alike = [c.text for c in columns if c.kind == one.kind]
        made, kind = f"unnest([{one.text}, {self.rng.choice(alike)}])", one.kind
        if one.kind in _ELEMENTS:
            made, kind = f"unnest({one.text})", _ELEMENTS[one.kind]
        if one.kind == "JSN":
            return self._members(text, columns, one)
        if one.kind == "STR" and self.rng.random() < 0.5:
            made = f"unnest(string_split({one.text}, 'a'))"
        elif self.rng.random() < 0.3:
            made, kind = f"range(0, CASE WHEN {one.text} IS NULL THEN 0 WHEN {one.text} = {one.text} THEN 2 END)", "INT"
        alias, numbers = self._alias("u"), self.rng.random() < 0.3
        named = f"WITH ORDINALITY AS {alias} (c0, c1)" if numbers else f"AS {alias} (c0)"
        join = self.rng.choice(("CROSS JOIN {}", "LEFT JOIN {} ON true", "JOIN LATERAL {} ON true"))
        found = (Col(f"{alias}.c0", kind), *((Col(f"{alias}.c1", "INT"),) if numbers else ()))
        return f"{text} {join.format(f'{made} {named}')}", (*columns, *found)

    def _members(self, text: str, columns: tuple[Col, ...], one: Col) -> tuple[str, tuple[Col, ...]]:
        """Rows made of the members of a JSON value."""
        alias, join = self._alias("j"), self.rng.choice(("CROSS JOIN {}", "LEFT JOIN {} ON true"))
        found = (Col(f"{alias}.key", "STR"), Col(f"{alias}.value", "JSN"), Col(f"{alias}.type", "STR"))
        return f"{text} {join.format(f'json_each({one.text}) AS {alias}')}", (*columns, *found)

    def _pivoted(self, relation: Relation, alias: str) -> tuple[str, tuple[Col, ...]] | None:
        """A table whose values of one column are columns, or whose columns of one kind are rows; None if it has none."""
        name, columns = spelled(self.rng, relation.name), list(relation.columns)
        alike = [(a, b, kind) for at, (a, kind) in enumerate(columns) for b, other in columns[:at] if kind == other]
        if alike and self.rng.random() < 0.5:
            a, b, kind = self.rng.choice(alike)
            nulls = self.rng.choice(("", "INCLUDE NULLS "))
            text = f"(SELECT n, v FROM {name} UNPIVOT {nulls}(v FOR n IN ({quoted(a)}, {quoted(b)}))) AS {alias}"
            return text, (Col(f"{alias}.n", "STR"), Col(f"{alias}.v", kind))
        numbers = [column for column, kind in columns if kind == "INT"]
        if not numbers:
            return None
        on, (key, kind) = self.rng.choice(numbers), self.rng.choice(columns)
        if key == on:
            return None
        text = f"(PIVOT {name} ON {quoted(on)} IN (0, 1, 2) USING count(*) GROUP BY {quoted(key)}) AS {alias}"
        return text, (Col(f"{alias}.{quoted(key)}", kind), *(Col(f'{alias}."{n}"', "INT") for n in range(3)))

    def _item(self, outer: tuple[Col, ...], depth: int) -> tuple[str, tuple[Col, ...]]:
        alias = self._alias("a")
        if depth > 0 and self.rng.random() < 0.12:
            text, kinds = self.query(None, outer if self.rng.random() < 0.2 else (), depth - 1)
            return f"({text}) AS {alias}", tuple(Col(f"{alias}.{n}", kind) for n, kind in numbered(kinds))
        relation = self.rng.choice(self.relations)
        if self.rng.random() < 0.04 and (pivoted := self._pivoted(relation, alias)):
            return pivoted
        columns = tuple(Col(f"{alias}.{spelled(self.rng, n)}", kind) for n, kind in relation.columns)
        return f"{spelled(self.rng, relation.name)} AS {alias}", columns

    def _list(self, items: Sequence[str]) -> str:
        return ", ".join(f"{item} AS {spelled(self.rng, f'c{i}')}" for i, item in enumerate(items))

    def _alias(self, letter: str) -> str:
        self._aliases += 1
        return f"{letter}{self._aliases}"


def numbered(kinds: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """Columns c0, c1, ... of the kinds."""
    return tuple((f"c{i}", kind) for i, kind in enumerate(kinds))
