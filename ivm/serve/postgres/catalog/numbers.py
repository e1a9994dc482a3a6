"""The numbers, OIDs, by which Postgres's clients know what there is. They follow from names alone, so that they are the
same whenever they are asked for.
"""

from __future__ import annotations

from zlib import crc32

_FIRST, _END = 1 << 14, 1 << 31
PG_CATALOG, INFORMATION_SCHEMA = 11, 13000
OWNER = 10
CLASS, REWRITE = 1259, 2618
RELATION_NUMBERS = {
    "pg_class": CLASS, "pg_constraint": 2606, "pg_proc": 1255, "pg_namespace": 2615, "pg_type": 1247,
    "pg_rewrite": REWRITE, "pg_attrdef": 2604, "pg_trigger": 2620, "pg_database": 1262, "pg_extension": 3079,
}  # fmt: skip
"""Those of relations of pg_catalog themselves, by which descriptions say what they are of."""


def number(kind: str, *names: str) -> int:
    """That of something of a kind."""
    return _FIRST + crc32("\0".join((kind, *names)).encode()) % (_END - _FIRST)


def of_schema(name: str) -> int:
    """That of a schema."""
    return number("schema", name)


def of_relation(schema: str, name: str) -> int:
    """That of a table, view or index."""
    return number("relation", schema, name)
