"""How many levels a commit needs."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import NamedTuple

from ivm.analysis.tables import tables_of
from ivm.cluster.planning.reading import ShardedView
from ivm.distribute.exchange import Channels
from ivm.sql.ir.relation import Relation


class Read(NamedTuple):
    """What reads something: a view, or a channel. `level`: the one at which all is done for it."""

    name: str
    relation: Relation
    level: int


def levels_of(names: Collection[str], readers: Iterable[Read]) -> int:
    """How many levels a commit of these tables needs: what it reaches goes on at the levels above.

    A view is at a level above that of its tables where only some of what it reads comes by channels.
    """
    levels, left = [1], list(readers)
    reached, grows = set(names), True
    while grows:
        found = [each for each in left if not reached.isdisjoint(tables_of(each.relation))]
        left = [each for each in left if each not in found]
        reached |= {each.name for each in found}
        levels += [each.level for each in found]
        grows = bool(found)
    return max(levels)


def levels_over(names: Iterable[str], views: Iterable[ShardedView], channels: Channels) -> int:
    """The same, over these views, and the channels that there are and that these need."""
    there, readers = dict(channels.by_name), list[Read]()
    for view in views:
        readers.append(Read(view.definition.name, view.relation, view.level))
        there |= {each.name: each for each in view.distributed.channels}
    readers += [Read(each.name, each.relation, each.level + 1) for each in there.values()]
    return levels_of({*names}, readers)
