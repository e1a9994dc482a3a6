"""One deterministic text form of relations and scalars, for EXPLAIN and for golden files.

A node per line, inputs indented below it. Columns read `#3:o_orderdate`: the position, and the name as a help.
Expressions are infix with the fewest parentheses that keep their shape; literals are in SQL's form, not the engine's.
The form carries no addresses or ids and depends on the relation alone. Nothing parses it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import date, datetime, timedelta

from catalog.schema import Schema
from catalog.types import Kind, SqlType
from sql.ir.relation import (
    Aggregate,
    Constant,
    Filter,
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
    inputs_of,
)
from sql.ir.scalar import Call, Column, Literal, Scalar, Value

_INFIX = {
    "or": ("OR", 1),
    "and": ("AND", 2),
    "eq": ("=", 4),
    "ne": ("<>", 4),
    "lt": ("<", 4),
    "le": ("<=", 4),
    "gt": (">", 4),
    "ge": (">=", 4),
    "is_distinct": ("IS DISTINCT FROM", 4),
    "add": ("+", 5),
    "sub": ("-", 5),
    "mul": ("*", 6),
    "div": ("/", 6),
    "idiv": ("//", 6),
    "mod": ("%", 6),
}
_NOT = 3
_TEST = 4
_SIGN = 7
_ATOM = 8
_EPOCH = date(1970, 1, 1)


def relation_text(relation: Relation) -> str:
    """The indented form, without a newline at the end. Cost: linear in the size of the text."""
    lines: list[str] = []
    _write(relation, 0, lines)
    return "\n".join(lines)


def scalar_text(scalar: Scalar, names: Sequence[str] = ()) -> str:
    """The expression in one line; `names[i]` is shown beside column i, if it has an entry there."""
    return _text(scalar, names)[0]


def literal_text(value: Value, type_: SqlType) -> str:
    """The constant as SQL writes it; DOUBLE always with an exponent, so that it cannot be taken for DECIMAL."""
    if value is None:
        return "NULL"
    match type_.kind:
        case Kind.BOOLEAN:
            return "TRUE" if value else "FALSE"
        case Kind.VARCHAR:
            return _quoted(str(value))
        case Kind.DECIMAL:
            return _decimal(int(value), type_.scale)
        case Kind.DATE:
            return _date(int(value))
        case Kind.TIMESTAMP:
            return _timestamp(int(value))
        case Kind.DOUBLE:
            text = repr(float(value))
            return text if text[-1] in "fn" or "e" in text else text + "e0"
    return str(value)


def _write(relation: Relation, depth: int, lines: list[str]) -> None:
    lines.append("  " * depth + _line(relation))
    if isinstance(relation, Constant):
        for row in relation.rows:
            values = (literal_text(v, f.type) for v, f in zip(row, relation.schema, strict=True))
            lines.append("  " * (depth + 1) + f"({', '.join(values)})")
    for inner in inputs_of(relation):
        _write(inner, depth + 1, lines)


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
    floor = _INFIX["and"][1]
    return " AND ".join(_operand(p, names, floor) for p in node.predicates) or "TRUE"


def _projected(node: Project) -> str:
    before = _names(node.input.schema)
    parts = []
    for column, after in zip(node.columns, _names(node.schema), strict=True):
        renamed = f" AS {after}" if after != before[column] else ""
        parts.append(_column(column, before) + renamed)
    return ", ".join(parts)


def _equalities(node: Join) -> str:
    if not node.equivalences:
        return "cross"
    names = _names(node.schema)
    return ", ".join(" = ".join(_column(c, names) for c in group) for group in node.equivalences)


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
    return f"{aggregate.function}({scalar_text(aggregate.arg, names)})"


def _limited(node: TopK) -> list[str]:
    names = _names(node.schema)
    parts = [f"by {', '.join(_column(c, names) for c in node.group)}"] if node.group else []
    if node.order:
        parts.append(f"order {', '.join(_order(o, names) for o in node.order)}")
    if node.limit is not None:
        parts.append(f"limit {node.limit}")
    return parts + ([f"offset {node.offset}"] if node.offset else [])


def _order(order: Order, names: list[str]) -> str:
    direction = " DESC" if order.descending else ""
    return _column(order.column, names) + direction + (" NULLS FIRST" if order.nulls_first else "")


def _column(index: int, names: Sequence[str]) -> str:
    return f"#{index}:{names[index]}" if index < len(names) else f"#{index}"


def _text(scalar: Scalar, names: Sequence[str]) -> tuple[str, int]:
    """The text and how tightly its outermost operator binds."""
    match scalar:
        case Column():
            return _column(scalar.index, names), _ATOM
        case Literal():
            text = literal_text(scalar.value, scalar.type)
            return text, _SIGN if text.startswith("-") else _ATOM
    if scalar.function in _INFIX and len(scalar.args) > 1:
        return _infix(scalar, names)
    form = _FORMS.get(scalar.function)
    if form is not None:
        return form(scalar, names)
    return f"{scalar.function}({', '.join(scalar_text(a, names) for a in scalar.args)})", _ATOM


def _operand(scalar: Scalar, names: Sequence[str], binding: int) -> str:
    """The text, in parentheses unless it binds tighter than its surroundings."""
    text, own = _text(scalar, names)
    return text if own > binding else f"({text})"


def _infix(call: Call, names: Sequence[str]) -> tuple[str, int]:
    operator, binding = _INFIX[call.function]
    groups_left = binding > _TEST
    parts = [_operand(a, names, binding - (groups_left and i == 0)) for i, a in enumerate(call.args)]
    return f" {operator} ".join(parts), binding


def _not(call: Call, names: Sequence[str]) -> tuple[str, int]:
    return f"NOT {_operand(call.args[0], names, _NOT - 1)}", _NOT


def _negative(call: Call, names: Sequence[str]) -> tuple[str, int]:
    return f"-{_operand(call.args[0], names, _SIGN)}", _SIGN


def _is_null(call: Call, names: Sequence[str]) -> tuple[str, int]:
    return f"{_operand(call.args[0], names, _TEST)} IS NULL", _TEST


def _in(call: Call, names: Sequence[str]) -> tuple[str, int]:
    values = ", ".join(scalar_text(a, names) for a in call.args[1:])
    return f"{_operand(call.args[0], names, _TEST)} IN ({values})", _TEST


def _like(call: Call, names: Sequence[str]) -> tuple[str, int]:
    subject, pattern, *escape = (_operand(a, names, _TEST) for a in call.args)
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
}


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _decimal(scaled: int, scale: int) -> str:
    digits = str(abs(scaled)).rjust(scale + 1, "0")
    sign = "-" if scaled < 0 else ""
    return f"{sign}{digits[:-scale]}.{digits[-scale:]}" if scale else f"{sign}{digits}"


def _date(days: int) -> str:
    try:
        return f"DATE '{_EPOCH + timedelta(days=days)}'"
    except OverflowError:  # the engine's years go further than Python's
        return f"DATE {days} days"


def _timestamp(micros: int) -> str:
    try:
        moment = datetime(1970, 1, 1) + timedelta(microseconds=micros)
    except OverflowError:
        return f"TIMESTAMP {micros} micros"
    return f"TIMESTAMP '{moment.isoformat(sep=' ')}'"
