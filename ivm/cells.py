"""A result as texts to look at: what SQL calls its types, and its first rows, values as DuckDB prints them, bounded."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

import pyarrow as pa

from catalog.names import as_literal

MOST_CHARACTERS = 1000
"""So much is shown of one value, whatever the width."""

# Control characters, line and paragraph separators, and what is invisible or turns the direction of text; but not the
# joiners that words and emoji are written with.
_INVISIBLE = re.compile(
    "[\x00-\x1f\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]"
)
_CALLED = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}
_LIKE_NULL = re.compile(r"'*NULL'*")

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


@dataclass(frozen=True, slots=True)
class Head:
    """Some columns of the first rows; None in `cells` is NULL.

    `rows` and `columns` count all that there are.
    """

    names: tuple[str, ...]
    types: tuple[str, ...]
    numeric: tuple[bool, ...]
    cells: tuple[tuple[str | None, ...], ...]
    rows: int
    columns: int

    @property
    def note(self) -> str:
        """How many rows there are, and how many of them and of the columns are not shown."""
        rows = f"{self.rows:,} row{'' if self.rows == 1 else 's'}"
        if len(self.cells) < self.rows:
            rows = f"{len(self.cells):,} of {rows} shown"
        columns = f", {len(self.names):,} of {self.columns:,} columns" if len(self.names) < self.columns else ""
        return rows + columns


def head_of(table: pa.Table, rows: int, most_columns: int | None = None) -> Head:
    """What is shown of the first rows, which `table` holds, of `rows` that there are. Cost: a query to DuckDB."""
    from ivm.duck import texts_of  # noqa: PLC0415  DuckDB, which takes a while to import

    shown = table.select(range(min(table.num_columns, most_columns or table.num_columns)))
    texts = texts_of(shown, MOST_CHARACTERS + 1)
    return Head(
        names=tuple(visible(name) for name in shown.column_names),
        types=tuple(visible(type_name(field)) for field in shown.schema),
        numeric=tuple(is_numeric(field.type) for field in shown.schema),
        cells=tuple(
            tuple(_cell(value, field.type) for value, field in zip(row, shown.schema, strict=True)) for row in texts
        ),
        rows=rows,
        columns=table.num_columns,
    )


def visible(text: str) -> str:
    r"""The text on one line, with what would not be seen or would act on a terminal written out, as \n or \x1b."""
    return _INVISIBLE.sub(_written_out, text)


def _written_out(found: re.Match[str]) -> str:
    code = ord(found[0])
    return _CALLED.get(found[0]) or (f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}")


def _cell(value: str | None, given: pa.DataType) -> str | None:
    if value is None:
        return None
    text = visible(value[:MOST_CHARACTERS] + "…" if len(value) > MOST_CHARACTERS else value)
    if _LIKE_NULL.fullmatch(text) and not is_numeric(given):
        return as_literal(text)  # so that NULL is told from it
    return text


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
