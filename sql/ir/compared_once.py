"""Nodes that remember what was found out about them, their hash, and what they were compared with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar, cast, dataclass_transform
from weakref import ref


class Remembering:
    """An immutable value that remembers what was computed of it, for as long as it lives; its fields see none of it."""

    @cached_property
    def found(self) -> dict[str, Any]:
        """What was found out, by a name for the question."""
        return {}


Value = TypeVar("Value")


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def compared_once(node: type[Value]) -> type[Value]:
    """A frozen dataclass whose instances are compared by their fields once, and then known to be equal, or not to be.

    Nodes share what is below them, so there may be exponentially many ways down to a node; and what is above a change
    is compared at every level, with the change at the bottom of all of them. Cost: as far as nodes have not been
    compared with each other before. Of those that were unequal each remembers the last. A hash is computed once, and
    those above make theirs from it.
    """
    node = dataclass(frozen=True)(node)
    compare = cast(Callable[[Value, object], bool], node.__eq__)
    compute = cast(Callable[[Value], int], node.__hash__)

    def equal(self: Value, other: object) -> bool:
        if self is other:
            return True
        if other.__class__ is not self.__class__:
            return NotImplemented
        mine, others = self.__dict__, other.__dict__
        alike = mine.get("_alike")
        if alike is not None and alike is others.get("_alike"):
            return True
        unlike = mine.get("_unlike")
        if unlike is not None and unlike() is other:
            return False
        if "_hash" in mine and "_hash" in others and mine["_hash"] != others["_hash"]:
            return False
        if compare(self, other):
            others["_alike"] = mine.setdefault("_alike", object())
            return True
        mine["_unlike"] = ref(other)
        return False

    def hashed(self: Value) -> int:
        known = self.__dict__.get("_hash")
        if known is None:
            known = self.__dict__["_hash"] = compute(self)
        return int(known)

    node.__eq__ = equal  # type: ignore[method-assign, assignment]
    node.__hash__ = hashed  # type: ignore[method-assign, assignment]
    return node
