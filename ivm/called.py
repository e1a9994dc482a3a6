"""Functions of the application's: what they answer, and what of that is remembered.

Cost: what the function takes for a value, and some microseconds around it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any
from uuid import UUID

import pyarrow as pa

from ivm.catalog.catalog import Catalog
from ivm.catalog.errors import BindError, MissingFunctionError, NumericError
from ivm.catalog.function import PythonFunction, Signature, named_in
from ivm.catalog.names import key, listed
from ivm.catalog.types import Kind, SqlType
from ivm.trace.answers import Answer, Answers, key_of
from ivm.trace.columns.arrow import arrow_type
from ivm.trace.columns.python_values import array_of, values_of
from ivm.trace.state import WeakList

Row = tuple[Any, ...]
"""The arguments of a call."""
Remembered = Mapping[str, Mapping[Hashable, Any]]
"""By the keys of functions' names, what they answered, by the arguments."""
_SHOWN = 200
_DOUBTED = (float, bytes, bytearray)


class Functions:
    """The functions of a database, by the keys of their names, and what all views together remember of them.

    `declared` is replaced by none other: catalogs share it. `within`: the threads in which one is just being called,
    which may not use the database.
    """

    def __init__(self, catalog: Catalog | None = None) -> None:
        self._catalog = catalog or Catalog()
        self.refusal = ""
        """Why there can be none; empty where there can."""
        self.declared: dict[str, PythonFunction] = {}
        self.within: set[int] = set()
        self._states: dict[str, WeakList[Answers]] = {}

    def callers(self, name: str) -> list[str]:
        """The views that call the function of a key."""
        return [view.name for view in self._catalog.views if any(each.key == name for each in view.calls)]

    def expect(self, signature: Signature, caller: str) -> None:
        """Have what a view calls that was there before. Where the application has not given it yet, it is declared,
        and `asked` fails.

        BindError if another one was given, or where it is not known how it was declared.
        """
        there = self.declared.get(signature.key)
        if there is not None and there.function is not None:
            if signature.gives is not None:
                check_same(there, signature, [caller])
        elif signature.gives is not None:
            name, takes, gives, takes_null = signature.name, signature.takes, signature.gives, signature.takes_null
            self.declared[signature.key] = PythonFunction(name, takes, gives, None, takes_null=takes_null)
        elif there is None:
            raise BindError(
                f"{_called_by(signature.name, [caller])}, which the application has written and no "
                "log has: open the database with ivm.connect(.., functions={..})"
            )

    def remembering(self, name: str, takes: Sequence[SqlType], gives: SqlType) -> Answers:
        """New state for what a function answers, from which others of its calls learn."""
        made = Answers(takes, gives)
        self._states.setdefault(name, WeakList()).hold(made)
        return made

    def is_only(self, name: str, state: Answers) -> bool:
        """Whether nothing else remembers what a function answered."""
        return all(each is state for each in self._states[name].each())

    def find(self, name: str, arguments: Hashable) -> Answer | None:
        """What a function answered, as far as the arguments are there in some view."""
        states = self._states.get(name)
        for state in () if states is None else states.each():
            found = state.find(arguments)
            if found is not None:
                return found
        return None

    def remembered(self) -> Remembered:
        """All that is remembered now. Cost: copies references to it."""
        return {
            name: {arguments: found.value for state in states.each() for arguments, found in [*state.known.items()]}
            for name, states in self._states.items()
        }

    def asked(self, name: str, rows: Sequence[Row]) -> list[Any]:
        """What a function answers for each row of arguments, nothing being remembered.

        NumericError, which shows the arguments, where it raises or gives no value of its type. MissingFunctionError as
        long as it is not given.
        """
        if not rows:
            return []
        function = self.declared[name]
        if not function.takes_null:
            there = [place for place, row in enumerate(rows) if None not in row]
            if len(there) < len(rows):
                found: list[Any] = [None] * len(rows)
                some = self.asked(name, [rows[place] for place in there])
                for place, value in zip(there, some, strict=True):
                    found[place] = value
                return found
        if function.function is None:
            raise _missing(function, rows[0], self.callers(name))
        with self.calling():
            return _arrow(function, rows) if function.is_arrow else _one_by_one(function, rows)

    @contextmanager
    def calling(self) -> Iterator[None]:
        """Within, this thread calls what the application has written, and may not use the database."""
        me = threading.get_ident()
        self.within.add(me)
        try:
            yield
        finally:
            self.within.discard(me)

    def named_in(self, *texts: str) -> list[PythonFunction]:
        """The functions whose names stand somewhere in the texts."""
        return list(dict.fromkeys(function for text in texts for function in named_in(self.declared, text)))

    def answering(self, function: PythonFunction, known: Remembered | None) -> Callable[[Sequence[Row]], list[Any]]:
        """What answers rows of arguments by what is `known`, else remembered now, else by what the function says."""
        name = key(function.name)
        if function.side_effects:
            return lambda rows: self.asked(name, rows)

        def answered(rows: Sequence[Row]) -> list[Any]:
            places = [key_of(row) for row in rows]
            found: dict[Hashable, Any] = {}
            new: dict[Hashable, Row] = {}
            for place, row in zip(places, rows, strict=True):
                if place in found or place in new:
                    continue
                if known is not None and place in known.get(name, ()):
                    found[place] = known[name][place]
                elif known is None and (answer := self.find(name, place)) is not None:
                    found[place] = answer.value
                else:
                    new[place] = row
            found.update(zip(new, self.asked(name, [*new.values()]), strict=True))
            return [found[place] for place in places]

        return answered


def check_same(function: PythonFunction, wanted: Signature, callers: Sequence[str]) -> None:
    """BindError if a function is declared in another way than views that call it know it by."""
    given = function.signature
    if (given.takes, given.gives, given.takes_null) != (wanted.takes, wanted.gives, wanted.takes_null):
        raise BindError(
            f"cannot create function {function.name!r} as {given.created}: {_called_by(wanted.name, callers)} as it "
            f"was declared before; give it so, {wanted.created}, or open the database without it and drop what calls it"
        )


def _called_by(name: str, callers: Sequence[str]) -> str:
    return f"{listed('view', callers)} call{'s' if len(callers) == 1 else ''} {name}()"


def _missing(function: PythonFunction, row: Row, callers: Sequence[str]) -> MissingFunctionError:
    by = f"{_called_by(function.name, callers)}, and " if callers else ""
    return MissingFunctionError(
        f"cannot compute {_shown(function, row)}: {by}the function was not given since the database was opened; give "
        f"it, {function.signature.created}, and go on"
    )


def _one_by_one(function: PythonFunction, rows: Sequence[Row]) -> list[Any]:
    """What a function of values gives."""
    found, call = [], function.function
    assert call is not None, "it was given"
    for row in rows:
        try:
            value = call(*row)
        except Exception as error:
            if not function.null_for_errors:
                raise _raised(function, row, error) from error
            value = None
        found.append(value)
        if value is None and not (function.takes_null or function.null_for_errors):
            raise NumericError(
                f"cannot compute {_shown(function, row)}: the function gave None; return a value, or create it with "
                'null_handling="special"'
            )
    return _values(function, rows, found)


def _arrow(function: PythonFunction, rows: Sequence[Row]) -> list[Any]:
    """What a function of Arrow arrays gives."""
    columns = list(zip(*rows, strict=True))
    takes, call = function.takes, function.function
    assert call is not None, "it was given"
    arrays = [
        pa.array(column) if takes is None else array_of(column, takes[place]) for place, column in enumerate(columns)
    ]
    try:
        found = call(*arrays)
    except Exception as error:
        if function.null_for_errors and len(rows) == 1:
            return [None]
        if function.null_for_errors:  # each for itself
            return [value for row in rows for value in _arrow(function, [row])]
        raise _raised(function, rows[0], error, len(rows)) from error
    if not isinstance(found, pa.Array | pa.ChunkedArray) or len(found) != len(rows):
        what = f"{len(found)} values" if isinstance(found, pa.Array | pa.ChunkedArray) else f"a {_kind(found)}"
        raise NumericError(
            f"cannot compute {_shown(function, rows[0])}: the function gave {what} for {len(rows)} rows; return an "
            "Arrow array with a value for each"
        )
    if found.null_count and not (function.takes_null or function.null_for_errors):
        raise NumericError(
            f"cannot compute {_shown(function, rows[0])}: the function gave NULL; return values, or create it with "
            'null_handling="special"'
        )
    if found.type != arrow_type(function.gives):
        try:
            found = found.cast(arrow_type(function.gives))
        except (pa.ArrowException, NotImplementedError):
            return _values(function, rows, found.to_pylist())
    return _given(function, found)


def _values(function: PythonFunction, rows: Sequence[Row], found: Sequence[Any]) -> list[Any]:
    """The values as those of the type of the function; NumericError, with the arguments, for the first that is none."""
    if function.gives.is_integer or function.gives.kind is Kind.VARCHAR:
        for row, value in zip(rows, found, strict=True):
            if isinstance(value, _DOUBTED) and not _may_be(value, function.gives):
                raise _no_value(function, row, value)
    try:
        if function.gives.kind is Kind.UUID:
            found = [None if value is None else str(UUID(str(value))) for value in found]
        return _given(function, array_of(found, function.gives))
    except (pa.ArrowException, ValueError, TypeError, OverflowError):
        if len(rows) == 1:
            raise _no_value(function, rows[0], found[0]) from None
    return [given for row, value in zip(rows, found, strict=True) for given in _values(function, [row], [value])]


def _may_be(value: Any, gives: SqlType) -> bool:
    """Whether Arrow does not take a value for another, as it cuts off decimals, and reads bytes as text."""
    return value.is_integer() if gives.is_integer and isinstance(value, float) else gives.kind is not Kind.VARCHAR


def _given(function: PythonFunction, found: pa.Array | pa.ChunkedArray) -> list[Any]:
    return values_of(found, function.gives, f"the result of {function.name}()")


def _no_value(function: PythonFunction, row: Row, value: Any) -> NumericError:
    return NumericError(
        f"cannot compute {_shown(function, row)}: the function gave {_repr(value):.{_SHOWN}}, a {_kind(value)}, which "
        f"is no {function.gives}; return a value of that type, or create the function with another return_type"
    )


def _raised(function: PythonFunction, row: Row, error: Exception, rows: int = 1) -> NumericError:
    among = "" if rows == 1 else f" and {rows - 1} more at once"
    return NumericError(
        f"cannot compute {_shown(function, row)}{among}: {type(error).__name__}: {_repr(error, str)}; correct the "
        'values or the function, or create it with exception_handling="return_null"'
    )


def _shown(function: PythonFunction, row: Row) -> str:
    shown = ", ".join("NULL" if each is None else _repr(each) for each in row)
    return f"{function.name}({shown if len(shown) <= _SHOWN else f'{shown[:_SHOWN]}...'})"


def _repr(value: Any, written: Callable[[Any], str] = repr) -> str:
    """How Python writes a value of the application's, which may raise whatever it likes."""
    try:
        return written(value)
    except Exception as error:  # noqa: BLE001  whatever it is
        return f"(what raises {_kind(error)} when it is written)"


def _kind(value: Any) -> str:
    return type(value).__name__
