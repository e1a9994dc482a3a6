"""Fields of structs by their names, and values of maps by their keys."""

from __future__ import annotations

from sqlglot import exp

from ivm.catalog.names import key, suggestion
from ivm.catalog.types import INTEGER, Kind
from ivm.sql.bind.expressions.binder import Binder
from ivm.sql.bind.expressions.operand import Operand
from ivm.sql.bind.functions.json import bind_key
from ivm.sql.bind.functions.signatures import apply
from ivm.sql.ir.scalar import Call, Literal
from ivm.sql.sql_text import text_of


def field_by_path(binder: Binder, node: exp.Column) -> Operand | None:
    """What struct.field and table.struct.field name, also of fields of fields; None if they begin with no column."""
    parts = node.parts
    for width in (2, 1):
        if len(parts) <= width:
            continue
        column = exp.Column(
            **dict(zip(("this", "table"), reversed([each.copy() for each in parts[:width]]), strict=False))
        )
        found = binder.find(column)
        if found is not None and found.type.kind in (Kind.STRUCT, Kind.MAP, Kind.JSON):
            for part in parts[width:]:
                found = field_of(binder, node, found, part.name)
            return found
    return None


def field_of(binder: Binder, node: exp.Expr, subject: Operand, name: str) -> Operand:
    """The field of a name, in any case; of a map, or of JSON, the value of that key. BindError if there is none."""
    if subject.type.kind is Kind.MAP:
        return bind_map_value(binder, node, subject, exp.Literal.string(name))
    if subject.type.kind is Kind.JSON:
        return bind_key(binder, node, subject, exp.Literal.string(name))
    if subject.type.kind is not Kind.STRUCT:
        binder.mismatch(node, f"{text_of(node)} takes a field of what is no struct but {subject.type}")
    names = [each for each, _ in subject.type.fields]
    place = next((place for place, each in enumerate(names) if key(each) == key(name)), None)
    if place is None:
        known = suggestion(name, names) or f"; its fields are {', '.join(map(repr, names))}"
        binder.fail(node, f"there is no field {name!r} in {subject.type}{known}")
    return field_at(node, subject, place)


def field_at(node: exp.Expr, subject: Operand, place: int) -> Operand:
    """The field at a place, from 0; of a struct that is written its value."""
    struct, (_, type_) = subject.scalar, subject.type.fields[place]
    if isinstance(struct, Call) and struct.function == "struct_pack":
        return Operand(node, struct.args[place])
    return Operand(node, Call("field", (struct, Literal(place, INTEGER)), type_))


def bind_map_value(binder: Binder, node: exp.Expr, subject: Operand, place: exp.Expr) -> Operand:
    """map[key], NULL where there is no such key."""
    return apply(binder, node, "map_extract_value", [subject.node, place])
