"""A graph and its changes as a stream: what the tables hold at first, then one changed row at a step."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from ivm.benchmarks.graph.changes import flips
from ivm.benchmarks.graph.shapes import COLUMNS, Shape
from ivm.benchmarks.graph.tables import made
from ivm.catalog.errors import Error
from ivm.progress import Tell

FORMAT = 1
_MANIFEST = "graph.json"
_STEP = "_step"
_DIFF = "_diff"


class GraphError(Error):
    """A graph cannot be made as asked, or its directory cannot be read."""


@dataclass(frozen=True, slots=True)
class Stream:
    """A directory with a graph and its changes: of each table that changes so many `steps`, in turns."""

    directory: Path
    shape: Shape
    steps: int

    def base(self, tables: Sequence[str]) -> dict[str, pa.Table]:
        """What the tables hold at first."""
        return {name: self._read("base", name) for name in tables}

    def changes(self, tables: Sequence[str]) -> Changes:
        """The changes of these tables, in memory."""
        return Changes({name: self._read("changes", name) for name in tables})

    def _read(self, part: str, table: str) -> pa.Table:
        file = self.directory / part / f"{table}.parquet"
        try:
            return pq.read_table(file)
        except (OSError, pa.ArrowInvalid) as error:
            raise GraphError(f"cannot read {file}: {error}; remove {self.directory} and generate it again") from None


class Changes:
    """Changes of several tables in the order of their steps, to be cut into commits."""

    def __init__(self, tables: dict[str, pa.Table]) -> None:
        self._tables = {name: table.drop_columns([_STEP]) for name, table in tables.items()}
        self._steps = {name: table[_STEP].to_numpy() for name, table in tables.items()}
        self._order = np.sort(np.concatenate([*self._steps.values(), np.empty(0, np.int64)]))

    def __len__(self) -> int:
        return len(self._order)

    def between(self, first: int, end: int) -> dict[str, pa.Table]:
        """The changes number `first` to before `end`, by table, with `_diff`; tables without any are left out."""
        steps = self._order[first:end]
        if not steps.size:
            return {}
        bounds = steps[0], steps[-1] + 1
        found = {}
        for name, table in self._tables.items():
            start, stop = np.searchsorted(self._steps[name], bounds)
            if stop > start:
                found[name] = table.slice(start, stop - start)
        return found

    def commits(self, batch: int) -> Iterator[dict[str, pa.Table]]:
        """All changes, `batch` at a time."""
        for first in range(0, len(self), batch):
            yield self.between(first, first + batch)


def generate(shape: Shape, steps: int, directory: Path, tell: Tell) -> Stream:
    """Make a graph and so many changes of each table that changes, and write them. The same seed makes the same.

    Raises GraphError where a directory is there already, or no graph is like that. Cost: all of it in memory.
    """
    if directory.exists():
        raise GraphError(f"{directory} is there already; remove it, or name another directory")
    tell(f"drawing {shape.name}", 0, 0)
    try:
        tables = made(shape, steps)
    except ValueError as error:
        raise GraphError(f"cannot make {shape.name}: {error}") from None
    for part in ("base", "changes"):
        (directory / part).mkdir(parents=True)
    changing = [name for name, rows in tables.items() if len(rows.there)]
    for number, (name, rows) in enumerate(tables.items()):
        tell("writing tables", number, len(tables))
        there = np.concatenate([np.ones(rows.first, bool), rows.there])
        pq.write_table(_arrow(name, rows.rows[there]), directory / "base" / f"{name}.parquet")
        turn = changing.index(name) if name in changing else 0
        rng = np.random.default_rng((shape.seed, sorted(COLUMNS).index(_alike(name))))
        which, diffs = flips(rows.there, steps if name in changing else 0, rng)
        changed = _arrow(name, rows.rows[rows.first + which])
        order = np.arange(len(which)) * len(changing) + turn
        changed = changed.append_column(_STEP, pa.array(order)).append_column(_DIFF, pa.array(diffs))
        pq.write_table(changed, directory / "changes" / f"{name}.parquet")
    manifest = {"format": FORMAT, "shape": asdict(shape), "steps": steps}
    (directory / _MANIFEST).write_text(json.dumps(manifest) + "\n", encoding="utf-8")
    return Stream(directory, shape, steps)


def open_stream(directory: Path) -> Stream:
    """The stream in a directory. GraphError if it has none of this version, or one that was not written to its end."""
    file = directory / _MANIFEST
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
        if found["format"] != FORMAT:
            raise GraphError(f"{file} is of format {found['format']}, not {FORMAT}; remove {directory}")
        return Stream(directory, Shape(**found["shape"]), found["steps"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise GraphError(f"cannot read {file}: {error}; remove {directory} and generate it again") from None


def ensure(shape: Shape, steps: int, place: Path, tell: Tell) -> Stream:
    """The stream of a graph in the directory of its name in `place`, made first where it is missing or shorter."""
    directory = place / f"{shape.name}-{steps}"
    return open_stream(directory) if directory.exists() else generate(shape, steps, directory, tell)


def _arrow(table: str, rows: np.ndarray) -> pa.Table:
    return pa.table({column: np.ascontiguousarray(rows[:, place]) for place, column in enumerate(COLUMNS[table])})


def _alike(table: str) -> str:
    """Edges with costs come and go as those without do."""
    return "e" if table == "w" else table
