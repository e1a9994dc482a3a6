"""Macros: names for expressions and queries with parameters, which stand for their texts wherever they are called."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from ivm.catalog.names import MAIN, full_name, key, quoted


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter, and the text of its default; None: an argument must be given. `type`: what arguments are cast to, as
    it is written; "" if they stand as they are.
    """

    name: str
    default: str | None = None
    type: str = ""

    def cast(self, value: str) -> str:
        """What stands for an argument."""
        return f"CAST({value} AS {self.type})" if self.type else value


class RelationParameter(Parameter):
    """One whose argument is what stands in FROM: no macro that somebody creates has such."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Overload:
    """One form of a macro: `body`, a text in DuckDB's dialect, in which its parameters are names."""

    parameters: tuple[Parameter, ...]
    body: str


@dataclass(frozen=True, slots=True)
class Macro:
    """A macro: an expression, or a query that stands in FROM if `is_table`; these two have name spaces of their own.

    `temporary`: it ends with the connection, and is written down nowhere. `schema`: that which it is in, "" for main.
    """

    name: str
    is_table: bool
    overloads: tuple[Overload, ...]
    temporary: bool = False
    schema: str = ""

    @property
    def key(self) -> tuple[bool, str]:
        """What it is found by."""
        return self.is_table, key(full_name(self.schema or MAIN, self.name))

    @property
    def forms(self) -> str:
        """How it can be called, for messages."""
        return " or ".join(f"{self.name}({_declared(each.parameters, str)})" for each in self.overloads)

    def definition(self, *, replaces: bool = False) -> str:
        """CREATE MACRO, or CREATE OR REPLACE MACRO, of its schema, without a semicolon."""
        kind, word = "TABLE " if self.is_table else "", "OR REPLACE " if replaces else ""
        forms = (f"({_declared(each.parameters, quoted)}) AS {kind}({each.body})" for each in self.overloads)
        place = (
            f"TEMP MACRO {quoted(self.name)}"
            if self.temporary
            else f"MACRO {quoted(self.schema or MAIN)}.{quoted(self.name)}"
        )
        return f"CREATE {word}{place}{', '.join(forms)}"


Macros = Mapping[tuple[bool, str], Macro]
"""Macros by their keys."""


def _declared(parameters: tuple[Parameter, ...], written: Callable[[str], str]) -> str:
    """The parameters with their types and defaults, their names as they are to be `written`."""

    def declared(each: Parameter) -> str:
        default = "" if each.default is None else f" := {each.default}"
        return f"{written(each.name)}{' ' if each.type else ''}{each.type}{default}"

    return ", ".join(map(declared, parameters))
