"""One deterministic text form of relations and scalars, for EXPLAIN and for golden files.

A node per line, inputs indented below it. Columns read `#3:o_orderdate`: the position, and the name as a help.
Expressions are infix with the fewest parentheses that keep their shape; literals are in SQL's form, not the engine's.
The form carries no addresses or ids and depends on the relation alone. Nothing parses it.
"""

from __future__ import annotations

from catalog.schema import Schema
from sql.ir.relation import (
    UNFRAMED,
    Aggregate,
    AggregateOrder,
    Apply,
    Constant,
    Filter,
    Frame,
    Get,
    Join,
    Map,
    Negate,
    Order,
    Project,
    Reduce,
    Relation,
    Threshold,
    TopK,
    Union,
    Window,
    WindowFunction,
    inputs_of,
)
from sql.ir.scalar import Column, Scalar
from sql.ir.scalar_text import AND, column_text, literal_text, operand_text, scalar_text
from sql.ir.tree_text import TreeText

_SHOWN = 100
"""So many rows of a constant are written out."""

__all__ = ["frame_text", "literal_text", "relation_text", "scalar_text"]


def relation_text(relation: Relation) -> str:
    """The indented form, without a newline at the end; what stands in several places is written once."""
    return TreeText(relation, inputs_of, _lines).text()


def _lines(relation: Relation) -> list[str]:
    lines = [_line(relation)]
    if isinstance(relation, Constant):
        for row in relation.rows[:_SHOWN]:
            values = (literal_text(v, f.type) for v, f in zip(row, relation.schema, strict=True))
            lines.append(f"  ({', '.join(values)})")
        if len(relation.rows) > _SHOWN:
            lines.append(f"  and {len(relation.rows) - _SHOWN:,} rows more")
    return lines


def _line(relation: Relation) -> str:
    match relation:
        case Get():
            return f"Get {relation.name}" if relation.is_table else f"Get view {relation.name}"
        case Constant():
            return " ".join(["Constant", ", ".join(f"{f.name} {f.type}" for f in relation.schema)]).rstrip()
        case Map():
            return f"Map {_computed(relation)}"
        case Filter():
            return f"Filter {_conjunction(relation)}"
        case Project():
            return f"Project {_projected(relation)}".rstrip()
        case Join():
            return f"Join {_equalities(relation)}"
        case Reduce():
            return " ".join(["Reduce", *_grouped(relation)])
        case TopK():
            return " ".join(["TopK", *_limited(relation)])
        case Window():
            return " ".join(["Window", *_windowed(relation)])
        case Apply():
            return f"Apply {relation.binding} {relation.kind} {_applied(relation)}".rstrip()
        case Union() | Negate() | Threshold():
            return type(relation).__name__
    raise AssertionError(f"no text form for {type(relation).__name__}")


def _names(schema: Schema) -> list[str]:
    return [field.name for field in schema]


def _computed(node: Map) -> str:
    names = _names(node.input.schema)
    first = len(names)
    pairs = zip(node.names, node.scalars, strict=True)
    return ", ".join(f"#{first + i}:{name} := {scalar_text(s, names)}" for i, (name, s) in enumerate(pairs))


def _conjunction(node: Filter) -> str:
    names = _names(node.schema)
    if len(node.predicates) == 1:
        return scalar_text(node.predicates[0], names)
    return " AND ".join(operand_text(p, names, AND) for p in node.predicates) or "TRUE"


def _projected(node: Project) -> str:
    before = _names(node.input.schema)
    parts = []
    for column, after in zip(node.columns, _names(node.schema), strict=True):
        renamed = f" AS {after}" if after != before[column] else ""
        parts.append(column_text(column, before) + renamed)
    return ", ".join(parts)


def _equalities(node: Join) -> str:
    if not node.equivalences:
        return "cross"
    names = _names(node.schema)
    return ", ".join(" = ".join(column_text(c, names) for c in group) for group in node.equivalences)


def _grouped(node: Reduce) -> list[str]:
    names = _names(node.input.schema)
    keys = [_named(scalar_text(k, names), k, n, names) for k, n in zip(node.keys, node.names, strict=False)]
    rest = node.names[len(node.keys) :]
    aggregates = [f"{_aggregate(a, names)} AS {n}" for a, n in zip(node.aggregates, rest, strict=True)]
    parts = [f"by {', '.join(keys)}"] if keys else []
    return parts + ([f"compute {', '.join(aggregates)}"] if aggregates else [])


def _named(text: str, scalar: Scalar, name: str, names: list[str]) -> str:
    same = isinstance(scalar, Column) and names[scalar.index] == name
    return text if same else f"{text} AS {name}"


def _aggregate(aggregate: Aggregate, names: list[str]) -> str:
    if aggregate.arg is None:
        return "count(*)"
    distinct = "DISTINCT " if aggregate.distinct else ""
    parts = [scalar_text(scalar, names) for scalar in (aggregate.arg, *aggregate.others, *aggregate.parameters)]
    terms = ", ".join(_order_by(scalar_text(o.scalar, names), o) for o in aggregate.order)
    order = f" ORDER BY {terms}" if terms else ""
    return f"{aggregate.function}({distinct}{', '.join(parts)}{order})"


def _limited(node: TopK) -> list[str]:
    names = _names(node.schema)
    parts = [f"by {', '.join(column_text(c, names) for c in node.group)}"] if node.group else []
    if node.order:
        parts.append(f"order {', '.join(_order(o, names) for o in node.order)}")
    if node.limit is not None:
        parts.append(f"limit {node.limit}{' with ties' if node.ties else ''}")
    return parts + ([f"offset {node.offset}"] if node.offset else [])


def _windowed(node: Window) -> list[str]:
    names = _names(node.input.schema)
    parts = [f"by {', '.join(column_text(c, names) for c in node.partition)}"] if node.partition else []
    if node.order:
        parts.append(f"order {', '.join(_order(o, names) for o in node.order)}")
    computed = ", ".join(f"{_function(f, names)} AS {n}" for f, n in zip(node.functions, node.names, strict=True))
    return [*parts, f"compute {computed}"]


def _function(function: WindowFunction, names: list[str]) -> str:
    args = ", ".join(scalar_text(a, names) for a in function.args)
    nulls = " IGNORE NULLS" if function.ignore_nulls else ""
    framed = "" if function.function in UNFRAMED else f" {frame_text(function.frame)}"
    return f"{function.function}({args}{nulls}){framed}"


def frame_text(frame: Frame) -> str:
    """`ROWS UNBOUNDED PRECEDING..CURRENT`."""
    bounds = (_bound(frame.start, "PRECEDING"), _bound(frame.end, "FOLLOWING"))
    return f"{'RANGE' if frame.peers else 'ROWS'} {bounds[0]}..{bounds[1]}"


def _bound(offset: int | None, unbounded: str) -> str:
    if offset is None:
        return f"UNBOUNDED {unbounded}"
    return "CURRENT" if offset == 0 else f"{abs(offset)} {'PRECEDING' if offset < 0 else 'FOLLOWING'}"


def _applied(node: Apply) -> str:
    names = _names(node.left.schema) + _names(node.right.schema)
    return " AND ".join(operand_text(p, names, AND) for p in node.predicates)


def _order(order: Order, names: list[str]) -> str:
    return _order_by(column_text(order.column, names), order)


def _order_by(text: str, order: Order | AggregateOrder) -> str:
    return text + (" DESC" if order.descending else "") + (" NULLS FIRST" if order.nulls_first else "")
