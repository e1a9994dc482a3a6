"""Which lookups of a path race: where a join is cyclic, several inputs know the next attribute.

Of triangles (a, b), (b, c), (a, c) a change of the first finds c among the rows of its b, or among those of its a; the
other input then tests it, by both columns. In a fixed order a change meets all edges of a node, however many. Where it
goes by whichever finds fewer, it meets no more than a worst-case optimal join does (Ngo et al., Skew Strikes Back;
Ammar et al., Distributed Evaluation of Subgraph Queries Using Worst-case Optimal Low-Memory Dataflows).

Without a cycle nothing can be gained in the worst case, so that such joins have no races. How rows are spread among
keys is not known, so that neither sizes nor their absence say that a race does not pay, unless there are few rows: it
costs about what a lookup costs that finds nothing, and the rest follows from what is there.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ivm.plan.join_keys import MOST_FOUND, Side, Step

Ways = tuple[tuple[Step, ...], ...]
"""Orders in which the same inputs may be looked up: mostly one, of one step."""


def raced(sides: Sequence[Side], source: int, steps: Sequence[Step]) -> Iterator[Ways]:
    """The steps of the path of input `source` one after the other, those that race with the first of them together.

    What races is looked up by all columns that are bound: rows that others propose are tested at once.
    """
    core, known, left = cycle(sides), set(sides[source].classes.values()), list(steps)
    while left:
        first = left[0]
        new = set(sides[first.input].classes.values()) - known
        racing = [s for s in left if s.input in core and _proposes(sides[s.input], known, new)]
        if first in racing and len(racing) > 1:
            orders = ([each, *(other for other in racing if other is not each)] for each in racing)
            yield tuple(tuple(_by_all_bound(sides, known, order)) for order in orders)
        else:
            racing = [first]
            yield ((first,),)
        left = [step for step in left if step not in racing]
        known |= new


def cycle(sides: Sequence[Side]) -> frozenset[int]:
    """The inputs that are left when ears are removed, as long as there are any; one at most if the join has no cycle.

    An ear is an input that has all the classes that it shares with any other in common with one of them (Graham; Yu
    and Ozsoyoglu).
    """
    left = {number: set(side.classes.values()) for number, side in enumerate(sides)}
    while (ear := next((number for number in left if _is_ear(number, left)), None)) is not None:
        del left[ear]
    return frozenset(left)


def _is_ear(number: int, classes: dict[int, set[int]]) -> bool:
    others = [each for other, each in classes.items() if other != number]
    shared = classes[number].intersection(set[int]().union(*others))
    return any(shared <= each for each in others)


def _proposes(side: Side, known: set[int], new: set[int]) -> bool:
    """Whether a lookup by `known` classes finds `new` ones, which may be many.

    An input with a key among the new ones says something of them, as a customer's row where he is: it is for tests.
    """
    classes = set(side.classes.values())
    if side.rows is not None and side.rows <= MOST_FOUND:
        return False
    if classes.isdisjoint(known) or classes.isdisjoint(new) or not classes <= known | new:
        return False
    return side.unique_key(side.columns_of(known)) is None and side.unique_key(side.columns_of(new)) is None


def _by_all_bound(sides: Sequence[Side], known: set[int], order: Sequence[Step]) -> Iterator[Step]:
    bound = set(known)
    for step in order:
        side = sides[step.input]
        columns = side.columns_of(bound)
        unique = side.unique_key(columns)
        yield Step(step.input, columns if unique is None else unique)
        bound.update(side.classes.values())
