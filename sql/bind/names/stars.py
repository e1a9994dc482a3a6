"""What a star stands for: *, t.* and the fields of a struct, with EXCLUDE, REPLACE, RENAME and LIKE behind it."""

from __future__ import annotations

import re
from collections.abc import Set

from sqlglot import exp

from ivm.catalog.names import by_key, key, suggestion
from ivm.catalog.types import Kind
from ivm.sql.arguments import refuse_unread
from ivm.sql.bind.context import BindContext
from ivm.sql.bind.names.conditions import TESTS, Filter, named_like, regular
from ivm.sql.bind.names.excluded import without
from ivm.sql.bind.names.scope import Scope, ScopeColumn
from ivm.sql.sql_text import text_of
from ivm.sql.tree import called


def is_star(node: exp.Expr) -> bool:
    """Whether this is * or t.*."""
    return isinstance(node, exp.Star) or (isinstance(node, exp.Column) and isinstance(node.this, exp.Star))


def starred(context: BindContext, scope: Scope, item: exp.Expr) -> list[exp.Expr]:
    """The columns for an item that is a star, or one with a condition on names; the item itself if it is none."""
    bare = item.unalias()
    test = bare if isinstance(bare, TESTS) and is_star(bare.this) else None
    written = bare.this if test is not None else bare
    if not is_star(written):
        return [item]
    star = written.this if isinstance(written, exp.Column) else written
    assert isinstance(star, exp.Star), "it is one"
    asked = _ilike(star) if test is None else test
    wanted: Filter = (lambda _: True) if asked is None else named_like(context, asked)
    found = _columns(context, scope, star, _before(written), wanted)
    if not found and test is not None:
        context.fail(test, f"no column of FROM is called {text_of(test.expression)}; name one")
    if bare is item:
        return found
    if asked is None:
        return [called(each.unalias(), item.alias) for each in found]
    return [called(each.unalias(), called_by(context, item, each, regular(context, asked))) for each in found]


def called_by(context: BindContext, item: exp.Expr, column: exp.Expr, pattern: re.Pattern[str] | None) -> str:
    r"""What an item is called for one of the columns that COLUMNS(..) stands for: as the column, or as its alias says.

    There \0 stands for the column's name, \1 for what the first group of a pattern finds in it, and \\ for itself. Not
    so of what REPLACE has put in the place of a column.
    """
    bare = column.unalias()
    if not item.alias or not isinstance(bare, exp.Column):
        return item.alias or column.alias_or_name
    name = bare.name
    found = pattern.search(name) if pattern is not None else None

    def meant(escape: re.Match[str]) -> str:
        number = escape[1]
        if number == "\\":
            return number
        if not number.isdecimal():
            context.fail(
                item, f"{item.alias!r}: a backslash in the alias of COLUMNS is followed by a digit, or another"
            )
        if number == "0":
            return name
        if pattern is None:
            what = "stands for a group of a regular expression, and COLUMNS has none; \\0 is the whole name"
            context.fail(item, f"{item.alias!r}: \\{number} {what}")
        return (found[int(number)] or "") if found is not None and int(number) <= pattern.groups else ""

    return re.sub(r"\\(.?)", meant, item.alias, flags=re.DOTALL)


def _ilike(star: exp.Star) -> exp.Expr | None:
    pattern = star.args.get("ilike")
    return None if pattern is None else exp.ILike(this=exp.Star(), expression=pattern)


Before = tuple[str, str]
"""What stands before a star: nothing, a table or a struct, and the table of that."""


def _before(written: exp.Expr) -> Before:
    return (written.table, written.text("db")) if isinstance(written, exp.Column) else ("", "")


def has_long_name(item: exp.Expr) -> bool:
    """Whether this is t.s.*, which DuckDB does not read."""
    return is_star(item) and bool(_before(item)[1])


def _seen(context: BindContext, scope: Scope, before: Before) -> Scope:
    """The columns among which those of a star stand: the innermost that know what is `before` it."""
    name, of = before
    scopes = (scope, *(row.names.scope for row in reversed(context.outer_rows)))
    return next((each for each in scopes if not name or (not of and each.has(name)) or each.find(name, of)), scope)


def _columns(context: BindContext, scope: Scope, star: exp.Star, before: Before, wanted: Filter) -> list[exp.Expr]:
    refuse_unread((star,), context.source)
    scope = _seen(context, scope, before)
    left_out = star.args.get("except_") or ()
    excluded = by_key((column.name, column.name) for column in left_out)
    apart = {(key(column.table), key(column.name)) for column in left_out if column.table}
    columns = _starred(context, scope, star, before, apart)
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
    context: BindContext, scope: Scope, star: exp.Star, before: Before, apart: Set[tuple[str, str]]
) -> list[exp.Column]:
    """The columns that a star stands for: of all tables, of one, or the fields of a column that is a struct; but for
    those set `apart`, by the keys of their tables and names.
    """
    table, of_struct = before
    if not table or (not of_struct and scope.has(table)):
        columns = scope.visible(table)
        for of, name in sorted(apart):
            if not any(key(each.table) == of for each in scope.find(name, of)) or (table and key(table) != of):
                context.fail(star, f"* EXCLUDE: {scope.unknown(name, of)}")
            columns = without(scope, columns, (of, name), apart, not table)
        return [column_of(column, star) for column in columns]
    structs = scope.find(table, of_struct)
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


def column_of(column: ScopeColumn, place: exp.Expr) -> exp.Column:
    """The node that names a column, at the place of another."""
    table = exp.to_identifier(column.table, quoted=True) if column.table else None
    node = exp.column(exp.to_identifier(column.name, quoted=True), table=table)
    node.update_positions(place)
    return node
