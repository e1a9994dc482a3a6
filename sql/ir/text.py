"""One deterministic text form of relations and scalars, for EXPLAIN and for golden files.

A node per line, inputs indented below it. Columns read `#3:o_orderdate`: the position, and the name as a help.
Expressions are infix with the fewest parentheses that keep their shape; literals are in SQL's form, not the engine's.
The form carries no addresses or ids and depends on the relation alone. Nothing parses it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ivm.catalog.calendar import date_text, time_text, timestamp_text
from ivm.catalog.intervals import interval_text
from ivm.catalog.names import as_literal
from ivm.catalog.schema import Schema
from ivm.catalog.types import Kind, SqlType
from ivm.sql.ir.aggregate import Aggregate
from ivm.sql.ir.aggregates import AggregateOrder
from ivm.sql.ir.asking import with_arguments
from ivm.sql.ir.blobs import ANY_BYTES, blob_text
from ivm.sql.ir.functions import function_of
from ivm.sql.ir.relation import (
    Apply,
    Asof,
    Constant,
    Filter,
    Get,
    Join,
    LetRec,
    Map,
    Negate,
    Order,
    Project,
    RecursiveGet,
    Reduce,
    Relation,
    Threshold,
    TopK,
    Union,
    Unnest,
    Window,
    inputs_of,
)
from ivm.sql.ir.scalar import Call, Column, Literal, Outer, Scalar, Value
from ivm.sql.ir.tree_text import TreeText
from ivm.sql.ir.window_function import UNFRAMED, Frame, WindowFunction

_SHOWN = 100
"""So many rows of a constant are written out."""


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
    if isinstance(relation, LetRec):
        for binding in relation.bindings:
            lines.append(f"  {binding.name} = {', '.join(f'{f.name} {f.type}' for f in binding.schema)}".rstrip())
    return lines


def _line(relation: Relation) -> str:
    match relation:
        case Get():
            return f"Get {relation.name}" if relation.is_table else f"Get view {relation.name}"
        case RecursiveGet():
            return f"Get recursive {relation.name}"
        case LetRec():
            return " ".join(["LetRec", relation.bindings[relation.result].name, *_limit_of(relation)])
        case Constant():
            return " ".join(["Constant", ", ".join(f"{f.name} {f.type}" for f in relation.schema)]).rstrip()
        case Map():
            return f"Map {_computed(relation)}"
        case Unnest():
            return " ".join(["Unnest", *_unnested(relation)])
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
        case Asof():
            return " ".join(["Asof", *_nearest(relation)])
        case Apply():
            return f"Apply {relation.binding} {relation.kind} {_applied(relation)}".rstrip()
        case Union() | Negate() | Threshold():
            return type(relation).__name__
    raise AssertionError(f"no text form for {type(relation).__name__}")


def _limit_of(node: LetRec) -> list[str]:
    if node.limit is None:
        return []
    return [f"of {node.limit} rounds at most", *(["else fails"] if node.fails_at_limit else [])]


def _names(schema: Schema) -> list[str]:
    return [field.name for field in schema]


def _computed(node: Map) -> str:
    names = _names(node.input.schema)
    first = len(names)
    pairs = zip(node.names, node.scalars, strict=True)
    return ", ".join(f"#{first + i}:{name} := {scalar_text(s, names)}" for i, (name, s) in enumerate(pairs))


def _unnested(node: Unnest) -> list[str]:
    names = _names(node.input.schema)
    added = [f"#{len(names) + i}:{field.name}" for i, field in enumerate(node.added)]
    pairs = zip(added, node.lists, strict=False)
    parts = [", ".join(f"{name} of {scalar_text(each, names)}" for name, each in pairs)]
    return parts + ([f"numbered {added[-1]}"] if node.numbered else []) + (["optional"] if node.optional else [])


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


def _nearest(node: Asof) -> list[str]:
    names, width = _names(node.schema), len(node.left.schema)
    pairs = [(left, width + right) for left, right in node.keys]
    keys = ", ".join(" = ".join(column_text(c, names) for c in pair) for pair in pairs)
    time, nearest = column_text(node.times[0], names), column_text(width + node.times[1], names)
    compared = f"{time} {function_of(node.function).symbol} {nearest}"
    return [*(["outer"] if node.outer else []), *([f"by {keys}"] if keys else []), f"nearest {compared}"]


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
    start, end = (None if b is None else scalar_text(b, names) for b in function.bounds)
    framed = "" if function.function in UNFRAMED else f" {frame_text(function.frame, (start, end))}"
    return f"{function.function}({args}{nulls}){framed}"


def frame_text(frame: Frame, values: tuple[str | None, str | None] = (None, None)) -> str:
    """`ROWS UNBOUNDED PRECEDING..CURRENT`, with the `values` up to which a frame by RANGE goes."""
    groups = values == (None, None) and (frame.start or frame.end)
    unit = "ROWS" if not frame.peers else "GROUPS" if groups else "RANGE"
    bounds = (_bound(frame.start, "PRECEDING", values[0]), _bound(frame.end, "FOLLOWING", values[1]))
    exclude = f" EXCLUDE {frame.exclude.upper()}" if frame.exclude else ""
    return f"{unit} {bounds[0]}..{bounds[1]}{exclude}"


def _bound(offset: int | None, unbounded: str, value: str | None) -> str:
    if offset is None:
        return f"UNBOUNDED {unbounded}"
    if value is not None:
        return value
    return "CURRENT" if offset == 0 else f"{abs(offset)} {'PRECEDING' if offset < 0 else 'FOLLOWING'}"


def _applied(node: Apply) -> str:
    names = _names(node.left.schema) + _names(node.right.schema)
    return " AND ".join(operand_text(p, names, AND) for p in node.predicates)


def _order(order: Order, names: list[str]) -> str:
    return _order_by(column_text(order.column, names), order)


def _order_by(text: str, order: Order | AggregateOrder) -> str:
    return text + (" DESC" if order.descending else "") + (" NULLS FIRST" if order.nulls_first else "")


_BINDING = {
    "OR": 1, "AND": 2, "=": 4, "<>": 4, "<": 4, "<=": 4, ">": 4, ">=": 4, "IS DISTINCT FROM": 4, "+": 5, "-": 5, "*": 6,
    "/": 6, "//": 6, "%": 6,
}  # fmt: skip
"""How tightly an operator binds."""
_NOT = 3
_TEST = 4
_SIGN = 7
_ATOM = 8
AND = _BINDING["AND"]
"""How tightly AND binds."""


def scalar_text(scalar: Scalar, names: Sequence[str] = ()) -> str:
    """The expression in one line; `names[i]` is shown beside column i, if it has an entry there."""
    return _text(scalar, names)[0]


def literal_text(value: Value, type_: SqlType) -> str:
    """The constant as SQL writes it; DOUBLE always with an exponent, so that it cannot be taken for DECIMAL."""
    if value is None:
        return "NULL"
    if type_.is_moment and type_.kind is not Kind.DATE:
        return f"{type_.kind.name} '{timestamp_text(int(value), type_.per_day)}'"
    match type_.kind:
        case Kind.BOOLEAN:
            return "TRUE" if value else "FALSE"
        case Kind.VARCHAR:
            return as_literal(str(value))
        case Kind.JSON:
            return f"JSON {as_literal(str(value))}"
        case Kind.UUID:
            return f"UUID {as_literal(str(value))}"
        case Kind.ENUM:
            return f"{as_literal(type_.labels[int(value)])}::{type_}"
        case Kind.BLOB:
            return f"{as_literal(blob_text(str(value).encode(errors=ANY_BYTES)))}::BLOB"
        case Kind.DECIMAL:
            return _decimal(int(value), type_.scale)
        case Kind.DATE:
            return f"DATE '{date_text(int(value))}'"
        case Kind.TIME:
            return f"TIME '{time_text(int(value))}'"
        case Kind.INTERVAL:
            return f"INTERVAL '{interval_text(int(value))}'"
        case Kind.FLOAT | Kind.DOUBLE:
            text = repr(float(value))
            return text if text[-1] in "fn" or "e" in text else text + "e0"
    return str(value)


def column_text(index: int, names: Sequence[str]) -> str:
    """The column by its position, and by its name if it has one in `names`."""
    return f"#{index}:{names[index]}" if index < len(names) else f"#{index}"


def _text(scalar: Scalar, names: Sequence[str]) -> tuple[str, int]:
    """The text and how tightly its outermost operator binds."""
    match scalar:
        case Column():
            return column_text(scalar.index, names), _ATOM
        case Literal():
            text = literal_text(scalar.value, scalar.type)
            return text, _SIGN if text.startswith("-") else _ATOM
        case Outer():
            return f"outer {scalar.binding}.#{scalar.index}", _ATOM
    symbol = function_of(scalar.function).symbol
    if symbol is not None and len(scalar.args) > 1:
        return _infix(scalar, symbol, names)
    form = _FORMS.get(scalar.function)
    if form is not None:
        return form(scalar, names)
    return f"{scalar.function}({', '.join(scalar_text(a, names) for a in scalar.args)})", _ATOM


def operand_text(scalar: Scalar, names: Sequence[str], binding: int) -> str:
    """The text, in parentheses unless it binds tighter than its surroundings."""
    text, own = _text(scalar, names)
    return text if own > binding else f"({text})"


def _infix(call: Call, symbol: str, names: Sequence[str]) -> tuple[str, int]:
    binding = _BINDING[symbol]
    groups_left = binding > _TEST
    parts = [operand_text(a, names, binding - (groups_left and i == 0)) for i, a in enumerate(call.args)]
    return f" {symbol} ".join(parts), binding


def _not(call: Call, names: Sequence[str]) -> tuple[str, int]:
    return f"NOT {operand_text(call.args[0], names, _NOT - 1)}", _NOT


def _negative(call: Call, names: Sequence[str]) -> tuple[str, int]:
    return f"-{operand_text(call.args[0], names, _SIGN)}", _SIGN


def _is_null(call: Call, names: Sequence[str]) -> tuple[str, int]:
    return f"{operand_text(call.args[0], names, _TEST)} IS NULL", _TEST


def _in(call: Call, names: Sequence[str]) -> tuple[str, int]:
    values = ", ".join(scalar_text(a, names) for a in call.args[1:])
    return f"{operand_text(call.args[0], names, _TEST)} IN ({values})", _TEST


def _like(call: Call, names: Sequence[str]) -> tuple[str, int]:
    subject, pattern, *escape = (operand_text(a, names, _TEST) for a in call.args)
    suffix = f" ESCAPE {escape[0]}" if escape else ""
    return f"{subject} {call.function.upper()} {pattern}{suffix}", _TEST


def _cast(call: Call, names: Sequence[str]) -> tuple[str, int]:
    return f"CAST({scalar_text(call.args[0], names)} AS {call.type})", _ATOM


def _extract(call: Call, names: Sequence[str]) -> tuple[str, int]:
    part = call.args[0]
    word = part.value if isinstance(part, Literal) else scalar_text(part, names)
    return f"EXTRACT({word} FROM {scalar_text(call.args[1], names)})", _ATOM


def _case(call: Call, names: Sequence[str]) -> tuple[str, int]:
    texts = [scalar_text(a, names) for a in call.args]
    arms = "".join(f" WHEN {c} THEN {v}" for c, v in zip(texts[:-1:2], texts[1::2], strict=True))
    return f"CASE{arms} ELSE {texts[-1]} END", _ATOM


def _written(call: Call, names: Sequence[str]) -> tuple[str, int]:
    (text, *arguments) = call.args
    assert isinstance(text, Literal), "it is declared so"
    return with_arguments(str(text.value), lambda number: scalar_text(arguments[number - 1], names)), _ATOM


_FORMS: dict[str, Callable[[Call, Sequence[str]], tuple[str, int]]] = {
    "not": _not,
    "neg": _negative,
    "is_null": _is_null,
    "in": _in,
    "like": _like,
    "ilike": _like,
    "cast": _cast,
    "extract": _extract,
    "case": _case,
    "written": _written,
}


def _decimal(scaled: int, scale: int) -> str:
    digits = str(abs(scaled)).rjust(scale + 1, "0")
    sign = "-" if scaled < 0 else ""
    return f"{sign}{digits[:-scale]}.{digits[-scale:]}" if scale else f"{sign}{digits}"
