"""Which columns hold identical values in every row, and which hold one constant."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from ivm.analysis.fact import fact
from ivm.sql.ir.classes import Classes, merged_classes, representatives
from ivm.sql.ir.rebuild import offsets
from ivm.sql.ir.relation import (
    Filter,
    Join,
    LetRec,
    Map,
    Negate,
    Project,
    Reduce,
    Relation,
    Threshold,
    TopK,
    Unnest,
    Window,
)
from ivm.sql.ir.scalar import Call, Column, Literal, Scalar


@dataclass(frozen=True)
class Equivalences:
    """`classes` of columns that hold identical values (NULL counts as identical to NULL), `constants` by column.

    A column of a class has a constant if any of its class has.
    """

    classes: Classes = ()
    constants: Mapping[int, Literal] = field(default_factory=dict)

    def representative(self, column: int) -> int:
        """The first column that is identical to this one: itself, if there is none before it."""
        return representatives(self.classes).get(column, column)


@fact
def equivalences(relation: Relation) -> Equivalences:
    """The columns of `relation` known to be identical or constant; columns that it does not mention may be so too.

    Equality of DOUBLE does not make columns identical (0.0 = -0.0), so it says nothing here.
    """
    match relation:
        case Filter():
            below = equivalences(relation.input)
            facts = [_equality(p) for p in relation.predicates]
            pairs = [f for f in facts if isinstance(f, tuple)]
            constants = dict(c for c in map(_constant, relation.predicates) if c is not None)
            return _combined((*below.classes, *pairs), {**constants, **below.constants})
        case Map():
            return _of_map(relation)
        case Project():
            return _of_columns(equivalences(relation.input), relation.columns)
        case Join():
            return _of_join(relation)
        case Reduce():
            columns = tuple(k.index if isinstance(k, Column) else -1 - i for i, k in enumerate(relation.keys))
            return _of_columns(equivalences(relation.input), columns)
        case Unnest() | TopK() | Window() | Negate() | Threshold():
            return equivalences(relation.input)
        case LetRec():
            return equivalences(relation.last)
    return Equivalences()


def _equality(predicate: Scalar) -> tuple[int, int] | None:
    match predicate:
        case Call("eq", (Column(left), Column(right))) if not predicate.args[0].type.is_float:
            return left, right
    return None


def _constant(predicate: Scalar) -> tuple[int, Literal] | None:
    match predicate:
        case Call("eq", (Column(column), Literal() as value)) | Call("eq", (Literal() as value, Column(column))):
            return (column, value) if not value.type.is_float else None
        case Call("is_null", (Column(column) as null,)):
            return column, Literal(None, null.type)
    return None


def _of_map(relation: Map) -> Equivalences:
    below = equivalences(relation.input)
    first = len(relation.input.schema)
    constants = dict(below.constants)
    pairs: list[tuple[int, int]] = []
    seen: dict[Scalar, int] = {}
    for position, scalar in enumerate(relation.scalars, first):
        if isinstance(scalar, Literal):
            constants[position] = scalar
        elif isinstance(scalar, Column):
            pairs.append((scalar.index, position))
        else:
            pairs.append((seen.setdefault(scalar, position), position))
    return _combined((*below.classes, *pairs), constants)


def _of_columns(below: Equivalences, columns: tuple[int, ...]) -> Equivalences:
    """After keeping `columns`, the i-th of them at position i; a negative one is new."""
    groups: dict[int, list[int]] = {}
    constants: dict[int, Literal] = {}
    chosen = representatives(below.classes)
    for position, column in enumerate(columns):
        groups.setdefault(chosen.get(column, column), []).append(position)
        if column in below.constants:
            constants[position] = below.constants[column]
    return _combined(groups.values(), constants)


def _of_join(join: Join) -> Equivalences:
    groups: list[Iterable[int]] = []
    constants: dict[int, Literal] = {}
    for start, relation in zip(offsets(join.inputs), join.inputs, strict=False):
        own = equivalences(relation)
        groups += [[start + c for c in group] for group in own.classes]
        constants.update({start + c: value for c, value in own.constants.items()})
    groups += [group for group in join.equivalences if not join.schema[group[0]].type.is_float]
    return _combined(groups, constants)


def _combined(groups: Iterable[Iterable[int]], constants: dict[int, Literal]) -> Equivalences:
    classes = merged_classes(groups)
    for group in classes:
        known = next((constants[c] for c in group if c in constants), None)
        if known is not None:
            constants.update(dict.fromkeys(group, known))
    return Equivalences(classes, constants)
