"""Statements that create, alter and drop tables."""

from __future__ import annotations

import re

from tests.random.kinds import TYPES
from tests.random.literals import typed
from tests.random.scripts.step import Step
from tests.random.scripts.world import Column, Table, World

_WIDER = {"INTEGER": "BIGINT", "FLOAT": "DOUBLE"}


def create_table(world: World) -> list[Step]:
    """A table of a few columns, some with defaults, checks, or generated of others."""
    rng, number = world.rng, world.number()
    keyed, temporary = rng.random() < 0.7, rng.random() < 0.1 and not world.shards
    columns = [new_column(world, "INTEGER")] if keyed else []
    columns += [new_column(world, world.type_of(world.kind())) for _ in range(rng.randint(2, 4))]
    integers = [column.name for column in columns if column.kind == "INT"]
    if integers and rng.random() < 0.2:
        made = new_column(world, "BIGINT")
        made.said, made.generated = f" GENERATED ALWAYS AS (coalesce({rng.choice(integers)}, 0) + 1)", True
        columns.append(made)
    schema = rng.choice(["", "", *(f"{each}." for each in world.schemas)]) if not temporary else ""
    table = Table(f"zt{number}", f"{schema}t{number}", columns, keyed, temporary)
    parts = [f"{c.name} {c.type}{c.said}{' PRIMARY KEY' if keyed and c is columns[0] else ''}" for c in columns]
    world.tables.append(table)
    return [Step(f"CREATE {'TEMP ' if temporary else ''}TABLE {table.name} ({', '.join(parts)})")]


def new_column(world: World, type_: str) -> Column:
    """A column that none is called as."""
    number, rng = world.number(), world.rng
    said = ""
    if rng.random() < 0.2:
        said = f" DEFAULT {typed(rng.choice(TYPES[type_].domain), type_)}"
    elif type_ == "INTEGER" and rng.random() < 0.1 and world.sequences:
        said = f" DEFAULT nextval('{rng.choice(world.sequences)}')"
    return Column(f"zc{number}", f"c{number}", type_, said)


def alter(world: World) -> list[Step]:
    """A table altered; views go on as if nothing had another name."""
    if not world.tables:
        return []
    table = world.rng.choice(world.tables)
    return world.rng.choice(_ALTERED)(world, table, f"ALTER TABLE {table.name}")


def _add(world: World, table: Table, alter: str) -> list[Step]:
    new = new_column(world, world.type_of(world.kind()))
    new.said = "" if "nextval" in new.said else new.said
    table.columns.append(new)
    return [Step(f"{alter} ADD COLUMN {new.name} {new.type}{new.said}"), *world.told(table.mark)]


def _rename(world: World, table: Table, alter: str) -> list[Step]:
    bare = table.name.rpartition(".")[2]
    new = f"t{world.number()}"
    table.name = table.name.removesuffix(bare) + new
    return [Step(f"{alter} RENAME TO {new}"), *world.told(table.mark)]


def _rename_column(world: World, table: Table, alter: str) -> list[Step]:
    column = world.rng.choice(table.columns)
    old, column.name = column.name, f"c{world.number()}"
    for other in table.columns:
        other.said = other.said.replace(f"({old},", f"({column.name},")
    return [Step(f"{alter} RENAME {old} TO {column.name}"), *world.told(table.mark)]


def _default(world: World, table: Table, alter: str) -> list[Step]:
    column = world.rng.choice(table.given)
    if world.rng.random() < 0.3:
        return [Step(f"{alter} ALTER {column.name} DROP DEFAULT")]
    return [Step(f"{alter} ALTER {column.name} SET DEFAULT {some_literal(world, column)}")]


def _null(world: World, table: Table, alter: str) -> list[Step]:
    column = world.rng.choice(table.given)
    word = "DROP" if column is not table.columns[0] and world.rng.random() < 0.7 else "SET"
    return [Step(f"{alter} ALTER {column.name} {word} NOT NULL"), *world.told(table.mark)]


def _drop_column(world: World, table: Table, alter: str) -> list[Step]:
    column = world.rng.choice(table.columns)
    if column is table.columns[0] or _is_read(world, table, column):
        return []
    table.columns.remove(column)
    return [Step(f"{alter} DROP COLUMN {column.name}"), *world.told(table.mark)]


def _type(world: World, table: Table, alter: str) -> list[Step]:
    column = world.rng.choice(table.given)
    if column.type not in _WIDER or column is table.columns[0] or _is_read(world, table, column):
        return []
    column.type = _WIDER[column.type]
    return [Step(f"{alter} ALTER {column.name} TYPE {column.type}"), *world.told(table.mark)]


_ALTERED = (_add, _add, _rename, _rename_column, _rename_column, _default, _null, _drop_column, _type)


def _is_read(world: World, table: Table, column: Column) -> bool:
    """Whether a view or another column reads it."""
    generated = any(f"({column.name}," in other.said for other in table.columns)
    return generated or any(re.search(rf"\b{column.mark}\b", view.text) for view in world.views)


def drop_table(world: World) -> list[Step]:
    """A table that goes with all views over it."""
    if len(world.tables) < 2:
        return []
    table = world.rng.choice(world.tables)
    gone = world.readers(table.mark)
    world.views = [view for view in world.views if view not in gone]
    world.tables.remove(table)
    views = [Step(f"DROP VIEW {view.name}") for view in reversed(gone)]
    return [*views, Step(f"DROP TABLE {table.name}")]


def some_literal(world: World, column: Column) -> str:
    """A literal of the column's type."""
    return typed(world.rng.choice(TYPES[column.type].domain), column.type)
