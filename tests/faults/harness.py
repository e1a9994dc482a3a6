"""Raises something at each line that a piece of work reaches, and looks what is left.

    python -m tests.faults                                 everything: each scene, each shape of a commit; half an hour
    python -m tests.faults --file ivm/trace/row_store.py   only at the lines of files whose path contains that
    python -m tests.faults --scene joins --shape upsert --every 10 --error MemoryError
    python -X faulthandler -m tests.faults --verbose ...   where it was when the process died

The lines are those of `ivm/trace`, `ivm/operators`, `ivm/dataflow` and of the engine's own files (see `lines`). The
work is done once to find them, then once for each of them, with KeyboardInterrupt and MemoryError in turn raised where
the line begins. Afterwards tables, views and subscribers are as before or as after, as a whole; a commit back and forth
leads to the same again; now and then DuckDB is asked.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import ivm
from ivm.database import core_of
from tests.faults.lines import Place, lines_of, raising
from tests.faults.scenes import VIEWS, Commit, World, commits, grow, grown, move, reads

Errors = tuple[type[BaseException], ...]
ERRORS: Errors = (KeyboardInterrupt, MemoryError)


@dataclass(frozen=True)
class Failure:
    """What was wrong after something was raised."""

    work: str
    place: Place
    error: str
    wrong: str

    def __str__(self) -> str:
        path, line = self.place
        return f"{path}:{line} {self.error} in {self.work}: {self.wrong}"


class Trial:
    """Faults in one shape of a commit over one scene."""

    def __init__(self, scene: str, shape: str, commit: Commit) -> None:
        self.name = f"{scene}, {shape}"
        self._scene = scene
        self._commit = commit
        self._faults = 0
        self._set_up()
        self._before = self._world.views()
        self._go()
        self._after = self._world.views()
        self._world.db.verify()
        self._back()

    def lines(self, part: str) -> list[Place]:
        """The lines that the commit reaches."""
        found = lines_of(self._go, part)
        self._back()
        return found

    def fault(self, place: Place, error: type[BaseException]) -> str:
        """What is wrong after something was raised there; nothing, if it is right."""
        raising(self._go, place, error)
        self._faults += 1
        try:
            wrong = self._wrong()
        except (Exception, KeyboardInterrupt) as found:  # noqa: BLE001  whatever it is, that is what is wrong
            wrong = f"{type(found).__name__}: {found}"[:300]
        if wrong:
            self._set_up()
        return wrong

    def _wrong(self) -> str:
        tables = self._world.tables()
        done = tables == self._commit.after
        if not done and tables != self._world.base:
            return "the tables are as never before"
        wrong = self._as(done)
        if not wrong and done and tables != self._world.base:
            self._back()
            wrong = self._as(False)
        if not wrong:
            self._go()
            wrong = self._as(True) and "going on: " + self._as(True)
        if not wrong:
            self._back()
            wrong = self._as(False) and "going back: " + self._as(False)
        if not wrong and self._faults % 50 == 0:
            self._world.db.verify()
        return wrong

    def _as(self, done: bool) -> str:
        """What is not as it is after the commit, or before it."""
        views = self._world.views()
        expected = self._after if done else self._before
        wrong = [name for name in views if views[name] != expected[name]]
        if wrong:
            return f"wrong {'after' if done else 'before'} the commit: {', '.join(wrong)}"
        told = self._world.wrong_subscribers(views)
        return f"subscribers of {', '.join(told)}" if told else ""

    def _set_up(self) -> None:
        self._world = World(self._scene)

    def _go(self) -> None:
        self._commit.how(self._world.db, self._world.base, self._commit.after)

    def _back(self) -> None:
        if self._commit.after != self._world.base:
            move(self._world.db, self._commit.after, self._world.base)


def commit_faults(
    scene: str, shape: str, *, part: str = "", every: int = 1, start: int = 0, errors: Errors = ERRORS
) -> Iterator[tuple[Place, Failure | None]]:
    """Raise at every so many of the lines of a commit; for each what was wrong.

    With many rows, at one in four of the lines that few rows reach too: they take ten times as long there. Those that
    read what is given, before anything is marked, are the same in all scenes.
    """
    trial = Trial(scene, shape, commits()[shape])
    lines = trial.lines(part)
    if scene != next(iter(VIEWS)):
        marks = next((number for number, (path, _) in enumerate(lines) if path == "ivm/trace/state.py"), 0)
        lines = lines[marks:]
    if shape == "many":
        met = {line for few in ("insert", "mixed") for line in Trial(scene, few, commits()[few]).lines(part)}
        lines = [line for number, line in enumerate(lines) if line not in met or number % 4 == 0]
    for number, place in enumerate(lines[start::every]):
        error = errors[number % len(errors)]
        wrong = trial.fault(place, error)
        yield place, Failure(trial.name, place, error.__name__, wrong) if wrong else None


def read_faults(
    scene: str, kind: str, *, part: str = "", every: int = 1, start: int = 0, errors: Errors = ERRORS
) -> Iterator[tuple[Place, Failure | None]]:
    """Raise at every so many of the lines of what reads or listens: nothing has changed, and it can be done again."""
    commit, world = commits()["mixed"], World(scene)
    before = world.views()
    move(world.db, world.base, commit.after)
    after = world.views()
    move(world.db, commit.after, world.base)
    for number, place in enumerate(lines_of(reads(world)[kind], part)[start::every]):
        error, wrong = errors[number % len(errors)], ""
        move(world.db, world.base, commit.after)  # so that there is something new to be read
        raising(reads(world)[kind], place, error)
        try:
            if world.views() != after or world.wrong_subscribers(after):
                wrong = "something was changed"
            reads(world)[kind]()
            if len(core_listeners(world.db)) != len(world.subscriptions):
                wrong = "somebody is told that nobody knows"
            move(world.db, commit.after, world.base)
            if world.views() != before or world.wrong_subscribers(before):
                wrong = "it does not go on"
        except (Exception, KeyboardInterrupt) as found:  # noqa: BLE001  whatever it is, that is what is wrong
            wrong = f"{type(found).__name__}: {found}"[:300]
        yield place, Failure(f"{scene}, {kind}", place, error.__name__, wrong) if wrong else None
        if wrong:
            world = World(scene)


def core_listeners(db: ivm.Database) -> list[ivm.Subscription]:
    """Who is told of changes."""
    return core_of(db).engine.listeners.of()


def definition_faults(
    scene: str, kind: str, *, part: str = "", every: int = 1, start: int = 0, errors: Errors = ERRORS
) -> Iterator[tuple[Place, Failure | None]]:
    """Raise in CREATE ("create") or DROP ("drop") of each view of a scene: it is there as a whole, or not at all.

    Each error is raised once at a line, in the first views that reach it: most of the lines are reached by all.
    """
    world = World("sets" if scene != "sets" else "joins")
    met: Counter[Place] = Counter()
    for name, select in VIEWS[scene].items():
        if name == "over_view":
            continue
        create, drop = f"CREATE MATERIALIZED VIEW {name} AS {select}", f"DROP VIEW {name}"
        if kind == "drop":
            world.db.sql(create)
        work = create if kind == "create" else drop
        nodes = _nodes(world, without=name)
        lines = [each for each in _lines_of_definition(world, work, create, drop, part) if met[each] < len(errors)]
        for place in lines[start::every]:
            error = errors[met[place]]
            met[place] += 1
            raising(partial(world.db.sql, work), place, error)
            wrong = _wrong_definition(world, name, create, drop, nodes)
            yield place, Failure(f"{kind} {name}", place, error.__name__, wrong) if wrong else None
            if wrong:
                world = World(world.scene)
            if kind == "drop":
                world.db.sql(create)
        if kind == "drop":
            world.db.sql(drop)


def _lines_of_definition(world: World, work: str, create: str, drop: str, part: str) -> list[Place]:
    found = lines_of(lambda: world.db.sql(work), part)
    world.db.sql(drop if work == create else create)
    return found


def _nodes(world: World, without: str) -> int:
    core = core_of(world.db)
    if without in core.engine.views:
        copy = World(world.scene)
        return len(core_of(copy.db).engine.renderer.graph.nodes)
    return len(core.engine.renderer.graph.nodes)


def _wrong_definition(world: World, name: str, create: str, drop: str, nodes: int) -> str:
    """What is wrong after a view was created or dropped in part; after it, there is none."""
    try:
        there = name in {each.name for each in world.db.views()}
        if not there:
            world.db.sql(create)
        world.db.view(name).fetchall()
        commit = commits()["mixed"]
        move(world.db, world.base, commit.after)
        world.db.verify([name])
        move(world.db, commit.after, world.base)
        told = world.wrong_subscribers(world.views())
        world.db.sql(drop)
        left = len(core_of(world.db).engine.renderer.graph.nodes)
        if told:
            return f"subscribers of {', '.join(told)}"
        return f"{left} nodes are left of {nodes}" if left != nodes else ""
    except (Exception, KeyboardInterrupt) as found:  # noqa: BLE001  whatever it is, that is what is wrong
        return f"{type(found).__name__}: {found}"[:300]


def growing_faults(
    *, part: str = "", every: int = 1, start: int = 0, errors: Errors = ERRORS
) -> Iterator[tuple[Place, Failure | None]]:
    """Raise at every so many of the lines of a commit to a table in which rows only come."""
    db = grown()
    first = 9

    def work() -> None:
        grow(db, first)

    lines = lines_of(work, part)
    for number, place in enumerate(lines[start::every]):
        error, wrong = errors[number % len(errors)], ""
        first = db.sql("SELECT max(id) + 1 FROM h").fetchall()[0][0]
        raising(work, place, error)
        try:
            rows = db.sql("SELECT count(*) FROM h").fetchall()[0][0]
            if rows not in (first, first + 9):
                wrong = f"{rows} rows instead of {first} or {first + 9}"
            grow(db, rows)
            db.verify()
        except (Exception, KeyboardInterrupt) as found:  # noqa: BLE001  whatever it is, that is what is wrong
            wrong = wrong or f"{type(found).__name__}: {found}"[:300]
        yield place, Failure("grown, insert", place, error.__name__, wrong) if wrong else None
        if wrong or rows > 500:
            db = grown()
