"""Loops within a loop that read its name: what they hold becomes names of the one loop.

Where rows are there or not, and each is made of one row of some name, what all names hold in the end is the least that
is closed under all of them: whether the loops within run to their ends in each round, or a round at a time beside the
loop around, is the same (Bekic's theorem). DuckDB does the former, and we the latter.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from ivm.sql.ir.linear import names_read
from ivm.sql.ir.rebuild import is_loop, nodes, rebuilt
from ivm.sql.ir.relation import Binding, LetRec, RecursiveGet, Relation


def reads_around(relation: Relation) -> bool:
    """Whether a loop within the relation reads a name of a loop around the relation."""
    return any(_around(node) for node in nodes(relation) if isinstance(node, LetRec))


def brought_out(relation: Relation, taken: Collection[str]) -> tuple[Relation, tuple[Binding, ...]]:
    """The relation with names in place of the loops within it that read names around, and what these names are.

    None of them is called as one of those that are `taken`. Cost: once for each node.
    """
    names: dict[tuple[Binding, ...], dict[str, str]] = {}
    used, found = set(taken), list[Binding]()

    def bring(node: Relation) -> Relation:
        if not isinstance(node, LetRec) or not _around(node):
            return node
        if node.bindings not in names:
            own = names[node.bindings] = {binding.name: _unused(binding.name, used) for binding in node.bindings}
            found.extend(
                replace(each, name=own[each.name], relation=_renamed(each.relation, own)) for each in node.bindings
            )
        result = node.bindings[node.result]
        return RecursiveGet(names[node.bindings][result.name], result.schema)

    return rebuilt(relation, bring), tuple(found)


def _around(loop: LetRec) -> bool:
    own = {binding.name for binding in loop.bindings}
    return any(not names_read(binding.relation) <= own for binding in loop.bindings)


def _unused(name: str, used: set[str]) -> str:
    found, number = name, 1
    while found in used:
        number += 1
        found = f"{name} {number}"
    used.add(found)
    return found


def _renamed(relation: Relation, names: dict[str, str]) -> Relation:
    def rename(node: Relation) -> Relation:
        return replace(node, name=names.get(node.name, node.name)) if isinstance(node, RecursiveGet) else node

    return rebuilt(relation, rename, done=is_loop)
