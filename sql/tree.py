"""Syntax trees as lists of their nodes, and rows as lists of their values."""

from __future__ import annotations

from sqlglot import exp


def values_of(node: exp.Expr) -> list[exp.Expr]:
    """The values of a row in parentheses; of anything else itself, without its parentheses."""
    return list(node.expressions) if isinstance(node, exp.Tuple) else [node.unnest()]


ENDINGS = ("order", "limit", "offset")


def clauses_around(node: exp.Expr) -> dict[str, exp.Expr]:
    """WITH, ORDER BY, LIMIT and OFFSET of a query as a whole, as far as it has them."""
    return {arg: node.args[arg] for arg in ("with_", *ENDINGS) if node.args.get(arg)}


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
