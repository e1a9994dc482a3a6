"""Facts are remembered on the relation that they are about."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TypeVar, cast
from weakref import ref

from ivm.sql.ir.compared_once import Remembering
from ivm.sql.ir.scalar import Call, Scalar

Remembers = TypeVar("Remembers", bound=Remembering)
Fact = TypeVar("Fact")
_ITSELF = object()
"""Remembered in place of the node itself, which would never be freed if it held itself."""


def fact(function: Callable[[Remembers], Fact]) -> Callable[[Remembers], Fact]:
    """Compute `function` once for each node.

    Nodes are immutable, so a fact never goes stale and lives as long as its node; equality and hashes of nodes
    see only their fields. An equal node built elsewhere computes the fact anew, which is cheaper than a deep hash.
    """
    name = f"_{function.__module__}.{function.__name__}"

    @wraps(function)
    def remembered(node: Remembers) -> Fact:
        return recalled(node, name, function)

    return remembered


def recalled(node: Remembers, name: str, function: Callable[[Remembers], Fact]) -> Fact:
    """What `node` remembers by `name`; computed by `function`, if it has not been."""
    known = node.found
    found = known.get(name, known)
    if found is known:
        value = function(node)
        known[name] = _ITSELF if value is node else value
        return value
    return cast(Fact, node if found is _ITSELF else found)


def scalar_fact(function: Callable[[Scalar], Fact]) -> Callable[[Scalar], Fact]:
    """As `fact`, for expressions, which have no room for it: the answers are kept beside them by identity.

    So what asks a fact of every part of an expression takes time in proportion to its size, not to the square of it.
    """
    known: dict[int, tuple[ref[Call], Fact]] = {}

    @wraps(function)
    def remembered(node: Scalar) -> Fact:
        number = id(node)
        found = known.get(number)
        if found is not None:
            return found[1]
        value = function(node)
        if isinstance(node, Call):  # of a column or a literal it is known as soon as it is asked
            known[number] = ref(node, lambda _: known.pop(number, None)), value  # before another takes its place
        return value

    return remembered
