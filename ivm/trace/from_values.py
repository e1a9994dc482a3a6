"""Arrow arrays from lists of values: physical ones, as literals have them, and texts, as JSON and CSV have them."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Context, Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from catalog.types import MAX_DIGITS, MAX_NARROW_DIGITS, Kind, SqlType
from ivm.trace.arrow import arrow_type, two_words
from ivm.trace.exact_cast import exact_cast
from ivm.trace.sequences import array_from
from ivm.trace.stand_ins import enum_labels

_STORED = {Kind.DATE: pa.int32(), Kind.TIMESTAMP: pa.int64(), Kind.TIMESTAMPTZ: pa.int64(), Kind.TIME: pa.int64()}
_WIDE = Context(prec=MAX_DIGITS)
_FORMS: dict[Kind, str] = {
    Kind.DATE: "YYYY-MM-DD",
    Kind.TIMESTAMP: "YYYY-MM-DD HH:MM:SS, without a time zone and with at most 6 decimals",
    Kind.TIMESTAMPTZ: "YYYY-MM-DD HH:MM:SS with Z or +HH:MM, and with at most 6 decimals",
    Kind.TIME: "HH:MM:SS, with at most 6 decimals",
    Kind.DECIMAL: "digits with at most {scale} decimals, {precision} digits in all",
}


def array_of(values: Sequence[object], type: SqlType) -> pa.Array:
    """The values as an Arrow array for a column of `type`: days, microseconds and scaled integers; None is NULL."""
    target = arrow_type(type)
    if type.kind is Kind.DECIMAL and type.precision <= MAX_NARROW_DIGITS:
        scaled = array_from(values, pa.int64())
        words = np.frombuffer(scaled.buffers()[1], "<i8", len(scaled), scaled.offset * 8)
        return pa.Array.from_buffers(target, len(scaled), [scaled.buffers()[0], pa.py_buffer(two_words(words))])
    if pa.types.is_decimal(target):
        return pa.array([None if v is None else Decimal(str(v)).scaleb(-type.scale, _WIDE) for v in values], target)
    if type.kind is Kind.ENUM:
        return pa.DictionaryArray.from_arrays(array_from(values, target.index_type), enum_labels(type))
    stored = _STORED.get(type.kind)
    return array_from(values, target) if stored is None else array_from(values, stored).view(target)


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
    others = pa.chunked_array([pa.array([None if isinstance(v, str) else v for v in values])])
    if others.null_count < len(others):
        read = pc.coalesce(read, exact_cast(others, type).cast(read.type))
    return pa.chunked_array([read]) if isinstance(read, pa.Array) else read


def _read(texts: pa.Array, type: SqlType) -> pa.Array:
    try:
        return _cast(texts, type)
    except pa.ArrowException as error:
        row, text = next((r, t) for r, t in enumerate(texts.to_pylist()) if not _is_read(t, type))
        form = _FORMS[type.kind].format(scale=type.scale, precision=type.precision)
        raise TextError(f"row {row} counted from 0: {text!r} is no {type}; write {form}") from error


def _is_read(text: str | None, type: SqlType) -> bool:
    try:
        _cast(pa.array([text], pa.string()), type)
    except pa.ArrowException:
        return False
    return True


def _cast(texts: pa.Array, type: SqlType) -> pa.Array:
    if type.kind is not Kind.TIME:
        return texts.cast(arrow_type(type))
    # Arrow reads no time of its own.
    return pc.binary_join_element_wise("1970-01-01", texts, " ").cast(pa.timestamp("us")).cast(pa.time64("us"))
