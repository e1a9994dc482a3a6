"""Statements that create, replace and drop views, and SELECTs."""

from __future__ import annotations

from tests.random.kinds import KIND_OF, KINDS
from tests.random.queries import Queries
from tests.random.scope import Col, Relation, Scope
from tests.random.scripts.step import Step
from tests.random.scripts.world import View, World


def py_odd(x: int) -> int:
    """A function of Python's that views call."""
    return x % 2


def py_next(x: int) -> int:
    """Another one."""
    return x + 1


FUNCTIONS = {"py_odd": py_odd, "py_next": py_next}
"""Functions of Python's that views call, of an INTEGER, which give one."""


def create_view(world: World) -> list[Step]:
    """A view over tables and other views, most often a maintained one."""
    relations = list(world.relations())
    if not relations:
        return []
    types = [world.rng.choice(tuple(KINDS[world.kind()].types)) for _ in range(world.rng.randint(1, 3))]
    number, temporary = world.number(), world.rng.random() < 0.1 and not world.shards
    schema = world.rng.choice(["", "", *(f"{each}." for each in world.schemas)]) if not temporary else ""
    maintained = world.rng.random() < 0.85
    text = query(world, types, relations)
    view = View(f"zt{number}", f"{schema}v{number}", text, types, maintained, temporary)
    words = f"{'TEMP ' if temporary else ''}{'MATERIALIZED ' if maintained else ''}"
    world.views.append(view)
    return [Step(f"CREATE {words}VIEW {view.name} AS {world.named(text)}")]


def replace_view(world: World) -> list[Step]:
    """Another text of a view, of the same columns, which others may read."""
    if not world.views:
        return []
    view = world.rng.choice(world.views)
    above = {view.mark, *(reader.mark for reader in world.readers(view.mark))}
    relations = [relation for relation in world.relations() if relation.name not in above]
    if not relations:
        return []
    view.text = query(world, view.types, relations)
    words = f"{'TEMP ' if view.temporary else ''}{'MATERIALIZED ' if view.maintained else ''}"
    world.views.remove(view)
    world.views.insert(_place(world, view), view)
    return [Step(f"CREATE OR REPLACE {words}VIEW {view.name} AS {world.named(view.text)}")]


def _place(world: World, view: View) -> int:
    """Behind all that it reads, and before all that reads it."""
    reads = [at for at, other in enumerate(world.views, 1) if f"{other.mark} " in f"{view.text} "]
    return max(reads, default=0)


def rename_view(world: World) -> list[Step]:
    """A view by another name."""
    if not world.views:
        return []
    view = world.rng.choice(world.views)
    bare, new = view.name.rpartition(".")[2], f"v{world.number()}"
    old, view.name = view.name, view.name.removesuffix(bare) + new
    return [Step(f"ALTER VIEW {old} RENAME TO {new}"), *world.told(view.mark)]


def drop_view(world: World) -> list[Step]:
    """A view that nothing reads."""
    free = [view for view in world.views if not world.readers(view.mark)]
    if not free:
        return []
    view = world.rng.choice(free)
    world.views.remove(view)
    return [Step(f"DROP VIEW {view.name}")]


def select(world: World) -> list[Step]:
    """A query."""
    relations = list(world.relations())
    if not relations:
        return []
    types = [world.rng.choice(tuple(KINDS[world.kind()].types)) for _ in range(world.rng.randint(1, 3))]
    return [Step(world.named(query(world, types, relations)))]


def query(world: World, types: list[str], relations: list[Relation]) -> str:
    """A query of columns c0, c1, ... of the types, with marks as names."""
    rng, queries = world.rng, Queries(world.rng, ())
    queries.subqueries = 0
    one, other = rng.choice(relations), rng.choice(relations)
    left, right = _columns(one, "l"), _columns(other, "r")
    pairs = [(a, b) for a in left for b in right if a.kind == b.kind]
    kinds = [KIND_OF[type_].name for type_ in types]

    def listed(values: list[str]) -> str:
        return ", ".join(f"CAST({v} AS {t}) AS c{i}" for i, (v, t) in enumerate(zip(values, types, strict=True)))

    def values(columns: tuple[Col, ...]) -> str:
        return listed([_called(world, kind, queries.value(kind, Scope(columns), 1)) for kind in kinds])

    match rng.randrange(6):
        case 0 if pairs:
            a, b = rng.choice(pairs)
            join = rng.choice(("JOIN", "LEFT JOIN", "FULL JOIN"))
            return (
                f"SELECT {values((*left, *right))} FROM {one.name} AS l {join} {other.name} AS r ON {a.text} = {b.text}"
            )
        case 1:
            key = rng.choice(left)
            found = [key.text if kind == key.kind else queries.aggregate(kind, Scope(left), 0) for kind in kinds]
            return f"SELECT {listed(found)} FROM {one.name} AS l GROUP BY {key.text}"
        case 2:
            return f"SELECT DISTINCT {values(left)} FROM {one.name} AS l"
        case 3:
            return f"SELECT {values(left)} FROM {one.name} AS l UNION ALL SELECT {values(right)} FROM {other.name} AS r"
        case 4 if pairs:
            a, b = rng.choice(pairs)
            exists = f"{rng.choice(('', 'NOT '))}EXISTS (SELECT 1 FROM {other.name} AS r WHERE {a.text} = {b.text})"
            return f"SELECT {values(left)} FROM {one.name} AS l WHERE {exists}"
        case _:
            return f"SELECT {values(left)} FROM {one.name} AS l WHERE {queries.condition(Scope(left), 1)}"


def _called(world: World, kind: str, value: str) -> str:
    """An integer also by way of a macro, or of a function of Python's."""
    if kind != "INT" or world.rng.random() > 0.25:
        return value
    return f"{world.rng.choice((*world.macros, *FUNCTIONS))}(CAST({value} AS INTEGER))"


def _columns(relation: Relation, alias: str) -> tuple[Col, ...]:
    return tuple(Col(f"{alias}.{name}", kind) for name, kind in relation.columns)
