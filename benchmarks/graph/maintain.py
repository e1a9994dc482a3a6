"""Keep the view of a program up to date over a stream, and hold it against what its tables give."""

from __future__ import annotations

from dataclasses import dataclass
from time import perf_counter

import ivm
from ivm.benchmarks.engine import Commits, connect
from ivm.benchmarks.graph.programs import Program, ddl
from ivm.benchmarks.graph.recompute import compare
from ivm.benchmarks.graph.stream import Stream
from ivm.benchmarks.statistics import percentiles
from ivm.progress import Tell


@dataclass(frozen=True, slots=True)
class Report:
    """What became of a program: how long its view took to fill, its rows and state at the end, and its commits.

    `millis`: of commits, p50, p90, p99 and max; none if there was none. `verified`: how often it was equal;
    `again_seconds`: what DuckDB took for the last time.
    """

    program: str
    base_rows: int
    fill_seconds: float
    rows: int
    state_bytes: int
    commits: int
    changes: int
    millis: dict[str, float]
    verified: int
    again_seconds: float


def run(stream: Stream, program: Program, batch: int, every: int, tell: Tell) -> Report:
    """Load the graph, create the view, commit all changes, `batch` rows at a time; compare at the end, and on the way
    after `every` commits (0: not).

    Raises ivm.VerificationError, with the number of the commit, as soon as the view differs.
    """
    db = connect()
    base_rows = load(db, stream, program.reads)
    fill = install(db, program, tell)
    changes = stream.changes(program.reads)
    commits, done, again = Commits(), 0, 0.0
    for number, tables in enumerate(changes.commits(batch), 1):
        commits.apply(db, tables)
        tell(program.name, min(number * batch, len(changes)), len(changes))
        if every and number % every == 0:
            again, done = _compared(db, program, number), done + 1
    count = len(commits.seconds) + len(commits.compiled)
    if not done or count % every:
        again, done = _compared(db, program, count), done + 1
    rows, state = held(db, [program])
    millis = percentiles([seconds * 1e3 for seconds in commits.measured])
    return Report(program.name, base_rows, fill, rows, state, count, len(changes), millis, done, again)


def load(db: ivm.Database, stream: Stream, tables: tuple[str, ...]) -> int:
    """Create tables and commit what they hold at first; how many rows that is."""
    db.sql(ddl(tables))
    base = stream.base(tables)
    db.apply(base)
    return sum(table.num_rows for table in base.values())


def install(db: ivm.Database, program: Program, tell: Tell) -> float:
    """Create the view of a program; the seconds until it is full."""
    tell(f"creating {program.name}", 0, 0)
    started = perf_counter()
    text = f"CREATE MATERIALIZED VIEW {program.name} AS {program.sql()}"
    db.sql(text, progress=lambda now: tell(f"creating {program.name}", now.rows, now.expected))
    return perf_counter() - started


def held(db: ivm.Database, programs: list[Program]) -> tuple[int, int]:
    """The rows of these views, and the bytes of all state beside the tables'."""
    rows = sum(db.sql(f"SELECT count(*) FROM {program.name}").fetchall()[0][0] for program in programs)
    bytes_ = "SELECT coalesce(sum(bytes), 0)::BIGINT FROM ivm_arrangements WHERE kind NOT IN ('process', 'table')"
    return rows, db.sql(bytes_).fetchall()[0][0]


def _compared(db: ivm.Database, program: Program, commits: int) -> float:
    try:
        return compare(db, program)
    except ivm.VerificationError as error:
        raise ivm.VerificationError(f"after {commits:,} commits: {error}") from None
