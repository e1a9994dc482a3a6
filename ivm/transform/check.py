"""What every rule promises: the same columns of the same types, and a relation that is well formed."""

from __future__ import annotations

from ivm.analysis.fact import fact
from ivm.catalog.schema import Schema
from ivm.catalog.types import BOOLEAN, Kind
from ivm.sql.ir.rebuild import offsets, recursive_gets
from ivm.sql.ir.relation import (
    Asof,
    Constant,
    Filter,
    Get,
    Join,
    LetRec,
    Map,
    Project,
    Reduce,
    Relation,
    TopK,
    Union,
    Unnest,
    Window,
    inputs_of,
)
from ivm.sql.ir.scalar import Column, Scalar, walk


def check_schema(before: Schema, after: Schema, rule: str) -> None:
    """Raise AssertionError, a bug in `rule`, unless it kept the number of columns and their types."""
    types = [f.type for f in before], [f.type for f in after]
    if types[0] != types[1]:
        shown = [", ".join(map(str, each)) for each in types]
        raise AssertionError(
            f"{rule} changed the columns of a relation from ({shown[0]}) to ({shown[1]}); this is a bug"
        )


@fact
def check_relation(relation: Relation) -> None:
    """Raise AssertionError unless every node below fits its inputs: positions, types, numbers of names.

    Cost: linear in the size of the relation.
    """
    for inner in inputs_of(relation):
        check_relation(inner)
    match relation:
        case Get():
            _expect(all(_within(key, relation.schema) for key in relation.keys), relation)
        case Constant():
            _expect(all(len(r) == len(relation.schema) for r in relation.rows), relation)
        case Map():
            _expect(len(relation.names) == len(relation.scalars), relation)
            _check_scalars(relation.scalars, relation.input.schema, relation)
        case Unnest():
            _check_scalars(relation.lists, relation.input.schema, relation)
            _expect(bool(relation.lists) and all(each.type.kind is Kind.LIST for each in relation.lists), relation)
            _expect(len(relation.names) == len(relation.lists) + relation.numbered, relation)
        case Filter():
            _check_scalars(relation.predicates, relation.schema, relation)
            _expect(all(p.type == BOOLEAN for p in relation.predicates), relation)
        case Project():
            _expect(_within(relation.columns, relation.input.schema), relation)
            _expect(not relation.names or len(relation.names) == len(relation.columns), relation)
        case Join():
            _check_join(relation)
        case Reduce():
            arguments = (scalar for aggregate in relation.aggregates for scalar in aggregate.scalars)
            _check_scalars((*relation.keys, *arguments), relation.input.schema, relation)
            _expect(len(relation.names) == len(relation.keys) + len(relation.aggregates), relation)
        case TopK():
            _expect(_within((*relation.group, *(o.column for o in relation.order)), relation.schema), relation)
            _expect(not relation.ties or (relation.limit is not None and relation.offset == 0), relation)
        case Window():
            columns = (*relation.partition, *(o.column for o in relation.order))
            _expect(_within(columns, relation.input.schema), relation)
            _check_scalars(tuple(s for f in relation.functions for s in f.scalars), relation.input.schema, relation)
            _expect(len(relation.names) == len(relation.functions) > 0, relation)
        case Asof():
            pairs = (*relation.keys, relation.times)
            _expect(_within(tuple(left for left, _ in pairs), relation.left.schema), relation)
            _expect(_within(tuple(right for _, right in pairs), relation.right.schema), relation)
            both = ((relation.left.schema[left].type, relation.right.schema[right].type) for left, right in pairs)
            _expect(all(one == other for one, other in both), relation)
            _expect(relation.function in ("ge", "gt", "le", "lt"), relation)
        case LetRec():
            _check_loop(relation)
        case Union():
            types = {tuple(f.type for f in each.schema) for each in relation.inputs}
            _expect(len(types) == 1, relation)


def _check_join(join: Join) -> None:
    _expect(offsets(join.inputs)[-1] == len(join.schema), join)
    members = [c for group in join.equivalences for c in group]
    _expect(_within(tuple(members), join.schema) and len(members) == len(set(members)), join)
    for group in join.equivalences:
        _expect(len(group) > 1 and len({join.schema[c].type for c in group}) == 1, join)


def _check_loop(loop: LetRec) -> None:
    _expect(0 <= loop.result < len(loop.bindings) and (loop.limit is None or loop.limit > 0), loop)
    schemas = {binding.name: binding.schema for binding in loop.bindings}
    _expect(len(schemas) == len(loop.bindings), loop)
    for binding in loop.bindings:
        types = [(f.type, f.nullable) for f in binding.schema]
        made = [(f.type, f.nullable or known) for f, (_, known) in zip(binding.relation.schema, types, strict=True)]
        _expect(made == types, loop)
        for get in recursive_gets(binding.relation):
            _expect(get.schema == schemas.get(get.name), loop)


def _check_scalars(scalars: tuple[Scalar, ...], schema: Schema, relation: Relation) -> None:
    for column in (s for scalar in scalars for s in walk(scalar) if isinstance(s, Column)):
        _expect(_within((column.index,), schema) and schema[column.index].type == column.type, relation)
        # NOT NULL may be claimed by the column only where the schema guarantees it.
        _expect(column.nullable or not schema[column.index].nullable, relation)


def _within(columns: tuple[int, ...], schema: Schema) -> bool:
    return all(0 <= c < len(schema) for c in columns)


def _expect(holds: bool, relation: Relation) -> None:
    if not holds:
        raise AssertionError(f"this {type(relation).__name__} does not fit its inputs: {relation!r}")
