"""Scripts as text, so that one that failed once stays with us.

    -- place disk
    CREATE TABLE t1 (k INTEGER PRIMARY KEY, i1 INTEGER);
    CREATE MATERIALIZED VIEW v2 AS SELECT ..;
    INSERT INTO t1 VALUES (1, 2);
    -- reopen
    ALTER TABLE t1 RENAME i1 TO x3;
    -- duckdb
    CREATE OR REPLACE VIEW v2 AS ..;

A statement behind `-- duckdb` is for DuckDB alone: whose views have to be told of new names. `-- reopen` closes the
database and opens it again, `-- place` says where it is: `memory`, `disk`, or over so many shards.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

REOPEN, DUCKDB = "-- reopen", "-- duckdb"


@dataclass(frozen=True, slots=True)
class Step:
    """A statement, or `REOPEN`; `duckdb`: for DuckDB alone."""

    text: str
    duckdb: bool = False


@dataclass(frozen=True, slots=True)
class Script:
    """The steps, and where the engine's database is: "memory", "disk" or a number of shards."""

    steps: tuple[Step, ...]
    place: str = "memory"


def written(script: Script, comment: str = "") -> str:
    """The script as text."""
    lines = [f"-- {line}".rstrip() for line in comment.splitlines()]
    if script.place != "memory":
        lines.append(f"-- place {script.place}")
    for step in script.steps:
        lines += [DUCKDB] if step.duckdb else []
        lines.append(step.text if step.text == REOPEN else f"{step.text};")
    return "\n".join(lines) + "\n"


_PARTS = re.compile(r"^-- (place \w+|reopen|duckdb)$|^([A-Z](?:'[^']*'|[^;'])*);$|^--[^\n]*$", re.MULTILINE)


def parsed(text: str) -> Script:
    """The script that `written` wrote."""
    steps, place, duckdb = list[Step](), "memory", False
    for found in _PARTS.finditer(text):
        mark, statement = found.groups()
        if mark == "reopen":
            steps.append(Step(REOPEN))
        elif mark == "duckdb":
            duckdb = True
        elif mark:
            place = mark.removeprefix("place ")
        elif statement:
            steps.append(Step(statement, duckdb))
            duckdb = False
    return Script(tuple(steps), place)
