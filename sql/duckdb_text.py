"""Syntax trees and queries of any dialect as texts of DuckDB's."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any, ClassVar

from sqlglot import exp
from sqlglot.errors import ErrorLevel, SqlglotError
from sqlglot.errors import UnsupportedError as SqlglotUnsupportedError
from sqlglot.generators.duckdb import DuckDBGenerator
from sqlglot.optimizer.annotate_types import annotate_types
from sqlglot.optimizer.qualify import qualify

from ivm.catalog.catalog import Catalog
from ivm.catalog.errors import UnsupportedError
from ivm.catalog.names import as_literal, quoted
from ivm.catalog.schema import Schema, Table
from ivm.sql.reader import MUTUALLY
from ivm.sql.signs import CosineDistance, Plus
from ivm.sql.sql_text import SqlText
from ivm.sql.syntax import dialect_named, query
from ivm.sql.tree import names_read


def duckdb_text(tree: exp.Expr, *, pretty: bool = False, copy: bool = True) -> str:
    """The tree in DuckDB's dialect, every name in quotes: whatever it is, it is not read as a word of the grammar.

    Without `copy` the tree is used up. UnsupportedError where DuckDB has nothing for what stands in it.
    """
    writer = _Writer(dialect="duckdb", identify=True, comments=False, pretty=pretty, unsupported_level=ErrorLevel.RAISE)
    try:
        return writer.generate(tree, copy=copy)
    except SqlglotUnsupportedError as error:
        raise UnsupportedError(f"DuckDB, which verifies views, has no such thing: {error}; leave it out") from error


def no_answer(why: str, schema: Schema) -> str:
    """A query with the columns of `schema` that DuckDB takes, and raises `why` for where it would have rows."""
    error = f"error({as_literal(why)})"
    columns = (f"CAST({error} AS {field.type}) AS {quoted(field.name)}" for field in schema)
    return f"SELECT {', '.join(columns)} WHERE CAST({error} AS BOOLEAN)"


class _Writer(DuckDBGenerator):
    """sqlglot's, but for what that writes as something else."""

    TRANSFORMS: ClassVar[dict[type[exp.Expr], Callable[[Any, Any], str]]] = {
        **DuckDBGenerator.TRANSFORMS,
        # Which bind as no other signs do.
        exp.JSONExtract: lambda self, node: self.func("JSON_EXTRACT", node.this, node.expression),
        exp.JSONExtractScalar: lambda self, node: self.func("JSON_EXTRACT_STRING", node.this, node.expression),
        # As columns have it; see `ivm.sql.collate_words`.
        exp.Collate: lambda self, node: f"{self.sql(node, 'this')} COLLATE {self.sql(node, 'expression').lower()}",
        # Which with another sign before them would be one operator.
        Plus: lambda self, node: f"(+({self.sql(node, 'this')}))",
        exp.BitwiseNot: lambda self, node: f"(~({self.sql(node, 'this')}))",
        CosineDistance: lambda self, node: self.binary(node, "<=>"),
        # As date + INTERVAL it would be a TIMESTAMP.
        exp.DateAdd: lambda self, node: self.func("DATE_ADD", node.this, node.expression),
    }

    def extract_sql(self, node: exp.Extract) -> str:
        """EXTRACT, also of what is cast to a moment with time zone, whose session is UTC whoever reads it."""
        if node.expression.is_type(exp.DType.TIMESTAMPTZ, exp.DType.TIMESTAMPLTZ):
            return f"EXTRACT({node.this.name} FROM {self.sql(node, 'expression')})"
        return super().extract_sql(node)

    def with_sql(self, node: exp.With) -> str:
        """WITH, but not MUTUALLY RECURSIVE."""
        if MUTUALLY in node.meta:
            self.unsupported("WITH MUTUALLY RECURSIVE")
        return super().with_sql(node)


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
