"""From a query's text to the relation that it denotes.

Once the syntax tree is bound, the text is written from it that DuckDB answers as the engine does: names are in quotes,
and every LIMIT, DISTINCT ON, window function and aggregate is told how ties are decided.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from weakref import ref

from sqlglot import exp

from ivm.catalog.catalog import Catalog
from ivm.catalog.clock import CLOCK
from ivm.catalog.errors import BindError, UnsupportedError
from ivm.catalog.names import key, quoted, twice
from ivm.catalog.schema import Schema, View
from ivm.catalog.zones import UTC
from ivm.sql.aggregate_nodes import FUNCTIONS
from ivm.sql.arguments import refuse_unread
from ivm.sql.bind.aggregates.calls import IS_COLLATED, is_windowed
from ivm.sql.bind.aggregates.written import end_order, spelt_out
from ivm.sql.bind.clauses.from_clause import pivot_query, renamed
from ivm.sql.bind.clauses.order import order_of_sides
from ivm.sql.bind.clauses.select import bind_select, first_columns
from ivm.sql.bind.clauses.set_operations import bind_set_operation
from ivm.sql.bind.clauses.values import bind_values
from ivm.sql.bind.context import BindContext, Block, Ctes, Nearest, Reads, Refinement
from ivm.sql.bind.functions.clock import clock_type, read_in_duckdb
from ivm.sql.bind.functions.numbers import MAKES_ZERO_OF_NULL
from ivm.sql.bind.measures import by_measure
from ivm.sql.bind.windows.own_order import move_order
from ivm.sql.bind.windows.partitions import OF_PARTITION
from ivm.sql.decorrelate.decorrelate import decorrelate
from ivm.sql.duckdb_text import duckdb_text, no_answer, translated
from ivm.sql.ir.clock import reads_clock
from ivm.sql.ir.functions.called import is_called, name_of
from ivm.sql.ir.rebuild import is_settled, nodes, scalars_of, settle
from ivm.sql.ir.relation import Relation
from ivm.sql.ir.scalar import walk
from ivm.sql.ir.zoned import relation_in_zone
from ivm.sql.reader import MUTUALLY
from ivm.sql.refused import too_deep
from ivm.sql.sql_text import SqlText, text_of
from ivm.sql.syntax import Syntax, query
from ivm.sql.tree import ENDINGS, clauses_around, nodes_of


@dataclass(frozen=True, slots=True)
class BoundQuery:
    """A query as a typed relation.

    The columns of the relation are those of `schema`, which a reader sees, then the `hidden` ones, which only ORDER BY
    names. `order` says how a reader sees the rows: (column, descending, nulls first). `uses` are the tables and views
    that the text names, in order. `text` is the query as it was read, in DuckDB's dialect; `oracle_sql` is written for
    DuckDB, with ties decided as the engine decides them, so that DuckDB's answer over the same tables and views is the
    relation's content. Of WITH MUTUALLY RECURSIVE, which DuckDB has not, it is a text that raises and says so. `reads`
    are the places of the text at which it names what it uses, in order. `calls`: the application's functions that it
    calls, by the keys of their names, but for those that views call which it reads.
    """

    relation: Relation
    schema: Schema
    order: tuple[tuple[int, bool, bool], ...]
    uses: tuple[str, ...]
    text: str
    oracle_sql: str
    hidden: Schema = ()
    reads: tuple[Reads, ...] = ()
    calls: tuple[str, ...] = ()


def bind(
    query_text: str,
    catalog: Catalog,
    dialect: str = "duckdb",
    origin: tuple[int, int] = (1, 1),
    syntax: Syntax | None = None,
    zone: str = UTC,
) -> BoundQuery:
    """Bind one SELECT; `origin` is the line and column at which it begins in what the user wrote, for messages.

    `syntax` is that of the text, if it has been read before; it is used up. `zone`: by whose clocks it tells moments.

    Types, names and the order of NULLs are DuckDB's. A text of another dialect is translated to DuckDB's first, so
    that its messages show the translation. Names are found in any case and come out as they were written; a
    name that stands twice gets _1. Where
    it is stricter than DuckDB: text and other types are compared after a cast only, and SELECT DISTINCT is ordered by
    what follows from its columns only, since equal rows may have several values of anything else.

    ParseError, BindError, TypeMismatchError or UnsupportedError, each with line, column and the line of the text.
    """
    source = SqlText(query_text, *origin, zone)
    if dialect != "duckdb":
        source = SqlText(translated(source, dialect, catalog), zone=zone)
    try:
        return _bind(source, (syntax or query(source, "duckdb")).tree, catalog)
    except RecursionError:
        raise UnsupportedError(source.locate(too_deep(), 0)) from None


def _bind(source: SqlText, tree: exp.Expr, catalog: Catalog) -> BoundQuery:
    context = BindContext(catalog, source, bind_query, registered)
    block = bind_query(context, tree, {})
    read = nodes_of(tree)
    refuse_unread(read, source)
    relation = relation_in_zone(decorrelate(by_measure(block.kept or block.relation)), source.zone)
    if any(reads_clock(scalar) for each in nodes(relation, is_settled) for scalar in scalars_of(each)):
        context.uses[CLOCK.name] = None
    width = len(block.relation.schema)
    mutual = any(isinstance(node, exp.With) and MUTUALLY in node.meta for node in read)
    told = no_answer(_NO_ANSWER, block.relation.schema) if mutual else _oracle_text(tree, context)
    reads = tuple(place for _, place in sorted(context.reads.items()))
    schema, hidden = relation.schema[:width], relation.schema[width:]
    called = _called(relation) if catalog.functions else ()
    return BoundQuery(relation, schema, block.order, tuple(context.uses), source.text, told, hidden, reads, called)


def _called(relation: Relation) -> tuple[str, ...]:
    parts = (part for each in nodes(relation, is_settled) for scalar in scalars_of(each) for part in walk(scalar))
    return tuple(dict.fromkeys(key(name_of(part)) for part in parts if is_called(part)))


def has_answer(oracle_sql: str) -> bool:
    """Whether DuckDB can answer what a query is written for it as; not one with WITH MUTUALLY RECURSIVE."""
    return _NO_ANSWER not in oracle_sql


_NO_ANSWER = "DuckDB has no WITH MUTUALLY RECURSIVE and cannot compute this; read it as a maintained view"

_REGISTERED: dict[int, tuple[ref[View], Relation]] = {}
"""What registered views are, by the identity of the view, as long as there is this one."""


def registered(catalog: Catalog, view: View) -> Relation:
    """The relation of a registered view, which was bound when it was created.

    It is remembered: views on views would else be read again and again, all the way down. Nothing that a view uses
    changes or goes as long as the view is there.
    """
    place = id(view)
    found = _REGISTERED.get(place)
    if found is None or found[0]() is not view:
        bound = bind(view.sql, catalog, zone=view.zone)
        relation = first_columns(bound.relation, len(bound.schema))
        settle(relation)
        found = _REGISTERED[place] = ref(view, lambda _: _REGISTERED.pop(place, None)), relation
    return found[1]


def bind_query(context: BindContext, node: exp.Expr, ctes: Ctes) -> Block:
    """The block that `node` is: SELECT, a set operation, VALUES, or one of them in parentheses."""
    if isinstance(node, exp.Select):
        return bind_select(context, node, ctes)
    if isinstance(node, exp.Subquery):
        return _bind_parentheses(context, node, ctes)
    if isinstance(node, exp.Pivot):
        meant = pivot_query(context, node, node.this, ctes)
        node.replace(meant)
        return bind_query(context, meant, ctes)
    if isinstance(node, exp.Values | exp.SetOperation):
        if any(node.args.get(arg) for arg in ENDINGS):
            return _bind_ended(context, node, ctes)
        if isinstance(node, exp.Values):
            return Block(bind_values(context, node))
        return bind_set_operation(context, node, ctes)
    context.refuse(node, f"expected a SELECT, not {text_of(node)[:60]}")


def _bind_ended(context: BindContext, node: exp.Expr, ctes: Ctes) -> Block:
    """A set operation or VALUES with ORDER BY or LIMIT: SELECT * FROM (..) ORDER BY ... LIMIT ..."""
    bare = type(node)(**{arg: value for arg, value in node.args.items() if arg not in (*ENDINGS, "with_")})
    return _bind_around(context, exp.Subquery(this=bare), clauses_around(node), ctes)


def _bind_parentheses(context: BindContext, node: exp.Subquery, ctes: Ctes) -> Block:
    clauses = clauses_around(node)
    if not clauses:
        return bind_query(context, node.this, ctes)
    inner = node.this
    while isinstance(inner, exp.Subquery) and not clauses_around(inner):
        inner = inner.this
    if "order" in clauses and isinstance(inner, exp.Select):
        # The ORDER BY is that of the SELECT inside, and names what that may name.
        distinct = inner.args.get("distinct")
        if not clauses_around(inner) and not (distinct and distinct.args.get("on")):
            return bind_select(context, exp.Select(**{**inner.args, **clauses}), ctes)
        _refuse_expressions(context, clauses["order"])
    return _bind_around(context, exp.Subquery(this=node.this, alias=node.args.get("alias")), clauses, ctes)


def _bind_around(context: BindContext, inner: exp.Subquery, clauses: dict[str, exp.Expr], ctes: Ctes) -> Block:
    """(SELECT ...) ORDER BY ... LIMIT ..., which is SELECT * FROM (SELECT ...) ORDER BY ... LIMIT ..."""
    order, query = clauses.get("order"), inner.unnest()
    if isinstance(order, exp.Order) and isinstance(query, exp.SetOperation):
        clauses = clauses | {"order": order_of_sides(context, query, order)}
    return bind_select(context, exp.Select(expressions=[exp.Star()], from_=exp.From(this=inner), **clauses), ctes)


def _refuse_expressions(context: BindContext, order: exp.Expr) -> None:
    """Refuse what is neither a name nor a position nor ALL."""
    for item in order.expressions:
        if not isinstance(item.this.unnest(), exp.Column | exp.Literal | exp.Var):
            what = (
                "ORDER BY an expression after parentheses around WITH, DISTINCT ON, ORDER BY or LIMIT is not supported"
            )
            context.refuse(item.this, f"{what}; write SELECT * FROM (..) AS x ORDER BY ..")


def with_names(bound: BoundQuery, view: str, names: Sequence[str]) -> BoundQuery:
    """The query with its first columns called `names`; BindError if there are too many names, or one stands twice.

    The rest keep their names. ORDER BY, which a reader of the view sees, stays with the query.
    """
    if not names:
        return bound
    if len(names) > len(bound.schema):
        what = f"the query has {len(bound.schema)} columns, but {len(names)} names are given; drop some"
        raise BindError(f"cannot create view {view}: {what}")
    called = (*names, *(field.name for field in bound.schema[len(names) :]))
    again = twice(called)
    if again is not None:
        raise BindError(f"cannot create view {view}: two columns would be called {again!r}; give one another name")
    relation = renamed(bound.relation, names)
    text, told = (
        f"SELECT * FROM (\n{each}\n) AS named ({', '.join(map(quoted, called))})"
        for each in (bound.text, bound.oracle_sql)
    )
    schema = relation.schema[: len(called)]
    return replace(bound, relation=relation, schema=schema, text=text, oracle_sql=told, reads=())


def _oracle_text(tree: exp.Expr, context: BindContext) -> str:
    """The query in DuckDB's dialect, ORDER BY of each block that is cut extended by all its output columns, ascending,
    NULLs last, window functions refined as told, the keys of GROUP BY ALL written out, and NULL rounded to NULL. The
    tree is used up.

    The positions of the columns are written, so that aliases and duplicates do no harm. A block with DISTINCT ON is put
    in parentheses where it stands bare in a set operation, to which its ORDER BY would else belong.
    """
    for window in context.windows:
        _refine(window)
    for nearest in context.nearest:
        _refine_nearest(nearest)
    for group, columns in context.grouped:
        if columns:  # DuckDB sees none in an expression of keys and aggregates
            group.set("all", None)
            group.set("expressions", [exp.Literal.number(column) for column in columns])
    spelt_out(tree)
    blocks = {id(clause): width for clause, width in context.cut}
    nodes = nodes_of(tree)
    for node in nodes:
        if isinstance(node, _ORDERED):
            _order_values(node)
        if clock_type(node) is not None:
            node.replace(read_in_duckdb(node))
        clause = node.args.get("limit") or node.args.get("offset")
        width = blocks.get(id(clause)) or blocks.get(id(node))
        if width is not None:
            order, added = node.args.get("order"), (_ascending(exp.Literal.number(i + 1)) for i in range(width))
            node.set("order", exp.Order(expressions=[*(order.expressions if order else ()), *added]))
        if isinstance(node, exp.SetOperation):
            for side in ("this", "expression"):
                if id(node.args[side]) in blocks:
                    node.set(side, exp.Subquery(this=node.args[side]))
    for node in reversed(nodes):  # inner ones first, so that outer ones have them as they are then
        if MAKES_ZERO_OF_NULL in node.meta:
            is_null = exp.Is(this=exp.Paren(this=node.this.copy()), expression=exp.Null())
            node.replace(exp.Case(ifs=[exp.If(this=is_null, true=exp.Null())], default=node.copy()))
    return duckdb_text(tree, copy=False)


def _refine_nearest(nearest: Nearest) -> None:
    item = nearest.node.this
    order = [*map(_ascending, (each.copy() for each in nearest.by))]
    order += [_ascending(exp.Literal.number(i + 1)) for i in range(nearest.width)]
    query = exp.Select(
        expressions=[exp.Star()],
        distinct=exp.Distinct(on=exp.Tuple(expressions=[each.copy() for each in nearest.by])),
        from_=exp.From(this=item.copy()),
        where=exp.Where(this=exp.and_(*(each.copy() for each in nearest.where))) if nearest.where else None,
        order=exp.Order(expressions=order),
    )
    name = exp.to_identifier(item.alias_or_name, quoted=True)
    nearest.node.set("this", exp.Subquery(this=query, alias=exp.TableAlias(this=name)))


def _ascending(node: exp.Expr, *, nulls_first: bool = False) -> exp.Ordered:
    return exp.Ordered(this=node, nulls_first=nulls_first)


_ORDERED = tuple(
    kind
    for kind, name in FUNCTIONS.items()
    if name.startswith("arg_") or name in ("string_agg", "list", "any_value", "first", "last", "mode")
)
"""Aggregates whose value depends on the order in which rows come."""


def _order_values(node: exp.Expr) -> None:
    """Let rows that tie come by the first argument, as the engine has it; the last of them for last(). A constant needs
    no order, and DuckDB takes none.
    """
    value = node.this.this if isinstance(node.this, exp.Order) else node.this
    if isinstance(value, exp.Distinct):
        value = value.expressions[0]
    running = is_windowed(node) and OF_PARTITION not in node.meta
    if value is None or running or value.find(exp.Column) is None:
        return
    last = next(arg for arg in ("count", "expression", "this") if isinstance(node.args.get(arg), exp.Expr))
    first = isinstance(node, exp.Last)
    values = [value.copy()]
    if IS_COLLATED in value.meta:  # of which several may be equal
        text = exp.Collate(this=exp.Paren(this=value.copy()), expression=exp.to_identifier("binary", quoted=True))
        values = [text] if isinstance(node, exp.Mode) else [*values, text]
    end_order(node, [_ascending(each, nulls_first=first) for each in values], last)


def _refine(window: Refinement) -> None:
    node, spec = window.node, window.spec
    terms = [term.copy() for term in spec.order] + [_ascending(tie.copy()) for tie in window.ties]
    if window.within:
        call = node.this
        while isinstance(call, exp.IgnoreNulls | exp.RespectNulls | exp.Filter):
            call = call.this
        last = [arg for arg, value in call.args.items() if isinstance(value, exp.Expr)][-1]
        end_order(call, terms, last)
        return
    move_order(node)
    node.set("alias", None)
    node.set("partition_by", [each.copy() for each in spec.partition])
    node.set("order", exp.Order(expressions=terms))
    node.set("spec", spec.frame.copy() if spec.frame is not None else None)
