"""What a program gives, computed anew by DuckDB from the tables: by a query of its own, or else round by round."""

from __future__ import annotations

from time import perf_counter

import duckdb
import pyarrow as pa

import ivm
from ivm.benchmarks.graph.programs import Program
from ivm.duck import Use, connection

_SHOWN = 3


def compare(db: ivm.Database, program: Program) -> float:
    """Hold the view of a program against what its tables give; the seconds that DuckDB took for that.

    Raises ivm.VerificationError, with the first rows that differ. Cost: the query, a copy of the tables and the view.
    """
    with connection(Use.OWN) as other:
        for name in program.reads:
            _copy(other, name, db.sql(f"SELECT * FROM {name}").arrow())
        _copy(other, "found", db.sql(f"SELECT * FROM {program.name}").arrow())
        started = perf_counter()
        other.execute(f"CREATE TEMP TABLE wanted AS {program.recomputed() or _by_rounds(other, program)}")
        seconds = perf_counter() - started
        said = [
            f"{len(rows):,} {what}, such as {', '.join(map(str, rows[:_SHOWN]))}"
            for what, one, less in (("too many", "found", "wanted"), ("missing", "wanted", "found"))
            if (rows := other.execute(f"FROM {one} EXCEPT ALL FROM {less}").fetchall())
        ]
    if said:
        raise ivm.VerificationError(f"the view {program.name} differs from what its tables give: {'; '.join(said)}")
    return seconds


def _by_rounds(other: duckdb.DuckDBPyConnection, program: Program) -> str:
    """Evaluate the bindings in their order, again and again until nothing changes; the query over what they hold then.

    That is the meaning of WITH MUTUALLY RECURSIVE, as slow as it is plain.
    """
    for binding in program.bindings:
        other.execute(f"CREATE TEMP TABLE {binding.name} ({', '.join(binding.columns)})")
    while sum(_differ(other, binding.name, binding.query) for binding in program.bindings):
        pass
    return program.body


def _differ(other: duckdb.DuckDBPyConnection, name: str, query: str) -> bool:
    """Put what the query gives now into the table of its binding; whether that is something else."""
    other.execute(f"CREATE TEMP TABLE now AS FROM {name} LIMIT 0; INSERT INTO now {query}")
    sides = (("now", name), (name, "now"))
    differs = any(other.execute(f"FROM {one} EXCEPT ALL FROM {less} LIMIT 1").fetchall() for one, less in sides)
    other.execute(f"DROP TABLE {name}; ALTER TABLE now RENAME TO {name}")
    return differs


def _copy(other: duckdb.DuckDBPyConnection, name: str, rows: pa.Table) -> None:
    """Put rows into a table of DuckDB's own, as somebody has them who keeps them there."""
    other.register("present", rows)
    other.execute(f"CREATE TEMP TABLE {name} AS FROM present")
    other.unregister("present")
