"""What the blocks of one query share while they are bound, and what a bound block is."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from sqlglot import exp

from ivm.catalog.catalog import Catalog
from ivm.catalog.schema import View
from ivm.sql.bind.names.scope import OuterRow
from ivm.sql.bind.windows.specs import Spec
from ivm.sql.ir.relation import Relation
from ivm.sql.sql_text import Placed, SqlText

Ctes = Mapping[str, Relation]
"""The common table expressions in reach, by name."""


@dataclass(frozen=True, slots=True)
class Refinement:
    """How a window function is refined so that DuckDB decides ties as the engine does.

    The ORDER BY of its `spec` is to end with the `ties`: in OVER, or `within` the parentheses of the function.
    """

    node: exp.Expr
    spec: Spec
    ties: tuple[exp.Expr, ...]
    within: bool = False


@dataclass(frozen=True, slots=True)
class Nearest:
    """How the right side of an ASOF JOIN is refined, so that DuckDB takes the same of rows that are equally near.

    Of the rows for which `where` holds that agree in `by` only the first by all their `width` columns are to be left.
    """

    node: exp.Join
    by: tuple[exp.Expr, ...]
    where: tuple[exp.Expr, ...]
    width: int


@dataclass(frozen=True, slots=True)
class Block:
    """A bound SELECT. `order` is its ORDER BY as (column of `kept`, descending, nulls first).

    `kept` are the rows of `relation` with a column at the end for each ORDER BY expression that is no output; None if
    there is none.
    """

    relation: Relation
    order: tuple[tuple[int, bool, bool], ...] = ()
    kept: Relation | None = None


@dataclass(frozen=True, slots=True)
class Reads:
    """Where a text names a table or view in FROM: from `start` up to `stop`; whether it gives it an alias there."""

    name: str
    start: int
    stop: int
    has_alias: bool


@dataclass(slots=True)
class BindContext(Placed):
    """The text, the catalog, and what binding finds out: the tables and views used, and what the oracle is to be told.

    `reads` are the places at which the text names what it uses, by where they begin.
    `cut` are LIMIT or OFFSET clauses, the first of the two of a block, and SELECTs with DISTINCT ON and no LIMIT, each
    with the block's width. `grouped` are GROUP BY ALLs of which DuckDB does not see all keys, with the columns of the
    SELECT list that are, from 1.
    `query` binds a block inside; it is passed here so that FROM does not have to know SELECT. `outer_rows` are those
    that the block being bound may name, the nearest last. `awaited` says, by their keys, why names of WITH RECURSIVE
    cannot be read yet. `loops` are the names of the loops whose bindings are being bound.
    """

    catalog: Catalog
    source: SqlText
    query: Callable[[BindContext, exp.Expr, Ctes], Block]
    view: Callable[[Catalog, View], Relation]
    uses: dict[str, None] = field(default_factory=dict)
    reads: dict[int, Reads] = field(default_factory=dict)
    cut: list[tuple[exp.Expr, int]] = field(default_factory=list)
    windows: list[Refinement] = field(default_factory=list)
    nearest: list[Nearest] = field(default_factory=list)
    grouped: list[tuple[exp.Expr, tuple[int, ...]]] = field(default_factory=list)
    outer_rows: list[OuterRow] = field(default_factory=list)
    awaited: dict[str, str] = field(default_factory=dict)
    loops: list[str] = field(default_factory=list)
    _numbers: Iterator[int] = field(default_factory=lambda: count(1))

    @contextmanager
    def loop(self, names: Sequence[str]) -> Iterator[tuple[str, ...]]:
        """Names for the bindings of a loop, while these are bound: those given, as far as no loop around has them."""
        own = tuple(name if name not in self.loops else f"{name} {len(self.loops)}" for name in names)
        self.loops += own
        yield own
        del self.loops[-len(own) :]

    def mark(self) -> tuple[int, ...]:
        """How much the oracle is to be told by now."""
        return tuple(len(each) for each in self._told())

    def forget(self, mark: tuple[int, ...]) -> None:
        """Tell the oracle nothing of what has been bound since the mark: it is bound again."""
        for each, length in zip(self._told(), mark, strict=True):
            del each[length:]

    def _told(self) -> tuple[list[Any], ...]:
        return self.cut, self.windows, self.nearest, self.grouped

    def number(self) -> int:
        """A number for an Apply, which no other of the query has."""
        return next(self._numbers)
