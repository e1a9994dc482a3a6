"""`distribute`: a relation over tables that are spread over shards, cut so that each shard can do its part.

A placement is found for every node, inputs first: where its rows are elsewhere than they are needed, the relation is
cut. Below a cut is a fragment, which each shard maintains over what it has, and whose changes go to the shards where
the rows are needed; there they are the changes of a channel, which the fragment above reads as if it were a table.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from ivm.analysis.equivalences import equivalences
from ivm.distribute.asof import asof_options
from ivm.distribute.exchange import Channel, Channels, Exchanges, Option, Placed, cheapest
from ivm.distribute.gathering import gathered
from ivm.distribute.joins import JoinOrder
from ivm.distribute.loops import loop_options
from ivm.distribute.placement import REPLICATED, Hashed, Placement, Replicated
from ivm.distribute.reduces import reduce_options
from ivm.distribute.rows import Rows
from ivm.distribute.spread import targets
from ivm.distribute.unions import union_options
from ivm.sql.ir.rebuild import with_inputs
from ivm.sql.ir.relation import (
    Asof,
    Constant,
    Filter,
    Get,
    Join,
    LetRec,
    Map,
    Negate,
    Project,
    Reduce,
    Relation,
    Threshold,
    TopK,
    Union,
    Unnest,
    Window,
)
from ivm.sql.ir.scalar import Column
from ivm.transform.rewrite import peeled


@dataclass(frozen=True, slots=True)
class Distributed:
    """A relation in fragments: `channels`, inputs first, and `relation` over them, whose rows are at `placement`.

    `level`: at which the last one is maintained. `rows`: how many are expected. `loops`: where the rows of the loops in
    all of them are.
    """

    channels: tuple[Channel, ...]
    relation: Relation
    placement: Placement
    level: int
    rows: float
    loops: Mapping[LetRec, Placement]


def distribute(
    relation: Relation,
    placed: Placed,
    sizes: Mapping[str, float],
    known: Channels,
    shards: int,
) -> Distributed:
    """The cheapest way that was found to have a relation, which the transforms have brought into shape, over `shards`.

    `placed`: where tables and views are. `sizes`: see `Rows`. Channels that are not `known` are added to it.
    Deterministic. Cost: as many ways as there are orders of its joins, up to nine inputs; then of those that look best.
    """
    planner = _Planner(placed, Exchanges(Rows(sizes), shards))
    best = planner.options(relation)[0]
    found = planner.exchanges.settled(best, known)
    option, rows = found.option, planner.exchanges.rows.count(relation)
    return Distributed(found.channels, option.relation, option.placement, option.level, rows, found.loops)


class _Planner:
    """The ways to have each node, the cheapest first."""

    def __init__(self, placed: Placed, exchanges: Exchanges) -> None:
        self._placed = placed
        self.exchanges = exchanges
        self._known: dict[int, tuple[Relation, tuple[Option, ...]]] = {}
        self._above: dict[int, tuple[int, ...]] = {}
        """By the id of a node the keys, of its own, by which it is grouped above."""

    def options(self, relation: Relation) -> tuple[Option, ...]:
        """At least one, of different placements."""
        known = self._known.get(id(relation))
        if known is None:
            known = self._known[id(relation)] = relation, cheapest(self._options(relation))
        return known[1]

    def _options(self, relation: Relation) -> Iterable[Option]:
        match relation:
            case Get():
                placement, level = self._placed[relation.name]
                return (Option(replace(relation, references=()), placement, level=level),)
            case Constant():
                return (Option(relation, REPLICATED),)
            case Map() | Filter() | Project() | Join():
                below = peeled(relation)
                if isinstance(below.base, Join):
                    return JoinOrder(relation, below, self.options, self.exchanges).options()
                assert not isinstance(relation, Join), "a join is below itself"
                return self._mapped(relation)
            case Reduce():
                self._above.setdefault(id(relation.input), _grouping(relation))
                options = self.options(relation.input)
                return reduce_options(relation, options, self.exchanges, self._above.get(id(relation), ()))
            case TopK():
                return self._grouped(relation, relation.group)
            case Window():
                return self._grouped(relation, relation.partition)
            case Asof():
                return asof_options(relation, self.options, self.exchanges)
            case Union():
                return union_options(relation, self.options, self.exchanges)
            case Negate() | Unnest():
                return self._over(relation)
            case Threshold():
                return self._grouped(relation, range(len(relation.schema)))
            case LetRec():
                return loop_options(relation, self.options, self.exchanges)
        raise AssertionError(f"no distribution of {type(relation).__name__}")

    def _over(self, relation: Negate | Unnest | Map | Filter) -> Iterator[Option]:
        """The node over each option, where its rows are."""
        for option in self.options(relation.input):
            yield replace(option, relation=with_inputs(relation, (option.relation,)))

    def _mapped(self, relation: Map | Filter | Project) -> Iterator[Option]:
        if not isinstance(relation, Project):
            yield from self._over(relation)
            return
        known = equivalences(relation.input)
        places = {known.representative(c): i for i, c in reversed(list(enumerate(relation.columns)))}
        for option in self.options(relation.input):
            placement = option.placement.moved(lambda c: places.get(known.representative(c)))
            yield replace(option, relation=with_inputs(relation, (option.relation,)), placement=placement)

    def _grouped(self, relation: TopK | Window | Threshold, group: Sequence[int]) -> Iterator[Option]:
        """Where rows that agree on `group` are together, and elsewhere after an exchange that brings them together."""
        known = equivalences(relation.input)
        own = set(map(known.representative, group))
        for option in self.options(relation.input):
            placement = option.placement
            if isinstance(placement, Replicated) or (
                isinstance(placement, Hashed) and own.issuperset(map(known.representative, placement.columns))
            ):
                yield replace(option, relation=replace(relation, input=option.relation))
                continue
            for to in targets(option.relation, group, self.exchanges):
                sent = self._sent(relation, option, to)
                yield replace(sent, relation=replace(relation, input=sent.relation))

    def _sent(self, relation: TopK | Window | Threshold, option: Option, to: Hashed) -> Option:
        """What is to be sent: of rows of which the first are wanted those that are so where they are; else all."""
        if not isinstance(relation, TopK) or relation.limit is None:
            return self.exchanges.through(option, to)
        first = replace(relation, limit=relation.limit + relation.offset, offset=0)
        here = replace(option, relation=replace(first, input=option.relation))
        return gathered(here, to, lambda rows: replace(first, input=rows), self.exchanges)


def _grouping(reduce: Reduce) -> tuple[int, ...]:
    """The keys of the groups below that groups of groups are by; none if they are by something else too."""
    below, columns = reduce.input, [key.index for key in reduce.keys if isinstance(key, Column)]
    is_by_keys = isinstance(below, Reduce) and all(c < len(below.keys) for c in columns)
    return tuple(columns) if is_by_keys and len(columns) == len(reduce.keys) else ()
