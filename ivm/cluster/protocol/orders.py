"""What a driver tells shards to do in a version, as bytes: a commit, a change of what exists, or a step towards one."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import lru_cache
from typing import Any

from ivm.catalog.altering import Altered
from ivm.catalog.catalog import Catalog
from ivm.durable.payload import altered_head, catalog_of, definition_of, read_altered


@dataclass(frozen=True, slots=True)
class Commit:
    """Changes of tables, up to a logical time. `are_apart`: somebody asks what holds at each of their times.

    `watched`: the views of which somebody wants to be told the changes.
    """

    time: int
    are_apart: bool = False
    watched: tuple[str, ...] = ()

    def text(self) -> bytes:
        """As bytes."""
        return json.dumps(self.plain()).encode()

    def plain(self) -> dict[str, Any]:
        """As plain values; `of` reads them."""
        return {"time": self.time, "apart": self.are_apart, "watched": self.watched}

    @classmethod
    def of(cls, plain: Mapping[str, Any]) -> Commit:
        """What `plain` made plain values of."""
        return cls(plain["time"], plain["apart"], tuple(plain["watched"]))


class Extent(StrEnum):
    """How far a definition goes: all at once, without or with a commit; its view begins to be filled; or that has been
    filled.
    """

    WHOLE = "whole"
    COMMITTED = "committed"
    BEGUN = "begun"
    FILLED = "filled"


@dataclass(frozen=True, slots=True)
class Definition:
    """What exists from now on, as `ivm.durable.payload.definition_of` has it beside what did.

    `time`: the logical time then, that of the rows which new tables begin with. `sizes`: what a new view is
    planned by, so that all shards plan alike; and the guards of tables. `made`: the tables that are new; others have
    other indexes, or are `altered`, as `ivm.durable.payload.altered_head` has it. `anew`: the tables and views that are
    others from now on under their names, so that all that reads them is filled anew. `stage`: of one that is BEGUN
    nobody sees anything yet, and `defined` has nothing but the view. `commit`: of one that is COMMITTED, what comes
    once all is there that is new; its tables begin without rows.
    """

    defined: Mapping[str, Any]
    time: int
    sizes: Mapping[str, float] = field(default_factory=dict)
    made: tuple[str, ...] = ()
    stage: Extent = Extent.WHOLE
    altered: Mapping[str, Any] = field(default_factory=dict)
    anew: tuple[str, ...] = ()
    commit: Commit | None = None

    @classmethod
    def between(
        cls,
        old: Catalog,
        new: Catalog,
        time: int,
        made: Iterable[str] = (),
        altered: Sequence[Altered] = (),
        anew: Iterable[str] = (),
    ) -> Definition:
        """What leads from one catalog to another, with tables that are new, and others that are altered."""
        head = altered_head(altered)
        return cls(definition_of(new, old), time, made=tuple(made), altered=head, anew=tuple(sorted(anew)))

    def planned(self, sizes: Mapping[str, float]) -> Definition:
        """With what its views are planned by."""
        return replace(self, sizes=sizes)

    def at(self, stage: Extent) -> Definition:
        """The same, to be carried out so far."""
        return replace(self, stage=stage)

    def followed_by(self, commit: Commit) -> Definition:
        """The same, and a commit."""
        return replace(self, stage=Extent.COMMITTED, commit=commit)

    def catalog(self, old: Catalog) -> Catalog:
        """What exists, after `old` did."""
        return catalog_of(self.defined, old)

    def altered_tables(self, old: Catalog, new: Catalog) -> list[Altered]:
        """The tables that keep their rows, as they were and as they are."""
        return read_altered(self.altered, old, new)

    def text(self) -> bytes:
        """As bytes."""
        said = {"defined": self.defined, "time": self.time, "sizes": self.sizes, "made": self.made}
        more = {} if self.commit is None else {"commit": self.commit.plain()}
        return json.dumps(said | {"stage": self.stage, "anew": self.anew, **self.altered, **more}).encode()


class Step(StrEnum):
    """What is done to fill a view: see `Filling`."""

    CUT = "cut"
    PART = "part"
    CANCEL = "cancel"


@dataclass(frozen=True, slots=True)
class Filling:
    """A step of filling the view that is on its way in, between commits; what is to be read changes by none.

    CUT: the fragments of a level are there, and commits send their changes from now on. PART: they send their rows as
    of then, one of so many parts. CANCEL: nothing is left of the view.
    """

    step: Step
    level: int = 0
    part: int = 0
    of: int = 1

    def text(self) -> bytes:
        """As bytes."""
        return json.dumps({"step": self.step, "level": self.level, "part": self.part, "of": self.of}).encode()


@dataclass(frozen=True, slots=True)
class Acknowledged:
    """What has been acknowledged by the names of subscriptions, as `ivm.durable.names.plain_names` has it.

    `kept`: what shards keep for them: of views times, each with so many changes since then at most.
    """

    names: Mapping[str, Mapping[str, Any]]
    kept: Mapping[str, Sequence[tuple[int, int]]]

    def text(self) -> bytes:
        """As bytes."""
        return json.dumps({"names": self.names, "kept": self.kept}).encode()


@lru_cache(2)
def read(text: bytes) -> Commit | Definition | Filling | Acknowledged:
    """What `text` made bytes of; shards of a process are told the same, one after the other."""
    said = json.loads(text)
    if "step" in said:
        return Filling(Step(said["step"]), said["level"], said["part"], said["of"])
    if "kept" in said:
        return Acknowledged(said["names"], kept_of(said["kept"]))
    if "defined" not in said:
        return Commit.of(said)
    stage = Extent(said.get("stage", Extent.WHOLE))
    altered = {"altered": said["altered"]} if "altered" in said else {}
    anew = tuple(said.get("anew", ()))  # which earlier releases did not know
    commit = Commit.of(said["commit"]) if stage is Extent.COMMITTED else None
    made = tuple(said["made"])
    return Definition(said["defined"], said["time"], said["sizes"], made, stage, altered, anew, commit)


def kept_of(plain: Mapping[str, Sequence[Sequence[int]]]) -> dict[str, list[tuple[int, int]]]:
    """What of views is kept, of which JSON made lists; see `Acknowledged`."""
    return {view: [(since, keep) for since, keep in each] for view, each in plain.items()}
