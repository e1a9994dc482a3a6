"""Loops over shards: what enters is brought together at one shard, which runs the rounds."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from ivm.analysis.order_free import depends
from ivm.distribute.exchange import Exchanges, Option
from ivm.distribute.placement import REPLICATED, SINGLE, Placement, Replicated
from sql.ir.rebuild import map_inputs
from sql.ir.relation import LetRec, Relation

OptionsOf = Callable[[Relation], Sequence[Option]]


def loop_options(loop: LetRec, options_of: OptionsOf, exchanges: Exchanges) -> Iterator[Option]:
    """The loop at one shard; and at every shard, where all that enters is there anyway."""
    entering: dict[int, Relation] = {}
    for binding in loop.bindings:
        _collect(binding.relation, entering)
    options = {key: options_of(each) for key, each in entering.items()}
    yield _over(loop, {key: _single(each, exchanges) for key, each in options.items()}, SINGLE)
    everywhere = {key: next(filter(_is_replicated, each), None) for key, each in options.items()}
    there = {key: each for key, each in everywhere.items() if each is not None}
    if len(there) == len(everywhere):
        yield _over(loop, there, REPLICATED)


def _collect(relation: Relation, found: dict[int, Relation]) -> None:
    """The largest parts of a binding that depend on no name of the loop."""
    if not depends(relation):
        found[id(relation)] = relation
        return

    def visit(below: Relation) -> Relation:
        _collect(below, found)
        return below

    map_inputs(relation, visit)


def _over(loop: LetRec, chosen: dict[int, Option], placement: Placement) -> Option:
    def entered(relation: Relation) -> Relation:
        option = chosen.get(id(relation))
        return map_inputs(relation, entered) if option is None else option.relation

    bindings = tuple(replace(each, relation=entered(each.relation)) for each in loop.bindings)
    used = chosen.values()
    made = replace(loop, bindings=bindings)
    return Option(made, placement, sum(o.cost for o in used), max((o.level for o in used), default=1))


def _single(options: Sequence[Option], exchanges: Exchanges) -> Option:
    there = [o if o.placement == SINGLE else exchanges.through(o, SINGLE) for o in options]
    return min(there, key=lambda option: option.total)


def _is_replicated(option: Option) -> bool:
    return isinstance(option.placement, Replicated)
