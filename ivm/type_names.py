"""What SQL calls the types of a result's columns: DuckDB's names."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa

_SAID = b"ivm.type"  # where a field says what its Arrow type leaves open, see `ivm.trace.huge`
_NAMES: dict[pa.DataType, str] = {
    pa.null(): "NULL",
    pa.bool_(): "BOOLEAN",
    pa.int8(): "TINYINT",
    pa.int16(): "SMALLINT",
    pa.int32(): "INTEGER",
    pa.int64(): "BIGINT",
    pa.uint8(): "UTINYINT",
    pa.uint16(): "USMALLINT",
    pa.uint32(): "UINTEGER",
    pa.uint64(): "UBIGINT",
    pa.float32(): "FLOAT",
    pa.float64(): "DOUBLE",
    pa.string(): "VARCHAR",
    pa.large_string(): "VARCHAR",
    pa.string_view(): "VARCHAR",
    pa.binary(): "BLOB",
    pa.large_binary(): "BLOB",
    pa.date32(): "DATE",
    pa.time64("us"): "TIME",
    pa.time64("ns"): "TIME_NS",
    pa.timestamp("s"): "TIMESTAMP_S",
    pa.timestamp("ms"): "TIMESTAMP_MS",
    pa.timestamp("us"): "TIMESTAMP",
    pa.timestamp("ns"): "TIMESTAMP_NS",
    pa.month_day_nano_interval(): "INTERVAL",
    pa.uuid(): "UUID",
}


def type_name(field: pa.Field) -> str:
    """The SQL type of a column, such as DECIMAL(9,2); Arrow's name for what SQL has no word for."""
    return (field.metadata or {}).get(_SAID, b"").decode() or _name(field.type)


def is_numeric(given: pa.DataType) -> bool:
    """Whether values of an Arrow type are numbers."""
    return pa.types.is_integer(given) or pa.types.is_floating(given) or pa.types.is_decimal(given)


def _name(given: pa.DataType) -> str:
    if given in _NAMES:
        return _NAMES[given]
    name = next((name for fits, name in _KINDS if fits(given)), None)
    return name(given) if name is not None else str(given)


_KINDS: tuple[tuple[Callable[[pa.DataType], bool], Callable[[pa.DataType], str]], ...] = (
    (pa.types.is_decimal, lambda given: f"DECIMAL({given.precision},{given.scale})"),
    (pa.types.is_timestamp, lambda _: "TIMESTAMP WITH TIME ZONE"),
    (pa.types.is_fixed_size_list, lambda given: f"{_name(given.value_type)}[{given.list_size}]"),
    (pa.types.is_list, lambda given: f"{_name(given.value_type)}[]"),
    (pa.types.is_large_list, lambda given: f"{_name(given.value_type)}[]"),
    (pa.types.is_map, lambda given: f"MAP({_name(given.key_type)}, {_name(given.item_type)})"),
    (pa.types.is_struct, lambda given: f"STRUCT({_members(given)})"),
    (pa.types.is_union, lambda given: f"UNION({_members(given)})"),
    (pa.types.is_dictionary, lambda _: "ENUM"),
)


def _members(given: pa.DataType) -> str:
    members = [given.field(place) for place in range(given.num_fields)]
    return ", ".join(f"{member.name} {_name(member.type)}" for member in members)
