"""FROM: tables, views, subqueries and common table expressions, and the joins between them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import count

from sqlglot import exp

from ivm.catalog.catalog import Catalog
from ivm.catalog.errors import BindError
from ivm.catalog.names import key
from ivm.catalog.schema import Field, Table, View
from ivm.sql.arguments import refuse_unread
from ivm.sql.bind.check_condition import holding
from ivm.sql.bind.clauses.joins import NOTHING, From, bind_join, cross, is_comma
from ivm.sql.bind.clauses.pivot import unfolded
from ivm.sql.bind.clauses.table_functions import bind_rows, makes_rows
from ivm.sql.bind.clauses.values import bind_values
from ivm.sql.bind.context import BindContext, Ctes, Reads
from ivm.sql.bind.expressions.binder import Binder
from ivm.sql.bind.expressions.handlers import HANDLERS
from ivm.sql.bind.expressions.nested import inside
from ivm.sql.bind.names.columns import unique_names
from ivm.sql.bind.names.scope import OuterRow, scope_of
from ivm.sql.ir.reference import Reference
from ivm.sql.ir.relation import Get, Project, Relation
from ivm.sql.sql_text import offset_of, text_of
from ivm.sql.tree import clauses_around


def bind_from(context: BindContext, node: exp.Expr | None, joins: Sequence[exp.Join], ctes: Ctes) -> From:
    """The FROM clause that begins with `node` (None: one row without columns), with the `joins` that follow.

    A subquery or function may name columns of what stands to its left, as after LATERAL. UnsupportedError for ASOF and
    POSITIONAL joins and other table functions; BindError for unknown names.
    """
    if node is None:
        return NOTHING
    name_subqueries(node, joins)
    return _joined(context, node, joins, ctes)


def _joined(context: BindContext, node: exp.Expr, joins: Sequence[exp.Join], ctes: Ctes) -> From:
    bound = _bind_item(context, node, ctes)
    for group in _groups(joins):
        if is_comma(group[0]) and not _left_deep(group):
            row = _lateral_row(context, bound)
            with inside(context, row):
                right = _folded(context, _bind_item(context, group[0].this, ctes), group[1:], ctes)
            bound = cross(context, bound, right, group[0], row.binding if row.read else 0)
        else:
            bound = _folded(context, bound, group, ctes)
    return bound


def _lateral_row(context: BindContext, left: From) -> OuterRow:
    """The row of what stands to the left, which a subquery to its right may name."""
    binder = Binder(context.source, left.scope, HANDLERS, "FROM", outer=tuple(context.outer_rows))
    binder.functions = context.catalog.functions
    return OuterRow(binder, context.number())


def _groups(joins: Sequence[exp.Join]) -> list[list[exp.Join]]:
    """The joins up to each comma, which binds weaker than JOIN."""
    groups: list[list[exp.Join]] = []
    for item in joins:
        if is_comma(item) or not groups:
            groups.append([])
        groups[-1].append(item)
    return groups


def _left_deep(group: Sequence[exp.Join]) -> bool:
    """Whether the joins of `a, b JOIN c ..` mean the same with `a, b` as their left side, whose tables ON may name."""
    return all(
        item.side.upper() in ("", "LEFT") and item.kind.upper() != "OUTER" and item.args.get("on") for item in group[1:]
    )


def _folded(context: BindContext, left: From, joins: Sequence[exp.Join], ctes: Ctes) -> From:
    for item in joins:
        row = _lateral_row(context, left)
        with inside(context, row):
            right = _bind_item(context, item.this, ctes)
        left = bind_join(context, left, right, item, ctes, row.binding if row.read else 0)
    return left


def _unpivoted(context: BindContext, node: exp.Expr, ctes: Ctes) -> exp.Expr:
    """The item without PIVOT and UNPIVOT behind it: in the tree stands what they mean."""
    pivots = node.args.get("pivots")
    if not pivots:
        return node
    joins, item = node.args.get("joins"), node.copy()
    item.set("pivots", None)
    item.set("joins", None)
    for pivot in pivots:
        alias = pivot.args.get("alias") or exp.TableAlias(this=exp.to_identifier("unnamed_pivot", quoted=True))
        item = exp.Subquery(this=pivot_query(context, pivot, item, ctes), alias=alias.copy())
    item.set("joins", joins)
    node.replace(item)
    return item


def pivot_query(context: BindContext, pivot: exp.Pivot, item: exp.Expr, ctes: Ctes) -> exp.Query:
    """The query that a PIVOT or UNPIVOT of an item of FROM means."""
    mark = context.mark()
    scope = _bind_item(context, item.copy(), ctes).scope
    context.forget(mark)
    return unfolded(context, pivot, item, scope)


def _bind_item(context: BindContext, node: exp.Expr, ctes: Ctes) -> From:
    node = _unpivoted(context, node, ctes)
    if isinstance(node, exp.Lateral) and isinstance(node.this, exp.Subquery):
        node = exp.Subquery(
            this=node.this if clauses_around(node.this) else node.this.this, alias=node.args.get("alias")
        )
    if makes_rows(node):
        item = bind_rows(context, node, ctes)
    elif isinstance(node, exp.Table) and not isinstance(node.this, exp.Values):
        item = _bind_table(context, node, ctes)
    elif isinstance(node, exp.Subquery) and is_joined(node.this):
        item = _joined(context, node.this, (), ctes)  # FROM (a JOIN b ON ...)
        if node.alias:
            item = _one(context, node, _visible(item), node.alias)
    elif isinstance(node, exp.Subquery):
        refuse_unread((node,), context.source)
        relation = context.query(context, node if clauses_around(node) else node.this, ctes)
        item = _one(context, node, relation.relation, node.alias)
    elif isinstance(node, exp.Values) or isinstance(node.this, exp.Values):
        values = node if isinstance(node, exp.Values) else node.this
        item = _one(context, node, bind_values(context, values), node.alias)
    else:
        context.refuse(node, f"{text_of(node)} in FROM is not supported; tables, views, subqueries and range() are")
    return _folded(context, item, node.args.get("joins") or (), ctes)


def _visible(joined: From) -> Relation:
    """The rows of a join with the columns that * stands for."""
    columns = joined.scope.visible()
    names = unique_names([c.name for c in columns])
    return Project(joined.relation(), tuple(c.column.index for c in columns), names)


def _bind_table(context: BindContext, node: exp.Table, ctes: Ctes) -> From:
    refuse_unread((node,), context.source)
    if not isinstance(node.this, exp.Identifier):
        what = f"the table function {text_of(node.this or node)} is not supported"
        context.refuse(node, f"{what}; put its rows in a table")
    if node.args.get("catalog") or key(node.db) not in ("", "main"):
        context.fail(node, f"there is no schema {node.db!r}; CREATE SCHEMA makes one")
    name = node.name
    relation = ctes.get(key(name)) if not node.db else None
    return _one(context, node, relation or _stored(context, node, name), node.alias or name)


def _stored(context: BindContext, node: exp.Table, name: str) -> Relation:
    try:
        entry = context.catalog.lookup(name)
    except BindError as error:
        context.fail(node, context.awaited.get(key(name), str(error)))
    context.uses[entry.name] = None
    _note_place(context, node, entry.name)
    return _table(context, entry) if isinstance(entry, Table) else _view(context, entry)


def _note_place(context: BindContext, node: exp.Table, name: str) -> None:
    start, last = offset_of(node.args.get("db")) or offset_of(node.this), node.this.meta.get("end")
    if start is not None and last is not None:
        context.reads[start] = Reads(name, start, last + 1, bool(node.alias))


def _table(context: BindContext, table: Table) -> Relation:
    keys = (table.key_indexes,) if table.primary_key else ()
    enforced = [(each, context.catalog.table(each.table)) for each in table.foreign_keys if each.enforced]
    references = tuple(
        Reference(table.places(each.columns), target.name, target.places(each.referenced)) for each, target in enforced
    )
    return Get(
        table.name, table.fields, keys, True, references, table.append_only, table.static, holding=holding(table),
        refers=tuple(_refers(context.catalog, table, frozenset())),
    )  # fmt: skip


def _refers(catalog: Catalog, table: Table, above: frozenset[str]) -> Iterator[Reference]:
    """See `Get`."""
    for unique in table.unique_constraints:
        places = table.places(unique.columns)
        yield Reference(places, table.name, places)
    for each in table.foreign_keys:
        target = catalog.find(each.table)
        if not isinstance(target, Table) or target.name in above:
            continue
        own = dict(zip(target.places(each.referenced), table.places(each.columns), strict=True))
        yield Reference(tuple(own.values()), target.name, tuple(own))
        for further in _refers(catalog, target, above | {table.name}):
            if further.table != target.name and own.keys() >= set(further.columns):
                yield replace(further, columns=tuple(own[c] for c in further.columns))


def _view(context: BindContext, view: View) -> Relation:
    if view.maintained:
        kept = Get(view.name, view.columns, is_table=False)
        return Project(kept, tuple(range(len(view.schema)))) if view.hidden else kept
    return context.view(context.catalog, view)


def _one(context: BindContext, node: exp.Expr, relation: Relation, alias: str) -> From:
    """One relation under its alias, its columns renamed where the alias says so."""
    alias_node = node.args.get("alias")
    written = alias_node.args.get("columns") if isinstance(alias_node, exp.TableAlias) else None
    names = [column.name for column in written or ()]
    fields = relation.schema
    if len(names) > len(fields):
        what = f"{alias or 'the subquery'} has {len(fields)} columns, but {len(names)} names are given; drop some"
        context.fail(node, what)
    called = unique_names([*names, *(f.name for f in fields[len(names) :])])
    return From((relation,), scope_of(alias, (replace(f, name=n) for f, n in zip(fields, called, strict=True))))


def renamed(relation: Relation, names: Sequence[str]) -> Relation:
    """The relation with its first columns called `names`, each once; the relation itself if they are so called."""
    fields: tuple[Field, ...] = relation.schema
    wanted = unique_names((*names, *(f.name for f in fields[len(names) :])))
    if wanted == tuple(f.name for f in fields):
        return relation
    return Project(relation, tuple(range(len(fields))), wanted)


def name_subqueries(node: exp.Expr, joins: Sequence[exp.Join]) -> None:
    """Give a name to each item of the FROM clause that begins with `node` and is a query or VALUES without one."""
    numbers = count(1)
    for item in _items(node, joins):
        if not item.alias:
            number = next(numbers)
            name = exp.to_identifier(f"unnamed_subquery{number if number > 1 else ''}", quoted=True)
            written = item.args.get("alias")
            columns = written.args.get("columns") if isinstance(written, exp.TableAlias) else None
            item.set("alias", exp.TableAlias(this=name, columns=columns))


def is_joined(node: exp.Expr) -> bool:
    """Whether what stands in parentheses is an item of FROM, with its joins, and not a query."""
    if isinstance(node, exp.Subquery | exp.Values):
        return bool(node.alias or node.args.get("joins")) or (isinstance(node, exp.Subquery) and is_joined(node.this))
    return isinstance(node, exp.Table)


def _items(node: exp.Expr, joins: Sequence[exp.Join]) -> Iterator[exp.Expr]:
    """The queries and VALUES of a FROM clause in the order of the text, also those in parentheses around joins."""
    if isinstance(node, exp.Subquery) and is_joined(node.this) and not node.alias:
        yield from _items(node.this, ())
    elif isinstance(node, exp.Subquery | exp.Values) or isinstance(node.this, exp.Subquery | exp.Values):
        yield node
    for join in (*(node.args.get("joins") or ()), *joins):
        yield from _items(join.this, ())
