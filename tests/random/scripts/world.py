"""What there is while a script is made: tables, views, and what else has a name."""

from __future__ import annotations

import re
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass, field
from random import Random

from tests.random.kinds import KIND_OF, KINDS, random_kind
from tests.random.scope import Col, Relation
from tests.random.scripts.step import Step

_MARK = re.compile(r"\bz[tc]\d+\b")


@dataclass(slots=True)
class Column:
    """A column: `mark` stands for it in the texts of views whatever its name is. `said`: what else is declared of it."""

    mark: str
    name: str
    type: str
    said: str = ""
    generated: bool = False

    @property
    def kind(self) -> str:
        """The kind of its values."""
        return KIND_OF[self.type].name


@dataclass(slots=True)
class Table:
    """A table; the first column is its key if it has one."""

    mark: str
    name: str
    columns: list[Column]
    keyed: bool
    temporary: bool = False

    @property
    def given(self) -> list[Column]:
        """The columns that statements give values of."""
        return [column for column in self.columns if not column.generated]

    def cols(self, alias: str) -> tuple[Col, ...]:
        """What an expression may refer to."""
        return tuple(Col(f"{alias}.{column.name}", column.kind) for column in self.columns)


@dataclass(slots=True)
class View:
    """A view whose text has marks in the place of names; `types` are those of its columns c0, c1, ..."""

    mark: str
    name: str
    text: str
    types: list[str]
    maintained: bool
    temporary: bool = False


@dataclass(slots=True)
class World:
    """What there is. `shards`: whether the database is over shards, where some statements are refused."""

    rng: Random
    shards: bool = False
    disk: bool = False
    tables: list[Table] = field(default_factory=list)
    views: list[View] = field(default_factory=list)
    schemas: list[str] = field(default_factory=list)
    sequences: list[str] = field(default_factory=list)
    macros: list[str] = field(default_factory=list)
    numbers: int = 0
    before: World | None = None
    """What there was when the transaction began that is open."""

    def number(self) -> int:
        """One that no name has had."""
        self.numbers += 1
        return self.numbers

    def kind(self) -> str:
        """A kind of a column; texts with a collation are left to views over them."""
        kind = random_kind(self.rng)
        return "STR" if kind == "CI" else kind

    def type_of(self, kind: str) -> str:
        """A type of a kind."""
        return self.rng.choice(tuple(KINDS[kind].types))

    def relations(self) -> Iterator[Relation]:
        """What a view may read, with marks as names."""
        for table in self.tables:
            if not table.temporary:
                yield Relation(table.mark, tuple((column.mark, column.kind) for column in table.columns))
        for view in self.views:
            if not view.temporary:
                yield Relation(view.mark, tuple((f"c{i}", KIND_OF[t].name) for i, t in enumerate(view.types)))

    def named(self, text: str) -> str:
        """A text with names in the place of marks."""
        names = {table.mark: table.name for table in self.tables} | {view.mark: view.name for view in self.views}
        names |= {column.mark: column.name for table in self.tables for column in table.columns}
        return _MARK.sub(lambda found: names[found[0]], text)

    def readers(self, mark: str) -> list[View]:
        """The views that read what has the mark, directly or not, in an order in which they may be created."""
        found: list[View] = []
        marks = {mark}
        for view in self.views:
            if marks & set(_MARK.findall(view.text)):
                found.append(view)
                marks.add(view.mark)
        return found

    def told(self, mark: str) -> list[Step]:
        """What DuckDB's views over something are told once it has changed."""
        return [
            Step(
                f"CREATE OR REPLACE {'TEMP ' if view.temporary else ''}VIEW {view.name} AS {self.named(view.text)}",
                True,
            )
            for view in self.readers(mark)
        ]

    def begun(self) -> None:
        """A transaction begins."""
        self.before = deepcopy(self)

    def ended(self, *, undone: bool) -> None:
        """It ends; names are not used twice."""
        before, self.before = self.before, None
        if undone and before is not None:
            self.tables, self.views, self.macros = before.tables, before.views, before.macros
            self.schemas, self.sequences = before.schemas, before.sequences
