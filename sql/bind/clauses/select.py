"""SELECT: one block, from its clauses to a relation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from ivm.catalog.names import by_key
from ivm.sql.arguments import refuse_unread
from ivm.sql.bind.aggregates.groups import WHOLE, Grouping, bind_keys, group_ties, grouped, has_aggregate
from ivm.sql.bind.clauses.from_clause import bind_from
from ivm.sql.bind.clauses.joins import From
from ivm.sql.bind.clauses.order import (
    Limit,
    bind_distinct,
    bind_limit,
    bind_order,
    distinct,
    orders_by_all,
    over_distinct,
)
from ivm.sql.bind.clauses.unnested_structs import may_be_structs, with_fields
from ivm.sql.bind.clauses.with_clause import bind_with
from ivm.sql.bind.context import BindContext, Block, Ctes
from ivm.sql.bind.expressions.binder import Aggregates, Binder
from ivm.sql.bind.expressions.handlers import HANDLERS
from ivm.sql.bind.expressions.nested import Pending, Subqueries, placed, satisfying, terms_of, with_terms
from ivm.sql.bind.expressions.subqueries import condition
from ivm.sql.bind.names.columns import output_name, sought_names, unique_names
from ivm.sql.bind.names.expand import expand_stars
from ivm.sql.bind.names.scope import Scope
from ivm.sql.bind.names.stars import IS_FIELD
from ivm.sql.bind.unnest import Unnests, with_keys, with_unnests
from ivm.sql.bind.windows.block import Windows, with_windows
from ivm.sql.ir.conditions import conjuncts
from ivm.sql.ir.relation import Filter, Join, Map, Order, Project, Relation, TopK
from ivm.sql.ir.scalar import Column, Scalar, remap


@dataclass(slots=True)
class _Rows:
    """The block between its clauses: the rows so far, and the expressions over them (outputs, then hidden ones)."""

    relation: Relation
    scalars: list[Scalar]


def bind_select(context: BindContext, node: exp.Select, ctes: Ctes) -> Block:
    """The relation of one SELECT, with its ORDER BY; the errors of each clause carry their position."""
    refuse_unread((node,), context.source)
    ctes = bind_with(context, node, ctes)
    start = node.args.get("from_")
    source = bind_from(context, start.this if start else None, node.args.get("joins") or (), ctes)
    items = expand_stars(context, source.scope, node)
    # Of several aliases of the same name DuckDB takes the last.
    aliases = by_key((item.alias, item.this) for item in reversed(items) if isinstance(item, exp.Alias))
    if may_be_structs(items):
        items = _with_fields(context, node, items, _binder(context, source.scope, "SELECT", aliases), ctes)
    names = [output_name(context, source.scope, item) for item in items]
    relation = _filtered(context, node, source, aliases, ctes)

    below = Subqueries(context, ctes)
    unnests = Unnests()
    grouping = _binder(context, source.scope, "GROUP BY", aliases, below, unnests)
    groups = bind_keys(context, grouping, node.args.get("group"), items)
    clauses = (*items, node.args.get("having"), node.args.get("qualify"), node.args.get("order"))
    aggregated = groups is not None or node.args.get("having") is not None
    aggregated = aggregated or any(has_aggregate(grouping, clause) for clause in clauses)
    of_keys = len(unnests.found)
    if groups is not None and of_keys:
        relation = with_keys(context, relation, unnests)
        groups = replace(groups, keys=tuple(map(unnests.settled, groups.keys)))
    binder = _binder(context, source.scope, "SELECT", aliases, below, unnests)
    if aggregated:
        binder.above = Subqueries(context, ctes)
        binder.aggregates = Aggregates(len(relation.schema), grouped=groups is not None and all(groups.sets))

    windows = binder.windows = Windows()
    outputs = [binder.bind(item.unalias()).stored for item in items]
    binder.windows = None
    having, tests = _having(binder, node)
    binder.windows = windows
    qualify = _qualify(binder, node)
    binder.clause = "ORDER BY"
    rows = _Rows(relation, list(outputs))
    found_by = ["" if IS_FIELD in item.meta else name for item, name in zip(items, names, strict=True)]
    sought = sought_names(found_by, [isinstance(item, exp.Alias) for item in items])
    order, hidden = bind_order(
        context, node.args.get("order"), sought, rows.scalars, lambda item: binder.bind(item).stored
    )
    on = bind_distinct(context, node, sought, rows.scalars, lambda item: binder.bind(item).stored)
    lists = unnests.found[of_keys:]
    count = len(rows.scalars) + len(lists)
    rows.scalars += [*lists, *qualify, *windows.scalars]
    if aggregated:
        rows = _grouped(context, rows, groups or WHOLE, having, tests, binder)
    else:
        rows = _with_subqueries(rows, below.found)
    ties = group_ties(groups or WHOLE, binder) if aggregated else source.scope
    counts = (count, len(qualify))
    rows = _Rows(*with_windows(context, rows.relation, rows.scalars, windows, counts, ties, node.args.get("qualify")))
    rows = _Rows(*with_unnests(rows.relation, rows.scalars, unnests, of_keys))
    limit = bind_limit(context, node, ctes)
    if limit is not None and not orders_by_all(node):
        context.cut.append((limit.clause, len(outputs)))
    if on == ():
        return _distinct_rows(context, rows, unique_names(names), order, hidden, limit)
    return _finished(rows, unique_names(names), order, limit, on)


def _binder(
    context: BindContext,
    scope: Scope,
    clause: str,
    aliases: dict[str, exp.Expr],
    subqueries: Subqueries | None = None,
    unnests: Unnests | None = None,
) -> Binder:
    outer = tuple(context.outer_rows)
    functions = context.catalog.functions
    return Binder(
        context.source, scope, HANDLERS, clause, aliases,
        unnests=unnests, outer=outer, below=subqueries, functions=functions,
    )  # fmt: skip


def _with_fields(
    context: BindContext, node: exp.Select, items: list[exp.Expr], binder: Binder, ctes: Ctes
) -> list[exp.Expr]:
    """The items with the fields of structs in the place of their UNNEST; to know their types they are bound aside."""
    binder.below, binder.above, binder.unnests = Subqueries(context, ctes), Subqueries(context, ctes), Unnests()
    binder.aggregates, binder.windows = Aggregates(binder.scope.width, grouped=False), Windows()
    group, mark = node.args.get("group"), context.mark()
    found = with_fields(binder, items, by_all=group is not None and bool(group.args.get("all")))
    context.forget(mark)
    return found


def _filtered(
    context: BindContext, node: exp.Select, source: From, aliases: dict[str, exp.Expr], ctes: Ctes
) -> Relation:
    relation = source.inputs[0] if len(source.inputs) == 1 else Join(source.inputs)
    predicates = conjuncts(source.conditions)
    where = node.args.get("where")
    if not where:
        return Filter(relation, predicates) if predicates else relation
    subqueries = Subqueries(context, ctes)
    tests = condition(_binder(context, source.scope, "WHERE", aliases, subqueries), where.this)
    return satisfying(relation, subqueries.found, tests, predicates)


def _qualify(binder: Binder, node: exp.Select) -> tuple[Scalar, ...]:
    qualify = node.args.get("qualify")
    if qualify is None:
        return ()
    group = node.args.get("group")
    if group is not None and group.args.get("all"):
        binder.refuse(qualify, "QUALIFY with GROUP BY ALL is not supported, nor is it by DuckDB; list the keys")
    binder.clause = "QUALIFY"
    return conjuncts([binder.condition(qualify.this)])


def _having(binder: Binder, node: exp.Select) -> tuple[list[Scalar], list[Pending]]:
    """The predicates of HAVING, and its subqueries."""
    having = node.args.get("having")
    if having is None or binder.above is None:
        return [], []
    binder.clause = "HAVING"
    own, outputs = replace(binder.above, found=[], values={}), binder.above
    binder.above = own
    tests = condition(binder, having.this)
    binder.above = outputs
    return tests, own.found


def _with_subqueries(rows: _Rows, pending: Sequence[Pending]) -> _Rows:
    relation, resolve = placed(rows.relation, pending, rows.scalars)
    return _Rows(relation, list(map(resolve, rows.scalars)))


def _grouped(
    context: BindContext, rows: _Rows, groups: Grouping, having: list[Scalar], tests: list[Pending], binder: Binder
) -> _Rows:
    """The groups; subqueries of keys and aggregates are joined below them, those of HAVING and outputs above."""
    assert binder.aggregates is not None, "the block is grouped"
    assert binder.above is not None, "a grouped block has both"
    assert binder.below is not None, "a grouped block has both"
    outputs, aggregates = binder.above.found, binder.aggregates
    terms = terms_of((*tests, *outputs))
    arguments = (scalar for aggregate in aggregates.found for scalar in aggregate.scalars)
    relation, resolve = placed(
        rows.relation, binder.below.found, (*groups.keys, *arguments, *having, *rows.scalars, *terms)
    )
    before, added = aggregates.width, len(relation.schema) - len(rows.relation.schema)
    # The columns that the joins append stand before those of the aggregates.
    aggregates.width += added
    aggregates.found = [aggregate.map(resolve) for aggregate in aggregates.found]
    groups = replace(groups, keys=tuple(map(resolve, groups.keys)))
    scalars = [resolve(remap(s, lambda i: i + added if i >= before else i)) for s in (*having, *rows.scalars, *terms)]
    relation, over = grouped(context, relation, scalars, groups, binder)
    values = dict(zip(terms, over[len(over) - len(terms) :], strict=True))
    relation = satisfying(relation, with_terms(tests, values), over[: len(having)])
    shown = over[len(having) : len(over) - len(terms)]
    return _with_subqueries(_Rows(relation, shown), with_terms(outputs, values))


def _finished(
    rows: _Rows, names: tuple[str, ...], order: tuple[Order, ...], limit: Limit | None, on: tuple[int, ...] | None
) -> Block:
    """The rows with the outputs as their columns, the first of each group of DISTINCT ON, cut by LIMIT."""
    width = len(names)
    wanted = max(width, *(term.column + 1 for term in order), 0)
    if on is None and limit is None:
        kept = project(rows.relation, rows.scalars[:wanted], _with_hidden(names, wanted)) if wanted > width else None
        return Block(project(rows.relation, rows.scalars[:width], names), _seen(order), kept)
    relation = project(rows.relation, rows.scalars, _with_hidden(names, len(rows.scalars)))
    if on is not None:
        relation = TopK(relation, on, order, 1)
    return _ended(relation, width, wanted, order, limit)


def _distinct_rows(
    context: BindContext,
    rows: _Rows,
    names: tuple[str, ...],
    order: tuple[Order, ...],
    hidden: Sequence[exp.Expr],
    limit: Limit | None,
) -> Block:
    """The rows with the outputs as their columns, each once, cut by LIMIT; ordered by what follows from the outputs."""
    width = len(names)
    relation = distinct(project(rows.relation, rows.scalars[:width], names))
    if hidden:
        over = over_distinct(context, rows.scalars[:width], list(zip(rows.scalars[width:], hidden, strict=True)))
        relation = Map(relation, tuple(over), _with_hidden(names, width + len(over))[width:])
    return _ended(relation, width, width + len(hidden), order, limit)


def _ended(relation: Relation, width: int, wanted: int, order: tuple[Order, ...], limit: Limit | None) -> Block:
    """The block of rows whose first columns are `width` outputs, then what its ORDER BY wants, cut by LIMIT."""
    if limit is not None and limit.cut is not None:
        relation = limit.cut(relation, order)
    elif limit is not None:
        relation = TopK(relation, (), order, limit.limit, limit.offset)
    return Block(
        first_columns(relation, width), _seen(order), first_columns(relation, wanted) if wanted > width else None
    )


def first_columns(relation: Relation, width: int) -> Relation:
    """The relation without what stands after its first columns."""
    return relation if len(relation.schema) == width else Project(relation, tuple(range(width)))


def _seen(order: Sequence[Order]) -> tuple[tuple[int, bool, bool], ...]:
    return tuple((each.column, each.descending, each.nulls_first) for each in order)


def _with_hidden(names: tuple[str, ...], width: int) -> tuple[str, ...]:
    """The names of the outputs, and of the hidden columns after them up to `width`."""
    return unique_names((*names, *(f"order{i}" for i in range(width - len(names)))))


def project(relation: Relation, scalars: Sequence[Scalar], names: Sequence[str]) -> Relation:
    """The relation whose columns are `scalars` over the rows of `relation`, called `names`."""
    width = len(relation.schema)
    computed = list(dict.fromkeys(s for s in scalars if not isinstance(s, Column)))
    if computed:
        first = dict(reversed(list(zip(scalars, names, strict=True))))
        relation = Map(relation, tuple(computed), tuple(first[scalar] for scalar in computed))
    columns = tuple(s.index if isinstance(s, Column) else width + computed.index(s) for s in scalars)
    return Project(relation, columns, tuple(names))
