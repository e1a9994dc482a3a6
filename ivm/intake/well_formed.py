"""Whether Arrow data from outside is what its types say; looked at before anything else reads it.

Arrow arrays are taken as they are, and nothing that reads them later checks an offset, an index or a byte again.
"""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np
import pyarrow as pa

from ivm.catalog.errors import TypeMismatchError
from ivm.catalog.schema import Field
from ivm.catalog.types import MAX_NARROW_DIGITS, TIMESTAMP_NS, Kind
from ivm.kernels.memory.in_place import all_within, decimals_fit
from ivm.sql.ir.limits import limits
from ivm.trace.columns.arrow import parts_of, types_within
from ivm.trace.columns.column import readonly, validity_mask

_BYTES_OF: dict[pa.DataType, pa.DataType] = {
    pa.string(): pa.binary(),
    pa.large_string(): pa.large_binary(),
    pa.string_view(): pa.binary_view(),
}


def _shown(per_second: int, units: str) -> tuple[int, int, str, Any]:
    return -62_135_596_800 * per_second, 253_402_300_800 * per_second - 1, units, np.int64


SHOWN: dict[Kind, tuple[int, int, str, Any]] = {
    Kind.DATE: (-719_162, 2_932_896, "days", np.int32),
    **dict.fromkeys((Kind.TIMESTAMP, Kind.TIMESTAMPTZ), _shown(1_000_000, "microseconds")),
    Kind.TIMESTAMP_S: _shown(1, "seconds"),
    Kind.TIMESTAMP_MS: _shown(1000, "milliseconds"),
    Kind.TIMESTAMP_NS: (*limits(TIMESTAMP_NS), "nanoseconds", np.int64),
}
"""Of types whose values Python cannot all show: the first and last that it can, since 1970-01-01; see `check_shown`."""


def check_well_formed(table: pa.Table, what: str) -> None:
    """Raise TypeMismatchError if the data for `what` is not what its types say, with column, row and value.

    Looked for: buffers that are too short, offsets, views and dictionary indices that point outside, text that is not
    UTF-8, decimals of too many digits. Cost: some microseconds a column, and up to 10 ns a value.
    """
    try:
        table.validate()
        for column in table.columns:
            for chunk in column.chunks:
                if not _is_plain(chunk):
                    chunk.validate(full=True)
    except pa.ArrowException as error:
        _refuse(table, what, error)


def _refuse(table: pa.Table, what: str, error: pa.ArrowException) -> NoReturn:
    """Raise the error for the first value that is wrong, whichever check it was that failed."""
    for name, column in zip(table.column_names, table.columns, strict=True):
        before = 0
        for chunk in column.chunks:
            reason = _invalid(chunk)
            if reason is not None:
                raise TypeMismatchError(f"cannot read data for {what}: {_told(name, before, chunk, reason)}")
            before += len(chunk)
    raise TypeMismatchError(f"cannot read data for {what}: it is not valid Arrow data: {error}") from error


def check_shown(column: pa.ChunkedArray, field: Field, what: str) -> None:
    """TypeMismatchError for days and moments that Python cannot show: before the year 1, after 9999, infinity.

    The column has the Arrow type of the field; other fields than DATE and TIMESTAMP are left alone. Those within lists,
    structs and maps are counted among themselves.
    """
    if field.type.is_nested:
        for part, type_ in zip(parts_of(column), types_within(field.type), strict=True):
            check_shown(part, Field(field.name, type_), what)
        return
    shown = SHOWN.get(field.type.kind)
    if shown is None:
        return
    first, last, unit, item = shown
    years = "1677 to 2262" if field.type == TIMESTAMP_NS else "1 to 9999"
    before = 0
    for chunk in column.chunks:
        n = len(chunk)
        validity, data = chunk.buffers()
        if n and data is not None:
            values = np.frombuffer(data, item, n, chunk.offset * item().itemsize)
            if not all_within(readonly(values), first, last):
                outside = (values < first) | (values > last)
                valid = validity_mask(chunk, validity)
                rows = np.flatnonzero(outside if valid is None else outside & valid)
                if len(rows):
                    raise TypeMismatchError(
                        f"cannot read data for {what}: column {field.name!r}, row {before + int(rows[0])} counted from "
                        f"0: {int(values[rows[0]])} {unit} from 1970-01-01 lie outside the years {years}, which is "
                        f"what {field.type} holds (infinity is not a value either); give NULL, or the first or last day"
                    )
        before += n


def _is_plain(array: pa.Array) -> bool:
    """Whether a look that costs little is enough to know that all is well."""
    given = array.type
    if pa.types.is_decimal128(given) and given.precision <= MAX_NARROW_DIGITS:
        data = array.buffers()[1]
        if len(array) == 0 or data is None:
            return True
        words = np.frombuffer(data, np.int64, 2 * len(array), array.offset * 16).reshape(-1, 2)
        return bool(decimals_fit(readonly(words), 10**given.precision))
    return bool(pa.types.is_primitive(given)) and not pa.types.is_time(given)  # of which a day has not every word


def _invalid(array: pa.Array) -> str | None:
    """What Arrow has to say against an array."""
    try:
        array.validate(full=True)
    except pa.ArrowException as error:
        return str(error)
    return None


def _told(name: str, before: int, array: pa.Array, reason: str) -> str:
    """Column, row and value of what is wrong with an array, before which the column has so many rows."""
    row = _first_invalid(array)
    if row is None and pa.types.is_dictionary(array.type) and _invalid(array.dictionary) is not None:
        return _told(name, 0, array.dictionary, reason).replace(", row", ", value", 1) + " (in its dictionary)"
    if row is None:
        return f"column {name!r} is not valid Arrow data: {reason}; see its .validate(full=True) where it is made"
    return f"column {name!r}, row {before + row} counted from 0: {_wrong(array, row, reason)}"


def _first_invalid(array: pa.Array) -> int | None:
    """The first row that is wrong; None if the array is, whatever its rows are. Arrow does not tell."""
    if _invalid(array.slice(0, 0)) is not None:
        return None
    good, bad = 0, len(array)
    while bad - good > 1:
        middle = (good + bad) // 2
        if _invalid(array.slice(0, middle)) is None:
            good = middle
        else:
            bad = middle
    return good


def _wrong(array: pa.Array, row: int, reason: str) -> str:
    given, only = array.type, array.slice(row, 1)
    if given in _BYTES_OF:
        raw = only.view(_BYTES_OF[given])
        if _invalid(raw) is None:
            return f"{_short(raw[0].as_py())} is not UTF-8; decode it by the encoding that it has"
    elif pa.types.is_dictionary(given):
        size = len(array.dictionary)
        return f"index {only.indices[0].as_py()} lies outside its dictionary of {size} values; make the indices anew"
    elif pa.types.is_decimal(given):
        declared = f"DECIMAL({given.precision},{given.scale})"
        return f"{only[0].as_py()} has more digits than the {given.precision} of {declared}; declare more, or give less"
    elif pa.types.is_time(given):
        count = only.view(pa.int32() if given.bit_width == 32 else pa.int64())[0].as_py()
        return f"{count} {given.unit} are no time of a day, which is from 00:00 to before 24:00; give one that is"
    return f"{reason}; see .validate(full=True) of the column where it is made"


def _short(raw: bytes) -> str:
    return repr(raw if len(raw) <= 20 else raw[:20]) + ("" if len(raw) <= 20 else "...")
