"""Run a case: on the engine with the views installed first and installed late, and on DuckDB at every logical time."""

from __future__ import annotations

import traceback
from collections import Counter
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import count
from typing import Any

import duckdb
import pyarrow as pa

import ivm
from ivm.cluster.driver.database import ShardedCore
from ivm.cluster.driver.transport import InProcess
from ivm.engine.engine import Engine
from ivm.session.database import core_of
from tests.random.bags import Bag, bag_of, changed, same
from tests.random.by_value import differences
from tests.random.case import Case
from tests.random.changes import Batch, State, after
from tests.random.layouts import laid_out
from tests.random.names import quoted
from tests.random.places import Place
from tests.random.tables import Table, has_collations
from tests.random.ways import Ways


@dataclass(frozen=True, slots=True)
class Failure:
    """A difference ("rows", "types") or an error that is none of the engine's own ("crash")."""

    view: str
    kind: str
    message: str


@dataclass(slots=True)
class Outcome:
    """What came of a case. `refused` are the engine's messages, `skipped` says why a view was not run to the end."""

    failure: Failure | None = None
    refused: list[str] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    filled: set[str] = field(default_factory=set)
    compared: int = 0
    texts: dict[str, str] = field(default_factory=dict)


class _Stop(Exception):
    """The case ends here."""


def run(case: Case, compile: Any = "off", shards: int | None = None) -> Outcome:
    """Run a case; views that DuckDB or the engine refuses are left out of it. `shards`: spread over so many."""
    outcome = Outcome()
    try:
        views = _accepted(case, outcome)
        if views:
            ways = Ways(case.ways)
            connect = partial(ivm.connect, compile=compile, shards=shards, timezone=case.zone)
            other = partial(connect, sharing=ways.sharing)
            with ways.sized(), nullcontext(Place(other)) if shards else ways.place(other) as place:
                run = _Run(replace(case, views=tuple(views)), ways, outcome, connect(), place)
                try:
                    run.through()
                finally:
                    run.close()
    except _Stop:
        pass
    return outcome


def _with_tables(db: ivm.Database, tables: tuple[Table, ...]) -> ivm.Database:
    for table in tables:
        db.sql(table.ddl())
    return db


def _accepted(case: Case, outcome: Outcome) -> list[tuple[str, str]]:
    db, oracle = _with_tables(ivm.connect(compile="off", timezone=case.zone), case.tables), _Oracle(case)
    views = []
    for name, text in case.views:
        try:
            expected = oracle.define(name, text)
        except duckdb.Error as error:
            outcome.skipped.append(f"DuckDB: {_first_line(error)}")
            continue
        try:
            db.sql(f"CREATE MATERIALIZED VIEW {quoted(name)} AS {text}")
        except ivm.NumericError:
            outcome.skipped.append("raises on empty tables")
            continue
        except ivm.Error as error:
            oracle.forget(name)
            outcome.refused.append(f"{type(error).__name__}: {_first_line(error)}")
            outcome.texts[outcome.refused[-1]] = text
            continue
        except Exception as error:  # noqa: BLE001 - whatever it is, it is a finding
            _crash(outcome, name, error)
        views.append((name, text))
        _compare_types(name, db.view(name).schema, expected, outcome)
    return views


def _compare_types(name: str, found: pa.Schema, expected: pa.Schema, outcome: Outcome) -> None:
    if len(found) != len(expected):
        outcome.failure = Failure(name, "types", f"{len(found)} columns, DuckDB has {len(expected)}")
        raise _Stop
    for mine, theirs in zip(found, expected, strict=True):
        if _unzoned(mine.type) != _unzoned(theirs.type) and not pa.types.is_null(theirs.type):
            outcome.failure = Failure(name, "types", f"column {mine.name} is {mine.type}, DuckDB's is {theirs.type}")
            raise _Stop
        if mine.name != theirs.name:
            outcome.failure = Failure(name, "names", f"a column is called {mine.name}, in DuckDB {theirs.name}")
            raise _Stop


def _unzoned(type_: pa.DataType) -> pa.DataType:
    """The type of moments is the same in any zone."""
    return pa.timestamp("us", "UTC") if pa.types.is_timestamp(type_) and type_.tz else type_


class _Oracle:
    """DuckDB with the views as plain ones."""

    def __init__(self, case: Case) -> None:
        self.tables = {table.name: table for table in case.tables}
        self.connection = duckdb.connect()
        self.connection.execute(f"SET TimeZone = '{case.zone}'")
        for table in case.tables:
            self.connection.execute(
                replace(table, columns=tuple(replace(c, target="") for c in table.columns), keys=0).ddl()
            )
        self.folded = has_collations(case.tables)
        self._loaded: State | None = None
        self._answers: dict[str, Bag] = {}
        self.load({name: [] for name in self.tables})

    def define(self, name: str, text: str) -> pa.Schema:
        self.connection.execute(f"CREATE TEMP VIEW {quoted(name)} AS {text}")
        return self.connection.sql(f"SELECT * FROM {quoted(name)}").to_arrow_table().schema

    def forget(self, name: str) -> None:
        self.connection.execute(f"DROP VIEW {quoted(name)}")

    def load(self, state: State) -> None:
        if state is self._loaded:
            return
        self._loaded, self._answers = state, {}
        for name, rows in state.items():
            self.connection.register("ivm_rows", self.tables[name].arrow(rows))
            self.connection.execute(f"DELETE FROM {quoted(name)}; INSERT INTO {quoted(name)} SELECT * FROM ivm_rows")

    def answer(self, name: str) -> Bag:
        if name not in self._answers:
            answer = self.connection.sql(f"SELECT * FROM {quoted(name)}").to_arrow_table()
            self._answers[name] = bag_of(answer, self.folded)
        return self._answers[name]


class _Run:
    """A case on its way: `early` has the views from the start, `late` from some batch on."""

    def __init__(self, case: Case, ways: Ways, outcome: Outcome, early: ivm.Database, place: Place) -> None:
        self.case, self.ways, self.outcome, self.place = case, ways, outcome, place
        self.oracle = _Oracle(case)
        for name, text in case.views:
            self.oracle.define(name, text)
        self.early = _with_tables(early, case.tables)
        self.late = _with_tables(place.first(), case.tables)

    def close(self) -> None:
        """Let go of what may be in a directory."""
        self.late.close()

    def through(self) -> None:
        """Run it to the end."""
        case, first = self.case, self.case.late
        there = min(first + self.ways.meanwhile, len(case.batches))
        self._install(self.early)
        logs = {name: self.early.subscribe(name, snapshot=True) for name, _ in case.views}
        found: dict[str, Bag] = {
            name: bag_of(self.early.view(name).arrow(), self.oracle.folded) for name, _ in case.views
        }
        for subscription in logs.values():
            subscription.fetch()
        state: State = {table.name: [] for table in case.tables}
        self._check(found, "when installed on empty tables")
        for number, batch in enumerate(case.batches):
            if number == there:
                self._install_late(case.batches[first:there])
                self._check(self._contents(self.late), f"hydrated after batch {number}")
            states = _states(state, batch)
            self._apply_to_both(batch, _raises(self.oracle, states, case), number < first, number >= there)
            changes = {name: _by_time(logs[name].fetch()) for name in logs}
            for at, reached in enumerate(states):
                time = self.early.time - len(states) + 1 + at
                self.oracle.load(reached)
                found = {name: changed(found[name], changes[name].get(time, []), self.oracle.folded) for name in found}
                self._check(found, f"batch {number}, time {at}, by its changes")
            state = states[-1]
            self._check(self._contents(self.early), f"after batch {number}")
            if number >= there:
                self._check(self._contents(self.late), f"after batch {number}, hydrated")
                self._go_on(f"after batch {number}")
        if there == len(case.batches):
            self._install_late(case.batches[first:there])
            self._check(self._contents(self.late), "hydrated at the end")
        self._install_again()
        self._verify()
        self._listen_by_value()

    def _go_on(self, when: str) -> None:
        """What comes in between: somebody else opens the database, or the views are created again."""
        try:
            self.late = self.place.again(self.late)
        except Exception as error:  # noqa: BLE001 - whatever it is, it is a finding
            _crash(self.outcome, self.case.views[-1][0], error)
        self._check(self._contents(self.late), f"{when}, opened again")
        if self.ways.renewed():
            self._install_again()

    def _listen_by_value(self) -> None:
        """Queries that are subscribed to tell what they give; of one view, since each begins and ends views."""
        name = self.case.views[-1][0]
        try:
            wrong = differences(self.early, name, self.case.tables, self.oracle.folded)
        except Exception as error:  # noqa: BLE001 - whatever it is, it is a finding
            _crash(self.outcome, name, error)
        if wrong:
            self.outcome.failure = Failure(name, "rows", f"subscribed to by value: {wrong}")
            raise _Stop

    def _verify(self) -> None:
        """What the engine writes for DuckDB means what the text of the view means."""
        for name, _ in self.case.views:
            try:
                self.early.verify([name])
            except Exception as error:  # noqa: BLE001 - whatever it is, it is a finding
                _crash(self.outcome, name, error)

    def _apply_to_both(self, batch: Batch, raising: bool, bare: bool, there: bool) -> None:
        """Apply a batch; `bare`: the late views come after it, `there`: they are there."""
        raised = self._apply(self.early, batch)
        if bare:
            self._apply(self.late, batch)
        if raised != raising or (there and self._apply(self.late, batch) != raising):
            self.outcome.skipped.append("only DuckDB raises" if raising else "only the engine raises")
            raise _Stop
        if raising:
            self.outcome.skipped.append("both raise")
            raise _Stop

    def _install_late(self, batches: tuple[Batch, ...]) -> None:
        """Install the views late; these batches come meanwhile, the rest of them thereafter."""
        left, pauses, numbers = list(batches), self.ways.pauses(len(batches)), count()

        def progress(_: ivm.Progress) -> None:
            if left and next(numbers) in pauses:
                self._apply(self.late, left.pop(0))

        self._install(self.late, progress)
        for batch in left:
            self._apply(self.late, batch)

    def _install_again(self) -> None:
        """Drop all views in one order, which leaves nothing of them, and create them in another."""
        for name, _ in reversed(self.ways.order(self.case.views)):
            self.late.sql(f"DROP VIEW {quoted(name)}")
        core = core_of(self.late)
        engines = [core.engine] if isinstance(core.engine, Engine) else list[Engine]()
        if isinstance(core, ShardedCore) and isinstance(core.driver.transport, InProcess):
            engines = [each.engine for each in core.driver.transport.residents]
        left = [node for engine in engines for node in engine.renderer.graph.nodes]
        if left:
            self.outcome.failure = Failure(self.case.views[-1][0], "left", f"{len(left)} operators are left")
            raise _Stop
        self._install(self.late)
        self._check(self._contents(self.late), "created again")

    def _install(self, db: ivm.Database, progress: Callable[[ivm.Progress], None] | None = None) -> None:
        for name, text in self.ways.order(self.case.views):
            try:
                db.sql(f"CREATE MATERIALIZED VIEW {quoted(name)} AS {text}", progress=progress)
            except _Stop:
                raise
            except ivm.Error as error:
                self.outcome.skipped.append("only the engine raises")
                raise _Stop from error
            except Exception as error:  # noqa: BLE001 - whatever it is, it is a finding
                _crash(self.outcome, name, error)

    def _apply(self, db: ivm.Database, batch: Batch) -> bool:
        """Apply a batch as one call; whether the engine raised one of its own errors."""
        tables = {}
        for table in self.case.tables:
            changes = [
                (row, db.time + 1 + at, diff)
                for at, time in enumerate(batch)
                for name, row, diff in time
                if name == table.name
            ]
            if changes:
                data = table.arrow([row for row, _, _ in changes])
                if self.ways.seed:
                    data = laid_out(self.ways.rng, data)
                data = data.append_column("_time", pa.array([time for _, time, _ in changes], pa.int64()))
                data = data.append_column("_diff", pa.array([diff for _, _, diff in changes], pa.int64()))
                tables[table.name] = data
        try:
            db.apply(tables)
        except ivm.NumericError:
            return True
        except Exception as error:  # noqa: BLE001 - whatever it is, it is a finding
            _crash(self.outcome, self.case.views[-1][0], error)
        return False

    def _contents(self, db: ivm.Database) -> dict[str, Bag]:
        return {name: bag_of(db.view(name).arrow(), self.oracle.folded) for name, _ in self.case.views}

    def _check(self, found: dict[str, Bag], when: str) -> None:
        for name, bag in found.items():
            expected = self.oracle.answer(name)
            self.outcome.compared += 1
            if expected:
                self.outcome.filled.add(name)
            if not same(bag, expected):
                self.outcome.failure = Failure(
                    name,
                    "rows",
                    f"{when}: only in the view {_some(bag - expected)}; only in DuckDB {_some(expected - bag)}",
                )
                raise _Stop


def _states(state: State, batch: Batch) -> list[State]:
    states = []
    for time in batch:
        state = after(state, time)
        states.append(state)
    return states


def _raises(oracle: _Oracle, states: list[State], case: Case) -> bool:
    """Whether DuckDB raises at one of the times."""
    try:
        for state in states:
            oracle.load(state)
            for name, _ in case.views:
                oracle.answer(name)
    except duckdb.Error:
        return True
    return False


def _by_time(table: pa.Table) -> dict[int, list[dict[str, Any]]]:
    changes: dict[int, list[dict[str, Any]]] = {}
    names = [f"c{i}" for i in range(table.num_columns - 2)]
    for row in table.rename_columns([*names, "_time", "_diff"]).to_pylist():
        changes.setdefault(row["_time"], []).append(row)
    return changes


def _some(bag: Bag) -> str:
    rows = [f"{row}{f' x{count}' if count > 1 else ''}" for row, count in Counter(bag).most_common(4)]
    return ", ".join(rows) or "nothing"


def _crash(outcome: Outcome, view: str, error: Exception) -> None:
    place = traceback.extract_tb(error.__traceback__)[-1]
    said = str(error).splitlines()[0][:300] if str(error) else ""
    message = f"{type(error).__name__}: {said} (in {place.name}, {place.filename.rpartition('/')[2]}:{place.lineno})"
    outcome.failure = Failure(view, f"crash {type(error).__name__}", message)
    raise _Stop from error


def _first_line(error: Exception) -> str:
    return str(error).splitlines()[0]
