"""WITH MUTUALLY RECURSIVE: bindings that may all read each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from sqlglot import exp

from ivm.catalog.names import key, twice
from ivm.catalog.schema import Field, Schema
from ivm.catalog.types import SqlType
from ivm.sql.bind.clauses.columns import is_nothing
from ivm.sql.bind.context import BindContext, Ctes
from ivm.sql.bind.loops_within import reads_around
from ivm.sql.bind.measures import by_measure
from ivm.sql.bind.recursion import aligned, either
from ivm.sql.decorrelate.decorrelate import decorrelate
from ivm.sql.ir.linear import names_read
from ivm.sql.ir.rebuild import is_loop, rebuilt
from ivm.sql.ir.relation import Binding, LetRec, RecursiveGet, Relation
from ivm.sql.reader import MUTUALLY
from ivm.sql.types.declared import declared_type
from ivm.sql.types.unify import common_type

MOST_NAMES = 1000
"""So many names may read each other in one loop: each costs tens of milliseconds to plan."""


def bind_mutual(context: BindContext, clause: exp.With, ctes: Ctes) -> Ctes:
    """The expressions in reach of a block with this WITH MUTUALLY RECURSIVE.

    Its names are empty at first; in each round each becomes, in the order written, what its query gives of what all
    hold by then, until a round changes nothing. Names that others need, and that do not need these, are complete before
    the others begin, unless there is a limit of rounds: then all go round together.
    """
    if len(clause.expressions) > MOST_NAMES:
        what = f"{len(clause.expressions)} names in one WITH MUTUALLY RECURSIVE are not supported"
        place = clause.expressions[MOST_NAMES].args["alias"]
        context.refuse(place, f"{what}, but at most {MOST_NAMES}; make views of some of them")
    limit, fails = clause.meta[MUTUALLY]
    bindings = _bound(context, clause, ctes)
    names = [key(cte.alias) for cte in clause.expressions]
    if limit is not None:
        loops = [LetRec(bindings, i, limit, fails) for i in range(len(bindings))]
        return {**ctes, **dict(zip(names, loops, strict=True))}
    done = _by_component(bindings)
    return {**ctes, **{name: done[binding.name] for name, binding in zip(names, bindings, strict=True)}}


def _bound(context: BindContext, clause: exp.With, ctes: Ctes) -> tuple[Binding, ...]:
    """The bindings, with columns that may be NULL where their queries may give NULL."""
    written: list[exp.CTE] = clause.expressions
    schemas = [_declared(context, cte) for cte in written]
    mark = context.mark()
    with context.loop([cte.alias for cte in written]) as names:
        while True:
            context.forget(mark)
            gets = [RecursiveGet(name, schema) for name, schema in zip(names, schemas, strict=True)]
            reach = {**ctes, **{key(cte.alias): get for cte, get in zip(written, gets, strict=True)}}
            found = [_query(context, cte, names, schema, reach) for cte, schema in zip(written, schemas, strict=True)]
            wider = [either(schema, made.schema) for schema, made in zip(schemas, found, strict=True)]
            if wider == schemas:
                made = [decorrelate(by_measure(each)) for each in found]
                return tuple(map(Binding, names, schemas, made, (cte.alias for cte in written)))
            schemas = wider


def _declared(context: BindContext, cte: exp.CTE) -> Schema:
    columns = cte.args["alias"].args.get("columns") or ()
    for column in columns:
        if not isinstance(column, exp.ColumnDef) or column.args.get("kind") is None:
            context.fail(column, f"WITH MUTUALLY RECURSIVE needs a type for column {column.name!r} of {cte.alias}")
        if column.args.get("constraints"):
            context.refuse(column, f"a constraint of column {column.name!r} of {cte.alias} is not supported")
    if not columns:
        what = f"WITH MUTUALLY RECURSIVE needs the columns of {cte.alias} and their types"
        context.fail(cte.args["alias"], f"{what}: {cte.alias} (column type, ..) AS (..)")
    again = twice(column.name for column in columns)
    if again is not None:
        context.fail(cte.args["alias"], f"{cte.alias} has two columns called {again!r}; give one another name")
    return tuple(Field(column.name, _type(context, cte, column), False) for column in columns)


def _type(context: BindContext, cte: exp.CTE, column: exp.ColumnDef) -> SqlType:
    return declared_type(column.args["kind"], context.source, f"column {column.name!r} of {cte.alias}", column)


def _query(context: BindContext, cte: exp.CTE, names: Sequence[str], schema: Schema, ctes: Ctes) -> Relation:
    """What a name is in each round: of the declared types, which its query has, or has ones that fit in."""
    relation = context.query(context, cte.this, ctes).relation
    if not names_read(relation) <= set(names) or reads_around(relation):
        what = f"{cte.alias} reads the name of a loop around it, or a loop within it does so"
        context.refuse(cte.args["alias"], f"{what}, which is not supported; write all in one WITH MUTUALLY RECURSIVE")
    for i, (found, wanted) in enumerate(zip(relation.schema, schema, strict=False)):
        if not is_nothing(relation, i) and common_type(wanted.type, found.type) != wanted.type:
            what = f"column {wanted.name!r} of {cte.alias} is declared {wanted.type}, but its query gives {found.type}"
            context.mismatch(cte.this, f"{what}; cast it there, or declare that type")
    return aligned(context, cte.this, relation, schema, f"the query of {cte.alias}")


def _by_component(bindings: tuple[Binding, ...]) -> Mapping[str, Relation]:
    """What each name is, those that need each other in one loop, those that nobody needs in a circle in none."""
    done: dict[str, Relation] = {}
    for component in _components(bindings):
        own = {binding.name for binding in component}
        inside = tuple(replace(each, relation=_with(each.relation, done)) for each in component)
        if len(inside) == 1 and own.isdisjoint(names_read(inside[0].relation)):
            done[inside[0].name] = inside[0].relation
            continue
        done |= {binding.name: LetRec(inside, i) for i, binding in enumerate(inside)}
    return done


def _with(relation: Relation, done: Mapping[str, Relation]) -> Relation:
    """The relation with the names that are complete replaced by what they are."""

    def complete(node: Relation) -> Relation:
        return done.get(node.name, node) if isinstance(node, RecursiveGet) else node

    return rebuilt(relation, complete, done=is_loop)


def _components(bindings: tuple[Binding, ...]) -> list[list[Binding]]:
    """The bindings, those that need each other together, in the order written; what others need before these.

    Cost: linear in the names that they read, but for the sorting of each component.
    """
    place = {binding.name: number for number, binding in enumerate(bindings)}
    needed = [[place[name] for name in names_read(binding.relation) if name in place] for binding in bindings]
    needing: list[list[int]] = [[] for _ in bindings]
    for number, names in enumerate(needed):
        for each in names:
            needing[each].append(number)
    # Who is left last is needed by nobody who is left before (Kosaraju's algorithm, after Sharir, 1981).
    order, seen, components = list[int](), set[int](), list[list[Binding]]()
    for number in range(len(bindings)):
        order += _left(number, needing, seen)
    seen.clear()
    for number in reversed(order):
        if together := sorted(_left(number, needed, seen)):
            components.append([bindings[each] for each in together])
    return components


def _left(start: int, edges: Sequence[Sequence[int]], seen: set[int]) -> list[int]:
    """What is reached from a node and was not seen, in the order in which a walk in depth leaves it."""
    left, path = list[int](), [] if start in seen else [(start, iter(edges[start]))]
    seen.add(start)
    while path:
        number, rest = path[-1]
        following = next((each for each in rest if each not in seen), None)
        if following is None:
            left.append(number)
            path.pop()
        else:
            seen.add(following)
            path.append((following, iter(edges[following])))
    return left
