"""Data from outside that can be taken as it is: Arrow data in the types of a table, and rows of plain Python values."""

from __future__ import annotations

from typing import Any, NamedTuple

import pyarrow as pa

from catalog.schema import Field, Schema
from catalog.types import BIGINT
from ivm.trace.arrow import is_direct
from ivm.trace.column import Ints
from ivm.trace.exported import ArrowRows
from ivm.trace.first_look import FirstLook, first_look
from ivm.trace.plain_rows import PlainRows, plain_rows
from ivm.trace.well_formed import SHOWN, Doubtful, WellFormed, check_shown, to_look_at

TIME, DIFF = "_time", "_diff"
_MOST_FORMS = 16


class _Known(NamedTuple):
    """What is known of an Arrow schema whose batches need no cast, no renaming and no other order of columns.

    `places`: where the table's own columns are, None for where they are in the table, and nothing else is there;
    `extra`: where times and diffs are; `required`: which columns may hold
    no NULL, None for all; `doubtful`, `moments`: those at whose values is to be looked, if the `first_look`, at the
    table's own columns and then at `extra`, has not said that all is well.
    """

    schema: pa.Schema
    places: list[int] | None
    extra: list[int | None]
    required: list[int] | None
    doubtful: list[Doubtful]
    moments: list[tuple[int, Field]]
    first_look: FirstLook | None


class Updates(NamedTuple):
    """Rows, their times, None where they have none of their own, their diffs, None where all are +1, and, if that is
    known, where the columns of the rows lie (see `Batch.addresses`), which are a record batch then.
    """

    rows: ArrowRows
    times: Ints | None
    diffs: Ints | None
    addresses: Ints | None = None


class AsItIs:
    """What takes data for one table with the columns `fields`; `what` names it. Any number of threads may use it.

    What it found out about an Arrow schema, or the names that rows have, it knows the next time.
    """

    def __init__(self, fields: Schema, what: str) -> None:
        self.fields = fields
        self._what = what
        self._last: _Known | None = None
        self._plain: dict[tuple[Any, ...], tuple[PlainRows, _Known] | None] = {}
        self._well_formed = WellFormed(what)

    def taken(self, data: Any) -> Updates | None:
        """The data, if it can be taken as it is, else None; TypeMismatchError if it is not what its types say.

        As it comes: its diffs may be any numbers.
        """
        if not isinstance(data, pa.Table | pa.RecordBatch):
            return self._plainly_taken(data)
        schema, known = data.schema, self._last
        if known is None or not schema.equals(known.schema):
            known = self._learnt(schema)
            if known is None:
                return None
            self._last = known
        located = None if known.first_look is None else known.first_look.at(data)
        if located is not None:
            return _parts(known, *located)
        table = as_table(data)
        holds_null = self._well_formed.check(table, known.doubtful)
        for place, field in known.moments:
            check_shown(table.column(place), field, self._what)
        return None if holds_null or _misses_values(table, known.required) else _parts(known, table, None)

    def _plainly_taken(self, data: Any) -> Updates | None:
        """Rows or columns of plain Python values, if they have nothing but what the table has."""
        if type(data) is list and data and all(type(row) is dict for row in data):
            prepared = self._prepared(tuple(data[0]))
            batch = None if prepared is None else prepared[0].of_rows(data)
        elif type(data) is dict and data:
            prepared = self._prepared(tuple(data))
            batch = None if prepared is None else prepared[0].of_columns(data)
        else:
            return None
        if prepared is None or batch is None:
            return None
        known = prepared[1]
        located = None if known.first_look is None else known.first_look.at(batch)
        return None if located is None else _parts(known, *located)

    def _prepared(self, names: tuple[Any, ...]) -> tuple[PlainRows, _Known] | None:
        """What makes batches of rows that have these names, and what is known of their schema."""
        known = self._plain
        if names in known:
            return known[names]
        planned = self._planned(set(names))
        self._plain = {**known, names: planned} if len(known) < _MOST_FORMS else {names: planned}
        return planned

    def _planned(self, names: set[Any]) -> tuple[PlainRows, _Known] | None:
        own = {field.name for field in self.fields}
        extra = tuple(number_field(name) for name in (TIME, DIFF) if name in names - own)
        if names != own | {field.name for field in extra}:
            return None
        plain = plain_rows((*self.fields, *extra))
        known = None if plain is None else self._learnt(plain.schema)
        return None if plain is None or known is None else (plain, known)

    def _learnt(self, schema: pa.Schema) -> _Known | None:
        own, names, types = dict.fromkeys(field.name for field in self.fields), schema.names, schema.types
        if [name for name in names if name in own or name not in (TIME, DIFF)] != list(own):
            return None
        place_of = {name: place for place, name in enumerate(names)}
        places = [place_of[name] for name in own]
        extra = [place_of[name] if name in place_of and name not in own else None for name in (TIME, DIFF)]
        numbers = [place for place in extra if place is not None]
        placed = list(zip(places, self.fields, strict=True))
        if (
            not all(is_direct(types[place], field.type) for place, field in placed)
            or len(names) > len(places) + len(numbers)
            or any(types[place] != pa.int64() for place in numbers)
        ):
            return None
        required = [place for place, field in placed if not field.nullable] + numbers
        moments = [(place, field) for place, field in placed if field.type.kind in SHOWN]
        looked_at = placed + [(place, number_field(names[place])) for place in numbers]
        return _Known(
            schema,
            None if places == list(range(len(names))) else places,
            extra,
            required if len(required) < len(types) else None,
            to_look_at(schema),
            moments,
            first_look(schema, looked_at),
        )


def _parts(known: _Known, data: ArrowRows, addresses: Ints | None) -> Updates:
    """The table's own columns, times and diffs, and where the columns lie, of data in a form that is known."""
    places = known.places
    if places is None:
        return Updates(data, None, None, addresses)
    times, diffs = [None if place is None else data.column(place).to_numpy() for place in known.extra]
    return Updates(data.select(places), times, diffs, None if addresses is None else addresses[: len(places)])


def as_table(data: ArrowRows) -> pa.Table:
    """The rows as a table, not copied."""
    return data if isinstance(data, pa.Table) else pa.Table.from_batches([data])


def number_field(name: str) -> Field:
    """What a column of times or of diffs is."""
    return Field(name, BIGINT, nullable=False)


def _misses_values(data: pa.Table, required: list[int] | None) -> bool:
    """Whether a NULL stands where none is allowed, so that `ingest` is to look closer."""
    # Asking column by column takes ten times as long; where no value is NULL nothing is copied.
    looked_at = data if required is None else data.select(required)
    return bool(looked_at.num_columns) and looked_at.drop_null().num_rows < data.num_rows
