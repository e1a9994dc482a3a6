"""The collations of what a query answers, which DuckDB does not tell: it is seen by what it takes for equal."""

from __future__ import annotations

from dataclasses import replace

from ivm.catalog.schema import Schema, Table
from ivm.catalog.types import Kind, collated
from ivm.session.adhoc import text_of, told_of_columns
from ivm.session.core import Core
from ivm.sql.statements import Query

_LETTER = "\u00e9"
_EQUAL = {"noaccent": "e", "nocase": "\u00c9", "nfc": "e\u0301"}
"""By each collation what else is the letter."""


def with_collations(core: Core, query: Query, dialect: str, table: Table) -> Table:
    """The table, made for the columns of a query, with the collations that these have.

    Cost: asks DuckDB once more, if there are collations.
    """
    texts = [place for place, field in enumerate(table.fields) if field.type.kind is Kind.VARCHAR]
    if not texts or not _may_have(core, query, dialect):
        return table
    names = [f"c{place}" for place in range(len(table.fields))]
    letters = ", ".join("NULL" if place not in texts else f"'{_LETTER}'" for place in range(len(names)))
    tests = ", ".join(f"[{', '.join(f'{names[place]} = {other!r}' for other in _EQUAL.values())}]" for place in texts)
    rows = f"((SELECT * FROM ({{}}) LIMIT 0) UNION ALL SELECT {letters}) AS t ({', '.join(names)})"
    told = told_of_columns(core, query, dialect, f"SELECT [{tests}] AS equal FROM {rows}")
    (found,) = told.column(0).to_pylist()
    fields = list(table.fields)
    for place, equal in zip(texts, found, strict=True):
        named = [name for name, is_equal in zip(_EQUAL, equal, strict=True) if is_equal]
        if "noaccent" in named:  # which makes that of nfc equal, too
            named.remove("nfc")
        fields[place] = replace(fields[place], type=collated(fields[place].type, ".".join(named)))
    return replace(table, fields=tuple(fields))


def _may_have(core: Core, query: Query, dialect: str) -> bool:
    catalog = core.catalog.fixed()
    schemas: list[Schema] = [*(table.fields for table in catalog.tables), *(view.schema for view in catalog.views)]
    known = any(field.type.is_collated for schema in schemas for field in schema)
    return known or "COLLATE" in text_of(core, query, dialect).upper()
