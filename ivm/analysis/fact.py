"""Facts are remembered on the relation that they are about."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TypeVar, cast

from sql.ir.compared_once import Remembering

Remembers = TypeVar("Remembers", bound=Remembering)
Part = TypeVar("Part")
Fact = TypeVar("Fact")
_MOST_REMEMBERED = 1 << 14
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


def scalar_fact(function: Callable[[Part], Fact]) -> Callable[[Part], Fact]:
    """As `fact`, for expressions, which have no room for it: the answers of late are kept beside them by identity.

    So what asks a fact of every part of an expression takes time in proportion to its size, not to the square of it.
    """
    known: dict[int, tuple[Part, Fact]] = {}

    @wraps(function)
    def remembered(node: Part) -> Fact:
        found = known.get(id(node))
        if found is None:
            value = function(node)
            if len(known) >= _MOST_REMEMBERED:
                known.clear()
            known[id(node)] = found = node, value  # the node too, so that no other takes its id
        return found[1]

    return remembered
