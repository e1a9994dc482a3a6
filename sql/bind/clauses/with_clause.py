"""WITH: common table expressions, plain and recursive."""

from __future__ import annotations

from sqlglot import exp

from ivm.catalog.names import key, twice
from ivm.sql.arguments import refuse_unread
from ivm.sql.bind.clauses.from_clause import renamed
from ivm.sql.bind.context import BindContext, Ctes
from ivm.sql.bind.mutual import bind_mutual
from ivm.sql.bind.recursion import bind_recursive, recursive_union
from ivm.sql.ir.relation import Relation
from ivm.sql.reader import MUTUALLY


def bind_with(context: BindContext, node: exp.Expr, ctes: Ctes) -> Ctes:
    """The expressions in reach of a block: those of its WITH added to those in reach of it."""
    clause = node.args.get("with_")
    if clause is None:
        return ctes
    again = twice(cte.alias for cte in clause.expressions)
    if again is not None:
        context.fail(clause.expressions[-1], f"WITH names {again!r} twice; give one of the two another name")
    refuse_unread((clause, *clause.expressions), context.source)
    if MUTUALLY in clause.meta:
        return bind_mutual(context, clause, ctes)
    reach, recursive, around = dict(ctes), bool(clause.args.get("recursive")), dict(context.awaited)
    context.awaited |= {key(cte.alias): _unknown(cte.alias, "later") for cte in clause.expressions if recursive}
    for cte in clause.expressions:
        context.awaited[key(cte.alias)] = _unknown(cte.alias, "recursive" if recursive else "plain")
        relation = _bind(context, cte, reach, recursive=recursive)
        names = _names(context, cte)
        if len(names) > len(relation.schema):
            what = f"WITH {cte.alias} has {len(relation.schema)} columns, but {len(names)} names are given"
            context.fail(cte.args["alias"], what)
        reach[key(cte.alias)] = renamed(relation, names)
    context.awaited = around
    return reach


def _unknown(name: str, kind: str) -> str:
    """What is said where a name is read that WITH has not made yet."""
    what = {
        "plain": f"write WITH RECURSIVE where {name} is to read itself",
        "recursive": f"of WITH RECURSIVE {name} AS (base UNION [ALL] branch) the branch alone may read {name}",
        "later": "write WITH MUTUALLY RECURSIVE where expressions are to read those after them",
    }
    return f"{name} is not known here; {what[kind]}"


def _bind(context: BindContext, cte: exp.CTE, ctes: Ctes, *, recursive: bool) -> Relation:
    union = recursive_union(context, cte) if recursive else None
    if union is not None:
        mark = context.mark()
        relation = bind_recursive(context, cte, union, _names(context, cte), bind_with(context, union, ctes))
        if relation is not None:
            return relation
        context.forget(mark)
    return context.query(context, cte.this, ctes).relation


def _names(context: BindContext, cte: exp.CTE) -> list[str]:
    """The names that an expression gives to its columns."""
    columns = cte.args["alias"].args.get("columns") or ()
    for column in columns:
        if isinstance(column, exp.ColumnDef):
            what = f"WITH {cte.alias} declares the type of a column; that is for WITH MUTUALLY RECURSIVE, leave it out"
            context.refuse(column, what)
    return [column.name for column in columns]
