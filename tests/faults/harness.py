"""Raises something at each line that a piece of work reaches, and looks what is left.

    python -m tests.faults                                 everything: each scene, each shape of a commit; half an hour
    python -m tests.faults --file ivm/trace/rows/row_store.py   only at the lines of files whose path contains that
    python -m tests.faults joins:upsert sets --every 10 --error MemoryError
    python -X faulthandler -m tests.faults --verbose ...   where it was when the process died

The lines are those of `ivm/trace`, `ivm/operators`, `ivm/dataflow` and of the engine's own files (see `lines`). The
work is done once to find them, then once for each of them, with KeyboardInterrupt and MemoryError in turn raised where
the line begins. Afterwards tables, views and subscribers are as before or as after, as a whole; a commit back and forth
leads to the same again; now and then DuckDB is asked.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import ivm
from ivm.session.core import engine_of
from ivm.session.database import core_of
from tests.faults.lines import Place, lines_of, raising
from tests.faults.scenes import VIEWS, Commit, World, commits, grow, grown, move, reads


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


Errors = tuple[type[BaseException], ...]
ERRORS: Errors = (KeyboardInterrupt, MemoryError)
Pick = Callable[[list[Place]], list[Place]]
"""Which of the lines that a piece of work reaches are raised at."""
_AT_ONCE = 5
_WARM_UP = 16
"""How often the commit comes and goes before, so that walks are known, and begin ahead."""
_EVERY_CHECK = 10
Fault = tuple[Place, type[BaseException]]
Faults = Iterator[tuple[Place, Failure | None]]


class Trial:
    """Faults in one shape of a commit over one scene."""

    def __init__(self, scene: str, shape: str, commit: Commit) -> None:
        self.name = f"{scene}, {shape}"
        self._scene = scene
        self._commit = commit
        self._checks = 0
        self._set_up()
        self._before = self._world.views()
        for _ in range(_WARM_UP):
            self._go()
            self._back()
        self._go()
        self._after = self._world.views()
        self._world.db.verify()
        self._back()

    def lines(self) -> list[Place]:
        """The lines that the commit reaches."""
        found = lines_of(self._go)
        self._back()
        return found

    def wrong(self, faults: Sequence[Fault]) -> str:
        """What is wrong after these were raised, one after the other; nothing, if it is right."""
        try:
            for place, error in faults:
                raising(self._go, place, error)
                wrong = self._wrong_now()
                if wrong:
                    break
            else:
                wrong = self._wrong_later()
        except (Exception, KeyboardInterrupt) as found:  # noqa: BLE001  whatever it is, that is what is wrong
            wrong = _said(found)
        if wrong:
            self._set_up()
        return wrong

    def _wrong_now(self) -> str:
        """What is not as before the commit or as after it; it is as before, afterwards."""
        tables = self._world.tables()
        done = tables == self._commit.after
        if not done and tables != self._world.base:
            return "the tables are as never before"
        wrong = self._as(done)
        if not wrong and done and tables != self._world.base:
            self._back()
            wrong = self._as(False)
        return wrong

    def _wrong_later(self) -> str:
        """What is wrong when the commit is made and taken back."""
        self._go()
        wrong = self._as(True) and "going on: " + self._as(True)
        if not wrong:
            self._back()
            wrong = self._as(False) and "going back: " + self._as(False)
        self._checks += 1
        if not wrong and self._checks % _EVERY_CHECK == 0:
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


def commit_faults(scene: str, shape: str, pick: Pick, errors: Errors) -> Faults:
    """Raise at the lines of a commit; for each what was wrong.

    With many rows, at one in four of the lines that few rows reach too: they take ten times as long there. Those that
    read what is given, before anything is stepped, are the same in all scenes.
    """
    trial = Trial(scene, shape, commits()[shape])
    lines = trial.lines()
    if scene != next(iter(VIEWS)):
        steps = next((number for number, (path, _) in enumerate(lines) if path.startswith("ivm/dataflow/")), 0)
        lines = lines[steps:]
    if shape == "many":
        met = {line for few in ("insert", "mixed") for line in Trial(scene, few, commits()[few]).lines()}
        lines = [line for number, line in enumerate(lines) if line not in met or number % 4 == 0]
    faults = [(place, errors[number % len(errors)]) for number, place in enumerate(pick(lines))]
    yield from _in_groups(faults, trial.wrong, trial.name)


def _in_groups(faults: Sequence[Fault], wrong: Callable[[Sequence[Fault]], str], work: str) -> Faults:
    """What was wrong after each. Some are raised one after the other; where that goes wrong, each again for itself."""
    for start in range(0, len(faults), _AT_ONCE):
        group = faults[start : start + _AT_ONCE]
        together = wrong(group)
        alone = [wrong([fault]) if together else "" for fault in group]
        if together and not any(alone):
            alone[-1] = f"{together}, if raised after {len(group) - 1} others"
        for (place, error), found in zip(group, alone, strict=True):
            yield place, Failure(work, place, error.__name__, found) if found else None


def _said(found: BaseException) -> str:
    return f"{type(found).__name__}: {found}"[:300]


def read_faults(scene: str, kind: str, pick: Pick, errors: Errors) -> Faults:
    """Raise at the lines of what reads or listens: nothing has changed, and it can be done again."""
    commit, world = commits()["mixed"], World(scene)
    before = world.views()
    move(world.db, world.base, commit.after)
    after = world.views()
    move(world.db, commit.after, world.base)
    for number, place in enumerate(pick(lines_of(reads(world)[kind]))):
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
            wrong = _said(found)
        yield place, Failure(f"{scene}, {kind}", place, error.__name__, wrong) if wrong else None
        if wrong:
            world = World(scene)


def core_listeners(db: ivm.Database) -> list[ivm.Subscription]:
    """Who is told of changes."""
    return engine_of(core_of(db)).listeners.of()


def definition_faults(scene: str, kind: str, pick: Pick, errors: Errors) -> Faults:
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
        lines = [each for each in _lines_of_definition(world, work, create, drop) if met[each] < len(errors)]
        faults = [(place, errors[met[place]]) for place in pick(lines)]
        met.update(place for place, _ in faults)
        definition = _Definition(world, name, work, create, drop, nodes)
        yield from _in_groups(faults, definition.wrong, f"{kind} {name}")
        world = definition.world
        if kind == "drop":
            world.db.sql(drop)


@dataclass
class _Definition:
    """Faults in the creation or the end of one view of a world that has `nodes` nodes without it."""

    world: World
    name: str
    work: str
    create: str
    drop: str
    nodes: int

    def wrong(self, faults: Sequence[Fault]) -> str:
        """What is wrong after these were raised, one after the other; nothing, if it is right."""
        try:
            for number, (place, error) in enumerate(faults):
                if number:
                    self._be_before()
                raising(partial(self.world.db.sql, self.work), place, error)
            wrong = self._wrong_now()
        except (Exception, KeyboardInterrupt) as found:  # noqa: BLE001  whatever it is, that is what is wrong
            wrong = _said(found)
        if wrong:
            self.world = World(self.world.scene)
        if self.work == self.drop:
            self.world.db.sql(self.create)
        return wrong

    def _is_there(self) -> bool:
        return self.name in {each.name for each in self.world.db.views()}

    def _be_before(self) -> None:
        """Have the view or not, as it is to be before the work."""
        if self._is_there() != (self.work == self.drop):
            self.world.db.sql(self.create if self.work == self.drop else self.drop)

    def _wrong_now(self) -> str:
        """What is wrong, with the view there; after it, there is none."""
        world, commit = self.world, commits()["mixed"]
        if not self._is_there():
            world.db.sql(self.create)
        world.db.view(self.name).fetchall()
        move(world.db, world.base, commit.after)
        world.db.verify([self.name])
        move(world.db, commit.after, world.base)
        told = world.wrong_subscribers(world.views())
        world.db.sql(self.drop)
        left = len(engine_of(core_of(world.db)).renderer.graph.nodes)
        if told:
            return f"subscribers of {', '.join(told)}"
        return f"{left} nodes are left of {self.nodes}" if left != self.nodes else ""


def _lines_of_definition(world: World, work: str, create: str, drop: str) -> list[Place]:
    found = lines_of(lambda: world.db.sql(work))
    world.db.sql(drop if work == create else create)
    return found


def _nodes(world: World, without: str) -> int:
    core = core_of(world.db)
    if without in engine_of(core).views:
        copy = World(world.scene)
        return len(engine_of(core_of(copy.db)).renderer.graph.nodes)
    return len(engine_of(core).renderer.graph.nodes)


def growing_faults(pick: Pick, errors: Errors) -> Faults:
    """Raise at the lines of a commit to a table in which rows only come."""
    db = grown()
    first = 9

    def work() -> None:
        grow(db, first)

    lines = lines_of(work)
    for number, place in enumerate(pick(lines)):
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
            wrong = wrong or _said(found)
        yield place, Failure("grown, insert", place, error.__name__, wrong) if wrong else None
        if wrong or rows > 500:
            db = grown()
