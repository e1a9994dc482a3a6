"""The statements that would make the tables and views that there are."""

from __future__ import annotations

from collections.abc import Iterator

from ivm.catalog.catalog import Catalog
from ivm.catalog.keywords import quoted_if_needed
from ivm.catalog.names import MAIN, TEMP, as_literal, is_temp
from ivm.catalog.schema import Field, ForeignKey, Index, Table, View
from ivm.catalog.zones import UTC


def full_text(name: str, catalog: Catalog) -> str:
    """The name of a table or view as it is written, with its schema if that is not main."""
    schema, own = catalog.parts(name)
    before = f"{TEMP}.{MAIN}." if is_temp(schema) else "" if schema == MAIN else f"{quoted_if_needed(schema)}."
    return f"{before}{quoted_if_needed(own)}"


def whole_text(entry: Table | View, catalog: Catalog) -> str:
    """As `definition_text`, with the time zone that it is to keep, if that is not UTC."""
    text = definition_text(entry, catalog)
    return text if entry.zone == UTC else f"SET TimeZone = {as_literal(entry.zone)};\n{text}\nRESET TimeZone;"


def definition_text(entry: Table | View, catalog: Catalog) -> str:
    """CREATE TABLE, with the indexes that were created, or CREATE VIEW; with semicolons."""
    called, temp = full_text(entry.name, catalog), "TEMP " if entry.temporary else ""
    if isinstance(entry, View):
        kind = f"{temp}MATERIALIZED VIEW" if entry.maintained else f"{temp}VIEW"
        given = ["change_feed = true"] * entry.change_feed
        given += [f"history = {as_literal(entry.history)}"] * bool(entry.history)
        feed = f" WITH ({', '.join(given)})" if given else ""
        from ivm.sql.schemas import spelled_text  # noqa: PLC0415  the prompt does not wait for its parser

        return f"CREATE {kind} {called}{feed} AS\n{spelled_text(entry.sql, catalog)};"
    parts = [_column(entry, field) for field in entry.fields]
    if entry.primary_key:
        parts.append(f"PRIMARY KEY {_names(entry.primary_key)}")
    parts += [f"{_constraint(each.name)}UNIQUE {_names(each.columns)}" for each in entry.unique]
    parts += [f"{_constraint(each.name)}CHECK ({each.condition})" for each in entry.checks]
    parts += [_foreign_key(each, catalog) for each in entry.foreign_keys]
    options = {
        "append_only": entry.append_only,
        "static": entry.static,
        "check_foreign_keys": any(each.enforced for each in entry.foreign_keys),
    }
    said = [f"{name} = true" for name, is_set in options.items() if is_set]
    if entry.retention:
        said += [
            f"retention = {as_literal(entry.retention)}",
            f"retention_column = {as_literal(entry.retention_column)}",
        ]
    chosen = ", ".join(said)
    columns = ",\n".join(f"  {part}" for part in parts)
    spread = f" PARTITIONED BY {_names(entry.partitioned_by)}" if entry.partitioned_by else ""
    spread += " REPLICATED" if entry.replicated else ""
    table = f"CREATE {temp}TABLE {called} (\n{columns}\n){spread}{f' WITH ({chosen})' if chosen else ''};"
    return "\n".join([table, *(_index(called, each) for each in entry.indexes if each.columns)])


def comment_texts(catalog: Catalog, entry: Table | View | None = None) -> Iterator[str]:
    """COMMENT ON for all that was said of a table or view, or of all there are; with semicolons."""
    for each, column, text in catalog.comments:
        if entry is None or each is entry:
            kind = "COLUMN" if column else "TABLE" if isinstance(each, Table) else "VIEW"
            called = full_text(each.name, catalog) + (f".{quoted_if_needed(column)}" if column else "")
            yield f"COMMENT ON {kind} {called} IS {as_literal(text)};"


def _column(table: Table, field: Field) -> str:
    for each in table.generated:
        if each.column == field.name:
            return f"{quoted_if_needed(field.name)} {field.type} GENERATED ALWAYS AS ({each.value})"
    default = table.default(field.name)
    collation = f"COLLATE {quoted_if_needed(field.type.collation)}" if field.type.collation else ""
    words = [quoted_if_needed(field.name), str(field.type), collation, "" if field.nullable else "NOT NULL"]
    return " ".join(word for word in [*words, f"DEFAULT {default.value}" if default else ""] if word)


def _constraint(name: str) -> str:
    return f"CONSTRAINT {quoted_if_needed(name)} " if name else ""


def _index(table: str, index: Index) -> str:
    unique = "UNIQUE " if index.unique else ""
    return f"CREATE {unique}INDEX {quoted_if_needed(index.name)} ON {table} {_names(index.columns)};"


def _foreign_key(given: ForeignKey, catalog: Catalog) -> str:
    table = full_text(given.table, catalog)
    return f"FOREIGN KEY {_names(given.columns)} REFERENCES {table} {_names(given.referenced)}"


def _names(names: tuple[str, ...]) -> str:
    return f"({', '.join(map(quoted_if_needed, names))})"
