"""Raises something at each line that a piece of work reaches, and looks what is left.

    python -m tests.faults                                 everything: each scene, each shape of a commit; minutes
    python -m tests.faults --file ivm/trace/row_store.py   only at the lines of files whose path contains that
    python -m tests.faults --scene joins --shape upsert --every 10 --error MemoryError
    python -X faulthandler -m tests.faults --verbose ...   where it was when the process died

The lines are those of `ivm/trace`, `ivm/operators`, `ivm/dataflow` and of the engine's own files. The work is done once
to count them, then once for each of them, with KeyboardInterrupt and MemoryError in turn raised where the line begins.
Afterwards tables, views and subscribers are as before or as after, as a whole; a commit back and forth leads to the
same again; now and then DuckDB is asked.
"""

from __future__ import annotations

import dis
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import ivm
from ivm.database import core_of
from tests.faults.scenes import VIEWS, Commit, World, commits, grow, grown, move, reads

ROOT = Path(__file__).parents[2]
FOLDERS = ("ivm/trace/", "ivm/operators/", "ivm/dataflow/")
FILES = ("engine.py", "core.py", "commits.py", "publishing.py", "subscription.py", "view.py", "contents.py")
LEFT_OUT = ("ivm/trace/turns.py",)
"""The lock: its lines are exact about where an interruption may come. Its own test sends real ones."""

VERBOSE = False
"""Whether to print each place, which shows where the process died."""

Place = tuple[str, int]
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


@cache
def _path(file: str) -> str | None:
    """The path of a source file from the root, if something is raised in it."""
    if not file.startswith(str(ROOT)):
        return None
    path = file[len(str(ROOT)) + 1 :]
    inside = path.startswith(FOLDERS) or path in {f"ivm/{name}" for name in FILES}
    return path if inside and path not in LEFT_OUT else None


@cache
def _ends_of_blocks(code: CodeType) -> frozenset[int]:
    """Where a `with` block is left: nothing can be raised there but by what leaves it, which for locks is in C."""
    found = set()
    instructions = list(dis.get_instructions(code))
    for i, each in enumerate(instructions[:-4]):
        after = instructions[i + 1 : i + 4]
        if each.opname == "LOAD_CONST" and [(a.opname, a.argval) for a in after] == [
            ("LOAD_CONST", None),
            ("LOAD_CONST", None),
            ("PRECALL", 2),
        ]:
            found |= {instructions[j].offset for j in range(max(i - 3, 0), i + 1)}
        if after[0].opname == "WITH_EXCEPT_START":
            found.add(each.offset)
    return frozenset(found)


@cache
def _lines_in(code: CodeType) -> frozenset[int | None]:
    """The lines of a function."""
    return frozenset(line for _, _, line in code.co_lines())


@contextmanager
def _watched(reached: Callable[[Place], object], only: Place | None = None) -> Iterator[None]:
    """Tell of every line that is reached within, or of those of the functions that have this one."""

    def line(frame: FrameType, event: str, arg: Any) -> Any:
        if event == "line" and frame.f_lasti not in _ends_of_blocks(frame.f_code):
            path = _path(frame.f_code.co_filename)
            assert path is not None, "only these are watched"
            reached((path, frame.f_lineno))
        return line

    def call(frame: FrameType, event: str, arg: Any) -> Any:
        path = _path(frame.f_code.co_filename)
        wanted = path is not None and (only is None or (only[0] == path and only[1] in _lines_in(frame.f_code)))
        return line if wanted else None

    sys.settrace(call)
    try:
        yield
    finally:
        sys.settrace(None)


def lines_of(work: Callable[[], object], part: str = "") -> list[Place]:
    """The distinct lines that the work reaches, in order, of files whose path contains `part`."""
    found: dict[Place, None] = {}
    with _watched(found.setdefault):
        work()
    return [place for place in found if part in place[0]]


def raising(work: Callable[[], object], place: Place, error: type[BaseException]) -> None:
    """Do the work and raise `error` where it reaches a place first."""
    armed = True
    if VERBOSE:
        print(f"raising {error.__name__} at {place[0]}:{place[1]}", flush=True)

    def reached(where: Place) -> None:
        nonlocal armed
        if armed and where == place:
            armed = False
            sys.settrace(None)
            raise error(f"raised at {place}")

    try:
        with _watched(reached, place):
            work()
    except (Exception, KeyboardInterrupt):  # noqa: BLE001  what is left is looked at, whatever it says
        pass


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

    With many rows, at one in four of the lines that few rows reach too: they take ten times as long there.
    """
    trial = Trial(scene, shape, commits()[shape])
    lines = trial.lines(part)
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
