"""What stands for several columns: *, with EXCLUDE, REPLACE, RENAME and LIKE behind it, COLUMNS(..), and #1."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence, Set
from typing import TypeVar

from sqlglot import exp

from catalog.names import by_key, key, suggestion
from catalog.types import Kind
from sql.arguments import refuse_unread
from sql.bind.context import BindContext
from sql.bind.expressions.binder import Binder
from sql.bind.expressions.handlers import HANDLERS
from sql.bind.names.excluded import without
from sql.bind.names.scope import Scope, ScopeColumn
from sql.folded import folded
from sql.ir.scalar import Literal
from sql.sql_text import text_of
from sql.tree import called

Node = TypeVar("Node", bound=exp.Expr)
Filter = Callable[[str], bool]
"""Whether a column is wanted, by its name."""


def expand_stars(context: BindContext, scope: Scope, select: exp.Select) -> list[exp.Expr]:
    """The items of a SELECT, each star, COLUMNS(..) and #1 replaced by the columns that it stands for.

    Where COLUMNS(..) or #1 stand, also in WHERE, the tree is changed: the oracle reads what they stand for.
    """
    where = select.args.get("where")
    for part in (*select.expressions, *([where] if where else [])):
        for node in _own(part, exp.PositionalColumn):
            node.replace(_numbered(context, scope, node))
    if where is not None and _own(where, exp.Columns):
        where.set("this", exp.and_(*(item.unalias() for item in _expanded(context, scope, where.this)), copy=False))
    if any(_own(item, exp.Columns) for item in select.expressions):
        items = [each for item in select.expressions for each in _expanded(context, scope, item)]
        select.set("expressions", items)
    expanded = [each for item in select.expressions for each in _star(context, scope, item)]
    if not expanded:
        items = select.expressions
        context.fail(items[0] if items else None, "SELECT * without FROM has no columns; name a table in FROM")
    return expanded


def _own(item: exp.Expr, kind: type[Node]) -> list[Node]:
    """The nodes of a kind in an expression, but for those of subqueries."""
    walked = item.walk(prune=lambda node: isinstance(node, exp.Query))
    return [node for node in walked if isinstance(node, kind)]


def _numbered(context: BindContext, scope: Scope, node: exp.Expr) -> exp.Expr:
    columns, number = scope.visible(), int(node.name) if node.name.isdecimal() else 0
    if not 1 <= number <= len(columns):
        context.fail(node, f"#{node.name} is no position in FROM; it has {len(columns)} columns")
    return _column(columns[number - 1], node)


def _star(context: BindContext, scope: Scope, item: exp.Expr) -> list[exp.Expr]:
    """The columns for an item that is a star, or one with a condition on names; the item itself if it is none."""
    test = item if isinstance(item, _TESTS) and _is_star(item.this) else None
    written = item.this if test is not None else item
    if not _is_star(written):
        return [item]
    star = written.this if isinstance(written, exp.Column) else written
    assert isinstance(star, exp.Star), "it is one"
    wanted = _named_like(context, test) if test is not None else _named_like(context, _ilike(star))
    table = written.table if isinstance(written, exp.Column) else ""
    found = _columns(context, scope, star, table, wanted)
    if not found and test is not None:
        context.fail(test, f"no column of FROM is called {text_of(test.expression)}; name one")
    return found


_TESTS = (exp.Like, exp.ILike, exp.SimilarTo, exp.Glob, exp.RegexpLike, exp.RegexpILike)
"""What may say which columns * stands for."""


def _is_star(node: exp.Expr) -> bool:
    return isinstance(node, exp.Star) or (isinstance(node, exp.Column) and isinstance(node.this, exp.Star))


def _ilike(star: exp.Star) -> exp.Expr | None:
    pattern = star.args.get("ilike")
    return None if pattern is None else exp.ILike(this=exp.Star(), expression=pattern)


def _named_like(context: BindContext, test: exp.Expr | None) -> Filter:
    if test is None:
        return lambda _: True
    if not test.expression.is_string:
        context.refuse(test, "the pattern behind * is a text literal; write one")
    pattern = test.expression.name
    if isinstance(test, exp.RegexpLike | exp.RegexpILike):
        found = _pattern(context, test, f"(?i){pattern}" if isinstance(test, exp.RegexpILike) else pattern)
        return lambda name: found.search(name) is not None
    if isinstance(test, exp.SimilarTo):
        matches = _pattern(context, test, pattern)
    else:
        wild = ("*", "?") if isinstance(test, exp.Glob) else ("%", "_")
        parts = {wild[0]: ".*", wild[1]: "."}
        written = "".join(parts.get(letter, re.escape(letter)) for letter in pattern)
        matches = re.compile(written, re.DOTALL | (re.IGNORECASE if isinstance(test, exp.ILike) else 0))
    negated = bool(test.args.get("negate"))
    return lambda name: (matches.fullmatch(name) is None) == negated


def _pattern(context: BindContext, node: exp.Expr, pattern: str) -> re.Pattern[str]:
    try:
        return re.compile(pattern, re.ASCII)
    except re.error as error:
        context.refuse(node, f"cannot read the regular expression {pattern!r}: {error}; list the columns")


def _columns(context: BindContext, scope: Scope, star: exp.Star, table: str, wanted: Filter) -> list[exp.Expr]:
    refuse_unread((star,), context.source)
    left_out = star.args.get("except_") or ()
    excluded = by_key((column.name, column.name) for column in left_out)
    apart = {(key(column.table), key(column.name)) for column in left_out if column.table}
    columns = _starred(context, scope, star, table, apart)
    replaced = {key(item.alias): item for item in star.args.get("replace") or ()}
    renamed = {key(item.this.name): item for item in star.args.get("rename") or ()}
    names = by_key(
        (column.name, column.name) for column in (*columns, *(column for column in left_out if column.table))
    )
    for word, asked in (("EXCLUDE", excluded), ("REPLACE", {each: replaced[each].alias for each in replaced})):
        for name in (asked[each] for each in asked if each not in names):
            context.fail(star, f"* {word}: there is no column {name!r}{suggestion(name, names.values())}")
    for twice in (excluded.keys() & replaced.keys()) | (replaced.keys() & renamed.keys()):
        context.fail(star, f"the column {names[twice]!r} stands in two lists behind *; leave it out of one")
    gone = excluded.keys() - {name for _, name in apart}
    nodes: list[exp.Expr] = []
    for column in columns:
        name = key(column.name)
        if name in gone or not wanted(column.name):
            continue
        node, other = replaced.get(name) or column, renamed.get(name)
        is_meant = other is not None and key(other.this.text("table")) in ("", key(column.table))
        nodes.append(called(node, other.alias) if other is not None and is_meant else node)
    return nodes


def _starred(
    context: BindContext, scope: Scope, star: exp.Star, table: str, apart: Set[tuple[str, str]]
) -> list[exp.Column]:
    """The columns that a star stands for: of all tables, of one, or the fields of a column that is a struct; but for
    those set `apart`, by the keys of their tables and names.
    """
    if not table or scope.has(table):
        columns = scope.visible(table)
        for of, name in sorted(apart):
            if not any(key(each.table) == of for each in scope.find(name, of)) or (table and key(table) != of):
                context.fail(star, f"* EXCLUDE: {scope.unknown(name, of)}")
            columns = without(scope, columns, (of, name), apart, not table)
        return [_column(column, star) for column in columns]
    structs = scope.find(table)
    if not structs:
        context.fail(star, f"there is no table {table!r} in FROM{suggestion(table, scope.tables)}")
    if len(structs) > 1:
        options = " or ".join(f"{each.table}.{each.name}" for each in structs)
        context.fail(star, f"column {table!r} is ambiguous: {options}; write the fields, such as table.struct.field")
    (struct,) = structs
    type_ = struct.column.type
    if type_.kind is not Kind.STRUCT or not all(name for name, _ in type_.fields):
        context.mismatch(star, f"{table}.* needs a table or a struct with names, but {table} is {type_}")
    return [_field(struct, name, star) for name, _ in type_.fields]


IS_FIELD = "ivm_field"
"""Of an item of a SELECT list that stands for a field of a struct: no other expression finds it by its name."""


def _field(struct: ScopeColumn, name: str, place: exp.Expr) -> exp.Column:
    parts = [exp.to_identifier(each, quoted=True) for each in (struct.table, struct.name, name) if each]
    node = exp.Column(**dict(zip(("this", "table", "db"), reversed(parts), strict=False)))
    node.update_positions(place)
    node.meta[IS_FIELD] = True
    return node


def _column(column: ScopeColumn, place: exp.Expr) -> exp.Column:
    table = exp.to_identifier(column.table, quoted=True) if column.table else None
    node = exp.column(exp.to_identifier(column.name, quoted=True), table=table)
    node.update_positions(place)
    return node


def _expanded(context: BindContext, scope: Scope, item: exp.Expr) -> Iterator[exp.Expr]:
    """An expression with COLUMNS(..) once for each of the columns, called as these are, or as its alias says."""
    calls = _own(item, exp.Columns)
    if not calls:
        yield item
        return
    if len({call.sql() for call in calls}) > 1:
        context.fail(calls[1], "one expression holds COLUMNS of different columns; write it once for each")
    columns = list(chosen_columns(context, scope, calls[0]))
    if not columns:
        context.fail(calls[0], f"no column of FROM is one of {text_of(calls[0])[:60]}; name one")
    if any(call.args.get("unpack") for call in calls):
        yield _unpacked(context, item, columns)
        return
    pattern = re.compile(calls[0].this.name, re.ASCII) if calls[0].this.is_string else None
    for column in columns:
        each = item.unalias().copy()
        for call in _own(each, exp.Columns):
            each = _replaced(each, call, column.unalias().copy())
        yield called(each, _name(item.alias, pattern, column.alias_or_name))


def _replaced(tree: exp.Expr, part: exp.Expr, other: exp.Expr) -> exp.Expr:
    if part is tree:
        return other
    part.replace(other)
    return tree


def _name(alias: str, pattern: re.Pattern[str] | None, column: str) -> str:
    r"""The alias, in which \1 stands for what the first group of a pattern finds in the column's name."""
    found = pattern.search(column) if pattern is not None else None
    if not alias or found is None:
        return alias or column
    groups = (found[0], *(group or "" for group in found.groups()))
    return re.sub(r"\\(\d)", lambda each: groups[int(each[1])] if int(each[1]) < len(groups) else "", alias)


def chosen_columns(context: BindContext, scope: Scope, call: exp.Columns) -> list[exp.Expr]:
    """The columns that COLUMNS(..) stands for."""
    what = call.this
    if _is_star(what):
        return _star(context, scope, what)
    if what.is_string:
        pattern = _pattern(context, call, what.name)
        return [_column(each, call) for each in scope.visible() if pattern.search(each.name)]
    if isinstance(what, exp.Lambda) and len(what.expressions) == 1:
        wanted = _wanted(context, what.this, key(what.expressions[0].name))
        return [_column(each, call) for each in scope.visible() if wanted(each.name)]
    if isinstance(what, exp.Array) and all(name.is_string for name in what.expressions):
        names = by_key((name.name, name.name) for name in what.expressions)
        there = by_key((each.name, each.name) for each in scope.visible())
        for name in (names[each] for each in names if each not in there):
            context.fail(call, f"COLUMNS: there is no column {name!r}{suggestion(name, there.values())}")
        return [_column(each, call) for each in scope.visible() if key(each.name) in names]
    context.refuse(call, "COLUMNS takes *, a regular expression or a list of names here; list the columns")


_PARTS: dict[type[exp.Expr], Callable[[str, str], bool]] = {
    exp.StartsWith: str.startswith,
    exp.EndsWith: str.endswith,
    exp.Contains: str.__contains__,
}


def _wanted(context: BindContext, node: exp.Expr, parameter: str) -> Filter:
    """Which columns satisfy a condition on the names that a `parameter` stands for."""
    node = node.unnest()
    if isinstance(node, exp.And | exp.Or):
        left, right = (_wanted(context, each, parameter) for each in (node.this, node.expression))
        return lambda name: left(name) and right(name) if isinstance(node, exp.And) else left(name) or right(name)
    if isinstance(node, exp.Not):
        inner = _wanted(context, node.this, parameter)
        return lambda name: not inner(name)
    if isinstance(node, (*_TESTS, *_PARTS)) and isinstance(node.this, exp.Identifier):
        if isinstance(node, _TESTS) and key(node.this.name) == parameter:
            return _named_like(context, node)
        if key(node.this.name) == parameter and node.expression.is_string:
            has_part, part = _PARTS[type(node)], node.expression.name
            return lambda name: has_part(name, part)
    return lambda name: _holds(context, node, parameter, name)


def _holds(context: BindContext, node: exp.Expr, parameter: str, name: str) -> bool:
    def put(each: exp.Expr) -> exp.Expr:
        is_name = isinstance(each, exp.Identifier) and key(each.name) == parameter
        return exp.Literal.string(name) if is_name else each

    binder = Binder(context.source, Scope(), HANDLERS, "COLUMNS")
    found = folded(binder.condition(node.transform(put)))
    if not isinstance(found, Literal):
        what = "this condition on names in COLUMNS cannot be computed ahead"
        context.refuse(node, f"{what}; write comparisons, LIKE or a regular expression, or list the columns")
    return bool(found.value)


_TAKING_ALL = (exp.Coalesce, exp.Greatest, exp.Least, exp.Concat, exp.ConcatWs, exp.Anonymous, exp.Array, exp.Struct)
"""What takes any number of arguments."""


def _unpacked(context: BindContext, item: exp.Expr, columns: Sequence[exp.Expr]) -> exp.Expr:
    """The item with *COLUMNS(..) replaced by all columns, as arguments of the call around."""
    made = item.copy()
    for call in _own(made, exp.Columns):
        around = call.parent
        if not isinstance(around, _TAKING_ALL):
            context.refuse(item, f"{text_of(call)} stands among the arguments of a function, or in a list")
        given = [around.this] if isinstance(around.this, exp.Expr) else []
        bare = [column.unalias() for column in columns]
        args = [each for arg in (*given, *around.expressions) for each in (bare if arg is call else [arg])]
        if given:
            around.set("this", args.pop(0).copy())
        around.set("expressions", [each.copy() for each in args])
    return made
