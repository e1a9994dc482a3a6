"""What users hand to the interface, checked where it comes in, so that no error comes from deep inside."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from os import PathLike
from typing import Any, Protocol

from ivm.catalog.calendar import DAY
from ivm.catalog.errors import BindError, ParseError, TypeMismatchError
from ivm.sql.types.calendar import interval
from ivm.sql.types.zones import zone_called

MOST = 1 << 62
"""The largest number that an argument may be: times and bytes are counted in 64 bits, with room to add two."""


class ArrowStream(Protocol):
    """Whatever hands out a stream of Arrow data: Arrow tables, polars, pandas, DuckDB relations, `Result`, `View`."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...


class ArrowArray(Protocol):
    """Whatever hands out Arrow data in one piece: record batches, struct arrays."""

    def __arrow_c_array__(self, requested_schema: object | None = None) -> object: ...


Tabular = ArrowStream | ArrowArray | Sequence[Mapping[str, object]] | Mapping[str, object]
"""Rows as programmers have them: Arrow data of any kind, a list of dicts (one for each row), or a dict of columns."""


class Readable(Protocol):
    """An open file."""

    def read(self) -> str | bytes:
        """All that it holds."""
        ...


Documents = Tabular | str | bytes | PathLike[str] | Readable | Sequence[object]
"""Rows, or texts that hold them: one text, a file, or some texts."""


def sql_text(text: Any) -> str:
    """A SQL text; ParseError for what is no text, or cannot be written as UTF-8."""
    if not isinstance(text, str):
        raise ParseError(f"SQL is given as a str, not as {_kind(text)}; decode bytes, write statements out")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        line = text.count("\n", 0, error.start) + 1
        column = error.start - (text.rfind("\n", 0, error.start) + 1) + 1
        raise ParseError(
            f"the SQL holds {text[error.start]!a}, half of a character, which no UTF-8 text can; replace it "
            f"(line {line}, column {column})"
        ) from error
    return text


def whole_number(value: Any, name: str) -> int:
    """A number from 0 to `MOST` that is given as `name`; TypeMismatchError for anything else."""
    number = value if isinstance(value, int) else getattr(value, "item", lambda: None)()
    if isinstance(number, bool) or not isinstance(number, int) or not 0 <= number <= MOST:
        shown = f"{value}" if isinstance(value, int | float) else f"{_kind(value)}"
        raise TypeMismatchError(f"{name} is {shown}, and must be a whole number from 0 to 2^62 ({MOST})")
    return number


def moment(value: Any, name: str) -> int:
    """Microseconds since 1970 of a datetime or an ISO text of one, in UTC if it names no zone; TypeMismatchError."""
    try:
        found = datetime.fromisoformat(value) if isinstance(value, str) else value
    except ValueError as error:
        raise TypeMismatchError(
            f"{name} is {value!r}, and must be a datetime or a text such as '2024-02-29T12:30:00+00:00'"
        ) from error
    if not isinstance(found, datetime):
        raise TypeMismatchError(f"{name} is {_kind(value)}, and must be a datetime or an ISO text of one")
    zoned = found if found.tzinfo is not None else found.replace(tzinfo=UTC)
    return (zoned - _EPOCH) // timedelta(microseconds=1)


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def at_least_one(value: Any, name: str) -> int:
    """A number from 1 to `MOST` that is given as `name`; TypeMismatchError for anything else."""
    number = whole_number(value, name)
    if number == 0:
        raise TypeMismatchError(f"{name} is 0, and must be at least 1")
    return number


def duration(value: Any, name: str) -> float:
    """A positive number of seconds that is given as `name`; TypeMismatchError for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < float("inf"):
        raise TypeMismatchError(f"{name} is {value!r}, and must be a positive number of seconds")
    return float(value)


def period(value: Any, name: str) -> float:
    """A positive number of seconds, or a text such as '1s' or '7 days', that is given as `name`; TypeMismatchError."""
    if not isinstance(value, str):
        return duration(value, name)
    try:
        found = interval(value)
    except ValueError as error:
        raise TypeMismatchError(
            f"{name} is {value!r}, and must be a length of time such as '1s' or '7 days'"
        ) from error
    if found.months or (micros := found.days * DAY + found.micros) <= 0:
        raise TypeMismatchError(f"{name} is {value!r}, and must be over zero, in weeks, days, hours and less")
    return micros / 1e6


def history_of(value: Any) -> int | timedelta:
    """How much of the past is to be kept: a number of times, or a length of time; TypeMismatchError."""
    if isinstance(value, timedelta):
        value = value.total_seconds()
    elif not isinstance(value, str):
        return whole_number(value, "history")
    return timedelta(seconds=period(value, "history"))


def zone_named(value: Any) -> str:
    """The time zone that is called so, in any case; TypeMismatchError for no text, BindError if there is none."""
    if not isinstance(value, str):
        raise TypeMismatchError(f"a time zone is {value!r}, and must be a text such as 'Europe/Zurich'")
    try:
        return zone_called(value)
    except ValueError as error:
        raise BindError(f"cannot set the time zone: {error}") from error


def one_of(value: Any, known: Sequence[str], name: str) -> None:
    """TypeMismatchError unless what is given as `name` is one of these."""
    if value not in known:
        raise TypeMismatchError(f"{name} is {value!r}, and must be one of {', '.join(map(repr, known))}")


def rows_by_table(changes: Any) -> Mapping[str, Tabular]:
    """What `apply` takes; TypeMismatchError if it is no mapping."""
    if not isinstance(changes, Mapping):
        raise TypeMismatchError(
            f"apply takes a dict of rows by the name of their table, not {_kind(changes)}; write {{'orders': rows}}"
        )
    return changes


def batch_of(batch: Any) -> tuple[str, int]:
    """A source's name and the number of its batch, as they are given; TypeMismatchError for anything else."""
    if not isinstance(batch, tuple | list) or len(batch) != 2 or not isinstance(batch[0], str):
        raise TypeMismatchError(f"batch is {batch!r}, and must be a source's name and a number, as ('orders', 4711)")
    return batch[0], whole_number(batch[1], "the number of a batch")


def view_names(views: Any) -> list[str]:
    """Names of views; BindError for what is no collection of them, such as one name."""
    if isinstance(views, str | bytes) or not isinstance(views, Iterable):
        raise BindError(f"views are given as a list of names, not as {_kind(views)}; write ['revenue']")
    return list(views)


def callback(given: Any, name: str) -> None:
    """TypeMismatchError if what is given as `name` is neither None nor callable."""
    if given is not None and not callable(given):
        raise TypeMismatchError(f"{name} is {_kind(given)}, and must be a function, or left out")


def _kind(value: object) -> str:
    return "None" if value is None else f"a {type(value).__name__}"
