"""The 22 TPC-H queries: their official texts with the validation parameters, one file each, in DuckDB's dialect."""

from __future__ import annotations

import re
from functools import cache
from importlib import resources

from ivm.tpch.schema import relations

NAMES = tuple(f"q{number}" for number in range(1, 23))


@cache
def text(name: str) -> str:
    """The SELECT text of query `name` ('q1' .. 'q22'), without semicolon or leading comment; KeyError if unknown."""
    if name not in NAMES:
        raise KeyError(f"there is no TPC-H query {name!r}; they are q1 .. q22")
    file = resources.files("ivm.tpch.queries").joinpath(f"q{int(name[1:]):02}.sql")
    lines = file.read_text(encoding="utf-8").splitlines()
    return "\n".join(line for line in lines if not line.startswith("--")).strip().rstrip(";")


@cache
def title(name: str) -> str:
    """What query `name` is called in the specification, with the parameters of its text."""
    file = resources.files("ivm.tpch.queries").joinpath(f"q{int(name[1:]):02}.sql")
    return file.read_text(encoding="utf-8").splitlines()[0].removeprefix("-- ")


def view_sql(name: str) -> str:
    """The statement that installs query `name` as a maintained view of that name."""
    return f"CREATE MATERIALIZED VIEW {name} AS {text(name)}"


@cache
def reads(name: str) -> tuple[str, ...]:
    """The relations that query `name` reads, in the order of the schema: every relation whose name occurs in it."""
    words = set(re.findall(r"\w+", re.sub(r"'[^']*'", "", text(name))))
    return tuple(relation for relation in relations() if relation in words)


def select(views: str) -> tuple[str, ...]:
    """The queries that 'all', or names or numbers such as 'q1,3,q14', ask for; ValueError naming what is none."""
    if views.strip() == "all":
        return NAMES
    wanted = [part.strip().lower() for part in views.split(",") if part.strip()]
    names = [part if part.startswith("q") else f"q{part}" for part in wanted]
    unknown = [part for part, name in zip(wanted, names, strict=True) if name not in NAMES]
    if unknown or not names:
        raise ValueError(f"{', '.join(unknown) or 'nothing'} is not a TPC-H query; use 'all' or names such as q1,q3")
    return tuple(dict.fromkeys(names))
