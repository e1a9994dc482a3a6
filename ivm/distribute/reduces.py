"""Groups whose rows are spread over shards: added up where the rows are and put together where the group is, where both
follow from each other exactly; otherwise the rows go to where their group is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from ivm.analysis.equivalences import equivalences
from ivm.analysis.non_negative import is_non_negative
from ivm.catalog.schema import Field
from ivm.catalog.types import BIGINT, BOOLEAN, DOUBLE, HUGEINT, Kind, SqlType, decimal
from ivm.distribute.exchange import SHARDS, Exchanges, Option
from ivm.distribute.gathering import gathered
from ivm.distribute.placement import REPLICATED, SINGLE, Hashed, Placement, Replicated
from ivm.distribute.spread import targets
from ivm.sql.ir.aggregate import Aggregate
from ivm.sql.ir.coarser import coarser, decomposes
from ivm.sql.ir.rebuild import rebuilt, row
from ivm.sql.ir.relation import Constant, Join, Project, Reduce, Relation
from ivm.sql.ir.scalar import Call, Column, Scalar
from ivm.transform.rewrite import expressed, names

_SHRINKS = 0.5
"""Groups are added up first where that leaves at most this share of the rows."""


def reduce_options(
    reduce: Reduce, below: Sequence[Option], exchanges: Exchanges, above: Sequence[int] = ()
) -> Iterator[Option]:
    """The ways to have the groups, from the ways to have the rows. `above`: the keys by which they are grouped next."""
    for option in _grouped(reduce, below, exchanges, above):
        yield option if reduce.keys or option.placement != SINGLE else at_home(option, exchanges)


def at_home(option: Option, exchanges: Exchanges) -> Option:
    """The one group of everything, which is there without rows too, only at the shard that is to have it.

    It is joined with a row that nobody but that shard gets.
    """
    marker = Constant(((True,),), (Field("here", BOOLEAN, False),))
    here = exchanges.through(Option(marker, REPLICATED), SINGLE)
    joined = Join((option.relation, here.relation))
    kept = Project(joined, tuple(range(len(option.relation.schema))))
    return replace(option, relation=kept, level=max(option.level, here.level))


def _grouped(reduce: Reduce, below: Sequence[Option], exchanges: Exchanges, above: Sequence[int]) -> Iterator[Option]:
    for option in below:
        placement = _where(reduce, option.placement)
        if placement is not None:
            yield replace(option, relation=replace(reduce, input=option.relation), placement=placement)
            continue
        for to in targets(reduce, range(len(reduce.keys)), exchanges, above) if reduce.keys else (SINGLE,):
            if _adds_up(reduce, option, exchanges):
                yield _in_two(reduce, option, to, exchanges)
            else:
                yield _in_one(reduce, option, to, exchanges)


def _where(reduce: Reduce, placement: Placement) -> Placement | None:
    """Where the groups are, if each has all its rows at one shard, or at every one; None if that is not known."""
    if isinstance(placement, Replicated):
        return placement
    if not isinstance(placement, Hashed) or (not reduce.keys and placement.columns):
        return None
    known = equivalences(reduce.input)
    places = {known.representative(k.index): i for i, k in enumerate(reduce.keys) if isinstance(k, Column)}
    moved = placement.moved(lambda c: places.get(known.representative(c)))
    return moved if isinstance(moved, Hashed) else None


def _adds_up(reduce: Reduce, option: Option, exchanges: Exchanges) -> bool:
    """Whether to add up the groups of each shard first."""
    if not decomposes(_parts(reduce.aggregates)) or not is_non_negative(reduce.input):
        return False  # a group of which a shard has as many rows as it takes back would be nothing there
    rows = exchanges.rows.count(option.relation)
    return not reduce.keys or exchanges.rows.count(replace(reduce, input=option.relation)) * SHARDS <= rows * _SHRINKS


def _in_one(reduce: Reduce, option: Option, to: Hashed, exchanges: Exchanges) -> Option:
    """The rows go to where their group is, with what is read of them."""
    read = tuple(dict.fromkeys((*reduce.keys, *(s for each in reduce.aggregates for s in each.scalars))))
    titles = tuple(names(reduce.input)[s.index] if isinstance(s, Column) else f"#{i}" for i, s in enumerate(read))
    narrow = expressed(option.relation, read, titles)
    keys = [read.index(key) for key in reduce.keys]
    places = {each.index: i for i, each in enumerate(read) if isinstance(each, Column)}
    below = replace(option, relation=narrow, placement=option.placement.moved(places.get))
    sent = exchanges.through(below, Hashed(tuple(keys[c] for c in to.columns)))
    own = row(sent.relation)
    made = Reduce(
        sent.relation,
        tuple(own[k] for k in keys),
        tuple(each.map(lambda s: own[read.index(s)]) for each in reduce.aggregates),
        reduce.names,
    )
    return replace(sent, relation=made, placement=to)


def _in_two(reduce: Reduce, option: Option, to: Hashed, exchanges: Exchanges) -> Option:
    """The groups of each shard go to where the whole group is, and are put together there."""
    parts, width = _parts(reduce.aggregates), len(reduce.keys)
    titles = (*reduce.names[:width], *(f"#{width + i}" for i in range(len(parts))))
    fine = Reduce(option.relation, reduce.keys, parts, titles)
    placement = option.placement.moved(lambda _: None)
    whole = coarser(fine, range(width))

    def together(rows: Relation) -> Relation:
        return rebuilt(whole, lambda node: rows if node == fine else node, done=lambda node: node == option.relation)

    sent = gathered(Option(fine, placement, option.cost, option.level), to, together, exchanges)
    made = together(sent.relation)
    own = row(made)
    values = (*own[:width], *(_value(each, parts, own[width:]) for each in reduce.aggregates))
    return replace(sent, relation=_named(expressed(made, values, reduce.names), reduce.names), placement=to)


def _named(relation: Relation, wanted: tuple[str, ...]) -> Relation:
    assert names(relation) == wanted, "expressions are called as the groups were"
    return relation


def _parts(aggregates: Sequence[Aggregate]) -> tuple[Aggregate, ...]:
    """What aggregates are computed from: themselves; of a mean the sum and the count. Each once."""
    return tuple(dict.fromkeys(part for each in aggregates for part in _parts_of(each)))


def _parts_of(aggregate: Aggregate) -> tuple[Aggregate, ...]:
    arg = aggregate.arg
    if aggregate.function != "avg" or aggregate.distinct or arg is None or arg.type.is_float:
        return (aggregate,)
    counted = replace(aggregate, function="count", type=BIGINT, nullable=False)
    if not arg.nullable:
        counted = Aggregate("count_star", None, BIGINT, nullable=False)
    return replace(aggregate, function="sum", type=_sum_type(arg.type)), counted


def _sum_type(type_: SqlType) -> SqlType:
    return decimal(38, type_.scale) if type_.kind is Kind.DECIMAL else HUGEINT


def _value(aggregate: Aggregate, parts: Sequence[Aggregate], columns: Sequence[Column]) -> Scalar:
    """An aggregate of its parts, which these columns hold."""
    values = [columns[parts.index(each)] for each in _parts_of(aggregate)]
    if len(values) == 1:
        return values[0]
    total, count = (Call("cast", (value,), DOUBLE, value.nullable) for value in values)
    return Call("div", (total, count), DOUBLE, aggregate.nullable)
