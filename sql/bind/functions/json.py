"""JSON: paths that lead to several places, arrows, and functions whose types follow from what they are given."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence

from sqlglot import exp
from sqlglot.errors import SqlglotError

from ivm.catalog.types import JSON, VARCHAR, Kind, SqlType, list_of, struct_of
from ivm.sql.bind.expressions.binder import Binder, Handler
from ivm.sql.bind.expressions.operand import Operand
from ivm.sql.bind.functions.computed import computed_of
from ivm.sql.bind.functions.signatures import apply, text
from ivm.sql.ir.functions.json import OF_PATHS, TRANSFORMS
from ivm.sql.ir.functions.nested import places_of
from ivm.sql.ir.scalar import Call, Literal
from ivm.sql.types.declared import declared_type

Args = Sequence[exp.Expr]
_ARROWS = (exp.JSONExtract, exp.JSONExtractScalar)
_LOOSER = (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.Like, exp.ILike, exp.And, exp.Or, exp.Is,
           exp.NullSafeEQ, exp.NullSafeNEQ)  # fmt: skip


def bind_arrow(binder: Binder, node: exp.Expr) -> Operand:
    """The JSON at a path, x -> path, and its text, x ->> path; of several places the list of these."""
    _check_arrow(binder, node)
    name = "json_extract" if isinstance(node, exp.JSONExtract) else "json_extract_string"
    return bind_at(binder, node, name, (node.this, node.expression))


def _check_arrow(binder: Binder, node: exp.Expr) -> None:
    """Refuse -> and ->> where DuckDB puts other parentheses than sqlglot: -> binds weaker than all, ->> as ||."""
    around, is_left = node.parent, node.arg_key == "this"
    if isinstance(node, exp.JSONExtract):
        stands = not isinstance(around, exp.Binary | exp.Unary | exp.In | exp.Between) or isinstance(around, exp.Paren)
        stands = stands or (isinstance(around, exp.JSONExtract) and is_left)
    else:
        stands = not isinstance(around, exp.Binary) or isinstance(around, _LOOSER)
        stands = stands or (is_left and isinstance(around, (exp.DPipe, *_ARROWS)))
    if not stands:
        sign = "->" if isinstance(node, exp.JSONExtract) else "->>"
        binder.refuse(node, f"{sign} without parentheses means something else to DuckDB here; write (x {sign} 'path')")


def bind_at(binder: Binder, node: exp.Expr, name: str, args: Args) -> Operand:
    """A function of JSON and of a path, a path with * or a list of paths, or the place in an array."""
    path = args[1].unnest() if len(args) == 2 else None
    if isinstance(path, exp.Literal) and path.is_string and _leads_to_several(path.name):
        found = Call(f"{name} of all", (text(binder, args[0]), Literal(path.name, VARCHAR)), list_of(OF_PATHS[name]))
        return Operand(node, found)
    if isinstance(path, exp.Array):
        if not all(isinstance(each, exp.Literal) and each.is_string for each in path.expressions):
            binder.refuse(path, f"{name}() takes a list of paths as texts; write ['a', 'b'], or a call for each path")
        (place,) = places_of(1)
        written = f"{name}({place}, {path.sql('duckdb')})"
        return computed_of(node, written, [text(binder, args[0])], list_of(OF_PATHS[name]))
    return apply(binder, node, name, args)


def _leads_to_several(path: str) -> bool:
    """Whether a path has a * or .. outside of quotes."""
    return path.startswith("$") and re.search(r"[*]|[.][.]", re.sub(r'"[^"]*"', "", path)) is not None


def bind_key(binder: Binder, node: exp.Expr, subject: Operand, place: exp.Expr) -> Operand:
    """JSON[key] and JSON.key, which is no path, whatever stands in it, and JSON[place of an array]."""
    if not isinstance(place, exp.Literal) or not place.is_string:
        operand = binder.bind(place)
        if operand.type.is_text:
            binder.refuse(place, "JSON[..] takes a key as a text literal, or a place; write (j -> key)")
        return bind_at(binder, node, "json_extract", (subject.node, place))
    name = place.name
    if not name or name.isdecimal() or '"' in name:
        binder.refuse(place, f"the key {name!r} in JSON[..] is not supported; write (j -> 'path')")
    path = Literal(f'$."{name}"', VARCHAR)
    return binder.call(node, "json_extract of path", (binder.cast(subject, VARCHAR), path), JSON)


def _array(binder: Binder, node: exp.Expr, name: str, args: Args) -> Operand:
    """JSON_ARRAY(x, ..)."""
    return Operand(node, Call(name, tuple(binder.bind(arg).stored for arg in args), JSON, nullable=False))


def _object(binder: Binder, node: exp.Expr, name: str, args: Args) -> Operand:
    """JSON_OBJECT(key, x, ..), whose keys are texts."""
    if len(args) % 2:
        binder.fail(node, f"{name}() takes keys and values in turn; write {name}('key', x)")
    for arg in args[::2]:
        given = binder.bind(arg).type
        if given != VARCHAR:
            binder.mismatch(arg, f"a key in {name}() is a text, not {given}; write CAST(... AS VARCHAR)")
    return _array(binder, node, name, args)


def _row(binder: Binder, node: exp.Expr, name: str, args: Args) -> Operand:
    """ROW_TO_JSON(struct)."""
    if len(args) != 1:
        binder.fail(node, f"{name}() takes 1 argument, not {len(args)}")
    operand = binder.bind(args[0])
    if operand.type.kind is not Kind.STRUCT:
        binder.mismatch(args[0], f"{name}() takes a struct, not {operand.type}; write to_json(x)")
    return binder.call(node, name, (operand.scalar,), JSON)


def _transformed(binder: Binder, node: exp.Expr, name: str, args: Args) -> Operand:
    """FROM_JSON(x, structure) and its like, whose structure is the JSON of a type."""
    if len(args) != 2:
        binder.fail(node, f"{name}() takes 2 arguments, not {len(args)}")
    given, form = text(binder, args[0]), binder.bind(args[1]).scalar
    if not isinstance(form, Literal) or form.value is None:
        binder.refuse(args[1], f'the structure of {name}() must be a constant; write \'{{"a": "INTEGER"}}\'')
    try:
        type_ = _type_of(binder, args[1], json.loads(str(form.value)))
    except ValueError:
        what = f"the structure of {name}() is no JSON of a type"
        binder.fail(args[1], f'{what}; write names of types in it, such as \'{{"a": "INTEGER"}}\'')
    return Operand(node, Call(name, (given, Literal(form.value, VARCHAR)), type_))


def _type_of(binder: Binder, at: exp.Expr, form: object) -> SqlType:
    """The type that a structure tells; ValueError if it is none."""
    if isinstance(form, list) and len(form) == 1:
        return list_of(_type_of(binder, at, form[0]))
    if isinstance(form, dict) and form:
        return struct_of((name, _type_of(binder, at, each)) for name, each in form.items())
    if not isinstance(form, str):
        raise ValueError(form)
    try:
        node = exp.DataType.build(form, dialect="duckdb")
    except SqlglotError as error:
        raise ValueError(form) from error
    return declared_type(node, binder.source, "the structure", at)


def _reading(name: str) -> Handler:
    return lambda binder, node: bind_at(binder, node, name, node.expressions)


def _making(make: Callable[[Binder, exp.Expr, str, Args], Operand], name: str) -> Handler:
    return lambda binder, node: make(binder, node, name, node.expressions)


BY_NAME: dict[str, Handler] = {
    **{name: _reading(name) for name in OF_PATHS},
    **{name: _making(_transformed, name) for name in TRANSFORMS},
    "json_array": _making(_array, "json_array"),
    "json_object": _making(_object, "json_object"),
    "row_to_json": _making(_row, "row_to_json"),
}
"""How functions are bound whose types alone do not say so."""

HANDLERS: dict[type[exp.Expr], Handler] = dict.fromkeys(_ARROWS, bind_arrow)
