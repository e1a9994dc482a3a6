"""Casts to the type of a column that keep every value, or fail: of Arrow data, of texts as JSON and CSV have them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as arrow

from ivm.catalog.types import VARCHAR, Kind, SqlType
from ivm.intake.intervals import as_intervals, intervals_of, is_time_span
from ivm.intake.json_texts import check_json
from ivm.intake.nested_cast import nested_cast
from ivm.trace.columns.arrow import array_from, arrow_type, is_direct, is_text
from ivm.trace.columns.stand_ins import UUID_BYTES, to_enum, to_uuids

_INTEGER_DIGITS = 20
_WIDEST = 38
_MOST_BYTES = 2**31 - 1
_FORMS: dict[Kind, str] = {
    Kind.DATE: "YYYY-MM-DD",
    Kind.TIMESTAMP: "YYYY-MM-DD HH:MM:SS, without a time zone and with at most 6 decimals",
    Kind.TIMESTAMP_S: "YYYY-MM-DD HH:MM:SS, without a time zone and decimals",
    Kind.TIMESTAMP_MS: "YYYY-MM-DD HH:MM:SS, without a time zone and with at most 3 decimals",
    Kind.TIMESTAMP_NS: "YYYY-MM-DD HH:MM:SS of the years 1678 to 2261, without a time zone and with at most 9 decimals",
    Kind.TIMESTAMPTZ: "YYYY-MM-DD HH:MM:SS with Z or +HH:MM, and with at most 6 decimals",
    Kind.TIME: "HH:MM:SS, with at most 6 decimals",
    Kind.INTERVAL: "numbers with their units, such as '1 month 2 days', and a time as HH:MM:SS",
    Kind.DECIMAL: "digits with at most {scale} decimals, {precision} digits in all",
}


def exact_cast(values: pa.ChunkedArray, type: SqlType) -> pa.ChunkedArray:
    """The values as `to_column` takes them for a column of `type`.

    Numbers become any numeric type that holds each of them exactly (a float counts as the shortest decimal that prints
    it; a decimal may become the nearest DOUBLE, and both the nearest FLOAT), dates and timestamps each other,
    timestamps of any time zone the same moments in UTC; text may stay a dictionary. Raises TypeError where types do not
    go together, ValueError where a value does not fit. Nothing to do: no cost.
    """
    given = values.type
    if is_direct(given, type) and not holds_null_values(values):
        return values
    plain = _plain(values)
    if plain is not None:
        return exact_cast(plain, type)
    if type.kind is Kind.ENUM and (arrow.is_null(given) or _goes_into(given, type)):
        return to_enum(values, type)
    if arrow.is_null(given):
        return values.cast(arrow_type(type))
    if type.is_nested:
        return nested_cast(values, type, exact_cast)
    if not _goes_into(given, type):
        raise TypeError(f"it has Arrow type {given}")
    if type.is_text:
        texts = values if is_text(given) else _to_text(values)
        return texts if type.kind is Kind.VARCHAR else check_json(texts)
    if type.kind is Kind.UUID:
        return to_uuids(values)
    if type.kind is Kind.INTERVAL:
        return as_intervals(values)
    if type.kind in (Kind.DECIMAL, Kind.HUGEINT):
        return _to_decimal(values, type)
    if type.is_integer and arrow.is_decimal(given):
        values = values.cast(pa.decimal128(_WIDEST, given.scale)) if given.precision <= _WIDEST else values
    if type.kind is Kind.DATE and arrow.is_timestamp(given):
        values = values.cast(pa.timestamp("us"))  # Arrow looks for an overflow here, and not on the way to days
    cast = values.cast(arrow_type(type))
    if type.kind is Kind.DATE:
        _check_midnight(values, cast)
    if type.kind is Kind.FLOAT and arrow.is_floating(given):
        _check_finite(values, cast)
    return cast


def holds_null_values(values: pa.ChunkedArray) -> bool:
    """Whether some dictionary holds NULL among its values, which Arrow cannot put together with others."""
    return arrow.is_dictionary(values.type) and any(chunk.dictionary.null_count for chunk in values.chunks)


def _plain(values: pa.ChunkedArray) -> pa.ChunkedArray | None:
    """The same values without what is wrapped around them: an extension's name, runs, a dictionary of other than text
    or with NULL in it; None if there is nothing.
    """
    given = values.type
    if isinstance(given, pa.Bool8Type):
        return values.cast(pa.bool_())
    if isinstance(given, pa.BaseExtensionType):
        storage = given.storage_type
        return pa.chunked_array([chunk.storage for chunk in values.chunks], storage)
    if arrow.is_run_end_encoded(given):
        wanted = pa.string() if arrow.is_string_view(given.value_type) else given.value_type
        return pa.chunked_array([_without_runs(chunk, wanted) for chunk in values.chunks], wanted)
    if arrow.is_dictionary(given) and (not _is_text(given.value_type) or holds_null_values(values)):
        if arrow.is_string_view(given.value_type):
            return exact_cast(_to_text(values), VARCHAR)
        return pa.chunked_array([chunk.dictionary_decode() for chunk in values.chunks], given.value_type)
    return None


def _without_runs(array: pa.RunEndEncodedArray, wanted: pa.DataType) -> pa.Array:
    """The values of an array one by one; Arrow's own function knows neither dictionaries nor views."""
    values = array.values if array.values.type == wanted else array.values.cast(wanted)
    places = np.arange(array.offset, array.offset + len(array))
    return values.take(pa.array(np.searchsorted(array.run_ends.to_numpy(), places, side="right")))


def _is_text(given: pa.DataType) -> bool:
    return bool(arrow.is_string(given) or arrow.is_large_string(given) or arrow.is_string_view(given))


def _goes_into(given: pa.DataType, type: SqlType) -> bool:
    if type.is_numeric:
        return bool(arrow.is_integer(given) or arrow.is_decimal(given) or arrow.is_floating(given))
    if type.is_moment and type.kind is not Kind.TIMESTAMPTZ:
        return bool(arrow.is_date(given) or (arrow.is_timestamp(given) and given.tz is None))
    if type.kind is Kind.TIMESTAMPTZ:
        return bool(arrow.is_timestamp(given) and given.tz is not None)
    if type.kind is Kind.BLOB:
        return bool(arrow.is_binary(given) or arrow.is_fixed_size_binary(given) or arrow.is_binary_view(given))
    if type.kind is Kind.TIME:
        return bool(arrow.is_time(given))
    if type.kind is Kind.UUID and arrow.is_fixed_size_binary(given):
        return bool(given.byte_width == UUID_BYTES)
    if type.kind is Kind.INTERVAL and is_time_span(given):
        return True
    value = given.value_type if arrow.is_dictionary(given) else given
    return (type.is_text or type.kind in (Kind.ENUM, Kind.UUID)) and _is_text(value)


def _to_text(values: pa.ChunkedArray) -> pa.ChunkedArray:
    """Text that is kept elsewhere than one string after the other, or a dictionary with indices of another width."""
    target = pa.large_string() if values.nbytes > _MOST_BYTES else pa.string()
    if not arrow.is_dictionary(values.type):
        return values.cast(target)
    encoded = pa.dictionary(pa.int32(), target)
    chunks = [
        pa.DictionaryArray.from_arrays(chunk.indices.cast(pa.int32()), chunk.dictionary.cast(target))
        for chunk in values.chunks
    ]
    return pa.chunked_array(chunks, encoded)


def _to_decimal(values: pa.ChunkedArray, type: SqlType) -> pa.ChunkedArray:
    target = arrow_type(type)
    if arrow.is_floating(values.type):
        return values.cast(pa.string()).cast(target)
    if arrow.is_integer(values.type):
        # Arrow asks for room for every integer of the type; whether these values fit shows in the next cast.
        digits = _INTEGER_DIGITS + target.scale
        values = values.cast((pa.decimal128 if digits <= _WIDEST else pa.decimal256)(digits, target.scale))
    return values.cast(target)


def _check_finite(values: pa.ChunkedArray, cast: pa.ChunkedArray) -> None:
    """Arrow makes infinities of what 32 bits do not hold in silence."""
    if pc.any(pc.and_(pc.is_inf(cast), pc.is_finite(values))).as_py():
        raise ValueError("it has numbers beyond the range of a FLOAT, 3.4e38")


def _check_midnight(values: pa.ChunkedArray, dates: pa.ChunkedArray) -> None:
    """Arrow cuts the time of day off in silence."""
    if not pc.all(pc.equal(dates.cast(values.type), values)).as_py() and dates.null_count < len(dates):
        raise ValueError("it has a time of day, which a DATE cannot keep")


class TextError(ValueError):
    """A text is no value of its column's type; the message names its row."""


def is_written(type: SqlType) -> bool:
    """Whether values of this type may be given as texts."""
    return type.kind in _FORMS


def from_texts(values: Sequence[Any], type: SqlType) -> pa.ChunkedArray:
    """The values, some or all of which are texts, for a column of `type`; what is no text is judged as elsewhere.

    Texts are read strictly, by ISO 8601: no spaces around, no digit left out or rounded. Raises TextError for one that
    is no value of the type, and what `exact_cast` raises for the others. Cost: some passes; one in Python.
    """
    read = _read(pa.array([v if isinstance(v, str) else None for v in values], pa.string()), type)
    others = pa.chunked_array([inferred([None if isinstance(v, str) else v for v in values], type)])
    if others.null_count < len(others):
        read = pc.coalesce(read, exact_cast(others, type).cast(read.type))
    return pa.chunked_array([read]) if isinstance(read, pa.Array) else read


def inferred(values: Sequence[Any], type: SqlType) -> pa.Array | pa.ChunkedArray:
    """The array that Arrow makes of values for a column of `type`, and of pandas' moments with the nanoseconds."""
    array = array_from(values)
    is_cut = type.kind is Kind.TIMESTAMP_NS and array.type == pa.timestamp("us")
    return pa.array(values, arrow_type(type)) if is_cut else array


def _read(texts: pa.Array, type: SqlType) -> pa.Array:
    try:
        return _cast(texts, type)
    except (pa.ArrowException, ValueError) as error:
        row, text = next((r, t) for r, t in enumerate(texts.to_pylist()) if not _is_read(t, type))
        form = _FORMS[type.kind].format(scale=type.scale, precision=type.precision)
        raise TextError(f"row {row} counted from 0: {text!r} is no {type}; write {form}") from error


def _is_read(text: str | None, type: SqlType) -> bool:
    try:
        _cast(pa.array([text], pa.string()), type)
    except (pa.ArrowException, ValueError):
        return False
    return True


def _cast(texts: pa.Array, type: SqlType) -> pa.Array:
    if type.kind is Kind.INTERVAL:
        return intervals_of(texts)
    if type.kind is not Kind.TIME:
        return texts.cast(arrow_type(type))
    # Arrow reads no time of its own.
    return pc.binary_join_element_wise("1970-01-01", texts, " ").cast(pa.timestamp("us")).cast(pa.time64("us"))
