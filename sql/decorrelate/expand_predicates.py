"""The predicates of a join, told apart by the sides that they read."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from sql.ir.conditions import coalesced, comparison, conjuncts, is_null
from sql.ir.functions import Nulls, Raises, function_of
from sql.ir.scalar import Call, Column, Literal, Scalar, columns_of, remap, some_value, walk


@dataclass(frozen=True)
class Pair:
    """`left` over the left row equals `right` over the right row; NULL equals NULL only if `null_safe`."""

    left: Scalar
    right: Scalar
    null_safe: bool = False

    def flipped(self) -> Pair:
        """The same with the sides exchanged."""
        return Pair(self.right, self.left, self.null_safe)


@dataclass(frozen=True)
class Split:
    """Predicates of a join: `pairs` of equal expressions, those of one side over its row, the `rest` over both."""

    pairs: tuple[Pair, ...] = ()
    left_only: tuple[Scalar, ...] = ()
    right_only: tuple[Scalar, ...] = ()
    rest: tuple[Scalar, ...] = ()

    def flipped(self, left_width: int, right_width: int) -> Split:
        """The same join seen from the other side, whose row is (right, left)."""

        def moved(column: int) -> int:
            return column + right_width if column < left_width else column - left_width

        rest = tuple(remap(p, moved) for p in self.rest)
        return Split(tuple(pair.flipped() for pair in self.pairs), self.right_only, self.left_only, rest)


def split(predicates: Iterable[Scalar], width: int) -> Split:
    """The conjuncts of `predicates`, in which columns from position `width` on are the right side's.

    One that reads no column counts as the left side's.
    """
    pairs: list[Pair] = []
    left: list[Scalar] = []
    right: list[Scalar] = []
    rest: list[Scalar] = []
    for predicate in conjuncts(predicates):
        sides = _sides(predicate, width)
        pair = _pair(predicate, width)
        if pair is not None:
            pairs.append(pair)
        elif sides == {True, False}:
            rest.append(predicate)
        elif sides == {True}:
            right.append(remap(predicate, lambda i: i - width))
        else:
            left.append(predicate)
    return Split(tuple(dict.fromkeys(pairs)), tuple(left), tuple(right), tuple(rest))


def rejects_null(predicate: Scalar, column: int) -> bool:
    """Whether the predicate is never TRUE on a row in which `column` is NULL; False if in doubt."""
    match predicate:
        case Call("and"):
            return any(rejects_null(arg, column) for arg in predicate.args)
        case Call("or"):
            return all(rejects_null(arg, column) for arg in predicate.args)
        case Call("not", (Call("is_null", (arg,)),)):
            return null_with(arg, column)
        case Call("is_distinct", (left, Literal(None))) | Call("is_distinct", (Literal(None), left)):
            return null_with(left, column)
        case Call("not", (Call("is_distinct", (left, right)),)):
            return (null_with(left, column) and not right.nullable) or (null_with(right, column) and not left.nullable)
    return null_with(predicate, column)


def null_with(scalar: Scalar, column: int) -> bool:
    """Whether the expression is NULL on every row in which `column` is NULL; False if in doubt."""
    if isinstance(scalar, Column):
        return scalar.index == column
    if not isinstance(scalar, Call):
        return isinstance(scalar, Literal) and scalar.value is None
    match function_of(scalar.function).nulls:
        case Nulls.ANY:
            return any(null_with(arg, column) for arg in scalar.args)
        case Nulls.ALL | Nulls.LOGIC:
            return all(null_with(arg, column) for arg in scalar.args)
        case Nulls.FIRST:
            return null_with(scalar.args[0], column)
    return False


def equalities(predicate: Scalar) -> tuple[Scalar, ...]:
    """The predicate itself; a NULL-safe equality as equalities that together are TRUE on the same rows."""
    match predicate:
        case Call("not", (Call("is_distinct", (one, other)),)):
            keys = [(one, other)]
            if one.nullable and other.nullable:
                keys = list(zip(null_safe_key(one), null_safe_key(other), strict=True))
            return tuple(comparison("eq", *pair) for pair in keys)
    return (predicate,)


def is_harmless(scalar: Scalar) -> bool:
    """Whether evaluating the expression cannot raise; False if in doubt."""
    return all(function_of(s.function).raises is Raises.NEVER for s in walk(scalar) if isinstance(s, Call))


def null_safe_key(scalar: Scalar) -> tuple[Scalar, Scalar]:
    """Two expressions, never NULL, that are equal on two rows where `scalar` is not distinct on them."""
    stand_in = Literal(some_value(scalar.type), scalar.type)
    return coalesced(scalar, stand_in), is_null(scalar)


def _sides(scalar: Scalar, width: int) -> set[bool]:
    """False for the left side, True for the right."""
    return {column >= width for column in columns_of(scalar)}


def equated(predicate: Scalar) -> tuple[Scalar, Scalar, bool] | None:
    """What an equality equates, and whether NULL equals NULL in it; None if the predicate is none."""
    match predicate:
        case Call("eq", (one, other)):
            return one, other, False
        case Call("not", (Call("is_distinct", (one, other)),)):
            return one, other, one.nullable and other.nullable
    return None


def _pair(predicate: Scalar, width: int) -> Pair | None:
    equality = equated(predicate)
    if equality is None:
        return None
    one, other, null_safe = equality
    sides = (_sides(one, width), _sides(other, width))
    if sides == ({True}, {False}):
        one, other = other, one
    elif sides != ({False}, {True}):
        return None
    return Pair(one, remap(other, lambda i: i - width), null_safe)
