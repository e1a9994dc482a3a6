"""A view that is filled while commits go on, as a shard knows it: level by level, over many versions.

Of each level the fragments are made first, bit by bit: nobody knows of them, so it does not matter how far a shard is.
Then they are cut: from that version on their changes are sent, and the shards where they go collect these. Their rows
as of then follow in parts, by a hash of the row, so that each part is the same whichever copy of a shard sends it,
whatever it was loaded from. What has arrived is what the fragments of the next levels are made from; last comes
the view.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import pyarrow as pa

from ivm.catalog.errors import StorageError
from ivm.cluster.protocol.collected import Collected, in_part, row_hashes
from ivm.cluster.protocol.orders import Filling as Order
from ivm.cluster.protocol.orders import Step
from ivm.cluster.protocol.routing import Routed, routed
from ivm.cluster.protocol.wire import Heard, Said, channels_in
from ivm.cluster.shard.defining import New
from ivm.cluster.shard.growth import Growth
from ivm.cluster.shard.shard import Shard
from ivm.dataflow.bits import Bits
from ivm.dataflow.node import Node
from ivm.distribute.exchange import Channel
from ivm.distribute.placement import is_repeated
from ivm.kernels.types import Hashes
from ivm.trace.delta import Delta


class Done(NamedTuple):
    """How far a shard is: rows read just now, whether all is done that needs no other shard, and rows it is to send."""

    rows: int
    is_over: bool
    held: int


class _Held(NamedTuple):
    """Rows that are to be sent by a channel, and to how many shards each is."""

    channel: str
    routed: Routed
    hashes: Hashes
    copies: int


_ARRIVING = 2
"""The level of a step at which what is sent is there."""
_Contents = list[tuple[Channel, Iterator[Delta]]]


class Filling:
    """See above. A shard is told each step at its levels, then `keep`, or `undo`; and between any two, to `work`."""

    def __init__(self, shard: Shard, number: int, shards: int, new: New, sizes: Mapping[str, float]) -> None:
        self.new = new
        self.sizes = sizes
        self._shard = shard
        self._number = number
        self._shards = shards
        self._levels = sorted({channel.level for channel in new.distributed.channels})
        self._fragments: dict[str, Node] = {}
        self._contents: _Contents | None = None
        """Those of the fragments of a level, as long as they are sent."""
        self._held: list[_Held] = []
        self._collected: dict[str, Collected] = {}
        self._growth: Growth | None = None
        self._step: Order | None = None
        self._arrived: Mapping[str, Sequence[pa.RecordBatch]] = {}

    def work(self, seconds: float) -> Done:
        """Do some of what needs no other shard."""
        growth = self._under_way()
        rows = growth.advance(seconds)
        return Done(rows, growth.is_over, self._rows_held if growth.is_over else 0)

    @property
    def _rows_held(self) -> int:
        return sum(each.routed.rows.num_rows * each.copies for each in self._held)

    def step(self, order: Order, level: int, inputs: Sequence[Heard]) -> list[Said]:
        """Go through a level of a step. Raises what is wrong with the view over the rows there are."""
        self._check(order)
        if level > 1:
            if level == _ARRIVING:
                self._arrived = channels_in(inputs)
            return []
        self._step = order
        self.finish()
        if order.step is Step.PART:
            return self._part(order)
        for channel in self._channels():
            self._shard.open(channel, channel.level + 1)
        return []

    def finish(self) -> None:
        """Do all that needs no other shard. Raises what is wrong with the view over the rows there are."""
        self._under_way().finish()
        installation = self._shard.renderer.graph.installation
        if installation is not None and installation.error is not None:
            raise installation.error

    def change(self, time: int, rows: Mapping[str, Sequence[pa.RecordBatch]]) -> None:
        """What a commit has sent, up to its last time: tentatively, as the commit itself."""
        for name, batches in rows.items():
            if name in self._collected:
                self._collected[name].change(time, batches)

    def undo(self) -> None:
        """Everything is as at the last `keep`. It may be interrupted, and called again."""
        for each in self._collected.values():
            each.undo()
        self._step, self._arrived = None, {}

    def keep(self) -> None:
        """What was stepped is final. It may be interrupted, and called again."""
        for each in self._collected.values():
            each.keep()
        if self._step is not None:
            if self._step.step is Step.CUT:
                self._cut()
            else:
                self._put(self._step)
            self._step, self._arrived = None, {}

    def end(self) -> None:
        """It works no more. It may be interrupted, and called again."""
        if self._growth is not None:
            self._growth.end()

    def take_back(self) -> None:
        """Nobody needs what it has made. It may be interrupted, and called again."""
        self.end()
        for name, node in self._fragments.items():
            if name not in self._shard.leaving:
                node.owners.pop(name, None)
                self._shard.fragments.pop(name, None)
        if self.new.installed is not None:
            self.new.installed.node.owners.pop(self.new.view.name, None)

    def _check(self, order: Order) -> None:
        """StorageError for a step that does not follow from those before it."""
        sends = self._contents is not None
        if not self._levels or self._levels[0] != order.level or sends != (order.step is Step.PART):
            name = self.new.view.name
            raise StorageError(f"cannot fill view {name}: {order} does not follow; open the database anew")

    def _channels(self) -> list[Channel]:
        """Those of the level that is done now."""
        return [each for each in self.new.distributed.channels if self._levels and each.level == self._levels[0]]

    def _under_way(self) -> Growth:
        """What is to be done next without other shards."""
        if self._growth is None:
            self._growth = Growth(self._hold() if self._contents is not None else self._made())
        return self._growth

    def _cut(self) -> None:
        contents: _Contents = []
        for channel in self._channels():
            name = channel.name
            if name not in self._shard.leaving:  # or it is sent already, for other views
                self._shard.leaving[name] = self._fragments[name]
            if name not in self._collected:
                types = [field.type for field in channel.relation.schema]
                self._collected[name] = Collected(types, self._shard.dictionary)
            self._shard.arrive(name, self._collected[name].as_of)
            if not is_repeated(channel.placement, self._number):
                contents.append((channel, self._shard.sent(name)))
        self._growth, self._held, self._contents = None, [], contents

    def _made(self) -> Bits[None]:
        """Make the fragments of the channels of this level that are not there yet; at last, the view."""
        shard, new = self._shard, self.new
        for channel in self._channels():
            name = channel.name
            if name not in shard.leaving and name not in self._fragments:
                self._fragments[name] = yield from shard.fragment(channel, self.sizes)
                self._fragments[name].owners[name] = None
        if not self._levels:
            new.installed = yield from shard.view_of(new.view, new.distributed.relation, self.sizes)
            new.installed.node.owners[new.view.name] = None  # nobody sweeps it away

    def _hold(self) -> Bits[None]:
        """Read what is to be sent, and find out where to."""
        shard = self._shard
        for channel, deltas in self._contents or ():
            fields = channel.relation.schema
            types = [field.type for field in fields]
            for delta in deltas:
                found = routed(delta, fields, channel.to, self._number, shard.dictionary)
                if found is not None:
                    copies = self._shards if found.to is None else 1
                    self._held.append(_Held(channel.name, found, row_hashes(found.rows, types), copies))
                yield len(delta)

    def _part(self, order: Order) -> list[Said]:
        return [
            Said(channel, each, to)
            for channel, (rows, to), hashes, _ in self._held
            for each in in_part(rows, hashes, order.part, order.of)
        ]

    def _put(self, order: Order) -> None:
        for channel in self._channels():
            self._collected[channel.name].put(order.part, order.of, self._arrived.get(channel.name, ()))
        if order.part + 1 == order.of:
            levels = [level for level in self._levels if level > order.level]
            self._growth, self._held, self._contents, self._levels = None, [], None, levels
