"""Facts are remembered on the node that they are about."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TypeVar, cast

from sql.ir.relation import Relation

Fact = TypeVar("Fact")


def fact(function: Callable[[Relation], Fact]) -> Callable[[Relation], Fact]:
    """Compute `function` once for each node.

    Nodes are immutable, so a fact never goes stale and lives as long as its node; equality and hashes of nodes
    see only their fields. An equal node built elsewhere computes the fact anew, which is cheaper than a deep hash.
    """
    name = f"_{function.__module__}.{function.__name__}"

    @wraps(function)
    def remembered(relation: Relation) -> Fact:
        known = relation.__dict__
        if name not in known:
            known[name] = function(relation)
        return cast(Fact, known[name])

    return remembered
