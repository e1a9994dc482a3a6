"""Loops over shards: none of them exchanges anything from round to round.

Where all names of a loop carry a column along, rows of one value in it lead to rows of that value alone: each shard has
a loop of its own, of the values that the hash sends there. What is joined with the loop by something else is at every
shard whole, as it would be at the one that ran all rounds: no shard has more to do or to keep than that one would have.
Without such a column all that enters is brought together at one shard.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from ivm.analysis.carried import carried_by_all
from ivm.analysis.equivalences import equivalences
from ivm.analysis.known_predicates import known_predicates
from ivm.analysis.lifted import is_lifted
from ivm.analysis.order_free import order_of
from ivm.distribute.exchange import Exchanges, Option
from ivm.distribute.placement import REPLICATED, SINGLE, Hashed, Placement
from ivm.distribute.reduces import at_home
from ivm.sql.ir.rebuild import rebuilt, with_inputs
from ivm.sql.ir.relation import LetRec, Reduce, Relation, inputs_of
from ivm.transform.entered import entered
from ivm.transform.rewrite import filtered

OptionsOf = Callable[[Relation], Sequence[Option]]


def loop_options(loop: LetRec, options_of: OptionsOf, exchanges: Exchanges) -> Iterator[Option]:
    """The loop by the column that costs least, or at one shard; and at every one, where all that enters is there.

    By one column alone, whatever is read of the loop, so that it is one loop for all who read it.
    """
    ways = [columns for columns in carried_by_all(loop) if _tells_apart(loop, columns)] or [{}]
    yield min((_over(loop, columns, options_of, exchanges) for columns in ways), key=lambda each: each.total)
    whole = _Entering(options_of, exchanges)
    made = entered(loop, {}, lambda part, column, is_joined: whole.at(part, REPLICATED))
    if not whole.is_sent:
        yield whole.option(made, REPLICATED)


def _tells_apart(loop: LetRec, columns: Mapping[str, int]) -> bool:
    """Whether the rows that begin a loop may have several values in a column."""
    values = set[object]()

    def enter(part: Relation, column: int | None, is_joined: bool) -> Relation:
        if column is not None and not is_joined:
            values.add(equivalences(part).constants.get(column))
        return part

    entered(loop, columns, enter)
    return len(values) > 1 or None in values


def _over(loop: LetRec, columns: Mapping[str, int], options_of: OptionsOf, exchanges: Exchanges) -> Option:
    """The loop where its bindings are hashed by these columns; at one shard, if none are given."""
    entering = _Entering(options_of, exchanges)

    def enter(part: Relation, column: int | None, is_joined: bool) -> Relation:
        by = () if column is None else (equivalences(part).representative(column),)
        places = (Hashed(by),) if by or not columns else ()
        return entering.at(part, *places, *((REPLICATED,) if is_joined else ()))

    def home(node: Relation) -> Relation:
        if not isinstance(node, Reduce) or node.keys:
            return node
        return entering.used(at_home(Option(node, SINGLE), exchanges))

    def enter_known(part: Relation, column: int | None, is_joined: bool) -> Relation:
        return filtered(enter(part, column, is_joined), known_predicates(part))

    made = entered(loop, columns, enter)
    if order_of(made) != order_of(loop):  # for a filter has shown, where rows come from, that values only grow
        made = entered(loop, columns, enter_known)
    made = with_inputs(made, tuple(rebuilt(each, home, done=_stays) for each in inputs_of(made)))
    result = columns.get(loop.bindings[loop.result].name)
    return entering.option(made, SINGLE if result is None else Hashed((result,)))


def _stays(relation: Relation) -> bool:
    return not is_lifted(relation)


class _Entering:
    """What enters a loop, where it is to be."""

    def __init__(self, options_of: OptionsOf, exchanges: Exchanges) -> None:
        self._options_of, self._exchanges = options_of, exchanges
        self._used: dict[Relation, Option] = {}
        self.is_sent = False
        """Whether some of it was elsewhere."""

    def at(self, part: Relation, *places: Placement) -> Relation:
        """A part, at one of these places."""
        options = self._options_of(part)
        there = [self._exchanges.at(options, to) for to in places]
        self.is_sent |= not any(option.placement in places for option in options)
        return self.used(min(there, key=lambda option: option.total))

    def used(self, option: Option) -> Relation:
        """What an option has, which is needed."""
        self._used[option.relation] = option
        return option.relation

    def option(self, loop: LetRec, placement: Placement) -> Option:
        """The loop over all that is needed, whose own rows are kept, too."""
        used = self._used.values()
        self._exchanges.loops[loop] = placement
        cost = sum(each.cost for each in used) + self._exchanges.kept(loop, placement)
        return Option(loop, placement, cost, max((each.level for each in used), default=1))
