"""What is known of a view on its way in: its plan, and how far it is."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass, replace
from functools import cache
from typing import TypeVar

from ivm.catalog.errors import MemoryLimitError
from ivm.engine.view import Installed
from ivm.plan.arrangement import ArrangementPlan
from ivm.plan.estimate import Estimate, bytes_text
from ivm.plan.existing import Existing, rows_to_read
from ivm.plan.node import Plan, Sizes
from ivm.plan.renamed import Renaming
from ivm.render.renderer import Renderer
from ivm.trace.rows.table_store import TableStore

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Progress:
    """How far the installation of a view is: rows read of those to be read, some of which may be an estimate."""

    view: str
    rows: int
    expected: int


@dataclass(frozen=True, slots=True)
class Planned:
    """A view before it is installed: its plan, what it reads, the sizes that decided, and how long planning took."""

    plan: Plan
    tables: frozenset[str]
    sizes: Mapping[str, float]
    millis: float


Put = tuple[Installed | None, str | None]
"""A view that is maintained, or None, and the SQL by which DuckDB knows it, or None if it is gone."""
Pause = Callable[[Callable[[], Progress]], None]


def counting(
    name: str,
    plan: Plan,
    sizes: Callable[[], Mapping[str, float]],
    was_there: Callable[[Plan | ArrangementPlan], bool],
    pause: Pause,
) -> Callable[[int], None]:
    """What reports progress of a view when it is called with the rows read since it was called last."""
    done = 0

    @cache
    def expected() -> int:
        return round(rows_to_read(plan, Sizes(sizes()), was_there))

    def progress() -> Progress:
        return Progress(name, done, max(done, expected()))

    def report(rows: int) -> None:
        nonlocal done
        done += rows
        pause(progress)

    return report


def check_limit(name: str, needed: Estimate, used: int, limit: int) -> None:
    """MemoryLimitError if a view needs more than is left of a limit, of which so many bytes are used."""
    if used + needed.bytes > limit:
        raise MemoryLimitError(
            f"cannot create view {name}: it is expected to add {needed}, and of the memory limit of "
            f"{bytes_text(limit)} {bytes_text(used)} are in use; raise memory_limit, drop views "
            "that are not needed, or see EXPLAIN for what takes the most"
        )


def beside(renderer: Renderer, tables: dict[str, TableStore], changed: Set[str], views: Set[str]) -> Renderer:
    """One for the same graph and these `tables`; it has nothing rendered of what reads those that have `changed`, nor
    what reads these `views`. See `Engine.beside`.
    """
    gone = {node for name in changed for node in renderer.sources.get(name, {}).values()}
    ends = {node for name, node in renderer.views.items() if name in views}
    for node in renderer.graph.nodes:
        if not gone.isdisjoint(read := {*node.inputs, *node.waits}) or not ends.isdisjoint(read):
            gone.add(node)
    rendered = {plan: node for plan, node in renderer.rendered.items() if node not in gone}
    existing = Existing()
    existing.add(rendered)
    sources = renderer.sources
    if changed:  # else those that are new are those of commits, too, which others make meanwhile
        sources = {name: feeds for name, feeds in sources.items() if name not in changed}
    return replace(
        renderer, tables=tables, sources=sources, rendered=rendered, existing=existing, views=dict(renderer.views)
    )


def renamed(renderer: Renderer, renaming: Renaming) -> Renderer:
    """One for the same graph, in which tables and views have other names; all that is rendered stays."""
    rendered = {renaming.plan(plan): node for plan, node in renderer.rendered.items()}
    existing, names = Existing(), renaming.names
    existing.add(rendered)
    sources = {names.get(name, name): feeds for name, feeds in renderer.sources.items()}
    gone = names.values() - names.keys()  # a view that is dropped may have had the name
    kept = {name: node for name, node in renderer.views.items() if name not in gone}
    views = {names.get(name, name): node for name, node in kept.items()}
    return replace(renderer, rendered=rendered, existing=existing, sources=sources, views=views)


def put_or_drop(all_there_are: dict[str, T], name: str, one: T | None) -> None:
    """What has a name is this from now on; None: nothing has. Called again, it changes nothing."""
    if one is None:
        all_there_are.pop(name, None)
    else:
        all_there_are[name] = one
