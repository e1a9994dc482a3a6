"""How a relation depends on a name of a loop."""

from __future__ import annotations

from collections.abc import Callable, Collection
from enum import IntEnum

from ivm.sql.ir.rebuild import recursive_gets
from ivm.sql.ir.relation import (
    Apply,
    Asof,
    Filter,
    Join,
    LetRec,
    Map,
    Negate,
    Project,
    RecursiveGet,
    Reduce,
    Relation,
    Threshold,
    TopK,
    Union,
    Unnest,
    Window,
    inputs_of,
)


class Degree(IntEnum):
    """A relation F(R) as a function of the rows R of a name, or of several names, side by side.

    NONE: it does not depend on them. LINEAR: F(A + B) = F(A) + F(B). AFFINE: F(R) = C + G(R), where G is linear and C
    does not depend on R. MORE: anything else.
    """

    NONE = 0
    LINEAR = 1
    AFFINE = 2
    MORE = 3


def degree(relation: Relation, names: Collection[str], *, sets: bool) -> Degree:
    """How a relation, with or without Apply, depends on what `names` hold together; MORE if in doubt.

    Cost: once for each node. With `sets` it does not matter how often a row is there, only whether it is.
    """
    known: dict[int, Degree] = {}

    def of(node: Relation) -> Degree:
        if id(node) not in known:
            known[id(node)] = _degree(node, names, sets, of)
        return known[id(node)]

    return of(relation)


def _degree(relation: Relation, names: Collection[str], sets: bool, of: Callable[[Relation], Degree]) -> Degree:
    match relation:
        case RecursiveGet():
            return Degree.LINEAR if relation.name in names else Degree.NONE
        case LetRec():
            return Degree.NONE  # a loop within a loop reads none of its names
    found = [of(each) for each in inputs_of(relation)]
    read = [each for each in found if each is not Degree.NONE]
    if not read:
        return Degree.NONE
    match relation:
        case Map() | Filter() | Project() | Unnest():
            return found[0]
        case Reduce() if sets and relation.keys and not relation.aggregates:
            return found[0]
        case Join() | Apply("inner"):
            return read[0] if len(read) == 1 else Degree.MORE
        case Union():
            return max(read) if len(read) == len(found) else max(Degree.AFFINE, *read)
        case Apply("semi" | "anti" | "mark" | "left" | "single") if found[1] is Degree.NONE:
            return found[0]
    return Degree.MORE


def names_read(relation: Relation) -> frozenset[str]:
    """The names of the loop around that a relation reads."""
    return frozenset(get.name for get in recursive_gets(relation))


def needs(relation: Relation, name: str) -> bool:
    """Whether a relation without Apply has no rows where `name` has none; False if in doubt. Cost: one look at each
    node.
    """
    known: dict[int, bool] = {}

    def of(node: Relation) -> bool:
        if id(node) not in known:
            known[id(node)] = _needs(node, name, of)
        return known[id(node)]

    return of(relation)


def _needs(relation: Relation, name: str, of: Callable[[Relation], bool]) -> bool:
    match relation:
        case RecursiveGet():
            return relation.name == name
        case Map() | Filter() | Project() | Unnest() | Negate() | Threshold() | TopK() | Window():
            return of(relation.input)
        case Reduce():
            return bool(relation.keys) and of(relation.input)
        case Join():
            return any(map(of, relation.inputs))
        case Asof():
            return of(relation.left) or (not relation.outer and of(relation.right))
        case Union():
            return all(map(of, relation.inputs))
    return False
