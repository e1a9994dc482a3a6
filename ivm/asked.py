"""Functions that DuckDB computes for us: what it says of the arguments of a batch, in one query.

Cost: some 0.4 ms for a few rows and 1.5 ms for more, and what DuckDB takes for a value. `ivm.sql.ir.functions.asked`
says which functions they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import count

import duckdb
import numpy as np
import pyarrow as pa

from ivm.catalog.errors import NumericError
from ivm.catalog.names import as_literal
from ivm.catalog.schema import Field
from ivm.catalog.types import TIMESTAMP, TIMESTAMPTZ, VARCHAR, SqlType
from ivm.catalog.zones import UTC
from ivm.duck import Use, answer, connection, offer, texts_of, with_hugeints
from ivm.sql.ir.asking import asked_text, with_arguments
from ivm.trace.columns.arrow import arrow_type, to_arrow, to_column
from ivm.trace.columns.column import Array, Column
from ivm.trace.text.dictionary import TextDictionary
from ivm.zones import clocks_of, is_near

_GIVEN = "given"
Argument = tuple[Column | str | None, SqlType]
"""Values, or the text of one or None for NULL, and their type."""


@dataclass(frozen=True, slots=True)
class _Question:
    """A call over `rows`: `values` are its constants, as SQL writes them, and None where a column is its argument. The
    function may be what `text` writes, in which the arguments behind it have a `PLACE`. `zone`: by whose clocks DuckDB
    tells moments.
    """

    function: str
    values: tuple[str | None, ...]
    types: tuple[SqlType, ...]
    rows: pa.Table
    type: SqlType
    text: str = ""
    zone: str = UTC

    def asked_with(self, column: str) -> str:
        """The text of the call, with `column` for each of its columns, which has {} for its number."""
        numbers = count(1)
        written = [
            f"CAST({column.format(next(numbers)) if value is None else value} AS {given})"
            for value, given in zip(self.values, self.types, strict=True)
        ]
        return asked_text(self.function, written, self.type, self.text)

    def answer(self) -> pa.Array | pa.ChunkedArray:
        """The values of all rows; one if the call has no column."""
        wanted, rows = arrow_type(self.type), self.rows
        with connection(Use.OWN, zone=self.zone) as duck:
            if rows.num_rows <= _FEW and all(map(_is_plain, (wanted, *rows.schema.types))):
                given = [column.to_pylist() for column in rows.columns]
                found = duck.execute(f"SELECT {self.asked_with('unnest(${})')}", given).fetchall()
                return pa.array([value for (value,) in found], wanted)
            query = f"SELECT {self.asked_with('c{}')} AS x"
            if rows.num_columns:
                offer(duck, _GIVEN, rows)
                query += f" FROM {_GIVEN}"
            return answer(duck, query).column(0)

    def error(self, error: duckdb.Error) -> NumericError:
        """The error with the first arguments that it is about: those before them have values."""
        low, high = 0, self.rows.num_rows
        while high - low > 1:
            middle = (low + high) // 2
            try:
                replace(self, rows=self.rows.slice(low, middle - low)).answer()
            except duckdb.Error as earlier:
                error, high = earlier, middle
            else:
                low = middle
        given = iter(texts_of(self.rows.slice(low, 1))[0] if self.rows.num_columns else ())
        shown = [as_literal(str(next(given))) if value is None else value for value in self.values]
        words = str(error).partition(" Error: ")[2].partition("\n")[0] or str(error)
        what = f"cannot compute {self.function}({', '.join(shown)})"
        if self.function == "written":
            what = f"cannot compute {with_arguments(self.text, shown.__getitem__)}"
        return NumericError(f"{what}: {words}; correct the value or filter it out first")


def asked(function: str, arguments: Sequence[Argument], type_: SqlType, dictionary: TextDictionary) -> Column:
    """The values of a function of DuckDB's; one if no argument is a column.

    NumericError if it has none of some arguments, which it names.
    """
    if function == "timezone" and isinstance(arguments[1][0], Column):
        return _in_zones(arguments, type_, dictionary)
    return _asked(function, arguments, type_, dictionary)


def _in_zones(arguments: Sequence[Argument], type_: SqlType, dictionary: TextDictionary) -> Column:
    """Times on the clocks of zones, or moments by these; what is not known of the zones is asked."""
    (zones, _), (moments, given) = arguments
    assert isinstance(moments, Column), "the caller has looked"
    values, found = moments.values, np.zeros(len(moments), np.int64)
    names: Sequence[Column | str | None] = [zones]
    place = np.zeros(len(values), np.int64)
    if isinstance(zones, Column):
        codes, place = np.unique(zones.values, return_inverse=True)
        names = dictionary.now().strings(codes)
    done = is_near(values)
    for number, name in enumerate(names[:_MOST_ZONES]):
        assert isinstance(name, str), "of a column they are texts"
        clocks = clocks_of(name, _local)
        rows = done & (place == number)
        if clocks is None:
            done &= ~rows
        else:
            found[rows] = (clocks.local if given == TIMESTAMPTZ else clocks.moments)(values[rows])
    left = np.flatnonzero(~done | (place >= _MOST_ZONES))
    if len(left):
        some = [(each.take(left) if isinstance(each, Column) else each, kind) for each, kind in arguments]
        found[left] = _asked("timezone", some, type_, dictionary).values
    return Column(found)


def _local(zone: str, moments: Array) -> Array:
    """The times on the clocks of a zone, as DuckDB has them."""
    return _asked("timezone", ((zone, VARCHAR), (Column(moments), TIMESTAMPTZ)), TIMESTAMP, TextDictionary()).values


_MOST_ZONES = 16
"""So many zones of a batch are looked up, which takes time when they are met first."""


def _asked(function: str, arguments: Sequence[Argument], type_: SqlType, dictionary: TextDictionary) -> Column:
    return to_column(answer_to(function, arguments, type_, dictionary), type_, dictionary)


def answer_to(
    function: str, arguments: Sequence[Argument], type_: SqlType, dictionary: TextDictionary, zone: str = UTC
) -> pa.Array | pa.ChunkedArray:
    """As `asked`, what DuckDB answers, which tells moments by the clocks of a zone."""
    if function == "written in zone":
        (place, _), *rest = arguments
        return answer_to("written", rest, type_, dictionary, zone=str(place))
    strings, fields, arrays = dictionary.now(), list[Field](), list[pa.Array]()
    for value, given in arguments:
        if isinstance(value, Column):
            fields.append(Field(f"c{len(fields) + 1}", given))
            arrays.append(to_arrow(value, given, strings))
    rows = with_hugeints(pa.table(arrays, [field.name for field in fields]), tuple(fields))
    values = tuple(None if isinstance(value, Column) else _literal(value) for value, _ in arguments)
    text = str(arguments[0][0]) if function == "written" else ""
    question = _Question(function, values, tuple(given for _, given in arguments), rows, type_, text, zone)
    try:
        return question.answer()
    except duckdb.Error as error:
        raise question.error(error) from None


def _literal(text: str | None) -> str:
    return "NULL" if text is None else as_literal(text)


_FEW = 32
"""Up to so many rows DuckDB is faster with Python's values than with arrays of Arrow's."""


def _is_plain(given: pa.DataType) -> bool:
    """Whether Python's values of the type are DuckDB's, all of them."""
    return bool(
        pa.types.is_string(given) or pa.types.is_binary(given) or given in (pa.int64(), pa.int32(), pa.float64())
    )
