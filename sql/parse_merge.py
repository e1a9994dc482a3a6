"""MERGE INTO: from a tree, as `ivm.sql.reader` makes it, to a statement whose parts are texts in DuckDB's dialect."""

from __future__ import annotations

from typing import Literal, NoReturn

from sqlglot import exp

from ivm.catalog.names import as_literal
from ivm.sql.duckdb_text import duckdb_text
from ivm.sql.parse_changes import assigned, ctes, returning, value
from ivm.sql.reader import TAKES
from ivm.sql.sql_text import SqlText
from ivm.sql.statements import Merge, When
from ivm.sql.syntax import Syntax
from ivm.sql.tree import names_read, nodes_of, table_name, values_of

_Of = Literal["matched", "not matched by target", "not matched by source"]


def merge(syntax: Syntax, source: SqlText, dialect: str) -> Merge:
    """MERGE INTO t USING s ON .. | USING (..), with clauses WHEN .. THEN .., WITH and RETURNING."""
    tree = syntax.tree
    table = table_name(tree.this, source, "MERGE INTO")
    alias = tree.this.alias or table
    join = tree.args["using"]
    if isinstance(join.this, exp.Subquery) and isinstance(join.this.this, exp.Table):
        source.refuse(join.this, "MERGE ... USING takes one relation; write USING (SELECT ... FROM ..) AS s")
    on, using = join.args.get("on"), join.args.get("using")
    if on is None and not using:
        source.misread(syntax.tokens[0].start, "MERGE needs ON condition or USING (columns) after its source")
    columns = ", ".join(duckdb_text(column) for column in using or ())
    whens = tuple(_when(each, table, source) for each in tree.args["whens"].expressions)
    _check_reached(whens, tree, source)
    return Merge(
        table,
        alias,
        duckdb_text(join.this),
        _called(join.this, source),
        f"ON {duckdb_text(on)}" if on is not None else f"USING ({columns})",
        whens,
        names_read(tree),
        ctes=ctes(tree),
        returning=_returning(tree, alias, source),
    )


def _called(relation: exp.Expr, source: SqlText) -> str:
    """What a relation is called by the columns that are named with it, as DuckDB calls one without a name."""
    if relation.alias:
        return relation.alias
    if isinstance(relation, exp.Table) and relation.name:
        return relation.name
    if isinstance(relation, exp.Subquery | exp.Values):
        return "unnamed_subquery"
    source.refuse(relation, "MERGE ... USING a function needs a name for its rows; write USING f(..) AS s")


def _when(node: exp.When, table: str, source: SqlText) -> When:
    of: _Of = "matched"
    if not node.args["matched"]:
        of = "not matched by source" if node.args.get("source") else "not matched by target"
    where, then = node.args.get("condition"), node.args["then"]
    condition = duckdb_text(where.this) if where else ""
    if isinstance(then, exp.Insert):
        return _insert(node, then, of, condition, source)
    if isinstance(then, exp.Var) and then.name == "DO NOTHING":
        return When(of, "nothing", condition)
    if isinstance(then, exp.Values):
        told = [
            f" || ': ' || coalesce(CAST({duckdb_text(why)} AS VARCHAR), 'NULL')"
            for why in values_of(then.expressions[0])
        ]
        return When(of, "error", condition, values=("".join((as_literal(f"WHEN {of.upper()} THEN ERROR"), *told)),))
    if of == "not matched by target":
        word = "UPDATE" if isinstance(then, exp.Update) else "DELETE"
        what = f"WHEN NOT MATCHED has no row to {word}; write WHEN MATCHED or WHEN NOT MATCHED BY SOURCE"
        source.fail(node, what)
    if isinstance(then, exp.Update):
        takes = then.meta.get(TAKES, "")
        if takes and of != "matched":
            _fail_without_source(node, "SET column = value", source)
        return When(of, "update", condition, assigned(then.expressions, source, f"MERGE INTO {table}"), takes=takes)
    return When(of, "delete", condition)


def _insert(node: exp.When, then: exp.Insert, of: _Of, condition: str, source: SqlText) -> When:
    columns = tuple(column.name for column in then.this.expressions) if then.this else ()
    rows = then.expression
    values = tuple(map(value, rows.expressions[0].expressions)) if rows is not None else ()
    takes = then.meta.get(TAKES, "")
    if takes and of == "not matched by source":
        _fail_without_source(node, "VALUES (..)", source)
    return When(of, "insert", condition, columns=columns, values=values, takes=takes)


def _fail_without_source(node: exp.When, instead: str, source: SqlText) -> NoReturn:
    source.fail(node, f"WHEN NOT MATCHED BY SOURCE has no row of the source to take columns from; write {instead}")


def _check_reached(whens: tuple[When, ...], tree: exp.Expr, source: SqlText) -> None:
    """BindError for a clause after one of its kind that takes everything."""
    full = set[str]()
    for when, node in zip(whens, tree.args["whens"].expressions, strict=True):
        if when.of in full:
            what = f"a WHEN {when.of.upper()} before this one has no condition, so that nothing comes here"
            source.fail(node, f"{what}; give it one, or leave this out")
        if not when.condition:
            full.add(when.of)


def _returning(tree: exp.Expr, alias: str, source: SqlText) -> str:
    """As of other statements; a * alone is of the table's columns, which merge_action is not among."""
    clause = tree.args.get("returning")
    for star in [node for node in nodes_of(clause) if isinstance(node, exp.Star)] if clause else ():
        if isinstance(star.parent, exp.Returning | exp.Columns):
            star.replace(exp.Column(this=star.copy(), table=exp.to_identifier(alias, quoted=True)))
    return returning(tree, source)
