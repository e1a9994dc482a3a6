"""GROUP BY, and expressions over groups."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from sqlglot import exp

from catalog.types import INTEGER, NULL
from sql.bind.aggregates import AGGREGATES
from sql.bind.binder import Aggregates, Binder
from sql.bind.context import Context
from sql.ir.relation import Reduce, Relation
from sql.ir.scalar import Call, Column, Literal, Scalar


def has_aggregate(node: exp.Expr | None) -> bool:
    """Whether an aggregate stands in the expression; a window function over one row set does not count."""
    if node is None:
        return False
    return any(not isinstance(found.parent, exp.Window) for found in node.find_all(*AGGREGATES))


def bind_keys(
    context: Context, binder: Binder, group: exp.Expr | None, items: Sequence[exp.Expr]
) -> tuple[Scalar, ...] | None:
    """The keys of GROUP BY, each once: expressions, aliases, positions or ALL; None if there is no GROUP BY."""
    if group is None:
        return None
    if group.args.get("all"):
        nodes = [item for item in items if not has_aggregate(item)]
    else:
        nodes = [_at_position(context, node, items) for node in group.expressions]
        nodes = [node for node in nodes if not (isinstance(node, exp.Tuple) and not node.expressions)]
    for arg in ("grouping_sets", "rollup", "cube", "totals"):
        if group.args.get(arg):
            context.refuse(group, f"{arg.upper().replace('_', ' ')} is not maintained yet; write one GROUP BY each")
    keys = [storable(binder.value(node.unalias()).scalar) for node in nodes]
    return tuple(dict.fromkeys(keys))


def storable(scalar: Scalar) -> Scalar:
    """The scalar as a column: one of nothing but NULL is an INTEGER, as DuckDB stores it."""
    return Literal(None, INTEGER) if scalar.type == NULL else scalar


def _at_position(context: Context, node: exp.Expr, items: Sequence[exp.Expr]) -> exp.Expr:
    if isinstance(node, exp.Rollup | exp.Cube | exp.GroupingSets):
        context.refuse(node, "ROLLUP, CUBE and GROUPING SETS are not maintained yet; write one GROUP BY each")
    if not isinstance(node, exp.Literal) or node.is_string:
        return node
    if not node.is_int or not 1 <= int(node.name) <= len(items):
        context.fail(node, f"GROUP BY {node.name} is no position in the SELECT list; it has 1 to {len(items)}")
    return items[int(node.name) - 1]


def reduce(relation: Relation, keys: Sequence[Scalar], aggregates: Aggregates) -> Reduce:
    """The reduce of a block; keys that are columns keep their name."""
    fields = relation.schema
    names = [fields[key.index].name if isinstance(key, Column) else f"key{i}" for i, key in enumerate(keys)]
    return Reduce(relation, tuple(keys), tuple(aggregates.found), (*names, *aggregates.names))


def over_groups(context: Context, scalars: Iterable[Scalar], keys: Sequence[Scalar], binder: Binder) -> list[Scalar]:
    """The expressions over the rows of the reduce: keys and aggregates are its columns.

    BindError for a column that is neither, since a group may hold many values of it.
    """
    assert binder.aggregates is not None, "the block is grouped"
    width = binder.aggregates.width
    positions = {key: i for i, key in enumerate(keys)}

    def rewrite(scalar: Scalar) -> Scalar:
        if scalar in positions:
            return Column(positions[scalar], scalar.type, scalar.nullable)
        if isinstance(scalar, Column):
            if scalar.index >= width:
                return replace(scalar, index=scalar.index - width + len(keys))
            _ungrouped(context, binder, scalar)
        if isinstance(scalar, Call):
            return replace(scalar, args=tuple(rewrite(arg) for arg in scalar.args))
        return scalar

    return [rewrite(scalar) for scalar in scalars]


def _ungrouped(context: Context, binder: Binder, column: Column) -> None:
    node = binder.mentions.get(column.index)
    name = node.name if node else "a column"
    what = f"column {name!r} is neither in GROUP BY nor inside an aggregate"
    context.fail(node, f"{what}; add it to GROUP BY, or take min({name}) or max({name})")
