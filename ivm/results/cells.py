"""A result as texts to look at: what SQL calls its types, and its first rows, values as DuckDB prints them, bounded."""

from __future__ import annotations

import re
from dataclasses import dataclass

import pyarrow as pa

from ivm.catalog.names import as_literal
from ivm.trace.columns.stand_ins import said

MOST_CHARACTERS = 1000
"""So much is shown of one value, whatever the width."""

# Control characters, line and paragraph separators, and what is invisible or turns the direction of text; but not the
# joiners that words and emoji are written with.
_INVISIBLE = re.compile(
    "[\x00-\x1f\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]"
)
_CALLED = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}
_LIKE_NULL = re.compile(r"'*NULL'*")


@dataclass(frozen=True, slots=True)
class Head:
    """Some columns of the first rows (None in `cells` is NULL); `rows` and `columns` count all that there are."""

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
        types=tuple(map(visible, type_names(shown.schema))),
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


def type_names(schema: pa.Schema) -> list[str]:
    """The SQL types of columns, such as DECIMAL(9,2), as DuckDB names them. Cost: a query for each type not met yet."""
    from ivm.duck import type_of  # noqa: PLC0415  as above

    return [said(field) or type_of(field.type, frozenset((field.metadata or {}).items())) for field in schema]


def is_numeric(given: pa.DataType) -> bool:
    """Whether values of an Arrow type are numbers."""
    return pa.types.is_integer(given) or pa.types.is_floating(given) or pa.types.is_decimal(given)
