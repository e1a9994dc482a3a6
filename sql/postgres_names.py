"""Queries about what there is, as Postgres's clients write them, in DuckDB's dialect: relations and functions of
pg_catalog under names of their own, and what Postgres alone has (regclass, OPERATOR(..), collations of pg_catalog) so
that DuckDB reads it.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import cast

from sqlglot import exp, parse_one
from sqlglot.errors import SqlglotError

from ivm.catalog.names import key

CATALOG, INFORMATION = "pg_catalog", "information_schema"
OWN = "ivm_"
"""What the names of functions begin with, so that they are not those of DuckDB's."""
_NODES: dict[type[exp.Expr], str] = {
    exp.CurrentUser: "current_user", exp.SessionUser: "session_user", exp.CurrentCatalog: "current_catalog",
    exp.CurrentSchema: "current_schema", exp.CurrentDatabase: "current_database", exp.CurrentVersion: "version",
}  # fmt: skip
"""Functions that sqlglot has nodes for, under names of its own."""
_LISTS = re.compile(r"::\s*(?:pg_catalog\.)?oid\s*\[\s*\]", re.IGNORECASE)
"""Lists of a type that sqlglot does not know."""
_OWN_THINGS = "table_catalog <> 'temp' OR NOT regexp_matches(table_name, '^(pg|ivm)_')"
_OURS = {
    "schemata": "catalog_name = current_database() OR (catalog_name = 'system' AND schema_name <> 'main')",
    "tables": _OWN_THINGS, "columns": _OWN_THINGS, "views": _OWN_THINGS,
}  # fmt: skip
"""Which rows of information_schema are true of ours: relations of pg_catalog are views of DuckDB's meanwhile."""
_AS_TEXT = frozenset(["name", "char", "regproc", "regprocedure", "regoper", "regnamespace", "regrole", "cstring"])
_AS_NUMBER = frozenset(["oid", "xid", "cid", "regclass_oid"])


@dataclass(frozen=True, slots=True)
class CatalogQuery:
    """A query as DuckDB reads it, and what relations and functions of pg_catalog it names; `others` are relations that
    it reads beside, those of information_schema not among them, which `informs` tells of.
    """

    text: str
    relations: frozenset[str]
    functions: frozenset[str]
    others: tuple[str, ...]
    informs: bool


def catalog_query(text: str, relations: Collection[str], functions: Collection[str]) -> CatalogQuery | None:
    """The query, if it reads some of these relations or information_schema, or reads nothing and calls one of these
    functions. None for any other text, and for one that Postgres would not read.
    """
    try:
        tree = parse_one(_LISTS.sub("::bigint[]", text), read="postgres")
    except (SqlglotError, RecursionError):
        return None
    if not isinstance(tree, exp.Query):
        return None
    for select in tree.find_all(exp.Select):
        if select.parent is None or isinstance(select.parent, exp.SetOperation):
            _name_columns(select)
    for node in reversed(list(tree.walk())):  # what is within comes first
        plain = _plain(node)
        if plain is not node:
            node.replace(plain)
    read, others, informs = _relations(tree, relations)
    called = set[str]()
    for node in reversed(list(tree.find_all(exp.Func))):
        name = _called(node)
        if name in functions:
            called.add(name)
            arguments = node.expressions if isinstance(node, exp.Anonymous) else list(node.iter_expressions())
            own = name if name.startswith(OWN) else OWN + name
            node.replace(exp.Anonymous(this=own, expressions=arguments))
    if not read and not informs and (others or not called):
        return None
    return CatalogQuery(tree.sql("duckdb"), frozenset(read), frozenset(called), tuple(others), informs)


def _relations(tree: exp.Query, known: Collection[str]) -> tuple[set[str], list[str], bool]:
    """Those of pg_catalog that it reads, the others, and whether it reads information_schema, or `duckdb_tables()`."""
    named = {key(each.alias_or_name) for each in tree.find_all(exp.CTE)}
    read, others, informs = set[str](), list[str](), False
    for table in list(tree.find_all(exp.Table)):
        name, schema = key(table.name), key(table.db)
        if name in known and schema in ("", CATALOG):
            table.set("db", None)
            table.set("catalog", None)
            read.add(name)
        elif schema == INFORMATION:
            informs = True
            table.set("catalog", None)
            table.set("db", exp.to_identifier(INFORMATION))
            if name in _OURS:  # DuckDB has more there
                own = exp.select("*").from_(table.copy()).where(_OURS[name], dialect="duckdb")
                own.args["from_"].this.set("alias", None)
                table.replace(own.subquery(table.alias or name))
        elif not isinstance(table.this, exp.Identifier):
            informs = informs or key(table.this.name).startswith("duckdb_")
            _name_rows(table)
        elif schema or name not in named:
            others.append(table.name)
    return read, others, informs


def _name_rows(table: exp.Table) -> None:
    """Let the column of a function in FROM be called as its rows are, which is so in Postgres; a list is one row."""
    alias = table.args.get("alias")
    if alias is None or alias.columns:
        return
    if isinstance(table.this, exp.StringToArray):
        row = exp.select(exp.alias_(table.this.copy(), alias.name))
        table.replace(row.subquery(alias.name))
    elif isinstance(table.this, exp.GenerateSeries):
        alias.set("columns", [exp.to_identifier(alias.name)])


def _called(node: exp.Func) -> str:
    return key(node.name) if isinstance(node, exp.Anonymous) else _NODES.get(type(node)) or key(node.sql_name())


def _name_columns(select: exp.Select) -> None:
    """Give columns that are calls or casts the names that Postgres gives them."""
    for each in list(select.expressions):
        inner: exp.Expr = each
        while isinstance(inner, exp.Cast | exp.Dot):
            inner = inner.expression if isinstance(inner, exp.Dot) else inner.this
        if inner is each and not isinstance(inner, exp.Func):
            continue
        name = _called(inner) if isinstance(inner, exp.Func) else inner.name if isinstance(inner, exp.Column) else ""
        if name:
            each.replace(exp.alias_(each.copy(), name, quoted=True))


def _plain(node: exp.Expr) -> exp.Expr:
    """A node as DuckDB has it."""
    schema = key(node.this.name) if isinstance(node, exp.Dot) else ""
    if isinstance(node, exp.Dot) and schema in (CATALOG, INFORMATION) and isinstance(node.expression, exp.Func):
        return node.expression
    if isinstance(node, exp.Table) and key(node.db) == CATALOG and not isinstance(node.this, exp.Identifier):
        node.set("db", None)  # a function
    if isinstance(node, exp.Table) and key(node.this.name) == "pg_partition_ancestors":
        node.set("this", exp.func("generate_series", exp.Literal.number(1), exp.Literal.number(0)))
    if isinstance(node, exp.Anonymous) and key(node.name) in _CALLED_SO:
        return exp.Anonymous(this=_CALLED_SO[key(node.name)], expressions=node.expressions)
    if isinstance(node, exp.Column) and not node.table and not node.this.quoted and key(node.name) == "user":
        return exp.Anonymous(this="current_user")
    if isinstance(node, exp.Column) and key(node.db) == CATALOG:
        node.set("db", None)
    if isinstance(node, exp.Like | exp.ILike) and not isinstance(node.parent, exp.Escape):
        return exp.Escape(this=node.copy(), expression=exp.Literal.string("\\"))  # which Postgres takes without a word
    if isinstance(node, exp.Collate):
        return cast(exp.Expr, node.this)
    if isinstance(node, exp.Bracket) and node.this.name.lower() in _VECTORS and len(node.expressions) == 1:
        return exp.Bracket(this=node.this, expressions=[exp.paren(node.expressions[0].copy()) + 1])
    if isinstance(node, exp.Operator):
        sign = node.text("operator").rpartition(".")[2]
        kind = _OPERATORS.get(sign.removeprefix("!"))
        if kind is not None:
            found = kind(this=node.this, expression=node.expression)
            return exp.not_(found) if sign.startswith("!") else found
    if isinstance(node, exp.Cast):
        return _cast(node)
    return node


_CALLED_SO = {"json_build_object": "json_object", "json_build_array": "json_array", "json_agg": "json_group_array"}
_OPERATORS: dict[str, type[exp.Expr]] = {
    "~": exp.RegexpLike, "~*": exp.RegexpILike, "=": exp.EQ, "~~": exp.Like, "~~*": exp.ILike,
}  # fmt: skip


_VECTORS = frozenset(["indkey", "indoption", "indclass", "indcollation"])
"""Columns that Postgres counts from 0."""
_ITEM = re.compile(r'"((?:[^"\\]|\\.)*)"|([^,]+)')


def _listed(text: str) -> exp.Expr:
    """The list that Postgres reads a text as, {a,"b c"}."""
    items = [quoted or plain for quoted, plain in _ITEM.findall(text[1:-1])]
    return exp.Array(expressions=[exp.Literal.string(re.sub(r"\\(.)", r"\1", each)) for each in items])


def _cast(node: exp.Cast) -> exp.Expr:
    is_text = isinstance(node.this, exp.Literal) and node.this.is_string
    if is_text and node.to.this == exp.DType.ARRAY and node.this.name.startswith("{"):
        return exp.cast(_listed(node.this.name), node.to)
    said = node.to.sql("postgres").lower().replace('"', "").replace(f"{CATALOG}.", "")
    if said in ("regclass", "regtype"):
        if is_text and node.this.name.isdecimal():
            return exp.cast(node.this, "BIGINT")
        return exp.Anonymous(this=f"{OWN}{said}{'' if is_text else '_name'}", expressions=[node.this])
    if said in _AS_NUMBER:
        return exp.cast(node.this, "BIGINT")
    if said in _AS_TEXT or said.startswith(("char(", f"{INFORMATION}.")):
        return exp.cast(node.this, "VARCHAR")
    if said in ("int2vector", "oidvector", "pg_node_tree", "aclitem[]"):
        return cast(exp.Expr, node.this)
    return exp.cast(node.this, said, dialect="postgres") if said != node.to.sql("postgres").lower() else node
