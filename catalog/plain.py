"""Tables, views, types and macros as plain values, which JSON keeps exactly, and back: how definitions are stored."""

from __future__ import annotations

from dataclasses import asdict, fields, is_dataclass
from types import UnionType
from typing import Any, get_args, get_origin, get_type_hints

from ivm.catalog.function import Signature
from ivm.catalog.macro import Macro, Overload, Parameter
from ivm.catalog.schema import Check, Default, Field, ForeignKey, Generated, Index, Schema, Table, Unique, View
from ivm.catalog.sequence import Sequence
from ivm.catalog.types import Kind, SqlType
from ivm.catalog.zones import UTC

Plain = dict[str, Any]
"""A mapping of texts to what JSON has."""


def plain_type(type_: SqlType) -> Plain:
    """A type by its kind's name, and what else it has that is not as usual."""
    found: Plain = {"kind": type_.kind.value}
    if type_.precision or type_.scale:
        found |= {"precision": type_.precision, "scale": type_.scale}
    if type_.element is not None:
        found["element"] = plain_type(type_.element)
    if type_.size:
        found["size"] = type_.size
    if type_.labels:
        found["labels"] = list(type_.labels)
    if type_.collation:
        found["collation"] = type_.collation
    if type_.fields:
        found["fields"] = [[name, plain_type(field)] for name, field in type_.fields]
    return found


def type_of(plain: Plain) -> SqlType:
    """The type that `plain_type` made plain. KeyError or ValueError for anything else."""
    element = plain.get("element")
    found = SqlType(
        Kind(plain["kind"]),
        plain.get("precision", 0),
        plain.get("scale", 0),
        None if element is None else type_of(element),
        tuple(plain.get("labels", ())),
        tuple((name, type_of(field)) for name, field in plain.get("fields", ())),
        plain.get("size", 0),
        plain.get("collation", ""),
    )
    _check(found, SqlType)
    return found


def plain_table(table: Table) -> Plain:
    """A table as it is declared."""
    return _lasting(table) | {"fields": _plain_schema(table.fields)}


def table_of(plain: Plain) -> Table:
    """The table that `plain_table` made plain. KeyError, TypeError or ValueError for anything else."""
    keys = (
        each | {"columns": tuple(each["columns"]), "referenced": tuple(each["referenced"])}
        for each in plain["foreign_keys"]
    )
    table = Table(
        plain["name"],
        _schema_of(plain["fields"]),
        tuple(plain["primary_key"]),
        tuple(ForeignKey(**each) for each in keys),
        plain["append_only"],
        plain["static"],
        tuple(Unique(tuple(each["columns"]), each["name"]) for each in plain["unique"]),
        tuple(Check(**each) for each in plain["checks"]),
        tuple(Default(**each) for each in plain["defaults"]),
        tuple(Index(each["name"], tuple(each["columns"]), each["unique"]) for each in plain["indexes"]),
        tuple(plain.get("partitioned_by", ())),  # which earlier releases did not know
        plain.get("replicated", False),
        plain.get("retention", ""),
        plain.get("retention_column", ""),
        generated=tuple(Generated(**each) for each in plain.get("generated", ())),
        zone=plain.get("zone", UTC),
    )
    _check(table, Table)
    return table


def plain_view(view: View) -> Plain:
    """A view by its text and its columns."""
    found = _lasting(view) | {"schema": _plain_schema(view.schema), "hidden": _plain_schema(view.hidden)}
    found["calls"] = [each.key for each in view.calls]  # all that earlier releases know of it
    if view.calls:
        found["signatures"] = [*map(_plain_signature, view.calls)]
    return found


def view_of(plain: Plain) -> View:
    """The view that `plain_view` made plain. KeyError, TypeError or ValueError for anything else."""
    view = View(
        plain["name"],
        plain["sql"],
        _schema_of(plain["schema"]),
        tuple(plain["uses"]),
        plain["maintained"],
        tuple((place, descending, first) for place, descending, first in plain["order"]),
        _schema_of(plain["hidden"]),
        plain["unnamed"],
        plain.get("mark", ""),
        plain.get("change_feed", False),  # which earlier releases did not know
        calls=_calls_of(plain),
        zone=plain.get("zone", UTC),
        history=plain.get("history", ""),
    )
    _check(view, View)
    return view


def _plain_signature(signature: Signature) -> Plain:
    takes, gives = signature.takes, signature.gives
    return asdict(signature) | {
        "takes": None if takes is None else [*map(plain_type, takes)],
        "gives": None if gives is None else plain_type(gives),
    }


def _calls_of(plain: Plain) -> tuple[Signature, ...]:
    """How what a view calls is declared; earlier releases wrote names alone, if anything."""
    signatures = plain.get("signatures")
    if signatures is None:
        return tuple(Signature(name) for name in plain.get("calls", ()))
    return tuple(map(_signature_of, signatures))


def _signature_of(plain: Plain) -> Signature:
    takes, gives = plain["takes"], plain["gives"]
    return Signature(
        plain["name"],
        None if takes is None else tuple(map(type_of, takes)),
        None if gives is None else type_of(gives),
        plain["takes_null"],
    )


def plain_macro(macro: Macro) -> Plain:
    """A macro by its forms; the types of parameters are left out that have none, and main as a schema."""
    plain = _lasting(macro)
    if not macro.schema:
        del plain["schema"]
    for overload in plain["overloads"]:
        for parameter in overload["parameters"]:
            if not parameter["type"]:
                del parameter["type"]
    return plain


def macro_of(plain: Plain) -> Macro:
    """The macro that `plain_macro` made plain. KeyError, TypeError or ValueError for anything else."""
    overloads = (
        Overload(tuple(Parameter(**parameter) for parameter in each["parameters"]), each["body"])
        for each in plain["overloads"]
    )
    macro = Macro(plain["name"], plain["is_table"], tuple(overloads), schema=plain.get("schema", ""))
    _check(macro, Macro)
    return macro


def _lasting(entry: Table | View | Macro) -> Plain:
    """All fields but whether it is temporary: then it is written down nowhere. A zone is left out that goes without
    saying.
    """
    found = asdict(entry)
    del found["temporary"]
    if found.get("zone") == UTC:
        del found["zone"]
    return found


def plain_sequence(sequence: Sequence) -> Plain:
    """A sequence as it is declared."""
    return asdict(sequence)


def sequence_of(plain: Plain) -> Sequence:
    """The sequence that `plain_sequence` made plain. TypeError for anything else."""
    sequence = Sequence(**plain)
    _check(sequence, Sequence)
    return sequence


def _plain_schema(schema: Schema) -> list[Plain]:
    return [{"name": each.name, "type": plain_type(each.type), "nullable": each.nullable} for each in schema]


def _schema_of(plain: list[Plain]) -> Schema:
    return tuple(Field(each["name"], type_of(each["type"]), each["nullable"]) for each in plain)


def _check(value: object, declared: Any) -> None:
    """TypeError if a value, or one within it, is not of the type that is declared for it."""
    inner, origin = get_args(declared), get_origin(declared)
    if origin is UnionType:
        if value is not None:
            _check(value, next(each for each in inner if each is not type(None)))
    elif origin is tuple:
        if not isinstance(value, tuple) or (Ellipsis not in inner and len(value) != len(inner)):
            raise TypeError(f"{value!r} is no list of as many values as it should have")
        for each, of in zip(value, inner[:1] * len(value) if Ellipsis in inner else inner, strict=True):
            _check(each, of)
    elif type(value) is not declared:
        raise TypeError(f"{value!r} is not of type {declared.__name__}")
    elif is_dataclass(value):
        hints = get_type_hints(declared)
        for field in fields(value):
            _check(getattr(value, field.name), hints[field.name])
