"""The script of a seed."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from tests.random.scripts import rows, tables, views
from tests.random.scripts.step import REOPEN, Script, Step
from tests.random.scripts.world import World

Maker = Callable[[World], list[Step]]


def random_script(seed: int) -> Script:
    """A few tables and views, then some thirty statements over them."""
    rng = Random(seed)
    place = rng.choice(("memory", "memory", "disk", "disk", "2"))
    world = World(rng, shards=place == "2", disk=place == "disk")
    steps = [step for make in _FIRST for step in make(world)]
    for _ in range(rng.randint(15, 35)):
        make = rng.choices(list(_MAKERS), list(_MAKERS.values()))[0]
        steps += make(world)
    if world.before is not None:
        steps.append(Step("COMMIT"))
    return Script(tuple(steps), place)


def _transaction(world: World) -> list[Step]:
    """One begins, or the one that is open ends."""
    if world.before is None:
        world.begun()
        return [Step("BEGIN")]
    undone = world.rng.random() < 0.4
    world.ended(undone=undone)
    return [Step("ROLLBACK" if undone else "COMMIT")]


def _reopen(world: World) -> list[Step]:
    """The database is closed and opened again: what is TEMP has gone."""
    if not world.disk or world.before is not None:
        return []
    gone = [view for view in world.views if view.temporary]
    steps = [Step(f"DROP VIEW {view.name}", True) for view in reversed(gone)]
    steps += [Step(f"DROP TABLE {table.name}", True) for table in world.tables if table.temporary]
    world.views = [view for view in world.views if not view.temporary]
    world.tables = [table for table in world.tables if not table.temporary]
    return [Step(REOPEN), *steps]


def _checkpoint(world: World) -> list[Step]:
    return [] if world.before is not None else [Step("CHECKPOINT")]


def _schema(world: World) -> list[Step]:
    name = f"s{world.number()}"
    world.schemas.append(name)
    return [Step(f"CREATE SCHEMA {name}")]


def _sequence(world: World) -> list[Step]:
    if world.before is not None:
        return []
    name = f"q{world.number()}"
    world.sequences.append(name)
    return [Step(f"CREATE SEQUENCE {name} START {world.rng.randint(100, 999)}")]


def _macro(world: World) -> list[Step]:
    name = f"m{world.number()}"
    world.macros.append(name)
    body = world.rng.choice(
        ("coalesce(a, b) + b", "CASE WHEN a > b THEN a ELSE -a END", "(SELECT max(x) FROM (VALUES (a), (b)) v(x))")
    )
    return [Step(f"CREATE MACRO {name}(a, b := {world.rng.randint(0, 3)}) AS {body}")]


_FIRST: tuple[Maker, ...] = (
    tables.create_table, rows.change, tables.create_table, rows.change, views.create_view, views.create_view,
    views.create_view,
)  # fmt: skip

_MAKERS: dict[Maker, float] = {
    rows.change: 16,
    tables.alter: 4,
    tables.create_table: 0.5,
    tables.drop_table: 0.3,
    views.create_view: 1.5,
    views.replace_view: 2.5,
    views.rename_view: 0.7,
    views.drop_view: 0.7,
    views.select: 1,
    _transaction: 3,
    _reopen: 1.5,
    _checkpoint: 0.5,
    _schema: 0.3,
    _sequence: 0.3,
    _macro: 0.5,
}
"""What makes steps, with how often it is called."""
