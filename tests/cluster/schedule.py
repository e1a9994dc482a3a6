"""Schedules: what may happen to a cluster, drawn from a seed, and whether it stays exactly once.

A schedule knows nothing of what shards hold: a `Subject` (`tests.cluster.subject`) makes them, draws changes, and knows what one engine has after
them. It plays the drivers, of which there may be two at once, the processes, which are killed, and Spark, which runs
tasks where it likes, again, twice at once, or long after they are of use. The folder fails in between.
"""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

from ivm.catalog.errors import Error, StorageError
from ivm.cluster.files.cleaning import clean
from ivm.cluster.files.files import Files
from ivm.cluster.files.logs import LARGE, by_file
from ivm.cluster.files.snapshots import read_snapshot
from ivm.cluster.files.versions import Version, Versions, is_published, number_of
from ivm.cluster.protocol.terms import Group, Message, Order, Shard, Status, Superseded
from ivm.cluster.shard.copies import Copies
from ivm.storage.agreement import put_by_agreement
from ivm.storage.storage import Shared
from tests.cluster.beside import AtOnce
from tests.cluster.faulty import CALM, Faulty, Rates
from tests.cluster.subject import Subject

SOURCE = "stream"
MOST_STEPS = 20_000


@dataclass(frozen=True)
class Dangers:
    """How often what happens, per task or step."""

    rates: Rates = CALM
    kill: float = 0.0
    """A process is killed, in the middle of a task."""
    interrupt: float = 0.0
    """A step is broken off, and the process lives on."""
    move: float = 0.0
    again: float = 0.0
    """A task is run twice, and others read either's messages."""
    straggle: float = 0.0
    """A task of long ago is run."""
    drivers: float = 0.0
    """A driver dies, or another starts beside it."""
    ruin: float = 0.0
    """A snapshot's page is damaged for good, though never the last two."""
    agreement: bool = False
    """The folder cannot put a file once."""


ALL = Dangers(
    Rates(refuse=0.02, deny=0.01, late=0.01, hide=0.03, garble=0.01),
    kill=0.03,
    interrupt=0.03,
    move=0.1,
    again=0.1,
    straggle=0.05,
    drivers=0.02,
    ruin=0.3,
)


class Killed(BaseException):
    """The process is gone, or the thread of a driver."""


class _Agreeing(Faulty):
    def put_new(self, name, data):
        return put_by_agreement(self, name, data)


class Schedule:
    """One schedule. `run` raises AssertionError where something is lost, doubled or wrong; `counts`: what happened."""

    def __init__(
        self,
        subject: Subject,
        seed: int,
        dangers: Dangers = ALL,
        *,
        processes: int = 2,
        batches: int = 8,
        inner: Shared | None = None,
    ) -> None:
        self.subject, self.dangers, self.batches, self.every = subject, dangers, batches, 1 + seed % 4
        self.large = (1, 24, LARGE)[seed % 3]
        """Messages of so many bytes go by files."""
        self.chance = random.Random(seed)
        self.counts: Counter[str] = Counter()
        self.folder = (_Agreeing if dangers.agreement else Faulty)(self.chance, dangers.rates, inner)
        self.processes = [self._process() for _ in range(processes)]
        self.homes = [group % processes for group in range(subject.shards)]
        self.tried: dict[str, tuple[Order, int, Any]] = {}
        self.acknowledged: list[str] = []
        self.old: list[tuple[Order, Group, int, list[bytes]]] = []
        self.attempts: Counter[int] = Counter()
        self.writes: list[Callable[[], object]] = []

    def run(self) -> Counter[str]:
        """Go through it, and compare all in the end."""
        names = iter(range(1 << 40))
        with patch("ivm.cluster.files.files.token_hex", lambda _: f"{next(names):08x}"):
            drivers: list[Generator[None, None, bool]] = []
            done = False
            for _ in range(MOST_STEPS):
                if done:
                    break
                if not drivers or (len(drivers) < 2 and self._happens("drivers")):
                    drivers.append(self._driver())
                driver = self.chance.choice(drivers)
                if self._happens("drivers"):
                    drivers.remove(driver)
                    self.counts["driver dies"] += 1
                    continue
                try:
                    next(driver)
                except StopIteration as end:
                    drivers.remove(driver)
                    done = end.value
                except Killed:
                    drivers.remove(driver)
                    self.counts["driver dies in a call"] += 1
            assert done, "no end"
            self._compare()
        return self.counts + self.folder.counts

    # The driver

    def _driver(self) -> Generator[None, None, bool]:
        """What a driver does, to the end of the source (True), or until it has to stop."""
        try:
            versions = self._versions()
            with self._dying("drivers", 5):
                last = versions.newest()
            while True:
                yield
                number = last.batches.get(SOURCE, -1) + 1
                assert not number or is_published(last, (SOURCE, self.chance.randrange(number)))
                assert not is_published(last, (SOURCE, number))
                if number == self.batches:
                    return True
                last = yield from self._commit(versions, last, number)
                if self._happens("drivers", 5):
                    self.counts["clean"] += 1
                    with self._dying("drivers", 5):
                        clean(versions.files, last)
        except Superseded:
            self.counts["superseded"] += 1
        except StorageError:
            self.counts["driver stops by an error"] += 1
        return False

    def _commit(self, versions: Versions, last: Version, number: int) -> Generator[None, None, Version]:
        """One try of a batch; the version after it."""
        self.attempts[number] += 1
        change = self.subject.draw(self.chance, number, self.attempts[number])
        what, said = self.subject.order(change)
        groups = self.chance.randint(1, self.subject.shards)  # executors come and go
        id_ = f"{number}.{self.attempts[number]}"
        order = Order(last.version + 1, id_, last.id, what, self.subject.levels, self.subject.shards)
        self.tried[id_] = (order, number, change)
        statuses = yield from self._job(order, groups, self._by_file(versions.files, order, groups, said))
        failures = [each.failure for each in statuses if each.failure is not None]
        changes = [*self._changes(last.id), change]
        assert {each.kind for each in failures} == self._failures(changes)
        if failures:
            self.counts["refused"] += 1
            return last
        with self._dying("drivers", 5):
            last = versions.publish(
                last,
                order,
                statuses,
                time=self.subject.time(order, change),
                batch=(SOURCE, number),
                is_definition=self.subject.is_definition(change),
            )
        self.acknowledged.append(id_)
        self.counts["published"] += 1
        yield
        self._ruin_one()
        return last

    def _by_file(self, files: Files, order: Order, groups: int, said: Sequence[Any]) -> Sequence[Message]:
        """What comes in at the first level, of which what is large is in files by now."""
        given = self.subject.exchange.messages(said, order.shards, groups)
        with self._dying("drivers", 5):
            return by_file(files, given, order.version, 1, self.large, AtOnce())

    def _job(self, order: Order, groups: int, given: Sequence[Message]) -> Generator[None, None, list[Status]]:
        """All levels of all groups; the statuses of the last."""
        statuses: list[Status] = []
        for level in range(1, order.levels + 1):
            inputs = [[each.payload for each in given if each.to == group] for group in range(groups)]
            said: list[Message] = []
            statuses = []
            for group in self.chance.sample(range(groups), groups):
                messages, status = self._task(order, Group(group, groups), level, inputs[group])
                said += messages
                statuses.append(status)
                yield
            self.counts["by file"] += sum(each.payload.startswith(b"ivm file") for each in said)
            self.chance.shuffle(said)
            given = said
        return statuses

    # Spark

    def _task(self, order: Order, group: Group, level: int, payloads: list[bytes]) -> tuple[list[Message], Status]:
        self.old.append((order, group, level, payloads))
        self._write_some()
        if self._happens("straggle"):
            self._attempt(self.chance.randrange(len(self.processes)), *self.chance.choice(self.old))
        for _ in range(100):
            if self._happens("move"):
                self.homes[group.number] = self.chance.randrange(len(self.processes))
            found = self._attempt(self.homes[group.number], order, group, level, payloads)
            if found is None:
                continue
            if isinstance(found, Superseded):
                raise found
            other = None
            if self._happens("again"):
                other = self._attempt(self.chance.randrange(len(self.processes)), order, group, level, payloads)
            if other is None or isinstance(other, Superseded):
                return found
            return self._either(found, other, group.of)
        raise StorageError("cannot run a task")

    def _either(
        self, one: tuple[list[Message], Status], two: tuple[list[Message], Status], groups: int
    ) -> tuple[list[Message], Status]:
        """What others read of two attempts: of each group's messages those of one or of the other."""
        chosen = [self.chance.choice([one, two]) for _ in range(groups)]
        messages = [each for to in range(groups) for each in chosen[to][0] if each.to == to]
        return messages, self.chance.choice([one, two])[1]

    def _attempt(
        self, process: int, order: Order, group: Group, level: int, payloads: list[bytes]
    ) -> tuple[list[Message], Status] | Superseded | None:
        """A task in a process; None if it came to nothing."""
        try:
            with self._dying("kill"):
                return self.processes[process].run(order, group, level, self.chance.sample(payloads, len(payloads)))
        except Killed:
            self.counts["killed"] += 1
            self.processes[process] = self._process()
        except KeyboardInterrupt:
            self.counts["interrupted"] += 1
        except Superseded as error:
            return error
        except StorageError:
            self.counts["task fails"] += 1
        return None

    def _process(self) -> Copies:
        return Copies(
            self._versions(),
            self._make,
            self.subject.exchange,
            every=self.every,
            beside=_Later(self._write_later),
            large=self.large,
        )

    def _write_later(self, write: Callable[[], object]) -> None:
        """Snapshots are written at once, later, or never."""
        self.writes.append(write)
        self._write_some()

    def _write_some(self) -> None:
        self.chance.shuffle(self.writes)
        while self.writes and self.chance.random() < 0.5:
            write = self.writes.pop()
            if not self._happens("kill"):
                write()
                self.counts["snapshot"] += 1

    def _make(self, shard: int) -> Shard:
        self.counts["made"] += 1
        return self.subject.make(shard, self._meet)

    def _meet(self) -> None:
        if self._happens("interrupt"):
            raise KeyboardInterrupt

    def _versions(self) -> Versions:
        return Versions(Files(self.folder, (0,)))

    def _dying(self, what: str, times: float = 1) -> _Dying:
        return _Dying(self.folder, self.chance.randint(1, 8) if self._happens(what, times) else 0)

    def _ruin_one(self) -> None:
        """Damage a file of a snapshot for good, if that is one of the last two versions and the other is whole."""
        shard, pages = self.chance.randrange(self.subject.shards), defaultdict(list)
        for name in self.folder.inner.names(f"snapshots/{shard}"):
            pages[number_of(name)].append(name)
        versions = sorted(pages)[-2:]
        if len(versions) < 2 or not self._happens("ruin"):
            return
        names = {
            version: {*pages[version], *(piece for name in pages[version] for piece in self._pieces(name))}
            for version in versions
        }
        if not any(self.folder.ruined & each for each in names.values()):
            self.folder.ruined.add(self.chance.choice(sorted(names[self.chance.choice(versions)])))
            self.counts["ruined"] += 1

    def _pieces(self, page: str) -> list[str]:
        return [each.file for each in read_snapshot(Files(self.folder.inner, ()), page).pieces]

    def _happens(self, what: str, times: float = 1) -> bool:
        return self.chance.random() < getattr(self.dangers, what) * times

    # The end

    def _changes(self, id_: str) -> list[Any]:
        """All changes up to a version."""
        found = []
        while id_:
            order, _, change = self.tried[id_]
            found.append(change)
            id_ = order.published
        return found[::-1]

    def _failures(self, changes: list[Any]) -> set[str]:
        """What the user would be told of all these changes."""
        try:
            self.subject.expected(changes)
        except Error as error:
            return {type(error).__name__}
        return set()

    def _compare(self) -> None:
        self.folder.settle()
        self.folder.rates = CALM
        versions = self._versions()
        newest = versions.newest()
        ids, id_ = [], newest.id
        while id_:
            ids.append(id_)
            id_ = self.tried[id_][0].published
        assert [self.tried[each][1] for each in reversed(ids)] == list(range(self.batches)), "lost, or doubled"
        assert set(self.acknowledged) <= set(ids), "what was acknowledged is lost"
        assert len(set(self.acknowledged)) == len(self.acknowledged)
        expected = self.subject.expected(self._changes(newest.id))
        self.dangers = Dangers()
        for process in (*self.processes, self._process()):
            for shard in range(self.subject.shards):
                with process.reading(shard, newest.version, newest.id) as found:
                    contents = self.subject.contents(found)
                assert contents == expected[shard], f"shard {shard}: {contents} is not {expected[shard]}"
        self.counts["followed"] += self.subject.follow(Files(self.folder.inner, ()), self._changes(newest.id))
        defined = [
            self.tried[each][0].what for each in reversed(ids) if self.subject.is_definition(self.tried[each][2])
        ]
        assert versions.definitions(newest) == defined


class _Later(AtOnce):
    """Snapshots are for later; logs, of which a task waits for the result, are not."""

    def __init__(self, later: Callable[[Callable[[], object]], None]) -> None:
        self._later = later

    def submit(self, fn, /, *args, **kwargs):
        if args:
            return super().submit(fn, *args, **kwargs)
        self._later(fn)
        return Future()


class _Dying:
    """While this is so, whoever calls the folder is killed at one of the next calls, before or after it."""

    def __init__(self, folder: Faulty, calls: int) -> None:
        self._folder, self._calls = folder, calls

    def __enter__(self) -> None:
        self._before = self._folder.before
        if self._calls:
            self._folder.before = self._count

    def __exit__(self, *error: object) -> None:
        self._folder.before = self._before

    def _count(self, call: str) -> None:
        self._calls -= 1
        if not self._calls:
            raise Killed
