"""WITH: common table expressions, bound once and put wherever they are named."""

from __future__ import annotations

from sqlglot import exp

from catalog.names import key, twice
from sql.bind.clauses.from_clause import renamed
from sql.bind.context import BindContext, Ctes


def bind_with(context: BindContext, node: exp.Expr, ctes: Ctes) -> Ctes:
    """The expressions in reach of a block: those of its WITH added to those in reach of it."""
    clause = node.args.get("with_")
    if clause is None:
        return ctes
    reach = dict(ctes)
    again = twice(cte.alias for cte in clause.expressions)
    if again is not None:
        context.fail(clause.expressions[-1], f"WITH names {again!r} twice; give one of the two another name")
    for cte in clause.expressions:
        name = cte.alias
        if clause.args.get("recursive") and any(key(t.name) == key(name) for t in cte.this.find_all(exp.Table)):
            context.refuse(cte, f"WITH RECURSIVE {name} is not maintained yet; write out as many joins as are needed")
        relation = context.query(context, cte.this, reach).relation
        alias = cte.args["alias"]
        names = [column.name for column in alias.args.get("columns") or ()]
        if len(names) > len(relation.schema):
            context.fail(alias, f"WITH {name} has {len(relation.schema)} columns, but {len(names)} names are given")
        reach[key(name)] = renamed(relation, names)
    return reach
