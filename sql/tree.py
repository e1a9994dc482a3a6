"""Syntax trees as lists of their nodes."""

from __future__ import annotations

from sqlglot import exp


def nodes_of(tree: exp.Expr) -> list[exp.Expr]:
    """Every node, level by level, as `tree.walk()` has them. Cost: a small part of that, in a tree of any size."""
    found = [tree]
    add = found.append
    for node in found:  # which grows meanwhile
        for value in node.args.values():
            if isinstance(value, list):
                for each in value:
                    if isinstance(each, exp.Expr):
                        add(each)
            elif isinstance(value, exp.Expr):
                add(value)
    return found
