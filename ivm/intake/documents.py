"""JSON documents from whatever holds them: texts, lines, files, columns of texts; numbers with all of their digits."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from os import PathLike, fspath
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.types as arrow

from ivm.catalog.errors import StorageError, TypeMismatchError

_VALUE = "value"
"""What a column of texts is called beside others, as Kafka's records have it."""
_TEXTS = (str, bytes, bytearray, memoryview)


class What(NamedTuple):
    """What is read, for messages: the documents of a table, and what each is called, "row" or "envelope"."""

    table: str
    each: str

    def refusal(self, wrong: str) -> TypeMismatchError:
        """The error that something is wrong with all of it."""
        return TypeMismatchError(f"cannot read data for table {self.table}: {wrong}")

    def at(self, place: int, wrong: str) -> TypeMismatchError:
        """The error that something is wrong with one document."""
        return self.refusal(f"{self.each} {place} counted from 0 {wrong}")


def documents(data: Any, what: What) -> list[Any]:
    """The JSON values that `data` holds, in their order; NULL is None.

    `data`: a text or bytes, of one value, an array of them or one for each line; a path or an open file of such a text,
    which may be compressed by gzip; a sequence of texts, bytes or values that Python has read already; Arrow data with
    one column, or a column called `value`, of texts or bytes, or with a column for each key. TypeMismatchError says
    which document is wrong, and how; StorageError if a file cannot be read. Cost: some microseconds each.
    """
    if isinstance(data, PathLike):
        return documents(_bytes_of(fspath(data)), what)
    if hasattr(data, "read") and not hasattr(data, "__arrow_c_stream__"):
        return documents(data.read(), what)
    if isinstance(data, _TEXTS):
        return _parts(data if isinstance(data, str) else bytes(data), what)
    if isinstance(data, Mapping):
        return [data]
    if hasattr(data, "__arrow_c_stream__") or hasattr(data, "__arrow_c_array__"):
        return _of_arrow(data, what)
    if isinstance(data, Sequence):
        return [_one(each, place, what) for place, each in enumerate(data)]
    raise what.refusal(
        f"a {type(data).__name__} holds no JSON; give texts or bytes, dicts, a pathlib.Path of a file, or Arrow data"
    )


def _bytes_of(path: str | bytes) -> bytes:
    try:
        with open(path, "rb") as file:
            found = file.read()
        return gzip.decompress(found) if found.startswith(b"\x1f\x8b") else found
    except (OSError, EOFError) as error:
        raise StorageError(f"cannot read file {path!r}: {error}") from error


def _parts(text: str | bytes, what: What) -> list[Any]:
    """The elements of an array, or what each line is, without those that are blank."""
    if isinstance(text, bytes):
        try:
            text = text.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise what.refusal(f"it is not UTF-8: {error}") from error
    if not text.lstrip().startswith("["):
        lines = [line for line in text.split("\n") if line.strip()]
        if len(lines) > 1 and not _is_json(lines[0]):  # one value, over several lines
            return [_one(text, 0, what)]
        return [_one(line, place, what) for place, line in enumerate(lines)]
    found = _one(text, 0, what)
    return found if isinstance(found, list) else [found]


def _is_json(text: str) -> bool:
    try:
        _read(text)
    except (ValueError, RecursionError):
        return False
    return True


def _of_arrow(data: Any, what: What) -> list[Any]:
    table = pa.table(data)
    names = [name for name, type_ in zip(table.column_names, table.schema.types, strict=True) if _holds_texts(type_)]
    if table.num_columns == 1 and len(names) == 1:
        return documents(table.column(0).to_pylist(), what)
    if _VALUE in names and not {"op", "payload"} & set(table.column_names):
        return documents(table.column(_VALUE).to_pylist(), what)
    try:
        return table.to_pylist()
    except (ValueError, pa.ArrowException) as error:
        raise what.refusal(f"Python has not all of its values: {error}") from error


def _holds_texts(given: pa.DataType) -> bool:
    kinds: Iterable[Callable[[pa.DataType], bool]] = (
        arrow.is_string, arrow.is_large_string, arrow.is_string_view, arrow.is_binary, arrow.is_large_binary,
        arrow.is_binary_view,
    )  # fmt: skip
    return any(is_so(given) for is_so in kinds)


def _one(given: Any, place: int, what: What) -> Any:
    if not isinstance(given, _TEXTS):
        return given
    try:
        return _read(given if isinstance(given, str) else str(given, "utf-8-sig"))
    except RecursionError:
        raise what.at(place, "is JSON that is nested too deeply; flatten it first") from None
    except ValueError as error:
        raise what.at(place, f"is no JSON: {error}; write it as json.dumps does") from error


def _read(text: str) -> Any:
    return json.loads(text, parse_float=number_of)


def number_of(text: str) -> Decimal | float:
    """A number with a point with all of its digits; one with an exponent as a float, which may be very large."""
    return float(text) if "e" in text or "E" in text else Decimal(text)
