"""A database of edges and roots with loops over them, what they should hold, and random changes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import Any

import pyarrow as pa

import ivm
from ivm.analysis.tables import tables_of
from ivm.catalog.schema import View
from ivm.dataflow.loop import Iterate
from ivm.engine.installing import Planned
from ivm.plan.lower import lower
from ivm.session.core import engine_of
from ivm.session.database import core_of
from ivm.sql.ir.relation import LetRec
from ivm.trace.delta import Delta, delta_of
from tests.loops.programs import TABLES, Program
from tests.model.relation import evaluate

Row = tuple[Any, ...]
Rows = Counter[Row]
Changes = Mapping[str, Sequence[tuple[Row, int]]]
"""Of each table rows, and how many more of them there are."""
_COLUMNS = {"e": ("s", "d"), "roots": ("v",)}


class World:
    """The database; `tables` is what its tables hold."""

    def __init__(self, program: Program | None = None, **given: Any) -> None:
        self.db = ivm.connect(compile="off", **given)
        self.db.sql(TABLES)
        self.tables: dict[str, Rows] = {name: Counter() for name in _COLUMNS}
        self.loops: dict[str, LetRec] = {}
        if program is not None:
            self.install(program)

    def install(self, program: Program, name: str = "v", pause: Callable[[], None] = lambda: None) -> None:
        """One more view: the result of a loop. `pause` is called now and then."""
        self.bring_in(program.relation(), name, pause)

    def bring_in(self, loop: LetRec, name: str, pause: Callable[[], None] = lambda: None) -> None:
        """The same of a loop that is made already."""
        engine = engine_of(core_of(self.db))
        plan = lower(loop, engine.renderer.existing.above(engine.sizes()))
        tables = frozenset(tables_of(loop))
        definition = View(name, "SELECT 1", loop.schema, tuple(tables), True)
        installed = engine.installed(definition, Planned(plan, tables, {}, 0.0), lambda progress: pause())
        try:
            engine.put(name, installed, None)
        except BaseException:  # who is interrupted in it calls it again, as sessions do
            engine.put(name, installed, None)
            raise
        self.loops[name] = loop

    def drop(self, name: str = "v") -> None:
        """One view less."""
        engine_of(core_of(self.db)).put(name, None, None)
        del self.loops[name]

    @property
    def iterates(self) -> list[Iterate]:
        """The loops that run."""
        nodes = engine_of(core_of(self.db)).renderer.graph.nodes
        return [node.operator for node in nodes if isinstance(node.operator, Iterate)]

    def commit(self, *changes: Changes) -> None:
        """One commit of as many times as there are changes."""
        time, columns = self.db.time + 1, dict[str, dict[str, list[int]]]()
        for number, each in enumerate(changes):
            for table, updates in each.items():
                for row, diff in updates:
                    values = (*row, diff, time + number)
                    of_table = columns.setdefault(table, {})
                    for name, value in zip((*_COLUMNS[table], "_diff", "_time"), values, strict=True):
                        of_table.setdefault(name, []).append(value)
        self.db.apply({name: pa.table(each) for name, each in columns.items()})
        self.tables = self.after(*changes)

    def after(self, *changes: Changes) -> dict[str, Rows]:
        """What tables hold after changes."""
        tables = {name: Counter(rows) for name, rows in self.tables.items()}
        for each in changes:
            for table, updates in each.items():
                for row, diff in updates:
                    tables[table][row] += diff
        return {name: +rows for name, rows in tables.items()}

    def held(self) -> dict[str, Rows]:
        """What the tables hold, as they say."""
        tables = engine_of(core_of(self.db)).tables
        read = {name: tables[name].reading()() for name in _COLUMNS}
        rows = {
            name: zip(*(column.to_pylist() for column in table.columns), strict=True) for name, table in read.items()
        }
        return {name: Counter(each) for name, each in rows.items()}

    def rows(self, name: str = "v", as_of: int | None = None) -> Rows:
        """What the view holds."""
        columns, diffs = engine_of(core_of(self.db)).views[name].log.rows(as_of)
        rows = rows_of(delta_of(columns, 0, None, len(diffs)))
        return Counter(dict(zip(rows, diffs.tolist(), strict=True)))

    def expected(self, name: str = "v") -> Rows:
        """What it should hold."""
        return evaluate(self.loops[name], self.tables)

    def check(self) -> None:
        """All views hold what they should."""
        for name in self.loops:
            assert self.rows(name) == self.expected(name), name


def some_changes(world: World, random: Random, nodes: int) -> Changes:
    """Edges and roots that come and go, among so many nodes, a few or many; an edge may come twice."""
    edges, found = Counter(world.tables["e"]), list[tuple[Row, int]]()
    for _ in range(random.choice((1, 1, 2, 2 * nodes))):
        edge = random.randrange(nodes), random.randrange(nodes)
        diff = -1 if edges[edge] and random.random() < 0.6 else int(edges[edge] < 2)
        edges[edge] += diff
        found += [(edge, diff)] * bool(diff)
    changes = {"e": found} if found else {}
    if random.random() < 0.3:
        root = (random.randrange(nodes),)
        changes["roots"] = [(root, -1 if world.tables["roots"][root] else 1)]
    return changes


def all_gone(world: World) -> Changes:
    """Nothing is left."""
    found = {name: [(row, -n) for row, n in rows.items()] for name, rows in world.tables.items()}
    return {name: updates for name, updates in found.items() if updates}


def rows_of(delta: Delta) -> list[Row]:
    """The rows of a delta."""
    listed = list[list[Any]]()
    for column in (delta.column(c) for c in range(len(delta.layout))):
        valid = [True] * delta.length if column.valid is None else column.valid.tolist()
        values = (tuple(v) if isinstance(v, list) else v for v in column.values.tolist())
        listed.append([v if there else None for v, there in zip(values, valid, strict=True)])
    return list(zip(*listed, strict=True))
