"""PIVOT and UNPIVOT, written as the SELECT that they mean: aggregates with FILTER, and a UNION ALL."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product

from sqlglot import exp

from ivm.catalog.names import by_key, key, twice
from ivm.catalog.types import VARCHAR
from ivm.sql.bind.aggregates.calls import AGGREGATES
from ivm.sql.bind.context import BindContext
from ivm.sql.bind.names.columns import column_name
from ivm.sql.bind.names.expand import chosen_columns
from ivm.sql.bind.names.scope import Scope
from ivm.sql.sql_text import text_of
from ivm.sql.tree import called, values_of

MOST_COLUMNS = 10_000
"""So many columns may a PIVOT make."""


def unfolded(context: BindContext, pivot: exp.Pivot, item: exp.Expr, scope: Scope) -> exp.Query:
    """The query that a PIVOT or UNPIVOT of an item of FROM means, whose columns are those of the scope.

    UnsupportedError for a PIVOT without a list of values: its columns would depend on the rows.
    """
    if pivot.args.get("unpivot"):
        return _unpivoted(context, pivot, item, scope)
    fields = pivot.args.get("fields") or pivot.expressions
    if not fields:
        return _grouped(context, pivot, item)
    aggregates = pivot.expressions if pivot.args.get("fields") else pivot.args.get("using") or [_count()]
    listed = [_values(context, field) for field in fields]
    columns = [*fields, *aggregates]
    group = pivot.args.get("group")
    keys = [each.copy() for each in group.expressions] if group else _others(scope, columns)
    total = len(aggregates)
    for values in listed:
        total *= len(values)
    if total > MOST_COLUMNS:
        context.refuse(pivot, f"this PIVOT makes {total:,} columns, beyond the limit of {MOST_COLUMNS:,}; list fewer")
    items: list[exp.Expr] = []
    for chosen in product(*listed):
        where = exp.and_(*(_same(field.this, value) for field, (_, value) in zip(fields, chosen, strict=True)))
        for aggregate in aggregates:
            name = "_".join([*(name for name, _ in chosen), *_suffix(context, aggregate, len(aggregates))])
            items.append(called(_filtered(context, aggregate.unalias(), where), name))
    again = twice([item.alias for item in items])
    if again is not None:
        context.fail(pivot, f"two columns of this PIVOT would be called {again!r}; list each value once, or name it")
    clause = exp.Group(expressions=[each.copy() for each in keys]) if keys else None
    return exp.Select(expressions=[*keys, *items], from_=exp.From(this=item.copy()), group=clause)


def _grouped(context: BindContext, pivot: exp.Pivot, item: exp.Expr) -> exp.Query:
    """A PIVOT ON nothing: its aggregates for each group."""
    group = pivot.args.get("group")
    keys = [each.copy() for each in group.expressions] if group else []
    using = pivot.args.get("using") or []
    items = [called(each.unalias().copy(), *_suffix(context, each, len(using) + 1)) for each in using]
    clause = exp.Group(expressions=[each.copy() for each in keys]) if keys else None
    return exp.Select(expressions=[*keys, *items], from_=exp.From(this=item.copy()), group=clause)


def _count() -> exp.Expr:
    return exp.Count(this=exp.Star())


def _values(context: BindContext, field: exp.Expr) -> list[tuple[str, exp.Expr]]:
    """The values that a column of a PIVOT is listed with, each with the name that it gives."""
    if not isinstance(field, exp.In) or not field.expressions or field.find(exp.Query):
        what = "a PIVOT without listed values is not maintained, since its columns would depend on the rows"
        instead = "write PIVOT .. ON column IN (values), or ON (expression) IN (values)"
        context.refuse(field, f"{what}; {instead}, or run it as a SELECT")
    found = []
    for each in field.expressions:
        value = each.this if isinstance(each, exp.PivotAlias | exp.Alias) else each
        alias = each.args.get("alias")
        found.append((alias.name if isinstance(alias, exp.Expr) else _text(context, value), value))
    return found


def _text(context: BindContext, value: exp.Expr) -> str:
    """How DuckDB calls a column for a value."""
    match value:
        case exp.Literal() | exp.Identifier():
            return str(value.name)
        case exp.Neg(this=exp.Literal()):
            return f"-{value.this.name}"
        case exp.Boolean():
            return "true" if value.this else "false"
        case exp.Null():
            return "NULL"
        case exp.Cast(this=exp.Literal()) if value.this.is_string:
            return str(value.this.name)
    context.refuse(value, f"{text_of(value)[:60]} is no literal; write AS and a name behind it, or list literals")


def _same(column: exp.Expr, value: exp.Expr) -> exp.Expr:
    return exp.NullSafeEQ(this=column.unnest().copy(), expression=value.copy())


def _suffix(context: BindContext, aggregate: exp.Expr, count: int) -> list[str]:
    if isinstance(aggregate, exp.Alias):
        return [aggregate.alias]
    return [column_name(aggregate, context.source)] if count > 1 else []


def _filtered(context: BindContext, expression: exp.Expr, where: exp.Expr) -> exp.Expr:
    """The expression with its one aggregate over the rows for which a condition holds."""
    made = expression.copy()
    found = [node for node in made.walk() if isinstance(node, AGGREGATES)]
    if len(found) != 1:
        what = f"{text_of(expression)[:60]} in PIVOT has {len(found)} aggregates"
        context.fail(expression, f"{what}; write one in each expression")
    if isinstance(found[0].parent, exp.Filter):
        what = f"FILTER in PIVOT is not supported: DuckDB leaves it out of {text_of(expression)[:60]}"
        context.refuse(expression, f"{what}; write CASE WHEN .. THEN .. END in the aggregate")
    call = exp.Filter(this=found[0].copy(), expression=exp.Where(this=where.copy()))
    if found[0] is made:
        return call
    found[0].replace(call)
    return made


def _others(scope: Scope, read: Sequence[exp.Expr]) -> list[exp.Expr]:
    """The columns that none of some expressions names."""
    named = {key(column.name) for each in read for column in each.find_all(exp.Column)}
    return [_column(c.name) for c in scope.visible() if key(c.name) not in named]


def _column(name: str) -> exp.Expr:
    return exp.column(exp.to_identifier(name, quoted=True))


def _unpivoted(context: BindContext, pivot: exp.Pivot, item: exp.Expr, scope: Scope) -> exp.Query:
    into = pivot.args.get("into")
    if pivot.args.get("fields"):
        (field,) = pivot.args["fields"]
        name, values = field.this.name, [each.name for part in pivot.expressions for each in values_of(part)]
        entries = field.expressions
    else:
        name = into.this.name if into else "name"
        values = [each.name for each in into.expressions] if into else ["value"]
        entries = pivot.expressions
    rows = list(_rows(context, scope, entries))
    if not rows or any(len(columns) != len(values) for _, columns in rows):
        what = f"each entry of this UNPIVOT needs as many columns as it gives, which are {len(values)}"
        context.fail(pivot, f"{what}; list them in parentheses")
    _check_types(context, pivot, scope, [columns for _, columns in rows])
    others = _others(scope, [column for _, columns in rows for column in columns])
    union: exp.Query | None = None
    for label, columns in rows:
        kept = None if pivot.args.get("include_nulls") else exp.and_(*(_is_there(column) for column in columns))
        outputs = [called(exp.Literal.string(label), name), *map(called, columns, values)]
        select = exp.Select(
            expressions=[*(other.copy() for other in others), *outputs],
            from_=exp.From(this=item.copy()),
            where=exp.Where(this=kept) if kept is not None else None,
        )
        union = select if union is None else exp.Union(this=union, expression=select, distinct=False)
    assert union is not None, "there are rows"
    return union


def _check_types(context: BindContext, pivot: exp.Pivot, scope: Scope, rows: Sequence[Sequence[exp.Expr]]) -> None:
    """Refuse texts beside other types, as DuckDB does, which a set operation would make texts of."""
    for nodes in zip(*rows, strict=True):
        found = [scope.find(node.name) for node in nodes if isinstance(node, exp.Column)]
        types = dict.fromkeys(columns[0].column.type for columns in found if columns)
        if len({type_ == VARCHAR for type_ in types}) > 1:
            what = f"UNPIVOT makes one column of columns of types {' and '.join(map(str, types))}"
            context.mismatch(pivot, f"{what}; cast them to one type before")


def _is_there(column: exp.Expr) -> exp.Expr:
    return exp.Not(this=exp.Is(this=exp.Paren(this=column.copy()), expression=exp.Null()))


def _rows(context: BindContext, scope: Scope, entries: Sequence[exp.Expr]) -> Iterator[tuple[str, list[exp.Expr]]]:
    """For each row that UNPIVOT makes of one what it is called, and its values."""
    names = by_key((column.name, column.name) for column in scope.visible())
    for entry in entries:
        alias = entry.args.get("alias") if isinstance(entry, exp.PivotAlias | exp.Alias) else None
        bare = entry.this if alias is not None else entry
        if isinstance(bare, exp.Columns | exp.Star):
            call = bare if isinstance(bare, exp.Columns) else exp.Columns(this=bare)
            yield from ((each.alias_or_name, [each.unalias()]) for each in chosen_columns(context, scope, call))
            continue
        columns = [column.copy() for column in values_of(bare)]
        read = [column.find(exp.Column) for column in columns]
        if any(column is None for column in read):
            context.fail(entry, f"{text_of(entry)[:60]} in UNPIVOT names no column; list columns")
        own = "_".join(names.get(key(column.name), column.name) for column in read if column is not None)
        yield alias.name if alias is not None else own, columns
