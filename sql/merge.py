"""The SELECT that computes what a MERGE changes, in DuckDB's dialect, over the tables as they are before it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ivm.catalog.errors import BindError
from ivm.catalog.names import as_literal, quoted
from ivm.catalog.schema import Table
from ivm.sql.cast_text import cast_text
from ivm.sql.changes import ROW, assigned, check_width, default_text, given_names, numbered, rows_beside
from ivm.sql.statements import Merge, When

ACTION = "merge_action"
"""What RETURNING calls what became of a row, one of `MERGED`."""
MERGED = ("DELETE", "UPDATE", "INSERT")
FAILED = "failed: "
"""What stands in place of one of `MERGED` before the text of an ERROR."""
ACTIONS = "ivm merge actions"
"""What given rows are called that have `ACTION` alone."""

_TARGET = "ivm target"
_SOURCE = "ivm source"
_TAKEN = "ivm taken"
_TARGET_ROW, _SOURCE_ROW, _CLAUSE = "ivm target row", "ivm source row", "ivm clause"


def columns_of_source(merge: Merge) -> str:
    """A SELECT without rows that has the source's columns."""
    return f"{merge.ctes} SELECT * FROM (SELECT * FROM {merge.source}) AS new_rows LIMIT 0"


def rows_to_merge(merge: Merge, table: Table, given: Sequence[str]) -> str:
    """The SELECT of what becomes of rows, in any order.

    Its columns: one of `MERGED`, or `FAILED` and a text; the number of the row of the target, or NULL; the columns of
    the table as they are, NULL for a row that comes; and then as they will be, NULL for one that goes.

    Each row or pair is taken by the first clause that holds, decided once, so that a value is computed for those alone
    that a clause takes. `given`: the names of the source's columns, if a clause takes them. Cost: a join for each kind
    of clause that there is, and the tables. BindError for a column that is unknown or named twice, or a wrong number of
    values.
    """
    whens = [_with_columns(merge, when, table, given) for when in merge.whens]
    kinds = dict.fromkeys(when.of for when in whens)
    taken = " UNION ALL ".join(_taken(merge, whens, of) for of in kinds)
    changed = " UNION ALL ".join(_changed(merge, when, place, table) for place, when in enumerate(whens))
    row = f"row_number() OVER () AS {quoted(ROW)}"
    ctes = (
        f"{quoted(_TARGET)} AS MATERIALIZED {numbered(table)}",
        f"{quoted(_SOURCE)} AS MATERIALIZED (SELECT *, {row} FROM {merge.source})",
        f"{quoted(_TAKEN)} AS MATERIALIZED ({taken})",
    )
    before = f"{merge.ctes}, " if merge.ctes else "WITH "
    return f"{before}{', '.join(ctes)} {changed}"


def _with_columns(merge: Merge, when: When, table: Table, given: Sequence[str]) -> When:
    """The clause, with the source's columns written out if it takes these."""
    if not when.takes:
        return when
    names = tuple(field.name for field in table.given)
    what = f"MERGE INTO {table.name}"
    if when.takes == "name":
        names = given_names(table, given, what)
    elif len(given) != len(names):
        raise BindError(
            f"{what} takes the columns of {merge.source_alias} by position: the table has {len(names)} "
            f"({', '.join(names)}), but {len(given)} are given; write BY NAME, or SET and VALUES"
        )
    values = tuple(f"{quoted(merge.source_alias)}.{quoted(name)}" for name in given)
    if when.action == "update":
        return replace(when, assignments=tuple(zip(names, values, strict=True)))
    return replace(when, columns=names, values=values)


def _taken(merge: Merge, whens: Sequence[When], of: str) -> str:
    """Of each pair, or row without a partner, the numbers of its rows and of the clause that takes it."""
    target, source = _target(merge), _source(merge)
    from_ = {
        "matched": f"{target} JOIN {source} {merge.how}",
        "not matched by target": f"{source} ANTI JOIN {target} {merge.how}",
        "not matched by source": f"{target} ANTI JOIN {source} {merge.how}",
    }[of]
    cases = [f"WHEN {when.condition or 'true'} THEN {place}" for place, when in enumerate(whens) if when.of == of]
    numbers = (
        "NULL::BIGINT" if of == without else f"{quoted(alias)}.{quoted(ROW)}"
        for without, alias in (("not matched by target", merge.alias), ("not matched by source", merge.source_alias))
    )
    names = (_TARGET_ROW, _SOURCE_ROW, _CLAUSE)
    values = (*numbers, f"CASE {' '.join(cases)} END")
    listed = ", ".join(f"{value} AS {quoted(name)}" for value, name in zip(values, names, strict=True))
    return f"SELECT {listed} FROM {from_}"


def _changed(merge: Merge, when: When, place: int, table: Table) -> str:
    """The SELECT of what a clause changes."""
    nothing = [f"CAST(NULL AS {field.type})" for field in table.fields]
    as_it_is = [f"{quoted(merge.alias)}.{quoted(field.name)}" for field in table.fields]
    before = nothing if when.action in ("insert", "nothing", "error") else as_it_is
    after, beside = nothing, ""
    if when.action == "update":
        after = assigned(when.assignments, table, merge.alias, f"MERGE INTO {table.name}")
        beside = rows_beside(when.assignments)
    elif when.action == "insert":
        after = _inserted(when, table)
    taken = quoted(_TAKEN)
    target = f"{quoted(merge.alias)}.{quoted(ROW)} = {taken}.{quoted(_TARGET_ROW)}"
    source = f"{quoted(merge.source_alias)}.{quoted(ROW)} = {taken}.{quoted(_SOURCE_ROW)}"
    # Columns of USING are named alone only where they are joined so; which rows are a pair is decided.
    how = merge.how if merge.how.startswith("USING") else "ON true"
    from_ = {
        "matched": f"{_target(merge)} JOIN {_source(merge)} {how} JOIN {taken} ON {target} AND {source}",
        "not matched by target": f"{_source(merge)} JOIN {taken} ON {source}",
        "not matched by source": f"{_target(merge)} JOIN {taken} ON {target}",
    }[when.of]
    where = f"{taken}.{quoted(_CLAUSE)} = {place}" if when.action != "nothing" else "false"
    action = as_literal(when.action.upper())
    if when.action == "error":
        action = f"{as_literal(FAILED)} || {when.values[0]}"
    values = ", ".join((action, f"{taken}.{quoted(_TARGET_ROW)}", *before, *after))
    return f"SELECT {values} FROM {from_}{beside} WHERE {where}"


def _inserted(when: When, table: Table) -> list[str]:
    """The table's columns of a row that a clause inserts."""
    columns = given_names(table, when.columns, f"MERGE INTO {table.name}")
    columns = columns or tuple(field.name for field in table.given)
    if when.values:
        check_width(table, columns, len(when.values))
    given = dict(zip(columns, when.values, strict=False))
    values = []
    for field in table.fields:
        value = given.get(field.name)
        values.append(default_text(table, field) if value is None else cast_text(value, field))
    return values


def _target(merge: Merge) -> str:
    return f"{quoted(_TARGET)} AS {quoted(merge.alias)}"


def _source(merge: Merge) -> str:
    return f"{quoted(_SOURCE)} AS {quoted(merge.source_alias)}"
