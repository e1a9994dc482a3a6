"""The items of a SELECT, with what stands for several columns written out: *, COLUMNS(..), *COLUMNS(..) and #1."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TypeVar

from sqlglot import exp

from ivm.catalog.names import by_key, key, suggestion
from ivm.sql.bind.context import BindContext
from ivm.sql.bind.names.conditions import computed_names, pattern_of
from ivm.sql.bind.names.scope import Scope
from ivm.sql.bind.names.stars import called_by, column_of, has_long_name, is_star, starred
from ivm.sql.reader import made_call
from ivm.sql.sql_text import text_of
from ivm.sql.tree import called
from ivm.sql.unpacked import is_unpacked

Node = TypeVar("Node", bound=exp.Expr)


def expand_stars(context: BindContext, scope: Scope, select: exp.Select) -> list[exp.Expr]:
    """The items of a SELECT, each star, COLUMNS(..) and #1 replaced by the columns that it stands for.

    Where COLUMNS(..) or #1 stand, also in WHERE, FILTER, ORDER BY and DISTINCT ON, the tree is changed: the oracle
    reads what they stand for.
    """
    where = select.args.get("where")
    for part in (*select.expressions, *([where] if where else [])):
        for node in _own(part, exp.PositionalColumn):
            node.replace(_numbered(context, scope, node))
        for test in _own(part, exp.Where):
            if _own(test, exp.Columns):
                test.set("this", exp.and_(*(i.unalias() for i in _expanded(context, scope, test.this)), copy=False))
    for clause in (select, *_lists_to_order(select)):
        if any(_own(item, exp.Columns) for item in clause.expressions):
            items = [each for item in clause.expressions for each in _listed(context, scope, item)]
            clause.set("expressions", items if clause is select else [item.unalias() for item in items])
    found = [each for item in select.expressions for each in starred(context, scope, item)]
    if not found:
        items = select.expressions
        context.fail(items[0] if items else None, "SELECT * without FROM has no columns; name a table in FROM")
    if any(map(has_long_name, select.expressions)):
        select.set("expressions", found)
    return found


def _lists_to_order(select: exp.Select) -> Iterator[exp.Expr]:
    """ORDER BY and DISTINCT ON, as far as they are there."""
    distinct = select.args.get("distinct")
    on = distinct.args.get("on") if distinct else None
    if distinct and on is not None and not isinstance(on, exp.Tuple):
        on = exp.Tuple(expressions=[on.unnest()])
        distinct.set("on", on)
    return (each for each in (select.args.get("order"), on) if each is not None)


def _listed(context: BindContext, scope: Scope, item: exp.Expr) -> Iterator[exp.Expr]:
    """An item of a list, once for each of the columns that COLUMNS(..) stands for in it."""
    if not isinstance(item, exp.Ordered):
        yield from _expanded(context, scope, item)
        return
    if isinstance(item.this, exp.Columns) and is_star(item.this.this) and not any(item.this.this.args.values()):
        yield exp.Ordered(**{**item.args, "this": item.this.this})  # which is ORDER BY ALL
        return
    for each in _expanded(context, scope, item.this):
        yield exp.Ordered(**{**item.args, "this": each.unalias()})


def _own(item: exp.Expr, kind: type[Node]) -> list[Node]:
    """The nodes of a kind in an expression, but for those of subqueries."""
    walked = item.walk(prune=lambda node: isinstance(node, exp.Query))
    return [node for node in walked if isinstance(node, kind)]


def _numbered(context: BindContext, scope: Scope, node: exp.Expr) -> exp.Expr:
    columns, number = scope.visible(), int(node.name) if node.name.isdecimal() else 0
    if not 1 <= number <= len(columns):
        context.fail(node, f"#{node.name} is no position in FROM; it has {len(columns)} columns")
    return column_of(columns[number - 1], node)


def _expanded(context: BindContext, scope: Scope, item: exp.Expr) -> Iterator[exp.Expr]:
    """An expression with COLUMNS(..) once for each of the columns, called as these are, or as its alias says."""
    calls = _own(item, exp.Columns)
    if not calls:
        yield item
        return
    if len({call.this.sql() for call in calls}) > 1:
        context.fail(calls[1], "one expression holds COLUMNS of different columns; write it once for each")
    columns, pattern = _chosen(context, scope, calls[0])
    if not columns:
        context.fail(calls[0], f"no column of FROM is one of {text_of(calls[0])[:60]}; name one")
    if any(map(is_unpacked, calls)):
        yield _unpacked(context, item, columns)
        return
    for column in columns:
        each = item.unalias().copy()
        for call in _own(each, exp.Columns):
            each = _replaced(each, call, column.unalias().copy())
        yield called(each, called_by(context, item, column, pattern))


def _replaced(tree: exp.Expr, part: exp.Expr, other: exp.Expr) -> exp.Expr:
    if part is tree:
        return other
    part.replace(other)
    return tree


def chosen_columns(context: BindContext, scope: Scope, call: exp.Columns) -> list[exp.Expr]:
    """The columns that COLUMNS(..) stands for."""
    return _chosen(context, scope, call)[0]


def _chosen(context: BindContext, scope: Scope, call: exp.Columns) -> tuple[list[exp.Expr], re.Pattern[str] | None]:
    """The columns that COLUMNS(..) stands for, and the regular expression that they match, if there is one."""
    if is_star(call.this):
        return starred(context, scope, call.this), None

    def names(node: exp.Expr) -> list[str] | None:
        if not is_star(node):
            return None
        found = starred(context, scope, node)
        if not all(isinstance(each, exp.Column) for each in found):
            context.fail(node, "* with REPLACE or RENAME is all that COLUMNS may hold; leave these words out")
        return [each.name for each in found]

    found = computed_names(context, call.this, names)
    if isinstance(found, str):
        pattern = pattern_of(context, call, found)
        return [column_of(each, call) for each in scope.visible() if pattern.search(each.name)], pattern
    asked = by_key((name, name) for name in found)
    there = by_key((each.name, each.name) for each in scope.visible())
    for name in (asked[each] for each in asked if each not in there):
        context.fail(call, f"COLUMNS: there is no column {name!r}{suggestion(name, there.values())}")
    return [column_of(each, call) for each in scope.visible() if key(each.name) in asked], None


def _unpacked(context: BindContext, item: exp.Expr, columns: Sequence[exp.Expr]) -> exp.Expr:
    """The item with *COLUMNS(..) replaced by all columns, as arguments of the call around, or in a list."""
    made = item.copy()
    for call in _own(made, exp.Columns):
        around = call.parent
        if not is_unpacked(call) or not isinstance(around, exp.Anonymous | exp.Array | exp.Tuple | exp.In):
            context.refuse(item, f"{text_of(call)} stands among the arguments of a function, or in a list")
        bare = [column.unalias() for column in columns]
        args = [each.copy() for arg in around.expressions for each in (bare if arg is call else [arg])]
        if isinstance(around, exp.Anonymous):
            made = _replaced(made, around, _made(context, around, args))
        else:
            around.set("expressions", args)
    return made


def _made(context: BindContext, call: exp.Anonymous, args: list[exp.Expr]) -> exp.Expr:
    found = made_call(call, args)
    found.meta.update(call.meta)
    if found.error_messages():
        context.fail(call, f"{call.name}() takes another number of arguments than {len(args)}; list the columns")
    return found
