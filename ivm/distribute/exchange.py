"""Exchanges: where a relation is cut, so that what is below goes to the shards where what is above needs it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from types import MappingProxyType

from ivm.analysis.non_negative import is_non_negative
from ivm.analysis.unique_keys import unique_keys
from ivm.distribute.placement import Hashed, Placement, Replicated
from ivm.distribute.rows import Rows
from ivm.plan.identity import Identities
from ivm.sql.ir.rebuild import Known, nodes, rebuilt
from ivm.sql.ir.relation import Get, LetRec, Relation

SHARDS = 8.0
"""Costs are those of so many, whatever there are, so that a plan stays when they become more or fewer."""
MANY = 64
"""From so many shards on, what is at a few of them may make these the busiest."""
BALANCED = 100 * SHARDS
"""With so many distinct values, rows that are hashed by them spread evenly."""
_EACH_ROW = 2.0
"""What a row that is sent costs beside its columns."""
_DIGITS = 12
_NEVER: Mapping[str, int] = MappingProxyType({})
LEVEL = 100_000.0
"""What another level costs: as much as so many values that are sent and kept."""


@dataclass(frozen=True, slots=True)
class Option:
    """One way to have a collection: a relation over what each shard has, and where its rows are then.

    `cost`: the values that are sent and kept for it. `level`: the first level at which all that it reads is there; what
    it sends is there at the next one.
    """

    relation: Relation
    placement: Placement
    cost: float = 0.0
    level: int = 1

    @property
    def total(self) -> float:
        """What to compare options by."""
        return self.cost + LEVEL * self.level


@dataclass(frozen=True, slots=True)
class Channel:
    """A fragment and where its rows go: `relation` is maintained at each shard, at `level`, and read by `name` above.

    `placement`: where its rows are before. Of a replicated one, one shard sends. `rows`: how many are expected.
    """

    name: str
    relation: Relation
    placement: Placement
    to: Placement
    level: int
    rows: float


@dataclass(frozen=True, slots=True)
class Settled:
    """An option, all channels that it needs, inputs first, and where the rows of the loops in these and in it are."""

    option: Option
    channels: tuple[Channel, ...]
    loops: Mapping[LetRec, Placement]


class Exchanges:
    """The exchanges that are considered for one relation over `shards`, by provisional names; equal ones are one."""

    def __init__(self, rows: Rows, shards: int) -> None:
        self.rows = rows
        self.shards = shards
        self.are_many = shards >= MANY
        self.loops: dict[LetRec, Placement] = {}
        """Where the rows of loops are, in each way to have them."""
        self._drafts: dict[str, Channel] = {}
        self._names: dict[tuple[Relation, Placement], str] = {}

    def through(self, option: Option, to: Placement, *, partial: bool = False) -> Option:
        """The rows of an option, sent where `to` says. `partial`: parts of rows that are yet to be put together."""
        relation = option.relation
        name = self._names.get((relation, to))
        if name is None:
            name = self._names[relation, to] = f"~{len(self._names)}"
            count = self.rows.send(name, relation, SHARDS if partial else 1.0)
            self._drafts[name] = Channel(name, relation, option.placement, to, option.level, count)
        keys = () if partial else tuple(tuple(sorted(key)) for key in unique_keys(relation) if key)
        sent = Get(name, relation.schema, keys, is_table=False, differs=not is_non_negative(relation))
        cost = self.cost(self._drafts[name].rows, len(relation.schema), to, self._values(relation, to))
        return Option(sent, to, option.cost + cost, option.level + 1)

    def at(self, options: Sequence[Option], to: Placement) -> Option:
        """The cheapest of a relation's options, sent where `to` says unless it is there."""
        there = [o if o.placement == to else self.through(o, to) for o in options]
        return min(there, key=lambda option: option.total)

    def cost(self, rows: float, width: int, to: Placement, values: float) -> float:
        """That of sending so many rows of so many columns, hashed by columns that have so many distinct values."""
        sent = rows * (width + _EACH_ROW)
        if isinstance(to, Replicated):
            return sent * SHARDS
        uneven = max(1.0, BALANCED / max(values, SHARDS)) if isinstance(to, Hashed) and rows > BALANCED else 1.0
        return sent * min(uneven, SHARDS)

    def kept(self, relation: Relation, to: Placement) -> float:
        """The cost of having the rows of a relation where `to` says, as if they were sent there."""
        return self.cost(self.rows.count(relation), len(relation.schema), to, self._values(relation, to))

    def settled(self, option: Option, known: Channels) -> Settled:
        """The option over channels that have names for good."""
        needed: dict[str, Channel] = {}
        done: dict[str, Channel] = {}
        made: Known = {}

        def place(node: Relation) -> Relation:
            if not isinstance(node, Get) or node.name not in self._drafts:
                return node
            return replace(node, name=channel(self._drafts[node.name]).name)

        def channel(draft: Channel) -> Channel:
            if draft.name not in done:
                found = known.channel(replace(draft, relation=rebuilt(draft.relation, place, made)))
                done[draft.name] = needed[found.name] = found
            return done[draft.name]

        settled = replace(option, relation=rebuilt(option.relation, place, made))
        pairs = ((before, after) for before, after in made.values() if isinstance(before, LetRec))
        loops = {after: self.loops[before] for before, after in pairs if isinstance(after, LetRec)}
        return Settled(settled, tuple(sorted(needed.values(), key=lambda each: each.level)), loops)

    def _values(self, relation: Relation, to: Placement) -> float:
        return self.rows.combinations(relation, to.columns) if isinstance(to, Hashed) else 1.0


class Channels:
    """The channels that there are, by what they carry: equal ones of several views are one.

    `editions`: how often the tables and views of these names have become others. What carries their rows now is another
    channel than what carried those before, so that both may be there at once.
    """

    def __init__(self, channels: Iterable[Channel] = (), editions: Mapping[str, int] = _NEVER) -> None:
        self.by_name = {each.name: each for each in channels}
        self.editions = editions
        self._identities = Identities()

    def channel(self, wanted: Channel) -> Channel:
        """The one that carries what is wanted; a new one, if there is none.

        It is called by what it is, so that it has the same name wherever it is made.
        """
        read = sorted({node.name for node in nodes(wanted.relation) if isinstance(node, Get)} & self.editions.keys())
        editions = "".join(f" {name} {self.editions[name]}" for name in read)
        content = f"{self._identities.of(wanted.relation)} {wanted.to!r}{editions}"
        name = f"exchange {sha256(content.encode()).hexdigest()[:_DIGITS]}"
        return self.by_name.setdefault(name, replace(wanted, name=name))

    def copy(self, anew: Iterable[str] = ()) -> Channels:
        """The same, to be changed; the tables and views of these names are to be others."""
        more = {name: self.editions.get(name, 0) + 1 for name in anew}
        return Channels(self.by_name.values(), {**self.editions, **more})

    def joined(self, others: Iterable[Channels]) -> Channels:
        """These and those of `others`, which may know of later editions."""
        found, editions = dict(self.by_name), dict(self.editions)
        for each in others:
            found |= each.by_name
            editions |= {name: max(edition, editions.get(name, 0)) for name, edition in each.editions.items()}
        return Channels(found.values(), editions)

    def only(self, relations: Iterable[Relation]) -> Channels:
        """Those that relations read, and that these read in turn."""
        return Channels(self._needed(relations), self.editions)

    def _needed(self, relations: Iterable[Relation]) -> Iterable[Channel]:
        found: dict[str, Channel] = {}
        pending = list(relations)
        while pending:
            for node in nodes(pending.pop()):
                channel = self.by_name.get(node.name) if isinstance(node, Get) and not node.is_table else None
                if channel is not None and channel.name not in found:
                    found[channel.name] = channel
                    pending.append(channel.relation)
        return found.values()


def cheapest(options: Iterable[Option]) -> tuple[Option, ...]:
    """Of each placement the cheapest, the cheapest first; no more than a few."""
    best: dict[Placement, Option] = {}
    for option in options:
        known = best.get(option.placement)
        if known is None or option.total < known.total:
            best[option.placement] = option
    return tuple(sorted(best.values(), key=lambda each: each.total))[:_MOST]


_MOST = 6
Placed = Mapping[str, tuple[Placement, int]]
"""Of each table and view: where its rows are, and the level at which its changes are there."""
