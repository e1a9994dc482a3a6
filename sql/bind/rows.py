"""From a plain statement over the rows of one table or view to what it computes of a row."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from ivm.catalog.catalog import Catalog
from ivm.catalog.errors import Error
from ivm.catalog.names import key, twice
from ivm.catalog.schema import Schema, Table, View
from ivm.sql.bind.certain import CLAUSE, are_certain, at_time
from ivm.sql.bind.clauses.order import bind_limit, bind_order
from ivm.sql.bind.context import BindContext
from ivm.sql.bind.expressions.binder import Binder
from ivm.sql.bind.expressions.handlers import HANDLERS
from ivm.sql.bind.names.scope import scope_of
from ivm.sql.bind.query import bind_query, registered
from ivm.sql.ir.conditions import conjuncts
from ivm.sql.ir.scalar import Call, Column, Literal, Scalar, substitute
from ivm.sql.parse_changes import is_default
from ivm.sql.plain_rows import PlainRows
from ivm.sql.sql_text import SqlText


@dataclass(frozen=True, slots=True)
class BoundRows:
    """Of the rows of `relation` on which all `predicates` are true what is computed, all over the row as it is.

    `outputs`: what a reader is given, under `names`. A row that is changed is taken out by the columns `gone`, and
    `come`, all of the table's columns, is put in; where nothing is `gone`, in the place of the row of its primary key.
    `order`: (output, descending, nulls first), also of outputs without a name, which no reader sees; without any, that
    of the relation. Of the rows in order `limit` are given (None: all) after the first `offset`.
    """

    relation: Table | View
    predicates: tuple[Scalar, ...]
    outputs: tuple[Scalar, ...]
    names: tuple[str, ...]
    gone: tuple[Column, ...] = ()
    come: tuple[Scalar, ...] = ()
    order: tuple[tuple[int, bool, bool], ...] = ()
    limit: int | None = None
    offset: int = 0

    @property
    def fixed(self) -> Mapping[int, tuple[Scalar, tuple[Literal, ...]]]:
        """The columns of which a predicate says that they have one of some values, and nothing else, with both."""
        found: dict[int, tuple[Scalar, tuple[Literal, ...]]] = {}
        for predicate in self.predicates:
            match predicate:
                case Call("eq", (Column(column), Literal() as value) | (Literal() as value, Column(column))):
                    found[column] = predicate, (value,)
                case Call("in", (Column(column), *values)):
                    literals = tuple(value for value in values if isinstance(value, Literal))
                    found.setdefault(column, (predicate, literals))
        return found


def bind_rows(plain: PlainRows, catalog: Catalog, zone: str, now: int) -> BoundRows | None:
    """What the statement computes when it is `now`; None where it is wrong, which others say better, or where it is not
    certain that the engine computes the very same as DuckDB.
    """
    try:
        bound = _bound(plain, catalog, replace(plain.source, zone=zone), now)
    except (Error, RecursionError):
        return None
    finally:
        plain.give_back()
    if bound is None:
        return None
    # What stays as it is, is certain.
    changed = (each for place, each in enumerate(bound.come) if not (isinstance(each, Column) and each.index == place))
    return bound if are_certain((*bound.predicates, *bound.outputs, *changed), zone) else None


def _bound(plain: PlainRows, catalog: Catalog, source: SqlText, now: int) -> BoundRows | None:
    tree = plain.tree
    names = tree.args.get("from_") if isinstance(tree, exp.Select) else tree
    of: exp.Expr | None = None if names is None else names.this
    if not isinstance(of, exp.Table) or not isinstance(of.this, exp.Identifier):
        return None
    relation = catalog.find(of.name)
    fields = relation.schema if isinstance(relation, View) and relation.maintained else ()
    fields = relation.fields if isinstance(relation, Table) else fields
    if relation is None or not fields or not (isinstance(tree, exp.Select) or isinstance(relation, Table)):
        return None
    binder = Binder(source, scope_of(of.alias or relation.name, fields), HANDLERS, CLAUSE)
    where = tree.args.get("where")
    predicates = conjuncts([at_time(binder.condition(where.this), now, source.zone)]) if where else ()
    items: Sequence[exp.Expr] = tree.expressions
    gone: tuple[Column, ...] = ()
    come: tuple[Scalar, ...] = ()
    if isinstance(relation, Table) and not isinstance(tree, exp.Select):
        items = tree.args["returning"].expressions if tree.args.get("returning") else ()
        row = tuple(Column(place, field.type, field.nullable) for place, field in enumerate(fields))
        gone = tuple(row[place] for place in relation.key_indexes) or row
        assigned = assigned_row(tree.expressions, row, fields, binder) if isinstance(tree, exp.Update) else ()
        come = tuple(at_time(scalar, now, source.zone) for scalar in assigned)
        if come and relation.primary_key and all(come[column.index] is column for column in gone):
            gone = ()
    named = [(name, at_time(scalar, now, source.zone)) for name, scalar in named_items(items, binder)]
    names = [name for name, _ in named if name is not None]
    if twice(names) or len(names) < len(named) or (isinstance(tree, exp.Update) and not come):
        return None
    outputs = [substitute(scalar, come) if come else scalar for _, scalar in named]
    context = BindContext(catalog, source, bind_query, registered)
    order, _ = bind_order(context, tree.args.get("order"), names, outputs, lambda item: binder.bind(item).scalar)
    limit = bind_limit(context, tree, {})
    if limit is not None and limit.cut is not None:
        return None
    terms = tuple((each.column, each.descending, each.nulls_first) for each in order)
    cut = (None, 0) if limit is None else (limit.limit, limit.offset)
    return BoundRows(relation, predicates, tuple(outputs), tuple(names), gone, come, terms, *cut)


def named_items(items: Iterable[exp.Expr], binder: Binder) -> Iterator[tuple[str | None, Scalar]]:
    """The items of a list with their names, None for one whose name only DuckDB knows."""
    for item in items:
        if isinstance(item, exp.Star):
            yield from ((column.name, column.column) for column in binder.scope.columns)
        elif isinstance(item, exp.Alias):
            yield item.alias, binder.bind(item.this).scalar
        else:
            scalar = binder.bind(item).scalar
            plain = isinstance(item, exp.Column) and isinstance(scalar, Column)
            yield binder.scope.at(scalar.index).name if plain and isinstance(scalar, Column) else None, scalar


def assigned_row(
    items: Sequence[exp.Expr], row: Sequence[Scalar], fields: Schema, binder: Binder
) -> tuple[Scalar, ...]:
    """The row after SET; nothing where that is not plain."""
    places = {key(field.name): place for place, field in enumerate(fields)}
    after, left = list(row), set(range(len(row)))
    for item in items:
        target = item.this if isinstance(item, exp.EQ) else None
        place = places.get(key(target.name)) if isinstance(target, exp.Column) and not target.table else None
        if place not in left or is_default(item.expression):
            return ()
        left.remove(place)
        after[place] = binder.cast(binder.bind(item.expression), fields[place].type)
    return tuple(after)
