"""EXPLAIN over shards: the fragments of a query, what is exchanged between them, and what each shard plans."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from textwrap import indent

from ivm.analysis.carried import carried_by_all
from ivm.cluster.driver.shards import Shards
from ivm.distribute.distribute import Distributed
from ivm.distribute.exchange import Channel
from ivm.distribute.placement import SINGLE, Anywhere, Hashed, Placement, Replicated
from ivm.engine.backend import Section
from ivm.sql.ir.rebuild import nodes
from ivm.sql.ir.relation import Asof, Get, Join, LetRec, Relation, Threshold, TopK, Window, inputs_of
from ivm.sql.ir.text import relation_text
from ivm.transform.pipeline import optimize
from ivm.transform.rewrite import peeled


def distributed_text(found: Distributed, shared: Sequence[str] = ()) -> str:
    """Level by level what is sent where, then what the view reads; `shared` are the channels that there are already."""
    numbers = {channel.name: f"exchange {i}" for i, channel in enumerate(found.channels, 1)}
    lines = [f"levels: {found.level}, exchanges: {len(found.channels)}"]
    kept = _kept(found)
    for channel in found.channels:
        head = _head(channel, channel.name in shared) + kept.get(channel.name, "")
        lines += ["", head, indent(relation_text(channel.relation), "  ")]
    names = [field.name for field in found.relation.schema]
    lines += ["", f"view, at level {found.level}, {_where(found.placement, names)}: {found.rows:.0f} rows expected"]
    lines += [indent(relation_text(found.relation), "  ")]
    lines += ["", *_loops(found)] if found.loops else []
    if found.placement == SINGLE:
        lines += ["", "its last step is done by one shard, since no column tells its rows apart"]
    return _renamed("\n".join(lines), numbers)


def _renamed(text: str, names: Mapping[str, str]) -> str:
    """Exchanges by their numbers in this text: what they are called says nothing to a reader."""
    for name, number in names.items():
        text = text.replace(name, number)
    return text


def _head(channel: Channel, is_shared: bool) -> str:
    names = [field.name for field in channel.relation.schema]
    source = "" if isinstance(channel.placement, Anywhere) else f" from {_where(channel.placement, names)}"
    sharing = ", shared" if is_shared else ""
    return (
        f"{channel.name}, after level {channel.level},{source} to {_where(channel.to, names)}: "
        f"{channel.rows:.0f} rows expected{sharing}"
    )


def _kept(found: Distributed) -> dict[str, str]:
    """Of each channel whose rows are kept where they arrive, what is said of it."""
    said: dict[str, str] = {}
    channels = {channel.name: channel for channel in found.channels}
    for relation in (*(channel.relation for channel in found.channels), found.relation):
        for node in nodes(relation):
            for below in inputs_of(node) if isinstance(node, Join | Asof | TopK | Window | Threshold) else ():
                base = peeled(below).base
                channel = channels.get(base.name) if isinstance(base, Get) else None
                if channel is not None:
                    own = peeled(channel.relation).base
                    again = f" again: rows of {own.name}" if isinstance(own, Get) and own.is_table else ""
                    said[channel.name] = f", kept there{again}"
    return said


def _loops(found: Distributed) -> Iterator[str]:
    """Of each loop, at which shards its rounds are run, and why; and what that costs."""
    channels = {channel.name: channel for channel in found.channels}
    for loop, placement in {loop.bindings: (loop, placement) for loop, placement in found.loops.items()}.values():
        yield f"loop {', '.join(each.name for each in loop.bindings)} {_rounds(loop, placement)}"
        read = dict.fromkeys(node.name for node in nodes(loop) if isinstance(node, Get))
        for channel in (channels[name] for name in read if name in channels):
            if isinstance(channel.to, Replicated):
                yield f"  every shard keeps all of {channel.name}: {channel.rows:.0f} rows"


def _rounds(loop: LetRec, placement: Placement) -> str:
    if isinstance(placement, Replicated):
        return "at every shard alike: all that it reads is there"
    if placement == SINGLE:
        columns = {loop.bindings[0].schema[each[loop.bindings[0].name]].name for each in carried_by_all(loop)}
        why = f"begins with one value of {', '.join(sorted(columns))} alone" if columns else "carries no column along"
        return f"on one shard: it {why}"
    assert isinstance(placement, Hashed), "it is at one shard, at every one, or hashed"
    (column,) = placement.columns
    return f"by {loop.schema[column].name}, which it carries along: each shard runs the rounds of its own"


def _where(placement: Placement, names: Sequence[str]) -> str:
    return placement.text(names)


def explained(shards: Shards, relation: Relation) -> Sequence[Section]:
    """How a relation would be distributed now: each shard plans its fragments for itself."""
    found = distributed_text(shards.planned(relation).view.distributed, tuple(shards.channels.by_name))
    return ("optimized", relation_text(optimize(relation))), ("distributed", found)
