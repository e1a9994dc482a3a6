"""Columns as the types of others ask for them: what holds nothing but NULL, and casts."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ivm.catalog.types import INTEGER, NULL, SqlType
from ivm.sql.ir.measures import with_collation
from ivm.sql.ir.rebuild import column
from ivm.sql.ir.relation import Constant, Filter, Map, Negate, Project, Reduce, Relation, Threshold, TopK, Union, Unnest
from ivm.sql.ir.scalar import Call, Column, Literal, Scalar


def is_nothing(relation: Relation, column: int, known: dict[tuple[int, int], bool] | None = None) -> bool:
    """Whether the column holds nothing but NULL, written as such, and so has no type of its own.

    `known` is what was found before: a relation may be read in very many ways.
    """
    known = {} if known is None else known
    place = id(relation), column
    if place not in known:
        known[place] = _holds_nothing(relation, column, lambda below, at: is_nothing(below, at, known))
    return known[place]


def _holds_nothing(relation: Relation, column: int, below: Callable[[Relation, int], bool]) -> bool:
    match relation:
        case Project():
            return below(relation.input, relation.columns[column])
        case Map():
            width = len(relation.input.schema)
            return below(relation.input, column) if column < width else _null(relation.scalars[column - width])
        case Unnest() if column < len(relation.input.schema):
            return below(relation.input, column)
        case Filter() | TopK() | Negate() | Threshold():
            return below(relation.input, column)
        case Union():
            return all(below(each, column) for each in relation.inputs)
        case Constant():
            return all(row[column] is None for row in relation.rows)
        case Reduce() if column < len(relation.keys):
            key = relation.keys[column]
            return below(relation.input, key.index) if isinstance(key, Column) else _null(key)
    return False


def _null(scalar: Scalar) -> bool:
    """A NULL that nobody cast: its column is an INTEGER for want of anything better."""
    return isinstance(scalar, Literal) and scalar.value is None and scalar.type in (NULL, INTEGER)


def _other_collation(given: SqlType, wanted: SqlType) -> bool:
    return bool(wanted.collation) and given.collation != wanted.collation


def _cast(given: Column, target: SqlType) -> Scalar:
    cast: Scalar = given if given.type == target else Call("cast", (given,), target, given.nullable)
    return with_collation(cast, target.collation) if target.collation else cast


def cast_columns(relation: Relation, types: Sequence[SqlType]) -> Relation:
    """The relation with columns of `types`, under its names; the cast must be one that there is."""
    fields = relation.schema
    wrong = [i for i, field in enumerate(fields) if field.type != types[i] or _other_collation(field.type, types[i])]
    if not wrong:
        return relation
    scalars = tuple(
        Literal(None, types[i]) if is_nothing(relation, i) else _cast(column(relation, i), types[i]) for i in wrong
    )
    names = tuple(field.name for field in fields)
    mapped = Map(relation, scalars, tuple(names[i] for i in wrong))
    places = {place: len(fields) + i for i, place in enumerate(wrong)}
    return Project(mapped, tuple(places.get(i, i) for i in range(len(fields))), names)
