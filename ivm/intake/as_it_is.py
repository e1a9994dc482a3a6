"""Data from outside that can be taken as it is: Arrow data in the types of a table, and rows of plain Python values.

One look at all columns of a batch at once says whether all is plainly well, and where the values lie. It asks for what
`well_formed` looks for, days that Python can show, and values where none may be missing. It does not say what is wrong:
where it is not sure that all is well, those look closer that do.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import count
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from ivm.catalog.names import key
from ivm.catalog.schema import Field, Schema
from ivm.catalog.types import BIGINT, Kind, Physical
from ivm.intake.nested_rows import NestedRows, rows_of
from ivm.intake.python_rows import MOST_ROWS, PlainRows
from ivm.intake.well_formed import SHOWN
from ivm.kernels.memory.exported import (
    ADDED,
    ANYTHING,
    CLOSER,
    CODES,
    DIFFS,
    FRESH,
    KNOWN,
    KNOWN_AS,
    LONGS,
    LOOK,
    NUMBER,
    PAIRS,
    PLACE,
    REMOVED,
    SEEN,
    SHORTS,
    TEXTS,
    WIDTH,
    examine,
    let_go,
)
from ivm.kernels.memory.places import ADDRESS, STRIDE, WORDS
from ivm.trace.columns.arrow import is_direct
from ivm.trace.columns.column import Ints, readonly
from ivm.trace.columns.exported import (
    ArrowRows,
    Exported,
    array_at,
    memory_of,
    one_batch,
    stride_of,
)
from ivm.trace.helpers import LARGE, side_by_side

TIME, DIFF = "_time", "_diff"
_MOST_FORMS = 16
_REMEMBERED_BYTES = 1 << 24
_MICROSECONDS_A_DAY = 86_400_000_000
_WORD_BITS = 64
_numbers = count(1)
_PARTS = 4


class _Dictionaries(NamedTuple):
    """Dictionaries that are known to be well: which, int64 (columns, KNOWN_AS), where that lies, and themselves, so
    that they stay. Each has a number that no other ever has.
    """

    known: Ints
    address: int
    held: dict[int, pa.Array]


class FirstLook:
    """The look at batches of one schema; any number of threads may have it at once.

    It remembers the dictionary that a column of text came with last, up to 16 MiB: the batches that are cut from a
    large one do not pay for the whole dictionary each. One that has the very same texts counts as the same.
    """

    def __init__(self, tests: Ints) -> None:
        self._tests = tests
        self._parts = sorted(range(_PARTS), key=lambda part: -np.count_nonzero(tests[part::_PARTS, LOOK] == TEXTS))
        """Those with texts, which take longest, first."""
        self._coded = [(column, test[PLACE]) for column, test in enumerate(tests.tolist()) if test[LOOK] == CODES]
        known: Ints = np.zeros((len(tests), KNOWN_AS), np.int64)
        self._dictionaries = _Dictionaries(known, known.ctypes.data, {})
        self._idle: list[Exported] = []

    def at(self, batch: pa.RecordBatch) -> Ints | None:
        """Where the columns of a batch lie, in the order of the tests (see `Located`); None if it is to be looked
        closer.

        Cost: 12 microseconds for 16 columns, and 0.3 ns a value and 0.1 ns a byte of text that is ASCII.
        """
        try:
            batch.validate()
        except pa.ArrowException:
            return None
        dictionaries, rows = self._dictionaries, batch.num_rows
        try:
            exported = self._idle.pop()
        except IndexError:  # others use those that there are
            exported = Exported(self._tests, dictionaries.known, np.zeros_like(dictionaries.known))
        exported.words[KNOWN] = dictionaries.address
        addresses: Ints = np.empty((len(self._tests), WORDS), np.int64)
        batch._export_to_c(exported.address)
        if rows < LARGE:
            found = examine(exported.words, addresses, rows, 0, 1)
        else:
            parts = [partial(examine, exported.words, addresses, rows, part, _PARTS) for part in self._parts]
            found = max(side_by_side(parts, rows))
            let_go(exported.words)
        if found == FRESH:
            self._remember(batch, dictionaries, exported.beside[-1], addresses)
        self._idle.append(exported)
        return None if found == CLOSER else addresses

    def _remember(self, batch: pa.RecordBatch, dictionaries: _Dictionaries, met: Ints, addresses: Ints) -> None:
        """Know the dictionaries from now on that this batch has come with, unless they are large."""
        known, held = dictionaries.known.copy(), dict(dictionaries.held)
        for column, place in self._coded:
            if not met.item(column, NUMBER):
                texts = batch.column(place).dictionary
                if texts.nbytes <= _REMEMBERED_BYTES:
                    known[column], held[column] = met[column], texts
                    known[column, NUMBER] = number = next(_numbers)
                    if addresses.item(column, WIDTH):  # no code is missing
                        addresses[column, SEEN] = number
        self._dictionaries = _Dictionaries(known, known.ctypes.data, held)


@dataclass(slots=True)
class _Known:
    """What is known of an Arrow schema whose batches need no cast.

    `schema`: that of the batch that came last. `times`, `diffs`: the place of such a column, if there is one, and its
    number among those that are looked at, which are the table's own and these. `own`: the places of the table's own,
    and what they are to be called; none if they are all there is, in their order, or are called so.
    """

    schema: pa.Schema
    times: tuple[int, int] | None
    diffs: tuple[int, int] | None
    own: list[int]
    names: list[str]
    look: FirstLook


Updates = tuple[ArrowRows, Ints | None, Ints | None, Ints | None]
"""Rows, their times, None where they have none of their own, their diffs, None where all are +1, and, if that is known,
where the columns of the rows lie (see `Batch.places`), which are a record batch then.
"""
Taken = tuple[ArrowRows, Ints | None, Ints | None, Ints | None, bool]
"""As `Updates`, and whether some diff may be another number than +1 and -1."""


class _Form:
    """Rows or columns that have exactly the names `wanted`, which is the order in which they are given."""

    __slots__ = ("_width", "extra", "plain", "values")

    def __init__(self, plain: PlainRows | NestedRows, wanted: tuple[str, ...], extra: tuple[str, ...]) -> None:
        self.plain, self.extra = plain, extra
        self._width = len(wanted)
        (only, *others) = wanted
        self.values: Callable[[Any], Any] = itemgetter(*wanted) if others else lambda row: (row[only],)
        """What a row, or columns, have under these names."""

    def of_rows(self, rows: Sequence[Any]) -> Sequence[Sequence[Any]] | None:
        """The columns of some rows, at least one; None if they have not these names, or are many."""
        if len(rows) > MOST_ROWS:
            return None
        for row in rows:
            if type(row) is not dict or len(row) != self._width:
                return None
        try:
            return tuple(zip(*map(self.values, rows), strict=True))
        except KeyError:
            return None

    def of_columns(self, columns: dict[Any, Any]) -> Sequence[Sequence[Any]] | None:
        """The columns that there are; None if they are not lists of one length, or long."""
        values: Sequence[Sequence[Any]] = self.values(columns)
        if any(type(each) is not list and type(each) is not tuple for each in values):
            return None
        length = len(values[0])
        return values if 0 < length <= MOST_ROWS and all(len(each) == length for each in values) else None


class AsItIs:
    """What takes data for one table with the columns `fields`. Any number of threads may use it.

    What it found out about an Arrow schema, or the names that rows have, it knows the next time.
    """

    def __init__(self, fields: Schema) -> None:
        self.fields = fields
        self._last: _Known | None = None
        self._forms: dict[tuple[Any, ...], _Form | None] = {}
        self.plain = rows_of(fields)
        """What takes rows of plain values, where all types have such."""

    def taken(self, data: Any, *, rows_alone: bool = False) -> Taken | None:
        """The data, if it can be taken as it is; else None, and others look closer.

        `rows_alone`: without times and diffs.
        """
        if isinstance(data, pa.Table):
            batches = data.to_batches()
        elif isinstance(data, pa.RecordBatch):
            batches = [data]
        else:
            return self._plainly_taken(data, rows_alone)
        schema, known = data.schema, self._last
        if known is None or not schema.equals(known.schema):
            known = self._learnt(schema)
            if known is None:
                return None
            self._last = known
        known.schema = schema  # the next batch has often the very same one, which is found out at once
        if rows_alone and (known.times or known.diffs):
            return None
        if len(batches) != 1:
            if any(known.look.at(each) is None for each in batches):
                return None
            together = one_batch(data)
            if together is None:
                return _parts(known, data, None)
            batches = [together]
        (batch,) = batches
        addresses = known.look.at(batch)
        if addresses is None:
            return None
        return _parts(known, batch, addresses) if known.own or known.names else (batch, None, None, addresses, False)

    def _plainly_taken(self, data: Any, rows_alone: bool) -> Taken | None:
        """Rows or columns of plain Python values, if they have nothing but what the table has."""
        named = data[0] if type(data) is list and data else data
        if type(named) is not dict or not named:
            return None
        known, names = self._forms, tuple(named)
        form = known[names] if names in known else self._form(names)
        if form is None or (rows_alone and form.extra):
            return None
        if named is not data and len(data) == 1 and not form.extra:
            made = form.plain.row(form.values(named))
            return None if made is None else (made[0], None, None, made[1], False)
        columns = form.of_columns(data) if named is data else form.of_rows(data)
        if columns is None:
            return None
        times = diffs = None
        if form.extra:
            own = len(self.fields)
            numbers = dict[str, Ints]()
            for name, each in zip(form.extra, columns[own:], strict=True):
                if set(map(type, each)) != {int}:
                    return None
                try:
                    numbers[name] = np.array(each, np.int64)
                except OverflowError:
                    return None
            columns, times, diffs = columns[:own], numbers.get(TIME), numbers.get(DIFF)
        taken = form.plain.batch(len(columns[0]), columns)
        return None if taken is None else (taken[0], times, diffs, taken[1], diffs is not None)

    def _form(self, names: tuple[Any, ...]) -> _Form | None:
        """How rows that have these names are read, which is not known yet."""
        known = self._forms
        own = [field.name for field in self.fields]
        extra = tuple(name for name in (TIME, DIFF) if name in names and name not in own)
        found = None
        if self.plain is not None and set(names) == {*own, *extra}:
            found = _Form(self.plain, (*own, *extra), extra)
        self._forms = {**known, names: found} if len(known) < _MOST_FORMS else {names: found}
        return found

    def _learnt(self, schema: pa.Schema) -> _Known | None:
        own, names, types = [key(field.name) for field in self.fields], schema.names, schema.types
        place_of = {key(name): place for place, name in enumerate(names)}
        extra = [name for name in (TIME, DIFF) if name in place_of and name not in own]
        if len(names) != len(own) + len(extra) or place_of.keys() != {*own, *extra}:
            return None
        placed = [(place_of[name], field) for name, field in zip(own, self.fields, strict=True)]
        if not all(is_direct(types[place], field.type) for place, field in placed) or any(
            types[place_of[name]] != pa.int64() for name in extra
        ):
            return None
        look = first_look(
            schema, placed + [(place_of[name], number_field(name)) for name in extra], counts=DIFF in extra
        )
        if look is None:
            return None
        found = {name: (place_of[name], number) for number, name in enumerate(extra, len(own))}
        places, called = [place for place, _ in placed], [field.name for field in self.fields]
        return _Known(
            schema,
            found.get(TIME),
            found.get(DIFF),
            [] if places == [*range(len(names))] else places,
            [] if called == [names[place] for place in places] else called,
            look,
        )


def _parts(known: _Known, data: ArrowRows, addresses: Ints | None) -> Taken:
    """The table's own columns, times, diffs, and where the columns lie, of data in a form that is known."""
    times, diffs = known.times, known.diffs
    rows, own, is_open = data.num_rows, data, diffs is not None
    found_times = None if times is None else _longs(data, rows, times, addresses)
    found_diffs = None
    if diffs is not None:
        if addresses is not None:
            added = addresses.item(diffs[1], ADDED)
            is_open = added + addresses.item(diffs[1], REMOVED) != rows
        if is_open or added != rows:
            found_diffs = _longs(data, rows, diffs, addresses)
    if known.own:
        own = own.select(known.own)
    if known.names:
        own = own.rename_columns(known.names)
    return own, found_times, found_diffs, None if addresses is None else addresses[: own.num_columns], is_open


def _longs(data: ArrowRows, rows: int, column: tuple[int, int], addresses: Ints | None) -> Ints:
    """The values of a column of BIGINT without NULL: of which place, and which number among those with addresses."""
    place, number = column
    if rows and addresses is not None and (stride := addresses.item(number, STRIDE)):
        there = array_at(memory_of(data), addresses.item(number, ADDRESS), Physical.INT64, rows, stride)
        numbers: Ints = readonly(there)
    else:
        numbers = data.column(place).to_numpy()
    return numbers


def as_table(data: ArrowRows) -> pa.Table:
    """The rows as a table, not copied."""
    return data if isinstance(data, pa.Table) else pa.Table.from_batches([data])


def number_field(name: str) -> Field:
    """What a column of times or of diffs is."""
    return Field(name, BIGINT, nullable=False)


def first_look(schema: pa.Schema, placed: Sequence[tuple[int, Field]], *, counts: bool = False) -> FirstLook | None:
    """The look at columns of batches of a schema: at which place which field is, of which `is_direct` holds.

    `counts`: whether the last one has diffs, to be counted. None if some column's values can only be looked at one by
    one.
    """
    types = schema.types
    tests = [_test(place, types[place], field) for place, field in placed]
    known = [test for test in tests if test is not None]
    if not known or len(known) < len(tests):
        return None
    if counts:
        known[-1][LOOK] = DIFFS
    return FirstLook(np.array(known, np.int64))


def _test(place: int, given: pa.DataType, field: Field) -> list[int] | None:
    """How `examine` is to test a column."""
    look = _look(given, field)
    if look is None:
        return None
    kind, first, last = look
    return [place, kind, not field.nullable, stride_of(given, field.type), first, last]


def _look(given: pa.DataType, field: Field) -> tuple[int, int, int] | None:
    if pa.types.is_dictionary(given):
        return CODES, given.index_type.bit_width // 8, _offset_bytes(given.value_type)
    if pa.types.is_string(given) or pa.types.is_large_string(given):
        return TEXTS, _offset_bytes(given), 1
    if pa.types.is_binary(given) or pa.types.is_large_binary(given):
        return TEXTS, _offset_bytes(given), 0
    if pa.types.is_decimal128(given):
        bound = 10**given.precision
        low = bound & ((1 << _WORD_BITS) - 1)
        return PAIRS, low - (1 << _WORD_BITS) if low >> (_WORD_BITS - 1) else low, bound >> _WORD_BITS
    if pa.types.is_decimal(given):
        most = 10**given.precision - 1
        return SHORTS if pa.types.is_decimal32(given) else LONGS, -most, most
    if field.type.kind in SHOWN:
        first, last, _, item = SHOWN[field.type.kind]
        return SHORTS if item is np.int32 else LONGS, first, last
    if field.type.kind is Kind.TIME:
        return LONGS, 0, _MICROSECONDS_A_DAY - 1
    return (ANYTHING, 0, 0) if pa.types.is_primitive(given) else None


def _offset_bytes(given: pa.DataType) -> int:
    return 8 if pa.types.is_large_string(given) or pa.types.is_large_binary(given) else 4
