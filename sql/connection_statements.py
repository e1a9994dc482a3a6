"""Statements about the connection that gives them, as those of `ivm.sql.statements`."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Set:
    """SET, RESET and USE: for this connection a setting has this value; None: the one that it had at first."""

    name: str
    value: str | None


@dataclass(frozen=True, slots=True)
class SetVariable:
    """SET VARIABLE: getvariable(name) is the value of the expression `text`; None: it is NULL again."""

    name: str
    text: str | None


@dataclass(frozen=True, slots=True)
class Idle:
    """What asks for nothing that is not done anyhow, such as VACUUM; of the table or view called `name`, if it is not
    empty.
    """

    name: str = ""


@dataclass(frozen=True, slots=True)
class Load:
    """LOAD or INSTALL of an extension of DuckDB's; `text` is the statement."""

    name: str
    text: str


@dataclass(frozen=True, slots=True)
class Prepare:
    """PREPARE: `name` stands for the statement `text`, which has parameters."""

    name: str
    text: str


@dataclass(frozen=True, slots=True)
class Execute:
    """EXECUTE: carry out what is called `name`, with the texts of values by position or by name."""

    name: str
    values: tuple[str, ...] = ()
    named: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Deallocate:
    """DEALLOCATE: forget what PREPARE called `name`."""

    name: str


@dataclass(frozen=True, slots=True)
class Begin:
    """BEGIN, START TRANSACTION: what follows takes effect together; nothing is changed if it is `read_only`."""

    read_only: bool = False


@dataclass(frozen=True, slots=True)
class Commit:
    """COMMIT, END: what came since BEGIN takes effect."""


@dataclass(frozen=True, slots=True)
class Rollback:
    """ROLLBACK, ABORT: what came since BEGIN has never been."""
