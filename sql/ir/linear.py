"""How a relation depends on a name of a loop."""

from __future__ import annotations

from enum import IntEnum

from sql.ir.rebuild import recursive_gets
from sql.ir.relation import (
    Apply,
    Filter,
    Join,
    Map,
    Negate,
    Project,
    RecursiveGet,
    Reduce,
    Relation,
    Threshold,
    TopK,
    Union,
    Window,
)


class Degree(IntEnum):
    """The relation F(R) as a function of what the name holds.

    LINEAR: F(A + B) = F(A) + F(B). AFFINE: F(R) = C + G(R), where G is linear and C does not depend on R.
    """

    NONE = 0
    LINEAR = 1
    AFFINE = 2
    MORE = 3


def degree(relation: Relation, name: str, *, sets: bool) -> Degree:
    """How a relation with or without Apply depends on `name`; MORE if in doubt. Cost: each way down to the name.

    With `sets` it does not matter how often a row is there, only whether it is.
    """

    def of(node: Relation) -> Degree:
        return degree(node, name, sets=sets)

    if name not in names_read(relation):
        return Degree.NONE
    match relation:
        case RecursiveGet():
            return Degree.LINEAR
        case Map() | Filter() | Project():
            return of(relation.input)
        case Reduce() if sets and relation.keys and not relation.aggregates:
            return of(relation.input)
        case Join():
            return _alone([of(each) for each in relation.inputs])
        case Union():
            found = [of(each) for each in relation.inputs]
            return max(found) if Degree.NONE not in found else max(Degree.AFFINE, *found)
        case Apply("inner"):
            return _alone([of(relation.left), of(relation.right)])
        case Apply("semi" | "anti" | "mark" | "left" | "single") if of(relation.right) is Degree.NONE:
            return of(relation.left)
    return Degree.MORE


def _alone(inputs: list[Degree]) -> Degree:
    """The degree of a product."""
    found = [each for each in inputs if each is not Degree.NONE]
    return found[0] if len(found) == 1 else Degree.MORE


def names_read(relation: Relation) -> frozenset[str]:
    """The names of the loop around that a relation reads."""
    return frozenset(get.name for get in recursive_gets(relation))


def needs(relation: Relation, name: str) -> bool:
    """Whether there are no rows where `name` holds none; False if in doubt."""

    def of(node: Relation) -> bool:
        return needs(node, name)

    match relation:
        case RecursiveGet():
            return relation.name == name
        case Map() | Filter() | Project() | Negate() | Threshold() | TopK() | Window():
            return of(relation.input)
        case Reduce():
            return bool(relation.keys) and of(relation.input)
        case Join():
            return any(map(of, relation.inputs))
        case Union():
            return all(map(of, relation.inputs))
        case Apply("full"):
            return of(relation.left) and of(relation.right)
        case Apply("inner" | "semi"):
            return of(relation.left) or of(relation.right)
        case Apply():
            return of(relation.left)
    return False
