"""What carries orders to shards, wherever they are, and brings back how they fared."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

import pyarrow as pa

from ivm.called import Functions
from ivm.catalog.errors import Error
from ivm.cluster.driver.filler import Pace
from ivm.cluster.files.versions import Version
from ivm.cluster.protocol.questions import Question
from ivm.cluster.protocol.selection import Selection
from ivm.cluster.protocol.terms import Failure, Group, Order, Status
from ivm.cluster.protocol.wire import Part, Said, heard, parts, said_of
from ivm.cluster.shard.answers import answer, rows_for
from ivm.cluster.shard.resident import Resident
from ivm.engine.transaction import Change

Given = Sequence[Change]
"""What the driver has for shards at the first level, in its order."""


class Transport(Protocol):
    """See above. One thread at a time uses it."""

    shards: int
    pace: Pace
    """How much of filling a view is done between commits."""
    is_remote: bool
    """Whether shards are in other processes, and what they have in files of theirs."""

    def run(self, order: Order, given: Given, frames: Mapping[str, Any], mode: str) -> Sequence[Status]:
        """Take an order through all levels of all shards: of each group the status of the last.

        `frames`: rows of tables that the driver does not have, as this transport knows them, to be applied by `mode`;
        or a `Selection` of what shards have as of the version before.
        """
        ...

    def anew(self, shards: int, time: int, name: str) -> Transport:
        """So many new shards beside these, to which nothing has happened up to a time, for the chain of a name."""
        ...

    def rows(self, version: Version, tables: Sequence[str], part: int = 0, of: int = 1) -> Mapping[str, Any]:
        """The rows of tables as of a version, or one of so many parts of them, as frames that `run` takes to new
        shards; see `anew`.
        """
        ...

    def settle(self, published: Version) -> None:
        """The last order has been published, or else it never will be. It may be interrupted, and called again."""
        ...

    def ask(self, version: Version, question: Question) -> Sequence[pa.Table]:
        """What each shard answers as of a version, by their numbers."""
        ...

    def leave(self) -> None:
        """Let go of these shards, as there are others for the same database; who has them goes on."""
        ...

    def close(self) -> None:
        """Let go of the shards."""
        ...


def share_functions(residents: Iterable[Resident], functions: Functions) -> None:
    """Have shards of this process call the functions of the application's."""
    for each in residents:
        each.engine.renderer.functions = functions
        each.catalog.functions = functions.declared


class InProcess:
    """Shards in this process, in memory: one steps after the other."""

    pace, is_remote = Pace(1 << 16, 1 << 15, 20), False

    def __init__(self, residents: Sequence[Resident]) -> None:
        self.shards = len(residents)
        self.residents = residents
        self._tried = Version()

    def anew(self, shards: int, time: int, name: str) -> InProcess:
        """See `Transport.anew`."""
        engine = self.residents[0].engine
        compiler, sharing = engine.renderer.compiler, engine.renderer.sharing
        residents = [Resident(n, shards, compiler, engine.past.history, sharing=sharing) for n in range(shards)]
        for each in residents:
            each.engine.begin_at(time)
        share_functions(residents, engine.renderer.functions)
        return InProcess(residents)

    def run(self, order: Order, given: Given, frames: Mapping[str, Any], mode: str) -> Sequence[Status]:
        """See `Transport.run`; frames are what is said by several, or selections. All shards are one group."""
        self._tried, group = Version(order.version, order.id), Group(0, 1)
        messages = [self._message(said_of(given))]
        for frame in frames.values():
            messages += map(self._message, self._selected(frame) if isinstance(frame, Selection) else frame)
        for level in range(1, order.levels + 1):
            inputs, said = heard(messages), list[Said]()
            for number, resident in enumerate(self.residents):
                try:
                    said += resident.step(order, level, inputs.get(number, ()))
                except Error as error:
                    return [Status(group, level, (), Failure(type(error).__name__, str(error)))]
            messages = [self._message(said)]
        return [Status(group, order.levels, ())]

    def _message(self, said: Iterable[Said]) -> Sequence[Part]:
        return parts(said, self.shards, 1)[0]

    def rows(
        self, version: Version, tables: Sequence[str], part: int = 0, of: int = 1
    ) -> Mapping[str, Sequence[Sequence[Said]]]:
        """See `Transport.rows`."""
        return {name: [said for each in self.residents for said in rows_for(each, name, part, of)] for name in tables}

    def _selected(self, selection: Selection) -> list[list[Said]]:
        from ivm.cluster.shard.selecting import selected  # noqa: PLC0415  DuckDB, which other commits need not load

        return [said for resident in self.residents for said in selected(resident, selection, self.shards)]

    def settle(self, published: Version) -> None:
        """See `Transport.settle`."""
        is_published = (published.version, published.id) == (self._tried.version, self._tried.id)
        for resident in self.residents:
            if is_published:
                resident.keep()
            else:
                resident.undo()

    def ask(self, version: Version, question: Question) -> Sequence[pa.Table]:
        """See `Transport.ask`."""
        return [answer(resident, question) for resident in self.residents]

    def leave(self) -> None:
        """See `Transport.leave`: what compiles for them is that of the others."""

    def close(self) -> None:
        """End what compiles for the shards."""
        for compiler in {id(each): each for resident in self.residents for each in resident.engine.compilers}.values():
            compiler.close()
