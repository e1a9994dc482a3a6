"""FROM: tables, views, subqueries, and the inner joins between them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from catalog.errors import BindError
from catalog.schema import Field, Table, View
from sql.bind.binder import Binder
from sql.bind.comparisons import compare
from sql.bind.context import Context, Ctes
from sql.bind.handlers import HANDLERS
from sql.bind.operand import Operand
from sql.bind.scope import Scope, ScopeColumn, join, scope_of
from sql.bind.values import bind_values
from sql.ir.relation import Constant, Get, Project, Relation
from sql.ir.scalar import Scalar, remap


@dataclass(frozen=True, slots=True)
class From:
    """The relations of a FROM clause, to be joined under `conditions`; the scope is that of their concatenated rows."""

    inputs: tuple[Relation, ...]
    scope: Scope
    conditions: tuple[Scalar, ...] = ()


def bind_from(context: Context, node: exp.Expr | None, joins: Sequence[exp.Join], ctes: Ctes) -> From:
    """The FROM clause that begins with `node` (None: one row without columns), with the `joins` that follow.

    UnsupportedError for joins that are not inner, table functions and LATERAL; BindError for unknown names.
    """
    if node is None:
        return From((Constant(((),), ()),), Scope())
    bound = _bind_item(context, node, ctes)
    for item in joins:
        bound = _bind_join(context, bound, item, ctes)
    return bound


def _bind_item(context: Context, node: exp.Expr, ctes: Ctes) -> From:
    if isinstance(node, exp.Table):
        item = _bind_table(context, node, ctes)
    elif isinstance(node, exp.Subquery) and isinstance(node.this, exp.Table):
        item = bind_from(context, node.this, (), ctes)  # FROM (a JOIN b ON ...)
        if node.alias:
            context.refuse(node, "an alias for a join in parentheses is not supported; write (SELECT * FROM ...) AS it")
    elif isinstance(node, exp.Subquery):
        _refuse_options(context, node)
        relation = context.query(context, node.this if _is_plain(node) else node, ctes)
        item = _one(context, node, relation.relation, node.alias.lower())
    elif isinstance(node, exp.Values):
        item = _one(context, node, bind_values(context, node), node.alias.lower())
    else:
        context.refuse(node, f"{node.sql('duckdb')} in FROM is not supported; tables, views and subqueries are")
    for inner in node.args.get("joins") or ():
        item = _bind_join(context, item, inner, ctes)
    return item


def _is_plain(node: exp.Subquery) -> bool:
    return not any(node.args.get(arg) for arg in ("order", "limit", "offset", "with_"))


def _refuse_options(context: Context, node: exp.Expr) -> None:
    for arg in ("sample", "pivots", "when", "laterals", "hints", "ordinality", "only", "partition", "changes"):
        if node.args.get(arg):
            context.refuse(node, f"{arg.upper().removesuffix('S')} in FROM is not supported; leave it out")


def _bind_table(context: Context, node: exp.Table, ctes: Ctes) -> From:
    _refuse_options(context, node)
    if not isinstance(node.this, exp.Identifier):
        context.refuse(node, f"the table function {node.this.sql('duckdb')} is not supported; put its rows in a table")
    if node.args.get("catalog") or node.db.lower() not in ("", "main"):
        context.fail(node, f"there is no schema {node.db!r}; there is one schema, so write {node.name} alone")
    name = node.name.lower()
    relation = ctes.get(name) if not node.db else None
    return _one(context, node, relation or _stored(context, node, name), node.alias.lower() or name)


def _stored(context: Context, node: exp.Table, name: str) -> Relation:
    try:
        entry = context.catalog.lookup(name)
    except BindError as error:
        context.fail(node, str(error))
    context.uses[entry.name] = None
    if isinstance(entry, Table):
        return Get(entry.name, entry.fields, (entry.key_indexes,) if entry.primary_key else ())
    return _view(context, entry)


def _view(context: Context, view: View) -> Relation:
    if view.maintained:
        return Get(view.name, view.schema, is_table=False)
    return context.view(context.catalog, view.sql)


def _one(context: Context, node: exp.Expr, relation: Relation, alias: str) -> From:
    """One relation under its alias, its columns renamed where the alias says so."""
    alias_node = node.args.get("alias")
    written = alias_node.args.get("columns") if isinstance(alias_node, exp.TableAlias) else None
    names = [column.name.lower() for column in written or ()]
    fields = relation.schema
    if len(names) > len(fields):
        what = f"{alias or 'the subquery'} has {len(fields)} columns, but {len(names)} names are given; drop some"
        context.fail(node, what)
    fields = tuple(
        replace(f, name=name) for f, name in zip(fields, [*names, *(f.name for f in fields[len(names) :])], strict=True)
    )
    return From((relation,), scope_of(alias, fields))


def renamed(relation: Relation, names: Sequence[str]) -> Relation:
    """The relation with its first columns called `names`; the relation itself if they are called so."""
    fields: tuple[Field, ...] = relation.schema
    wanted = (*names, *(f.name for f in fields[len(names) :]))
    if wanted == tuple(f.name for f in fields):
        return relation
    return Project(relation, tuple(range(len(fields))), wanted)


def _bind_join(context: Context, left: From, node: exp.Join, ctes: Ctes) -> From:
    _refuse_join(context, node)
    right = _bind_item(context, node.this, ctes)
    for table in right.scope.tables:
        if table and table in left.scope.tables:
            context.fail(node, f"table {table!r} stands twice in FROM; give one of them an alias")
    scope = join(left.scope, right.scope)
    conditions = [*left.conditions]
    width = left.scope.width
    conditions.extend(_moved(condition, width) for condition in right.conditions)
    names = _using(context, node, left.scope, right.scope)
    for name in names:
        conditions.append(_equal(context, node, scope, name, width))
    scope = scope.merge(names, width)
    if node.args.get("on"):
        binder = Binder(context.source, scope, HANDLERS, "ON")
        conditions.append(binder.condition(node.args["on"]))
    return From(left.inputs + right.inputs, scope, tuple(conditions))


def _moved(scalar: Scalar, by: int) -> Scalar:
    return remap(scalar, lambda i: i + by)


def _refuse_join(context: Context, node: exp.Join) -> None:
    side, kind, method = node.side.upper(), node.kind.upper(), node.method.upper()
    if side or kind == "OUTER":
        what = f"{side or 'FULL'} JOIN is not maintained yet; write an inner JOIN"
        context.refuse(node, what)
    if kind in ("SEMI", "ANTI") or method not in ("", "NATURAL"):
        context.refuse(node, f"{method or kind} JOIN is not maintained yet; write an inner JOIN")
    if isinstance(node.this, exp.Lateral | exp.Unnest):
        what = "UNNEST" if isinstance(node.this, exp.Unnest) else "LATERAL"
        context.refuse(node, f"{what} in FROM is not maintained yet; join tables, views and subqueries")


def _using(context: Context, node: exp.Join, left: Scope, right: Scope) -> tuple[str, ...]:
    if node.method.upper() == "NATURAL":
        shared = {c.name for c in right.visible()}
        names = tuple(c.name for c in left.visible() if c.name in shared)
        if not names:
            context.fail(node, "NATURAL JOIN finds no column of the same name on both sides; write JOIN ... ON")
        return names
    return tuple(item.name.lower() for item in node.args.get("using") or ())


def _equal(context: Context, node: exp.Join, scope: Scope, name: str, width: int) -> Scalar:
    """The condition that the columns `name` on both sides of position `width` are equal."""
    sides: list[ScopeColumn] = []
    for side, of in (("left", scope.visible()), ("right", scope.columns)):
        found = [c for c in of if c.name == name and (c.column.index < width) == (side == "left")]
        if len(found) != 1:
            what = "is ambiguous" if found else "does not exist"
            context.fail(node, f"USING ({name}): the column {what} on the {side} of the join; write JOIN ... ON")
        sides.append(found[0])
    at = exp.column(name)
    first, second = (Operand(at, side.column) for side in sides)
    return compare(Binder(context.source, scope, HANDLERS, "USING"), node, "eq", first, second)
