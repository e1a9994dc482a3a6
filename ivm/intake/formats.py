"""In which formats rows and changes come in: as rows, as a change feed, as envelopes of Debezium's, as JSON."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, NamedTuple, get_args

import pyarrow as pa

from ivm.catalog.errors import ConstraintError, Error, TypeMismatchError
from ivm.engine.transaction import Change
from ivm.intake.change_feed import columns_with_diffs, rows_with_diffs, with_diffs
from ivm.intake.debezium import read_envelopes
from ivm.intake.documents import What
from ivm.intake.incoming import Incoming
from ivm.intake.json_rows import complete, json_rows
from ivm.trace.rows.table_store import Mode

Format = Literal["rows", "changes", "debezium", "json"]
FORMATS: tuple[Format, ...] = get_args(Format)


class Taken(NamedTuple):
    """A change of a table, and whether all that the table holds is to go before."""

    change: Change
    empties: bool = False


def taken(incoming: Incoming, name: str, data: Any, format: Format, mode: Mode) -> Taken:
    """Data of a format for the table of a name, checked.

    Raises what `Incoming.change` raises, and TypeMismatchError for what is not of that format, with its position.
    """
    return _READERS[format](incoming, name, data, mode)


def _rows(incoming: Incoming, name: str, data: Any, mode: Mode) -> Taken:
    return Taken(incoming.change(name, data, mode))


def _changes(incoming: Incoming, name: str, data: Any, mode: Mode) -> Taken:
    table = incoming.intake(name)[0]
    if isinstance(data, Mapping):
        return Taken(incoming.change(name, columns_with_diffs(data, table), mode))
    if isinstance(data, Sequence) and not hasattr(data, "__arrow_c_stream__"):
        return Taken(incoming.change(name, rows_with_diffs(data, table), mode))
    return Taken(incoming.change(name, with_diffs(pa.table(data), table), mode))


def _json(incoming: Incoming, name: str, data: Any, mode: Mode) -> Taken:
    table = incoming.intake(name)[0]
    return Taken(incoming.change(name, complete(json_rows(data, table), table), mode))


def _debezium(incoming: Incoming, name: str, data: Any, mode: Mode) -> Taken:
    table = incoming.intake(name)[0]
    read = read_envelopes(data, table, mode)
    rows = read.rows

    def refusal(few: Sequence[Mapping[str, Any]]) -> Error | None:
        try:
            incoming.change(name, complete(few, table), mode)
        except (TypeMismatchError, ConstraintError) as error:
            return error
        return None

    try:
        return Taken(incoming.change(name, complete(rows, table), mode), read.empties)
    except (TypeMismatchError, ConstraintError) as error:
        at = _first_refused(rows, refusal)
        told = refusal(rows[at : at + 1]) or error
        what = What(table.name, "envelope")
        words = str(told).removeprefix(str(what.refusal("")))
        raise type(told)(str(what.at(read.envelopes[at], f"does not fit: {words}"))) from error


def _first_refused(rows: Sequence[Any], refusal: Callable[[Sequence[Any]], Error | None]) -> int:
    """The place of the first row without which those up to it are not refused; some are. Cost: a look at all, twice."""
    good, bad = 0, len(rows)
    while bad - good > 1:
        middle = (good + bad) // 2
        if refusal(rows[good:middle]) is None:
            good = middle
        else:
            bad = middle
    return good


_READERS: Mapping[Format, Callable[[Incoming, str, Any, Mode], Taken]] = {
    "rows": _rows,
    "changes": _changes,
    "debezium": _debezium,
    "json": _json,
}
