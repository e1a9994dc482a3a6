"""Calls in a chain, x.f(y).g(), which are g(f(x, y))."""

from __future__ import annotations

from collections.abc import Callable
from itertools import takewhile

from sqlglot import exp


class Chained(exp.Expression):
    """A call behind a dot, while what is before the dot is not known yet."""

    arg_types = {"this": True}  # noqa: RUF012  sqlglot's


CHAINED = "chained"
"""Of a call behind a column and a dot, for DuckDB calls it so."""

Call = Callable[[exp.Anonymous, list[exp.Expr]], exp.Expr]
"""The call of a function, known by its name, with other arguments."""


def unchained(tree: exp.Expr, call: Call) -> exp.Expr:
    """The tree with what is before the dots as the first arguments of the calls behind them.

    Calls stand where sqlglot expects names: as parts of a column, or behind a Dot. Cost: a walk.
    """
    for node in [each.parent for each in tree.find_all(Chained)]:
        if node is not None and not isinstance(node, Chained):
            found = _unchained(node, call)
            if node is tree:
                tree = found
            elif found is not node:
                node.replace(found)
    return tree


def _unchained(node: exp.Expr, call: Call) -> exp.Expr:
    if isinstance(node, exp.Column):
        parts = list(node.parts)
        names = [parts.pop(0) for _ in takewhile(lambda part: not isinstance(part, Chained), node.parts)]
        places = zip(("this", "table", "db", "catalog"), reversed(names), strict=False)
        found: exp.Expr = exp.Column(**dict(places))
    else:
        found, parts = node.this, [node.expression]
    for part in parts:
        found = _called(found, part.this, call) if isinstance(part, Chained) else exp.Dot(this=found, expression=part)
    return found


def _called(first: exp.Expr, node: exp.Anonymous, call: Call) -> exp.Expr:
    found = call(node, [first, *node.expressions])
    found.meta.update(node.meta)
    if isinstance(first, exp.Column):
        found.meta[CHAINED] = True
    return found
