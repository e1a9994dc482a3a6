"""COPY: from trees to statements."""

from __future__ import annotations

from sqlglot import exp

from catalog.names import quoted
from sql.duckdb_text import duckdb_text
from sql.names import names_read, table_name
from sql.sql_text import SqlText, text_of
from sql.statements import Copy, Query
from sql.syntax import Syntax

_CSV = {
    "header": "header", "delimiter": "delim", "delim": "delim", "sep": "delim", "null": "nullstr", "nullstr": "nullstr",
    "quote": "quote", "escape": "escape", "dateformat": "dateformat", "timestampformat": "timestampformat",
    "compression": "compression",
}  # fmt: skip
_OPTIONS = {
    ("csv", True): {**_CSV, "skip": "skip", "encoding": "encoding", "ignore_errors": "ignore_errors"},
    ("csv", False): _CSV,
    ("parquet", True): {},
    ("parquet", False): {name: name for name in ("compression", "compression_level", "row_group_size")},
}
"""Of a format, into a table or out of one, the options there are, and what DuckDB's readers call them."""


def copy(syntax: Syntax, source: SqlText, dialect: str) -> Copy:
    """COPY table FROM 'file', COPY table TO 'file', COPY (SELECT ...) TO 'file', each with (options).

    Without FORMAT a file whose name ends in .parquet is Parquet, any other CSV. UnsupportedError for any other format
    or option.
    """
    tree, into = syntax.tree, bool(syntax.tree.args["kind"])
    files: list[exp.Expr] = tree.args.get("files") or []
    if len(files) != 1 or not files[0].is_string:
        source.refuse(tree, "COPY takes the name of one file in quotes")
    path = files[0].name
    given = {item.this.name.lower(): item for item in tree.args.get("params") or ()}
    format_ = given.pop("format", None)
    name = format_.expression.name.lower() if format_ is not None else _format_of(path)
    if (name, into) not in _OPTIONS:
        source.refuse(tree, f"COPY with FORMAT {name} is not supported; csv and parquet are")
    known = _OPTIONS[name, into]
    for option in given:
        if option not in known:
            what = f"COPY of a {name} file with {option.upper()} is not supported; {', '.join(known) or 'nothing'} is"
            source.refuse(tree, what)
    options = tuple((known[option], _value(item, source)) for option, item in given.items())
    target, columns = tree.this, ()
    if isinstance(target, exp.Subquery) and not into:
        text = duckdb_text(target.this)
        return Copy(path, name, options, query=Query(text, names_read(target), text))
    if isinstance(target, exp.Schema):
        target, columns = target.this, tuple(column.name for column in target.expressions)
    table = table_name(target, source, "COPY")
    if into:
        return Copy(path, name, options, table, columns)
    text = f"SELECT {', '.join(map(quoted, columns)) or '*'} FROM {quoted(table)}"
    return Copy(path, name, options, query=Query(text, (table,), text))


def _format_of(path: str) -> str:
    return "parquet" if path.lower().endswith((".parquet", ".pq")) else "csv"


def _value(item: exp.Expr, source: SqlText) -> str:
    value = item.args.get("expression")
    if value is None:
        return "true"
    if isinstance(value, exp.Literal | exp.Boolean):
        return duckdb_text(value)
    if isinstance(value, exp.Var | exp.Column):
        return duckdb_text(exp.Literal.string(value.name))
    source.fail(item, f"the value {text_of(value)} of {item.this.name} is no literal; write it in quotes")
