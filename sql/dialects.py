"""Queries of other dialects, in DuckDB's: sqlglot translates, and what it needs types for is decided here."""

from __future__ import annotations

import contextlib

from sqlglot import exp
from sqlglot.errors import SqlglotError
from sqlglot.optimizer.annotate_types import annotate_types
from sqlglot.optimizer.qualify import qualify

from catalog.catalog import Catalog
from catalog.schema import Table
from sql.duckdb_text import duckdb_text
from sql.names import names_read
from sql.sql_text import SqlText
from sql.syntax import dialect_named, query

_MARK = "ivm_division"


def translated(source: SqlText, dialect: str, catalog: Catalog) -> str:
    """The query in the text, which is in `dialect`, in DuckDB's dialect; the types of names are the catalog's.

    Where the dialect divides integers to an integer, so does the translation. Other differences that sqlglot does not
    know stay: what it leaves alone means what it means in DuckDB. ParseError if the text is no query; UnsupportedError
    where the type of a division cannot be told.
    """
    tree = query(source, dialect).tree
    if dialect_named(dialect).TYPED_DIVISION:
        _divide_integers(tree, source, catalog)
    return duckdb_text(tree, pretty=True)


def _divide_integers(tree: exp.Expr, source: SqlText, catalog: Catalog) -> None:
    divisions = list(tree.find_all(exp.Div))
    for number, node in enumerate(divisions):
        node.meta[_MARK] = number
    if not divisions:
        return
    kinds = _kinds(tree, catalog)
    for number, node in enumerate(divisions):
        whole = kinds.get(number)
        if whole is None:
            what = "cannot tell whether / divides integers here; write CAST(... AS DOUBLE PRECISION) around one side"
            source.refuse(node, what)
        if whole:
            node.replace(exp.IntDiv(this=node.this, expression=node.expression))


def _kinds(tree: exp.Expr, catalog: Catalog) -> dict[int, bool]:
    """Of each marked division whose type is known, whether it divides integers."""
    schema: dict[str, object] = {}
    for name in names_read(tree):
        found = catalog.find(name)
        if found is not None:
            fields = found.fields if isinstance(found, Table) else found.schema
            schema[name] = {field.name: str(field.type) for field in fields}
    typed = tree.copy()
    with contextlib.suppress(SqlglotError):  # an unknown name, which the binder reports better
        typed = qualify(typed, schema=schema, dialect="duckdb", expand_stars=False, validate_qualify_columns=False)
        typed = annotate_types(typed, schema=schema, dialect="duckdb")
    kinds: dict[int, bool] = {}
    for node in typed.find_all(exp.Div):
        operands = [side.type.this if side.type else None for side in (node.this, node.expression)]
        if any(kind in exp.DataType.REAL_TYPES for kind in operands):
            kinds[node.meta[_MARK]] = False
        elif all(kind in exp.DataType.INTEGER_TYPES for kind in operands):
            kinds[node.meta[_MARK]] = True
    return kinds
