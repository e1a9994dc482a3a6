"""INSERT, UPDATE, DELETE, TRUNCATE and COPY: from trees to statements, whose parts are texts in DuckDB's dialect."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from ivm.catalog.names import quoted, written
from ivm.sql.asked_loops import asked_loops, tree_without
from ivm.sql.duckdb_text import duckdb_text
from ivm.sql.sql_text import SqlText, text_of
from ivm.sql.statements import Assignments, Conflict, Copy, Delete, Insert, Query, RowPart, Update
from ivm.sql.syntax import Syntax
from ivm.sql.tree import names_read, nodes_of, table_name, values_of

_DEFAULT = "DEFAULT"


def insert(syntax: Syntax, source: SqlText, dialect: str) -> Insert:
    """INSERT [OR REPLACE | OR IGNORE] INTO, with BY NAME, DEFAULT VALUES, ON CONFLICT and RETURNING."""
    tree = syntax.tree
    target, columns = tree.this, ()
    if isinstance(target, exp.Schema):
        columns = tuple(column.name for column in target.expressions)
        target = target.this
    table = table_name(target, source, "INSERT INTO")
    values: tuple[tuple[str | None, ...], ...] = ()
    if tree.args.get("default"):
        query = Query("", (), "")
    else:
        rows = _rows(tree, source)
        values = () if tree.args.get("by_name") else _written_rows(rows)
        loops = asked_loops(rows, syntax.tokens, source)
        text = "" if values else duckdb_text(tree_without(rows, loops))
        query = Query(text, (*names_read(rows), *(loop.name for loop in loops)), text, loops=loops)
    return Insert(
        table,
        columns,
        query,
        values,
        alias=target.alias or table,
        names=_also(query.names, tree.args.get("conflict")),
        by_name=bool(tree.args.get("by_name")),
        defaults=bool(tree.args.get("default")),
        conflict=conflict_of(tree, source),
        returning=returning(tree, source),
    )


def delete(syntax: Syntax, source: SqlText, dialect: str) -> Delete:
    """DELETE FROM, with USING, WITH and RETURNING."""
    tree = syntax.tree
    table = table_name(tree.this, source, "DELETE FROM")
    using = ", ".join(duckdb_text(item) for item in tree.args.get("using") or ())
    return Delete(
        table,
        tree.this.alias or table,
        _condition(tree),
        names_read(tree),
        using=using,
        ctes=ctes(tree),
        returning=returning(tree, source),
    )


def truncate(syntax: Syntax, source: SqlText, dialect: str) -> Delete:
    """TRUNCATE [TABLE]: a DELETE of all rows."""
    tree = syntax.tree
    target, *others = tree.expressions
    if others:
        source.refuse(others[0], "TRUNCATE takes one name; write one statement for each")
    table = table_name(target, source, "TRUNCATE")
    return Delete(table, table, "", (table,))


def update(syntax: Syntax, source: SqlText, dialect: str) -> Update:
    """UPDATE ... SET, with FROM, WITH and RETURNING."""
    tree = syntax.tree
    table = table_name(tree.this, source, "UPDATE")
    other = tree.args.get("from_")
    return Update(
        table,
        tree.this.alias or table,
        assigned(tree.expressions, source, f"UPDATE {table}"),
        _condition(tree),
        names_read(tree),
        source=duckdb_text(other.this) if other else "",
        ctes=ctes(tree),
        returning=returning(tree, source),
    )


def _rows(tree: exp.Expr, source: SqlText) -> exp.Expr:
    if tree.expression is None:  # sqlglot takes VALUES in parentheses for names of columns
        source.refuse(tree, "INSERT needs VALUES or a SELECT, without parentheses around VALUES")
    rows: exp.Expr = tree.expression.copy()
    if not isinstance(rows, exp.Query | exp.Values):
        source.refuse(tree, "INSERT needs VALUES or a SELECT")
    if tree.args.get("with_"):
        rows.set("with_", tree.args["with_"].copy())
    return rows


def _written_rows(rows: exp.Expr) -> tuple[tuple[str | None, ...], ...]:
    """The values of VALUES, each as a text, None for DEFAULT; none for any other query."""
    plain = isinstance(rows, exp.Values) and not any(v for arg, v in rows.args.items() if arg != "expressions")
    if not plain:
        return ()
    return tuple(tuple(map(value, values_of(row))) for row in rows.expressions)


def value(node: exp.Expr) -> str | None:
    """The text of a value; None for the word DEFAULT."""
    return None if is_default(node) else duckdb_text(node)


def is_default(node: exp.Expr) -> bool:
    """Whether a value is the word DEFAULT."""
    name = node.this if isinstance(node, exp.Column) and not node.table else node
    unquoted = isinstance(name, exp.Var) or (isinstance(name, exp.Identifier) and not name.args.get("quoted"))
    return unquoted and name.name.upper() == _DEFAULT


def assigned(items: Sequence[exp.Expr], source: SqlText, what: str) -> Assignments:
    """What SET says, of one column or of several at once."""
    assignments: dict[str, str | RowPart | None] = {}
    for item in items:
        columns = values_of(item.this) if isinstance(item, exp.EQ) else [item]
        if not isinstance(item, exp.EQ) or not all(isinstance(column, exp.Column) for column in columns):
            source.refuse(item, f"{what} needs SET column = value, or SET (columns) = (values)")
        for column, new in zip(columns, _new_values(item, len(columns), source, what), strict=True):
            if written(column.name, assignments):
                source.fail(item, f"{what} sets column {column.name!r} twice; set it once")
            assignments[column.name] = new
    return tuple(assignments.items())


def _new_values(item: exp.EQ, width: int, source: SqlText, what: str) -> Sequence[str | RowPart | None]:
    """The values that one item of SET gives to so many columns: (x, y), ROW(x, y) or the row of a subquery."""
    if not isinstance(item.this, exp.Tuple):
        return [value(item.expression)]
    given = item.expression.unnest()
    is_query = isinstance(given, exp.Query | exp.Values)
    if is_query:
        parts = values_of(given.expressions[0]) if isinstance(given, exp.Values) else given.selects
        if any(part.is_star for part in parts):
            source.refuse(item, f"{what}: * in the subquery of SET (columns) is not supported; list the columns")
    elif isinstance(given, exp.Tuple) or (isinstance(given, exp.Anonymous) and given.name.upper() == "ROW"):
        parts = given.expressions
    else:
        source.refuse(item, f"{what}: SET (columns) needs as many values; write (x, y), ROW(x, y) or a subquery")
    if len(parts) != width:
        source.fail(item, f"{what}: SET names {width} columns, but {len(parts)} values are given; give one for each")
    if is_query:
        return [RowPart(duckdb_text(item.expression), place, width) for place in range(width)]
    return [value(part) for part in parts]


def conflict_of(tree: exp.Expr, source: SqlText) -> Conflict | None:
    """What an INSERT does with rows that are there already; None where it says nothing of them."""
    alternative, clause = (tree.args.get("alternative") or "").upper(), tree.args.get("conflict")  # as it was written
    if alternative and clause:
        source.fail(tree, f"INSERT OR {alternative} and ON CONFLICT exclude each other; write one of them")
    if alternative:
        actions = {"REPLACE": Conflict("replace"), "IGNORE": Conflict("nothing")}
        if alternative not in actions:
            source.refuse(tree, f"INSERT OR {alternative} is not supported; write OR REPLACE, OR IGNORE or ON CONFLICT")
        return actions[alternative]
    return _on_conflict(clause, source) if clause else None


def _on_conflict(clause: exp.Expr, source: SqlText) -> Conflict:
    columns = []
    for item in clause.args.get("conflict_keys") or ():
        column = item.this if isinstance(item, exp.Ordered) else item
        if not isinstance(column, exp.Column | exp.Identifier) or item.args.get("desc"):
            source.refuse(item, "ON CONFLICT takes names of columns, nothing else")
        columns.append(column.name)
    if clause.text("action").upper() == "DO NOTHING":
        return Conflict("nothing", tuple(columns))
    assignments = assigned(clause.expressions, source, "INSERT ... ON CONFLICT DO UPDATE")
    return Conflict("update", tuple(columns), assignments, _condition(clause))


def _also(names: tuple[str, ...], clause: exp.Expr | None) -> tuple[str, ...]:
    """The names, and those that the clause reads too."""
    more = names_read(clause) if clause else ()
    return (*names, *(name for name in more if written(name, names) is None))


def returning(tree: exp.Expr, source: SqlText) -> str:
    """The text of what stands after RETURNING."""
    clause = tree.args.get("returning")
    if not clause:
        return ""
    for node in nodes_of(clause):
        if isinstance(node, exp.Query | exp.Subquery | exp.Exists):
            source.refuse(node, "RETURNING takes no subqueries; query the table afterwards")
        if isinstance(node, exp.Window | exp.AggFunc):
            what = f"RETURNING {text_of(node)}: there are neither aggregates nor window functions of the rows"
            source.fail(node, f"{what}; compute it in a SELECT behind WITH name AS (.. RETURNING ..)")
    return ", ".join(duckdb_text(item) for item in clause.expressions)


def ctes(tree: exp.Expr) -> str:
    """The text of a statement's WITH."""
    clause = tree.args.get("with_")
    return duckdb_text(clause) if clause else ""


def _condition(tree: exp.Expr) -> str:
    where = tree.args.get("where")
    return duckdb_text(where.this) if where else ""


_CSV = {
    "header": "header", "delimiter": "delim", "delim": "delim", "sep": "delim", "null": "nullstr", "nullstr": "nullstr",
    "quote": "quote", "escape": "escape", "dateformat": "dateformat", "timestampformat": "timestampformat",
    "compression": "compression",
}  # fmt: skip
_FOLDER = {"per_thread_output": "per_thread_output"}
_JSON = {name: name for name in ("array", "compression", "dateformat", "timestampformat")}
_OPTIONS = {
    ("csv", True): {**_CSV, "skip": "skip", "encoding": "encoding", "ignore_errors": "ignore_errors"},
    ("csv", False): {**_CSV, **_FOLDER},
    ("json", True): {**_JSON, "ignore_errors": "ignore_errors", "maximum_object_size": "maximum_object_size"},
    ("json", False): _JSON,
    ("parquet", True): {},
    ("debezium", True): {"compression": "compression"},
    ("parquet", False): {name: name for name in ("compression", "compression_level", "row_group_size")} | _FOLDER,
}
"""Of a format, into a table or out of one, the options there are, and what DuckDB's readers call them."""


def copy(syntax: Syntax, source: SqlText, dialect: str) -> Copy:
    """COPY table FROM 'file', COPY table TO 'file', COPY (SELECT ...) TO 'file', each with (options).

    Without FORMAT the name of the file says what it is. UnsupportedError for any other format or option, and where
    nothing says it.
    """
    tree, into = syntax.tree, bool(syntax.tree.args["kind"])
    files: list[exp.Expr] = tree.args.get("files") or []
    if len(files) != 1 or not files[0].is_string:
        source.refuse(tree, "COPY takes the name of one file in quotes")
    path = files[0].name
    if "\0" in path:  # where DuckDB would end the name
        source.refuse(tree, "COPY takes the name of a file, which cannot hold the character NUL")
    given = {item.this.name.lower(): item for item in tree.args.get("params") or ()}
    format_ = given.pop("format", None)
    name = format_.expression.name.lower() if format_ is not None else _format_of(path)
    if not name:
        source.refuse(tree, f"the name of file {path!r} does not say what it holds; add FORMAT csv, parquet or json")
    if (name, into) not in _OPTIONS:
        what = "only into a table" if name == "debezium" else "csv, parquet, json and, into a table, debezium are"
        source.refuse(tree, f"COPY with FORMAT {name} is not supported; {what}")
    known = _OPTIONS[name, into]
    if _ending(path) == ".tsv" and name == "csv" and not (into or {"delimiter", "delim", "sep"} & set(given)):
        source.refuse(tree, f"DuckDB would write commas into {path!r}; add DELIMITER '\\t', or DELIMITER ','")
    for option in given:
        if option not in known:
            what = f"COPY of a {name} file with {option.upper()} is not supported; {', '.join(known) or 'nothing'} is"
            source.refuse(tree, what)
    folder = given.pop("per_thread_output", None)
    is_folder = folder is not None and _option_text(folder, source).lower() != "false"
    options = tuple((known[option], _option_text(item, source)) for option, item in given.items())
    target, columns = tree.this, ()
    if isinstance(target, exp.Subquery) and not into:
        text = duckdb_text(target.this)
        return Copy(path, name, options, query=Query(text, names_read(target), text), is_folder=is_folder)
    if isinstance(target, exp.Schema):
        target, columns = target.this, tuple(column.name for column in target.expressions)
        if name == "debezium":
            source.refuse(tree, "COPY of envelopes takes no columns, whose names are in them")
    table = table_name(target, source, "COPY")
    if into:
        return Copy(path, name, options, table, columns)
    text = f"SELECT {', '.join(map(quoted, columns)) or '*'} FROM {quoted(table)}"
    return Copy(path, name, options, query=Query(text, (table,), text), is_folder=is_folder)


_ENDINGS = {
    ".csv": "csv", ".tsv": "csv", ".txt": "csv", ".parquet": "parquet", ".pq": "parquet",
    ".json": "json", ".jsonl": "json", ".ndjson": "json",
}  # fmt: skip
"""What files are by the ends of their names, before one that says how they are compressed."""


def _ending(path: str) -> str:
    bare = path.lower().removesuffix(".gz").removesuffix(".zst")
    return f".{bare.rpartition('.')[2]}"


def _format_of(path: str) -> str:
    """What a file is by its name; empty if that does not say it."""
    return _ENDINGS.get(_ending(path), "")


def _option_text(item: exp.Expr, source: SqlText) -> str:
    value = item.args.get("expression")
    if value is None:
        return "true"
    if isinstance(value, exp.Literal | exp.Boolean):
        return duckdb_text(value)
    if isinstance(value, exp.Var | exp.Column):
        return duckdb_text(exp.Literal.string(value.name))
    source.fail(item, f"the value {text_of(value)} of {item.this.name} is no literal; write it in quotes")
