"""The SELECTs that compute what an INSERT, DELETE or UPDATE changes, in DuckDB's dialect.

They read the tables as they are before the statement. Values are cast to the table's types, so that each result
has exactly the table's columns, in order.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType

from ivm.catalog.errors import BindError
from ivm.catalog.names import as_literal, by_key, key, quoted, suggestion, twice
from ivm.catalog.schema import Field, Table
from ivm.sql.cast_text import cast_text
from ivm.sql.json_file import json_rows
from ivm.sql.plain_insert import OpenInsert, PlainInsert
from ivm.sql.statements import Assignments, Conflict, Copy, Delete, Insert, RowPart, Update

NEW = "ivm new rows"
OLD = "ivm old rows"
"""What given rows are called: those that an INSERT was to add, and those of the table that they meet, side by side."""
ROW = "ivm row"
"""The column that numbers rows."""
EXCLUDED = "excluded"
"""What the row that was to be inserted is called in ON CONFLICT."""
_SET = "ivm set"
"""What a row is called whose parts are assigned."""
_NONE: Mapping[str, str] = MappingProxyType({})


def columns_to_insert(
    insert: Insert | PlainInsert | OpenInsert, table: Table, given: Sequence[str] = ()
) -> tuple[str, ...]:
    """The columns that an INSERT names, as they were declared; BindError for one that is unknown or named again.

    `given`: the names of the query's columns, where they say it.
    """
    if isinstance(insert, Insert) and insert.by_name:
        if insert.columns:
            raise BindError(f"INSERT INTO {table.name}: BY NAME takes the query's names; leave the list of columns out")
        columns = tuple(given)
    elif insert.columns:
        columns = insert.columns
    else:
        return tuple([field.name for field in table.given])
    return given_names(table, columns, f"INSERT INTO {table.name}")


def check_width(table: Table, columns: tuple[str, ...], width: int, row: int | None = None) -> None:
    """BindError if an INSERT gives another number of values than it has columns; `row`: which one, from 1."""
    if width != len(columns):
        where = "" if row is None else f" in row {row}"
        raise BindError(
            f"INSERT INTO {table.name} has {len(columns)} column{'s' * (len(columns) != 1)} ({', '.join(columns)}), "
            f"but {width} value{'s' * (width != 1)}{where}; give one for each, or name the columns after the table"
        )


def rows_to_insert(insert: Insert, table: Table, columns: tuple[str, ...]) -> str:
    """The SELECT of the rows to insert into `columns`; any other has its default, or is NULL.

    Each value of VALUES is cast for itself, so that a row does not depend on the others. BindError for a wrong number
    of values in VALUES; that of a query shows in `width_to_insert`.
    """
    if insert.defaults:
        return f"SELECT {', '.join(_cast_or_default(table, ()))}"
    types = {field.name: field for field in table.fields}
    text = insert.query.text
    if insert.values:
        rows = []
        for number, row in enumerate(insert.values, 1):
            check_width(table, columns, len(row), number)
            cast = (
                default_text(table, types[name]) if value is None else cast_text(value, types[name])
                for name, value in zip(columns, row, strict=True)
            )
            rows.append(f"({', '.join(cast)})")
        text = f"VALUES {', '.join(rows)}"
    values = _cast_or_default(table, columns)
    names = ", ".join(quoted(column) for column in columns)
    return f"SELECT {', '.join(values)} FROM ({text}) AS new_rows({names})"


def rows_to_delete(delete: Delete, table: Table) -> str:
    """The SELECT of the rows that a DELETE removes, each once, however many rows of USING it meets."""
    alias = quoted(delete.alias)
    values = ", ".join(f"{alias}.{quoted(field.name)}" for field in table.fields)
    where = f" WHERE {delete.condition}" if delete.condition else ""
    if not delete.using:
        return f"{delete.ctes} SELECT {values} FROM {quoted(table.name)} AS {alias}{where}"
    ones = f"SELECT DISTINCT ON ({alias}.{quoted(ROW)}) {values}"
    return f"{delete.ctes} {ones} FROM {_beside(delete.using, table, delete.alias)}{where}"


def rows_to_update(update: Update, table: Table) -> str:
    """The SELECT of the rows that an UPDATE changes: their columns as they are, then as they will be.

    A row that meets several of FROM takes the values of one: the least, by the columns in order.
    """
    what, alias = f"UPDATE {table.name}", quoted(update.alias)
    before = [f"{alias}.{quoted(field.name)}" for field in table.fields]
    values = ", ".join((*before, *assigned(update.assignments, table, update.alias, what)))
    rows = rows_beside(update.assignments)
    where = f" WHERE {update.condition}" if update.condition else ""
    if not update.source:
        return f"{update.ctes} SELECT {values} FROM {quoted(table.name)} AS {alias}{rows}{where}"
    row = f"{alias}.{quoted(ROW)}"
    width = len(table.fields)
    order = ", ".join((row, *(f"{place} NULLS LAST" for place in range(width + 1, 2 * width + 1))))
    beside = _beside(update.source, table, update.alias)
    return f"{update.ctes} SELECT DISTINCT ON ({row}) {values} FROM {beside}{rows}{where} ORDER BY {order}"


def _beside(source: str, table: Table, alias: str) -> str:
    """The relation of the rows of FROM or USING with the numbered rows of the table that a statement changes.

    The table stands last: what DuckDB reads in FROM sees all that stands before it, and these do not see the table.
    """
    return f"{source}, {numbered(table)} AS {quoted(alias)}"


def conflict_columns(table: Table, conflict: Conflict) -> tuple[tuple[str, ...], ...]:
    """The sets of columns on which a row to insert may agree with one that is there, as they were declared.

    BindError where the conflict's columns are no key of the table, or where an update does not know by which key.
    """
    what = f"INSERT INTO {table.name}"
    keys = tuple(each for each in (table.primary_key, *(u.columns for u in table.unique_constraints)) if each)
    known = " or ".join(f"({', '.join(each)})" for each in keys)
    if conflict.columns:
        declared = _by_name(table)
        columns = {_checked(declared, column, what) for column in conflict.columns}
        fitting = tuple(each for each in keys if set(each) == columns)
        if not fitting:
            raise BindError(
                f"{what}: ON CONFLICT ({', '.join(conflict.columns)}) needs the columns of a PRIMARY KEY or UNIQUE "
                f"constraint of the table; it has {known or 'none'}"
            )
        return fitting[:1]
    distinct = tuple({frozenset(map(key, each)): each for each in keys}.values())
    if not distinct:
        raise BindError(f"{what}: there is no PRIMARY KEY or UNIQUE constraint to conflict with; leave ON CONFLICT out")
    if conflict.action != "nothing" and len(distinct) > 1:
        raise BindError(
            f"{what}: a row may conflict by {known}, and must say by which; write ON CONFLICT (columns) DO UPDATE"
        )
    return distinct


def rows_after_conflict(
    insert: Insert, conflict: Conflict, table: Table, columns: Sequence[str], target: Sequence[str]
) -> str:
    """The SELECT of what becomes of rows that an INSERT met: the columns as they are, then as they will be.

    `OLD` and `NEW` have the table's columns and `ROW`: the row of `OLD` is the one that the row of `NEW` met. `columns`
    are those that the INSERT names, `target` those by which it found the rows.
    """
    alias, what = quoted(insert.alias), f"INSERT INTO {table.name}"
    assignments = conflict.assignments
    if conflict.action == "replace":
        replaced = [column for column in columns if column not in target]
        assignments = tuple((column, f"{EXCLUDED}.{quoted(column)}") for column in replaced)
    before = [f"{alias}.{quoted(field.name)}" for field in table.fields]
    values = ", ".join((*before, *assigned(assignments, table, insert.alias, what)))
    where = f" WHERE {conflict.condition}" if conflict.condition else ""
    # A struct called excluded: as a table it would make each column that is named alone ambiguous.
    fields = ", ".join(f"{quoted(field.name)} := {quoted(NEW)}.{quoted(field.name)}" for field in table.fields)
    joined = f"{quoted(OLD)} JOIN {quoted(NEW)} USING ({quoted(ROW)})"
    met = f"(SELECT {quoted(OLD)}.*, struct_pack({fields}) AS {EXCLUDED} FROM {joined})"
    return f"SELECT {values} FROM {met} AS {alias}{rows_beside(assignments)}{where}"


def columns_to_copy(copy: Copy, table: Table) -> tuple[Field, ...]:
    """The columns that the file of a COPY holds, in its order; BindError for one that is unknown or named again."""
    names = given_names(table, copy.columns, f"COPY {table.name}")
    return tuple(table.fields[table.index(name)] for name in names) or table.given


def rows_to_copy(copy: Copy, table: Table, columns: Sequence[Field], keys: Mapping[str, str] = _NONE) -> str:
    """The SELECT of the rows of a file whose columns are `columns`; any other has its default, or is NULL.

    A CSV file is read as text of the columns' types, of a Parquet file the columns are cast, both by their order, and
    of JSON by their `keys` in the file.
    """
    path = as_literal(copy.path)
    options = "".join(f", {name} = {text}" for name, text in copy.options)
    names = ", ".join(quoted(field.name) for field in columns)
    values = _cast_or_default(table, [field.name for field in columns])
    if copy.format == "parquet":
        file = f"(SELECT * FROM read_parquet({path}{options}))"
    elif copy.format == "json":
        file = f"({json_rows(copy, columns, keys)})"
    else:
        types = ", ".join(f"{as_literal(field.name)}: {as_literal(str(field.type))}" for field in columns)
        file = f"read_csv({path}, columns = {{{types}}}{options})"
    return f"SELECT {', '.join(values)} FROM {file} AS file({names})"


def renamed(query: str, names: Sequence[str]) -> str:
    """The SELECT of a query's rows, whose columns are called so."""
    return f"SELECT * FROM ({query}) AS new_rows({', '.join(map(quoted, names))})"


def without_hugeints(query: str, columns: Sequence[Mapping[str, str]]) -> str:
    """The SELECT of a query's rows with each HUGEINT as a DECIMAL of as many digits, as DESCRIBE lists its columns.

    DuckDB would write one into Parquet, which has none, as a DOUBLE.
    """
    types = [each["column_type"] for each in columns]
    if "HUGEINT" not in types:
        return query
    places = [f"c{place}" for place in range(len(types))]
    values = [
        (f"CAST({place} AS DECIMAL(38,0))" if type_ == "HUGEINT" else place) + f" AS {quoted(each['column_name'])}"
        for place, type_, each in zip(places, types, columns, strict=True)
    ]
    return f"SELECT {', '.join(values)} FROM ({query}) AS file({', '.join(places)})"


def default_text(table: Table, field: Field) -> str:
    """The value that stands in for a column that is left out, of the column's type."""
    default = table.default(field.name)
    return f"CAST({'NULL' if default is None else default.value} AS {field.type})"


def _cast_or_default(table: Table, given: Sequence[str]) -> list[str]:
    """The table's columns of rows that have those `given`, each of its type."""
    return [
        (cast_text(quoted(field.name), field) if field.name in given else default_text(table, field))
        + f" AS {quoted(field.name)}"
        for field in table.fields
    ]


def assigned(assignments: Assignments, table: Table, alias: str, what: str) -> list[str]:
    """The columns of a table's rows, called `alias`, after some of them were assigned.

    Beside them in FROM stand the `rows_beside` of the same assignments.
    """
    declared = _by_name(table)
    new = {_checked(declared, column, what): value for column, value in assignments}
    _check_given(table, new, what)
    rows, values = _subqueries(assignments), []
    for field in table.fields:
        value = new.get(field.name, f"{quoted(alias)}.{quoted(field.name)}")
        if isinstance(value, RowPart):
            called = quoted(f"{_SET} {rows.index((value.query, value.width))}")
            value = f"{called}.{called}.v{value.place}"
        cast = default_text(table, field) if value is None else cast_text(value, field)
        values.append(f"{cast} AS {quoted(field.name)}")
    return values


def rows_beside(assignments: Assignments) -> str:
    """What is to follow in FROM: the rows that the assignments take parts of, each computed once for all of its parts.

    A subquery with several rows fails there, as in place of a value.
    """
    beside = []
    for place, (query, width) in enumerate(_subqueries(assignments)):
        names = [f"v{part}" for part in range(width)]
        fields = ", ".join(f"{name}: {name}" for name in names)
        row = f"(SELECT {{{fields}}} FROM ({query}) AS given({', '.join(names)}))"
        called = quoted(f"{_SET} {place}")
        beside.append(f", LATERAL (SELECT {row} AS {called}) AS {called}")
    return "".join(beside)


def _subqueries(assignments: Assignments) -> list[tuple[str, int]]:
    """Those that rows are taken from, with their widths, each once."""
    return list(dict.fromkeys((value.query, value.width) for _, value in assignments if isinstance(value, RowPart)))


def numbered(table: Table) -> str:
    """The relation of a table's rows, with `ROW`."""
    return f"(SELECT *, row_number() OVER () AS {quoted(ROW)} FROM {quoted(table.name)})"


def declared_names(table: Table, columns: Sequence[str], what: str) -> tuple[str, ...]:
    """The names of the columns as they were declared; BindError for one that is unknown or named again."""
    declared = _by_name(table)
    names = tuple(_checked(declared, column, what) for column in columns)
    again = twice(names)
    if again is not None:
        raise BindError(f"{what} names column {again!r} twice; name it once")
    return names


def given_names(table: Table, columns: Sequence[str], what: str) -> tuple[str, ...]:
    """As `declared_names`; BindError also for a column that is generated."""
    names = declared_names(table, columns, what)
    _check_given(table, names, what)
    return names


def _check_given(table: Table, names: Iterable[str], what: str) -> None:
    generated = {each.column for each in table.generated}
    for name in names if generated else ():
        if name in generated:
            raise BindError(f"{what}: column {name!r} is generated, so no value can be given; leave it out")


def _by_name(table: Table) -> dict[str, str]:
    """How the columns were declared, by the keys of their names."""
    return by_key((field.name, field.name) for field in table.fields)


def _checked(declared: Mapping[str, str], column: str, what: str) -> str:
    """The name of the column as it was declared."""
    found = declared.get(key(column))
    if found is None:
        raise BindError(f"{what}: there is no column {column!r}{suggestion(column, list(declared.values()))}")
    return found
