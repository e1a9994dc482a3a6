"""Predicates in the form that the other rules look for: a list of conjuncts, IN lists, common factors taken out."""

from __future__ import annotations

from dataclasses import replace

from ivm.analysis.ranges import can_raise
from ivm.catalog.types import BOOLEAN
from ivm.sql.ir.conditions import conjuncts, is_null, junction, members_of, negation
from ivm.sql.ir.functions import MIRRORED, NEGATED
from ivm.sql.ir.relation import Filter, Relation
from ivm.sql.ir.scalar import FALSE, TRUE, Call, Column, Literal, Scalar, rewrite
from ivm.transform.rewrite import at_each


@at_each(Filter)
def simplify_predicates(relation: Filter) -> Relation:
    """Simplify the predicates of every filter (see `simplified`) and split them into conjuncts.

    A filter keeps a row only where a predicate is TRUE, so at its top level NULL is as good as FALSE.
    """
    kept = conjuncts(map(simplified, relation.predicates))
    tested = tuple(p for p in dict.fromkeys(map(_tested, kept)) if p != TRUE)
    return relation if tested == relation.predicates else replace(relation, predicates=tested)


def simplified(predicate: Scalar) -> Scalar:
    """An expression with the same value, NULLs included.

    NOT moves down to comparisons; nested AND and OR are flattened; equalities of one expression with constants, joined
    by OR, become an IN list; conjuncts common to all members of an OR are taken out: `a AND b OR a AND c` becomes
    `a AND (b OR c)`.
    """
    return rewrite(predicate, _simplify)


def _tested(predicate: Scalar) -> Scalar:
    """What a filter may test instead of the predicate."""
    match predicate:
        case Literal():
            return TRUE if predicate.value is True else FALSE
        case Call("eq", (left, right)) if left == right and not can_raise(left):
            return negation(is_null(left)) if left.nullable else TRUE
    return predicate


def _simplify(scalar: Scalar) -> Scalar:
    match scalar:
        case Call("not", (inner,)):
            return _negated(inner) or scalar
        case Call("and", args):
            return junction("and", args)
        case Call("or", args):
            return _factored(_listed(members_of("or", args)))
        case Call("in", (subject, Literal() as only)):
            return replace(scalar, function="eq", args=(subject, only))
        case Call(function, (Literal() as left, right)) if function in MIRRORED and not isinstance(right, Literal):
            return replace(scalar, function=MIRRORED[function], args=(right, left))
    return scalar


def _negated(scalar: Scalar) -> Scalar | None:
    """NOT of the expression without a NOT at its top, where there is such a form."""
    match scalar:
        case Call("not", (inner,)):
            return inner
        case Call("and" | "or" as function, args):
            return junction("or" if function == "and" else "and", map(_not, members_of(function, args)))
        case Call(function) if function in NEGATED:
            return replace(scalar, function=NEGATED[function])
    return None


def _not(scalar: Scalar) -> Scalar:
    return _negated(scalar) or Call("not", (scalar,), BOOLEAN, scalar.nullable)


def _listed(members: tuple[Scalar, ...]) -> tuple[Scalar, ...]:
    """Equalities of one expression with constants, wherever they stand, as one IN list in the place of the first."""
    lists: dict[tuple[Scalar, bool], dict[Scalar, None]] = {}
    for member in members:
        subject, constants = _choice(member) or (member, ())
        lists.setdefault((subject, bool(constants)), {}).update(dict.fromkeys(constants))
    return tuple(_membership(subject, tuple(values)) if values else subject for (subject, _), values in lists.items())


def _choice(scalar: Scalar) -> tuple[Scalar, tuple[Scalar, ...]] | None:
    """The subject and the constants of `x = c` and `x IN (c, ..)`; not for what can raise, which runs once for each."""
    match scalar:
        case Call("eq" | "in", (Column() | Call() as subject, *values)):
            constants = all(isinstance(v, Literal) and v.value is not None for v in values)
            if constants and not subject.type.is_float and not can_raise(subject):
                return subject, tuple(values)
    return None


def _membership(subject: Scalar, values: tuple[Scalar, ...]) -> Scalar:
    return Call("eq" if len(values) == 1 else "in", (subject, *values), BOOLEAN, subject.nullable)


def _factored(members: tuple[Scalar, ...]) -> Scalar:
    """The OR of `members` with their common conjuncts outside. A member that is nothing but those absorbs the rest."""
    parts = [conjuncts((member,)) for member in members]
    common = tuple(c for c in parts[0] if all(c in part for part in parts[1:]))
    if not common or len(members) == 1:
        return junction("or", members)
    rests = [tuple(c for c in part if c not in common) for part in parts]
    if not all(rests):
        return junction("and", common)
    rest = _listed(members_of("or", (junction("and", each) for each in rests)))
    return junction("and", (*common, junction("or", rest)))
