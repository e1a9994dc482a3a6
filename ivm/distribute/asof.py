"""ASOF joins over shards: the rows of both sides are together where they agree in the keys."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from ivm.analysis.equivalences import equivalences
from ivm.distribute.exchange import Exchanges, Option
from ivm.distribute.placement import REPLICATED, Hashed, Placement
from ivm.distribute.spread import targets
from ivm.sql.ir.rebuild import with_inputs
from ivm.sql.ir.relation import Asof, Relation

OptionsOf = Callable[[Relation], Sequence[Option]]


def asof_options(asof: Asof, options_of: OptionsOf, exchanges: Exchanges) -> Iterator[Option]:
    """The ways to have an ASOF join, from the ways to have its sides: both by keys, or all of the right everywhere."""
    lefts, rights = options_of(asof.left), options_of(asof.right)
    own, others = tuple(c for c, _ in asof.keys), tuple(d for _, d in asof.keys)
    of_left: list[Placement] = [*targets(asof.left, own, exchanges), *(option.placement for option in lefts)]
    together: dict[tuple[Placement | None, Placement | None], None] = {}
    together |= {(to, _moved(to, asof.left, own, others)): None for to in of_left}
    together |= {(_moved(o.placement, asof.right, others, own), o.placement): None for o in rights}
    for left, right in together:
        if left is not None and right is not None:
            yield _joined(asof, exchanges.at(lefts, left), exchanges.at(rights, right))
    everywhere = exchanges.at(rights, REPLICATED)
    yield from (_joined(asof, option, everywhere) for option in lefts)


def _joined(asof: Asof, left: Option, right: Option) -> Option:
    """The columns of the left are the first: the rows are where those of the left are."""
    made = with_inputs(asof, (left.relation, right.relation))
    return Option(made, left.placement, left.cost + right.cost, max(left.level, right.level))


def _moved(placement: Placement, side: Relation, keys: Sequence[int], others: Sequence[int]) -> Hashed | None:
    """Where the other side is together with this one; None if not all that says where rows are is a key."""
    known = equivalences(side)
    places = {known.representative(c): d for c, d in zip(keys, others, strict=True)}
    if not isinstance(placement, Hashed):
        return None
    found = [places.get(known.representative(c)) for c in placement.columns]
    kept = tuple(c for c in found if c is not None)
    return Hashed(kept) if len(kept) == len(found) else None
