"""Facts are remembered on the node that they are about."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TypeVar, cast

from sql.ir.relation import Relation

Fact = TypeVar("Fact")
_ITSELF = object()
"""Remembered in place of the node itself, which would never be freed if it held itself."""


def fact(function: Callable[[Relation], Fact]) -> Callable[[Relation], Fact]:
    """Compute `function` once for each node.

    Nodes are immutable, so a fact never goes stale and lives as long as its node; equality and hashes of nodes
    see only their fields. An equal node built elsewhere computes the fact anew, which is cheaper than a deep hash.
    """
    name = f"_{function.__module__}.{function.__name__}"

    @wraps(function)
    def remembered(relation: Relation) -> Fact:
        known = relation.__dict__
        found = known.get(name, known)
        if found is known:
            value = function(relation)
            known[name] = _ITSELF if value is relation else value
            return value
        return cast(Fact, relation if found is _ITSELF else found)

    return remembered
