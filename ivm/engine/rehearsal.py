"""A view is rehearsed on a few rows before it is installed over many, so that nobody waits for its machine code.

What a view's operators run is compiled when it is first called, or loaded from where it was kept. In an installation
that would be in somebody's turn: its own, or that of a commit that meets an operator which is new to the process.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace

import numpy as np
import pyarrow as pa

from ivm.catalog.errors import Error
from ivm.catalog.schema import Table
from ivm.catalog.schema import View as Definition
from ivm.engine.backend import Backend
from ivm.engine.engine import Engine
from ivm.engine.installing import Planned
from ivm.engine.transaction import Change
from ivm.plan.called import CalledPlan
from ivm.plan.node import nodes_of
from ivm.plan.table import TablePlan, ViewPlan
from ivm.trace.columns.arrow import arrow_type
from ivm.trace.turns import Turns

_WORTH = 1 << 16
"""Of fewer rows than this an installation is over before anybody notices."""
_FEW = 512
_REMEMBERED = 10_000

_rehearsed: set[int] = set()
"""Hashes of the plans that this process has rehearsed, whose machine code is there."""


def rehearse(backend: Backend, definition: Definition, planned: object, lock: Turns) -> None:
    """Install the view over some rows of its tables in an engine of its own, and change them.

    What a filter keeps out, or a join finds no match for, reaches no operator behind: what that runs is met later. The
    caller does not have the lock, which is taken while rows are read. Cost: a few small commits; nothing where the
    tables are small, or an equal plan has been rehearsed, or where it is not this process that carries it out.
    """
    if not isinstance(planned, Planned):
        return
    many = sum(backend.tables[name].count for name in planned.tables if name in backend.tables)
    if many < _WORTH or hash(planned.plan) in _rehearsed:
        return
    if any(isinstance(each, CalledPlan) for each in nodes_of(planned.plan)):
        return  # whoever has written the function counts on being asked once
    if len(_rehearsed) >= _REMEMBERED:
        _rehearsed.clear()
    _rehearsed.add(hash(planned.plan))
    compiler = next((each.expecting(many) for each in backend.compilers), None)
    stage = Engine(compiler, history=0)
    with suppress(Error):  # the rows are not all there are: what fails over some of them need not fail
        rows = list(_set_up(stage, backend, planned, lock))
        before = [Change(table, some.slice(0, _there(table, some))) for table, some in rows]
        after = [Change(table, some.slice(_there(table, some))) for table, some in rows]
        stage.commit(before)
        stage.put(definition.name, stage.installed(definition, planned, lambda progress: None), "")
        for some in (after, _gone(after), _gone(before)):
            stage.commit(some)


def _set_up(stage: Engine, backend: Backend, planned: Planned, lock: Turns) -> Iterator[tuple[Table, pa.Table]]:
    """Tables for all that the plan reads, views as well, each with its rows."""
    for plan in nodes_of(planned.plan):
        if isinstance(plan, ViewPlan | TablePlan) and plan.name not in stage.tables:
            table, rows = _few_rows(backend, plan, lock)
            stage.put_table(table.name, stage.tables.made(table))
            stage.renderer.views[table.name] = stage.renderer.feed(table.name, len(plan.row))
            yield table, rows


def _few_rows(backend: Backend, plan: TablePlan | ViewPlan, lock: Turns) -> tuple[Table, pa.Table]:
    if isinstance(plan, ViewPlan):
        schema = backend.views[plan.name].definition.columns
        fields = [pa.field(field.name, arrow_type(field.type)) for field in schema]
        return Table(plan.name, schema), pa.schema(fields).empty_table()
    store = backend.whole_table(plan.name)
    assert store is not None, "where views are planned so, all rows are here"
    with lock:
        rows = store.first(_FEW)
    return replace(store.table, foreign_keys=(), unique=(), checks=(), indexes=()), rows


def _there(table: Table, rows: pa.Table) -> int:
    """How many of the rows are there before the view is."""
    return len(rows) if table.static else len(rows) // 2


def _gone(changes: list[Change]) -> list[Change]:
    """The same rows taken back, where rows may go."""
    going = [each for each in changes if not (each.table.append_only or each.table.static)]
    return [each._replace(diffs=np.full(each.data.num_rows, -1, np.int64)) for each in going]
