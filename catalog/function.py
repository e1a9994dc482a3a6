"""Functions that an application has written in Python, as they are declared: what they take, and what they give."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ivm.catalog.names import key
from ivm.catalog.types import SqlType


@dataclass(frozen=True, slots=True)
class Signature:
    """How a function is declared, as it is kept beside the views that call it: see `PythonFunction`.

    `gives` is None where only the name is known, as of views that earlier releases wrote down.
    """

    name: str
    takes: tuple[SqlType, ...] | None = None
    gives: SqlType | None = None
    takes_null: bool = False

    @property
    def key(self) -> str:
        """By what it is found."""
        return key(self.name)

    @property
    def written(self) -> str:
        """How its declaration is written."""
        taken = "..." if self.takes is None else ", ".join(map(str, self.takes))
        return f"{self.name}({taken}) -> {self.gives}"

    @property
    def created(self) -> str:
        """How the application gives it."""
        takes = "None" if self.takes is None else f"[{', '.join(repr(str(each)) for each in self.takes)}]"
        more = ', null_handling="special"' if self.takes_null else ""
        return f"db.create_function({self.name!r}, .., {takes}, {str(self.gives)!r}{more})"


@dataclass(frozen=True, slots=True, eq=False)
class PythonFunction:
    """A function of values, or, if it `is_arrow`, of Arrow arrays of them.

    Attributes:
        name: what SQL calls it.
        takes: the types of its arguments; None for any number of any types.
        gives: the type of its result.
        function: what is called; None as long as the application has not given it.
        side_effects: it does something beside its value, or gives another one each time: no view may hold it.
        takes_null: it is called where an argument is NULL, and may give None. Else it is NULL where an argument is.
        null_for_errors: NULL is its value where it raises.
    """

    name: str
    takes: tuple[SqlType, ...] | None
    gives: SqlType
    function: Callable[..., Any] | None
    is_arrow: bool = False
    side_effects: bool = False
    takes_null: bool = False
    null_for_errors: bool = False

    @property
    def signature(self) -> Signature:
        """How it is declared."""
        return Signature(self.name, self.takes, self.gives, self.takes_null)

    @property
    def written(self) -> str:
        """How its declaration is written."""
        return self.signature.written


PythonFunctions = Mapping[str, PythonFunction]
"""Functions by the keys of their names."""


def named_in(functions: PythonFunctions, text: str) -> list[PythonFunction]:
    """The functions whose names stand somewhere in a text."""
    if not functions:
        return []
    folded = key(text)
    return [function for name, function in functions.items() if name in folded]
