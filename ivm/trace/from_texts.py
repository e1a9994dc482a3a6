"""Dates, times and decimals that rows of dicts hold as texts, as JSON and CSV readers give them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from catalog.types import Kind, SqlType
from ivm.trace.arrow import arrow_type
from ivm.trace.exact_cast import exact_cast

_FORMS: dict[Kind, str] = {
    Kind.DATE: "YYYY-MM-DD",
    Kind.TIMESTAMP: "YYYY-MM-DD HH:MM:SS, without a time zone and with at most 6 decimals",
    Kind.TIMESTAMPTZ: "YYYY-MM-DD HH:MM:SS with Z or +HH:MM, and with at most 6 decimals",
    Kind.TIME: "HH:MM:SS, with at most 6 decimals",
    Kind.DECIMAL: "digits with at most {scale} decimals, {precision} digits in all",
}


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
