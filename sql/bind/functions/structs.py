"""Structs and maps: {'a': 1}, ROW(1, 2), struct.field, MAP {'k': 1}, map['k']."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from ivm.catalog.names import key, twice
from ivm.catalog.types import BOOLEAN, INTEGER, VARCHAR, Kind, list_of, map_of, struct_of
from ivm.sql.bind.expressions.binder import Binder, Handler
from ivm.sql.bind.expressions.operand import Operand
from ivm.sql.bind.functions.computed import computed, computed_of, constant_text
from ivm.sql.bind.functions.fields import field_at, field_of
from ivm.sql.bind.functions.signatures import apply
from ivm.sql.ir.conditions import is_null
from ivm.sql.ir.functions.nested import places_of
from ivm.sql.ir.scalar import Call, Literal, Scalar
from ivm.sql.sql_text import text_of
from ivm.sql.types.unify import common_type

Named = list[tuple[str, Scalar]]
"""The fields of a struct by their names."""


def bind_struct(binder: Binder, node: exp.Expr) -> Operand:
    """{'a': 1, 'b': x}, and STRUCT_PACK(a := 1, b := x)."""
    return packed(binder, node, _named(binder, node, node.expressions))


def packed(binder: Binder, node: exp.Expr, fields: Named) -> Operand:
    """The struct of these fields, at least one, each with a name of its own."""
    again = twice(name for name, _ in fields if name)
    if again is not None:
        binder.fail(node, f"a struct has the field {again!r} twice; name each field once")
    if not fields:
        binder.fail(node, "a struct has no fields; write {'name': value}")
    type_ = struct_of((name, scalar.type) for name, scalar in fields)
    return Operand(node, Call("struct_pack", tuple(scalar for _, scalar in fields), type_, nullable=False))


def _named(binder: Binder, node: exp.Expr, items: Sequence[exp.Expr]) -> Named:
    fields = list[tuple[str, Scalar]]()
    for item in items:
        if isinstance(item, exp.PropertyEQ):
            fields.append((item.name, binder.bind(item.expression).scalar))
        elif isinstance(item, exp.Column):
            fields.append((item.name, binder.bind(item).scalar))
        else:
            binder.fail(item, f"{text_of(item)} has no name; write name := {text_of(item)}")
    return fields


def bind_row(binder: Binder, node: exp.Expr, args: Sequence[exp.Expr]) -> Operand:
    """ROW(a, b), a struct whose fields have no names."""
    return packed(binder, node, [("", binder.bind(arg).scalar) for arg in args])


def bind_tuple(binder: Binder, node: exp.Expr) -> Operand:
    """(a, b), which is ROW(a, b)."""
    return bind_row(binder, node, node.expressions)


def bind_key(binder: Binder, node: exp.Expr, subject: Operand, place: exp.Expr) -> Operand:
    """struct['name'], and of one whose fields have no names struct[1]."""
    if isinstance(place, exp.Literal) and place.is_string:
        return field_of(binder, node, subject, place.name)
    fields = subject.type.fields
    named = all(name for name, _ in fields)
    found = binder.bind(place).integer if not isinstance(place, exp.Slice) else None
    if named or found is None:
        wanted = "its name as a text, such as s['a']" if named else "its number, such as s[1]"
        binder.fail(place, f"a field of {subject.type} is written by {wanted}")
    if not 1 <= found <= len(fields):
        binder.fail(place, f"{subject.type} has no field {found}; it has {len(fields)}")
    return field_at(node, subject, found - 1)


def bind_dot(binder: Binder, node: exp.Expr) -> Operand:
    """(struct).field."""
    if not isinstance(node.expression, exp.Identifier):
        what = f"{text_of(node.expression)[:60]} behind a dot is not supported"
        binder.refuse(node, f"{what}; write it with what is before the dot as its first argument")
    return field_of(binder, node, binder.bind(node.this), node.expression.name)


def bind_struct_extract(binder: Binder, node: exp.Expr, args: Sequence[exp.Expr]) -> Operand:
    """STRUCT_EXTRACT(struct, 'name')."""
    return bind_key(binder, node, _struct(binder, node, args[0]), args[1])


def bind_struct_extract_at(binder: Binder, node: exp.Expr, args: Sequence[exp.Expr]) -> Operand:
    """STRUCT_EXTRACT_AT(struct, place), from 1."""
    subject, place = _struct(binder, node, args[0]), binder.bind(args[1]).integer
    fields = subject.type.fields
    if place is None or not 1 <= place <= len(fields):
        binder.fail(args[1], f"struct_extract_at() takes the number of a field, from 1 to {len(fields)}")
    return field_at(node, subject, place - 1)


def bind_extract(binder: Binder, node: exp.Expr, args: Sequence[exp.Expr]) -> Operand:
    """ARRAY_EXTRACT(x, place) of a list or a struct."""
    subject = binder.bind(args[0])
    if subject.type.kind is Kind.STRUCT and len(args) == 2:
        return bind_key(binder, node, subject, args[1])
    return apply(binder, node, "list_extract", list(args))


def bind_struct_insert(binder: Binder, node: exp.Expr, args: Sequence[exp.Expr]) -> Operand:
    """STRUCT_INSERT(struct, name := value), which adds fields, and STRUCT_UPDATE, which may replace some."""
    subject = _struct(binder, node, args[0])
    given = [(name, field_at(node, subject, place).scalar) for place, (name, _) in enumerate(subject.type.fields)]
    more = _named(binder, node, args[1:])
    if node.name.lower() == "struct_update":
        new = {key(name): scalar for name, scalar in more}
        given = [(name, new.pop(key(name), scalar)) for name, scalar in given]
        more = [(name, scalar) for name, scalar in more if key(name) in new]
    return packed(binder, node, [*given, *more])


def bind_struct_concat(binder: Binder, node: exp.Expr, args: Sequence[exp.Expr]) -> Operand:
    """STRUCT_CONCAT(struct, struct), the fields of all."""
    fields = list[tuple[str, Scalar]]()
    for arg in args:
        subject = _struct(binder, node, arg)
        fields += [(name, field_at(node, subject, place).scalar) for place, (name, _) in enumerate(subject.type.fields)]
    return packed(binder, node, fields)


def bind_struct_keys(binder: Binder, node: exp.Expr, args: Sequence[exp.Expr]) -> Operand:
    """STRUCT_KEYS(struct), the names of its fields."""
    subject = _struct(binder, node, args[0])
    names = tuple(Literal(name, VARCHAR) for name, _ in subject.type.fields)
    return _if_there(node, subject, Operand(node, Call("list_value", names, list_of(VARCHAR), nullable=False)))


def bind_struct_values(binder: Binder, node: exp.Expr, args: Sequence[exp.Expr]) -> Operand:
    """STRUCT_VALUES(struct), the same without names."""
    subject = _struct(binder, node, args[0])
    values: Named = [("", field_at(node, subject, place).scalar) for place in range(len(subject.type.fields))]
    return _if_there(node, subject, packed(binder, node, values))


def bind_place_in(binder: Binder, node: exp.Expr, args: Sequence[exp.Expr]) -> Operand:
    """STRUCT_CONTAINS(row, value) and STRUCT_POSITION(row, value), of a struct whose fields have no names."""
    subject = _struct(binder, node, args[0])
    if len(args) != 2 or any(name for name, _ in subject.type.fields):
        binder.mismatch(node, f"{node.name.lower()}() takes ROW(..) and a value; write struct_values(..) of a struct")
    name = "struct_contains" if node.name.lower() in ("struct_contains", "struct_has") else "struct_position"
    type_ = BOOLEAN if name == "struct_contains" else INTEGER
    return computed(node, name, [subject.scalar, binder.bind(args[1]).stored], type_)


def _struct(binder: Binder, node: exp.Expr, given: exp.Expr) -> Operand:
    subject = binder.bind(given)
    if subject.type.kind is not Kind.STRUCT:
        binder.mismatch(given, f"{node.name.lower()}() takes a struct, not {subject.type}")
    return subject


def _if_there(node: exp.Expr, subject: Operand, found: Operand) -> Operand:
    """What is made of a struct; NULL if that is."""
    if not subject.scalar.nullable:
        return found
    return Operand(node, Call("case", (is_null(subject.scalar), Literal(None, found.type), found.scalar), found.type))


def bind_map(binder: Binder, node: exp.Expr) -> Operand:
    """MAP {'k': 1}, of keys and values that are written."""
    pairs = node.this.expressions
    keys = exp.Array(expressions=[pair.this if isinstance(pair, exp.PropertyEQ) else pair for pair in pairs])
    values = exp.Array(expressions=[pair.expression for pair in pairs])
    return apply(binder, node, "map", [keys, values])


def bind_map_of_lists(binder: Binder, node: exp.Expr) -> Operand:
    """MAP(keys, values), of two lists."""
    return apply(binder, node, "map", [node.args["keys"], node.args["values"]])


def bind_switch(binder: Binder, node: exp.Expr, args: Sequence[exp.Expr]) -> Operand:
    """SWITCH(key, MAP {..}, [otherwise]): the value of a key in a map that is written."""
    if not 2 <= len(args) <= 3:
        binder.fail(node, "switch() takes a key, a map and perhaps what stands for other keys")
    found = binder.bind(args[1]).type
    if found.kind is not Kind.MAP or found.element is None:
        binder.mismatch(args[1], f"switch() takes a map, not {found}")
    (_, key_type), (_, value_type) = found.element.fields
    others = [binder.bind(other) for other in args[2:]]
    for other in others:
        value_type = common_type(value_type, other.type) or value_type
    given = [binder.cast(binder.bind(args[0]), key_type), *(binder.cast(other, value_type) for other in others)]
    cases = f"CAST({constant_text(binder, args[1], 'cases of switch()')} AS {map_of(key_type, value_type)})"
    key, *rest = places_of(len(given))
    return computed_of(node, f"switch({', '.join([key, cases, *rest])})", given, value_type)


HANDLERS: dict[type[exp.Expr], Handler] = {
    exp.Struct: bind_struct,
    exp.Dot: bind_dot,
    exp.Tuple: bind_tuple,
    exp.ToMap: bind_map,
    exp.Map: bind_map_of_lists,
}
BY_NAME = {
    "row": bind_row,
    "switch": bind_switch,
    "struct_extract": bind_struct_extract,
    "struct_extract_at": bind_struct_extract_at,
    "array_extract": bind_extract,
    "struct_insert": bind_struct_insert,
    "struct_update": bind_struct_insert,
    "struct_concat": bind_struct_concat,
    "struct_keys": bind_struct_keys,
    "struct_values": bind_struct_values,
    **dict.fromkeys(("struct_contains", "struct_has", "struct_position", "struct_indexof"), bind_place_in),
}
"""Functions that sqlglot knows by their name only."""
