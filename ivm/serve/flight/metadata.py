"""What there is, in the tables in which Flight SQL asks for it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa

import ivm
from ivm.catalog.catalog import Catalog
from ivm.catalog.clock import is_own
from ivm.catalog.names import TEMP, is_temp, quoted
from ivm.catalog.schema import Table, View
from ivm.results.result import table_of
from ivm.serve.flight.messages import Message
from ivm.serve.inside import Session
from ivm.session.database import core_of

_TEXT = pa.string()
_TYPES = ("TABLE", "VIEW")
_INFO: Mapping[int, str | bool | int] = {
    0: "ivm", 1: ivm.__version__, 2: pa.__version__, 3: False, 4: True, 5: False, 8: 1, 9: False, 500: False,
}  # fmt: skip
"""Of a server: name, version and that of Arrow; whether it only reads, takes SQL and Substrait; 8: it has transactions;
9: queries are not cancelled by an action; 500: it creates no catalogs."""


def catalogs(session: Session, _: Message) -> pa.Table:
    """The one catalog."""
    return _table([(core_of(session.db).catalog.database,)], {"catalog_name": _TEXT})


def schemas(session: Session, asked: Message) -> pa.Table:
    """The schemas there are."""
    there = core_of(session.db).catalog.fixed()
    is_wanted = _like(asked.text(2))
    names = sorted({"main", *there.schemas})
    rows = [(there.database, name) for name in names if is_wanted(name) and _is_catalog(there, asked)]
    return _table(rows, {"catalog_name": _TEXT, "db_schema_name": _TEXT}, "catalog_name")


def tables(session: Session, asked: Message) -> pa.Table:
    """The tables and views there are, with the schemas of their rows if that is asked for."""
    found = []
    for entry, place in _entries(session, asked, like_schema=asked.text(2), like_name=asked.text(3)):
        kind = "TABLE" if isinstance(entry, Table) else "VIEW"
        if kind in (asked.texts(4) or _TYPES):
            row = (*place, kind)
            found.append((*row, _schema(session, place)) if asked.number(5) else row)
    types: dict[str, pa.DataType] = dict.fromkeys(("catalog_name", "db_schema_name", "table_name", "table_type"), _TEXT)
    types |= {"table_schema": pa.binary()} if asked.number(5) else {}
    return _table(sorted(found), types, "catalog_name", "db_schema_name")


def table_types(_: Session, __: Message) -> pa.Table:
    """What kinds of those there are."""
    return _table([(kind,) for kind in _TYPES], {"table_type": _TEXT})


def primary_keys(session: Session, asked: Message) -> pa.Table:
    """The columns of a table's primary key."""
    rows = []
    for entry, place in _entries(session, asked, schema=asked.text(2), name=asked.text(3)):
        if isinstance(entry, Table):
            rows += [(*place, column, None, number + 1) for number, column in enumerate(entry.primary_key)]
    types: dict[str, pa.DataType] = dict.fromkeys(
        ("catalog_name", "db_schema_name", "table_name", "column_name", "key_name"), _TEXT
    )
    types |= {"key_sequence": pa.int32()}
    return _table(rows, types, "catalog_name", "db_schema_name", "key_name")


def sql_info(_: Session, asked: Message) -> pa.Table:
    """What the server is and can, as a union of texts, truths and numbers."""
    wanted = _numbers(asked) or list(_INFO)
    found = [(number, _INFO[number]) for number in wanted if number in _INFO]
    places = [0 if isinstance(value, str) else 1 if isinstance(value, bool) else 3 for _, value in found]
    kinds = _TEXT, pa.bool_(), pa.int64(), pa.int32(), pa.list_(_TEXT), pa.map_(pa.int32(), pa.list_(pa.int32()))
    names = "string_value", "bool_value", "bigint_value", "int32_bitmask", "string_list", "int32_to_int32_list_map"
    held: list[list[Any]] = [[] for _ in kinds]
    offsets = []
    for (_number, value), place in zip(found, places, strict=True):
        offsets.append(len(held[place]))
        held[place].append(value)
    children = [pa.array(values, kind) for values, kind in zip(held, kinds, strict=True)]
    union = pa.UnionArray.from_dense(
        pa.array(places, pa.int8()), pa.array(offsets, pa.int32()), children, list(names), list(range(len(kinds)))
    )
    numbers = pa.array([number for number, _ in found], pa.uint32())
    fields = [pa.field("info_name", pa.uint32(), nullable=False), pa.field("value", union.type)]
    return pa.Table.from_arrays([numbers, union], schema=pa.schema(fields))


ANSWERS: Mapping[str, Callable[[Session, Message], pa.Table]] = {
    "CommandGetCatalogs": catalogs, "CommandGetDbSchemas": schemas, "CommandGetTables": tables,
    "CommandGetTableTypes": table_types, "CommandGetPrimaryKeys": primary_keys, "CommandGetSqlInfo": sql_info,
}  # fmt: skip
"""What answers each question, by the name of its message."""


def _table(rows: Sequence[tuple[Any, ...]], types: Mapping[str, pa.DataType], *nullable: str) -> pa.Table:
    """Rows in columns of which these may be NULL, and no others."""
    fields = [pa.field(name, kind, nullable=name in nullable) for name, kind in types.items()]
    return table_of(rows, **types).cast(pa.schema(fields))


def _entries(
    session: Session, asked: Message, *, like_schema: str | None = None, like_name: str | None = None,
    schema: str | None = None, name: str | None = None,
) -> Iterator[tuple[Table | View, tuple[str, str, str]]]:  # fmt: skip
    """The tables and views that are asked for, each with its catalog, schema and name."""
    core = core_of(session.db)
    there = core.catalog.lasting(core.settings.names.temp)
    every: list[Table | View] = [*there.tables, *there.views]
    for entry in every:
        schema, called = there.parts(entry.name)
        of = TEMP if is_temp(schema) else schema
        fits = (
            _like(like_schema)(of) and _like(like_name)(called) and schema in (None, "", of) and name in (None, called)
        )
        if fits and not is_own(entry.name) and _is_catalog(there, asked):
            yield entry, (there.database, of, called)


def _is_catalog(there: Catalog, asked: Message) -> bool:
    return asked.text(1) in (None, there.database)


def _schema(session: Session, place: Sequence[str]) -> bytes:
    """The Arrow schema of a relation's rows, as a message of IPC."""
    name = ".".join(map(quoted, place[1:]))
    return session.sql(f"SELECT * FROM {name} LIMIT 0").arrow().schema.serialize().to_pybytes()


def _like(pattern: str | None) -> Callable[[str], bool]:
    """Whether a name is LIKE a pattern; all are where there is none."""
    if pattern is None:
        return lambda name: True
    parts = [{"%": ".*", "_": "."}.get(each) or re.escape(each) for each in pattern]
    return lambda name: re.fullmatch("".join(parts), name, re.DOTALL) is not None


def _numbers(asked: Message) -> list[int]:
    """The numbers of the first field, one by one or packed."""
    found = []
    for each in asked.repeated.get(1, ()):
        found += [each] if isinstance(each, int) else list(_packed(each))
    return found


def _packed(data: bytes) -> Iterator[int]:
    value = shift = 0
    for byte in data:
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            yield value
            value = shift = 0
