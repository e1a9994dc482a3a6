"""json_each() and json_tree() in FROM: rows of what JSON is made of, and of all that is in it."""

from __future__ import annotations

from typing import TypeGuard

from sqlglot import exp

from ivm.catalog.types import INTEGER, JSON, UBIGINT, VARCHAR, list_of, struct_of
from ivm.sql.bind.expressions.binder import Binder
from ivm.sql.bind.functions.computed import computed_of
from ivm.sql.bind.functions.signatures import text
from ivm.sql.ir.functions.nested import places_of
from ivm.sql.ir.rebuild import column
from ivm.sql.ir.relation import Map, Project, Relation
from ivm.sql.ir.scalar import Call, Literal, Scalar

_NAMES = ("json_each", "json_tree")
_ROW = struct_of(
    (
        ("key", VARCHAR), ("value", JSON), ("type", VARCHAR), ("atom", JSON), ("id", UBIGINT), ("parent", UBIGINT),
        ("fullkey", VARCHAR), ("path", VARCHAR),
    )
)  # fmt: skip
"""A row, as DuckDB has it."""


def is_json_rows(node: exp.Expr) -> TypeGuard[exp.Anonymous]:
    """Whether this is a call of one of these."""
    return isinstance(node, exp.Anonymous) and str(node.this).lower() in _NAMES


def bind_json_rows(binder: Binder, call: exp.Anonymous) -> tuple[str, Scalar]:
    """The name of the function, and the list of its rows, in the order in which they stand in the JSON."""
    name, args = str(call.this).lower(), call.expressions
    if not 1 <= len(args) <= 2:
        binder.fail(call, f"{name}() takes JSON, and perhaps a path, not {len(args)} arguments")
    given = [text(binder, arg) for arg in args]
    written = f"(SELECT list(r ORDER BY r.id) FROM {name}({', '.join(places_of(len(given)))}) AS r)"
    return name, computed_of(call, written, given, list_of(_ROW)).scalar


def in_columns(rows: Relation) -> Relation:
    """Rows whose first column is such a row, with its fields in its place."""
    row, width = column(rows, 0), len(rows.schema)
    fields = tuple(Call("field", (row, Literal(place, INTEGER)), type_) for place, (_, type_) in enumerate(_ROW.fields))
    made = Map(rows, fields, tuple(name for name, _ in _ROW.fields))
    return Project(made, (*range(width, width + len(fields)), *range(1, width)))
