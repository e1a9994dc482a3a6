"""Loops by rounds: a relation of a loop becomes one of what changes in it from round to round.

A collection of a loop that depends on one of its names is *lifted*: it has one more column, the round, and a row of
round i is a change that round i makes to what the round before held. So the sum of a row's multiplicities over rounds
up to i is its multiplicity in round i. What is linear is as it was: a join's rows are of the later one of the rounds
that they come from. Groups alone look at rounds, in `ByRound`. What depends on no name enters in round 0 and stays.
"""

from __future__ import annotations

from functools import cached_property
from typing import cast

from ivm.analysis.order_free import order_of
from ivm.catalog.errors import UnsupportedError
from ivm.catalog.schema import Field, Schema
from ivm.catalog.types import BIGINT
from ivm.plan.mfp import peel
from ivm.sql.ir.compared_once import Remembering, compared_once
from ivm.sql.ir.conditions import comparison
from ivm.sql.ir.functions.called import is_called
from ivm.sql.ir.rebuild import column, is_loop, rebuilt
from ivm.sql.ir.relation import (
    Filter,
    Join,
    LetRec,
    Map,
    Negate,
    Project,
    RecursiveGet,
    Reduce,
    Relation,
    Threshold,
    TopK,
    Union,
    Unnest,
    Window,
    inputs_of,
)
from ivm.sql.ir.scalar import Call, Column, Literal, Scalar

ROUND = Field("round", BIGINT, False)
SIGN = Field("sign", BIGINT, False)
_ZERO, _PLUS, _MINUS = (Literal(value, BIGINT) for value in (0, 1, -1))


@compared_once
class Fed(Remembering):
    """What the loop feeds back of the binding called `name`: its changes of each round, as of the round after."""

    name: str
    schema: Schema


@compared_once
class Numbered(Remembering):
    """What enters a loop in rounds by its value in a column, as binding number `binding` has them: see `Valued`."""

    input: Relation
    binding: int
    column: int

    @cached_property
    def schema(self) -> Schema:
        """The input's fields, and the round."""
        return (*self.input.schema, ROUND)


@compared_once
class Delayed(Remembering):
    """What comes, with the round last, in rounds by its value in a column, or later; see `Numbered`."""

    input: Relation
    binding: int
    column: int

    @property
    def schema(self) -> Schema:
        """The input's fields."""
        return self.input.schema


@compared_once
class ByRound(Remembering):
    """What `over`, a node of groups, makes of its input in each round: the changes from round to round.

    `input` is the lifted input of it, with the round last, which the output has last, too. `settled`: a row may stay in
    the round in which it came (see `ivm.analysis.order_free`).
    """

    over: Reduce | TopK | Window | Threshold
    input: Relation
    settled: bool = False

    @cached_property
    def schema(self) -> Schema:
        """The node's fields, and the round."""
        return (*self.over.schema, ROUND)


@compared_once
class Signed(Remembering):
    """The input with one more column, the sign, which is 1.

    Differences are kept as rows that are there; of one that stays although it takes something back the sign is -1.
    """

    input: Relation

    @cached_property
    def schema(self) -> Schema:
        """The input's fields, and the sign."""
        return (*self.input.schema, SIGN)


@compared_once
class Entered(Remembering):
    """The input, kept in such a way that its past can be looked up: a reduce's own groups have none."""

    input: Relation

    @property
    def schema(self) -> Schema:
        """The input's fields."""
        return self.input.schema


@compared_once
class Unsigned(Remembering):
    """R'(r) = sum of s * R(r, s): the last column, a sign, becomes part of the multiplicity."""

    input: Relation

    @cached_property
    def schema(self) -> Schema:
        """The input's fields but the last."""
        return self.input.schema[:-1]


def lifted(loop: LetRec) -> tuple[Relation, ...]:
    """Of each binding the changes of each round, with the round as the last column."""
    lift = _Lift(loop)
    for binding in loop.bindings:
        lift.add(binding.name, binding.relation)
    return tuple(lift.done.values())


class _Lift:
    """One loop; `done` are the bindings that are lifted already, which those after them see as of the same round.

    One that depends on no name is as it is from the first round on: those after it read what it is, which enters.
    """

    def __init__(self, loop: LetRec) -> None:
        self._names = {binding.name: binding.schema for binding in loop.bindings}
        self.done: dict[str, Relation] = {}
        self._constants: dict[str, Relation] = {}
        self._known: dict[int, tuple[Relation, Relation | None]] = {}
        order = order_of(loop)
        self._settled = not (order.exact or order.valued)
        self._numbered: dict[int, tuple[int, int]] = {}
        """The unions, by identity, whose inputs enter in rounds of their own: of which binding, by which column."""
        self._delayed: dict[int, tuple[int, int]] = {}
        """The reduces, by identity, whose input comes in rounds of its own, in the same way."""
        for each in order.valued:
            reduce = loop.bindings[each.binding].relation
            if each.grows:
                self._delayed[id(reduce)] = each.binding, _value_of(reduce)
            elif (found := _union_of(reduce)) is not None:
                self._numbered[id(found[0])] = each.binding, found[1]

    def add(self, name: str, relation: Relation) -> None:
        """One more binding, which those that follow read as of the same round."""
        read = rebuilt(relation, self._constant, done=is_loop)
        self.done[name] = self.entered(read)
        if self.lift(read) is None:
            self._constants[name] = read
        self._known = {}

    def _constant(self, node: Relation) -> Relation:
        return self._constants.get(node.name, node) if isinstance(node, RecursiveGet) else node

    def entered(self, relation: Relation) -> Relation:
        """The relation, lifted; what depends on no name is there from round 0 on."""
        found = self.lift(relation)
        if found is not None:
            return found
        width = len(relation.schema)
        return Project(Map(relation, (_ZERO,), (ROUND.name,)), tuple(range(width + 1)))

    def lift(self, relation: Relation) -> Relation | None:
        """The relation by rounds; None if it depends on no name."""
        if id(relation) not in self._known:
            self._known[id(relation)] = relation, self._lifted(relation)
        return self._known[id(relation)][1]

    def _lifted(self, relation: Relation) -> Relation | None:
        if isinstance(relation, RecursiveGet):
            done = self.done.get(relation.name)
            if done is not None:
                return done
            return _among(Fed(relation.name, (*self._names[relation.name], ROUND)))
        if isinstance(relation, LetRec):  # it reads no name of a loop around it
            return None
        below = tuple(map(self.lift, inputs_of(relation)))
        if not any(below):
            return None
        if isinstance(relation, Join):
            return _joined(relation, below)
        if isinstance(relation, Union):
            numbered = self._numbered.get(id(relation))
            if numbered is None:
                return Union(tuple(map(self.entered, relation.inputs)))
            pairs = zip(relation.inputs, below, strict=True)
            return Union(tuple(_among(Numbered(own, *numbered)) if each is None else each for own, each in pairs))
        (only,) = below
        assert only is not None
        delayed = self._delayed.get(id(relation))
        return _over(relation, only if delayed is None else _among(Delayed(only, *delayed)), self._settled)


def _union_of(relation: Relation) -> tuple[Union, int] | None:
    """The union of which a binding takes the least value of a column, and this; None if it is of nothing such."""
    assert isinstance(relation, Reduce), "a reduce takes the least"
    base, mfp = peel(relation.input)
    place = mfp.projection[_value_of(relation)]
    return (base, place) if isinstance(base, Union) and place < mfp.width else None


def _value_of(relation: Relation) -> int:
    """The column of the input of which a binding takes the least value."""
    assert isinstance(relation, Reduce), "a reduce takes the least"
    (arg,) = (each.arg for each in relation.aggregates)
    assert isinstance(arg, Column), "the value is a column"
    return arg.index


def _over(relation: Relation, lifted: Relation, settled: bool) -> Relation:
    """A node of one input, over that lifted."""
    width = len(lifted.schema) - 1
    match relation:
        case Map():
            mapped, more = Map(lifted, relation.scalars, relation.names), len(relation.scalars)
            return Project(mapped, (*range(width), *range(width + 1, width + 1 + more), width))
        case Unnest():
            _check_no_call(relation)
            made = Unnest(lifted, relation.lists, relation.names, relation.numbered, relation.optional)
            more = len(relation.added)
            return Project(made, (*range(width), *range(width + 1, width + 1 + more), width))
        case Filter():
            return Filter(lifted, relation.predicates)
        case Project():
            names = (*relation.names, ROUND.name) if relation.names else ()
            return Project(lifted, (*relation.columns, width), names)
        case Negate():
            return Negate(lifted)
        case Reduce() | TopK() | Window() | Threshold():
            by_row = isinstance(relation, Reduce) and not relation.aggregates
            return _among(ByRound(relation, lifted, settled and by_row))
    raise AssertionError(f"{type(relation).__name__} does not stand in a loop")


def _check_no_call(relation: Unnest) -> None:
    if any(map(is_called, relation.lists)):
        raise UnsupportedError(
            f"cannot maintain this: within a loop the function {relation.names[0]}() of Python's would be called for "
            "rows that come and go from round to round; call it before the loop, or in a view that reads the result"
        )


def _joined(join: Join, below: tuple[Relation | None, ...]) -> Relation:
    """A join of which some inputs are lifted: of the latest round, and with the product of the signs."""
    inputs = tuple(
        _entering(own) if each is None else _among(Signed(each)) for own, each in zip(join.inputs, below, strict=True)
    )
    places, kept, start = dict[int, int](), list[int](), 0
    rounds, signs = list[int](), list[int]()
    for own, each, lifted in zip(join.inputs, inputs, below, strict=True):
        width = len(own.schema)
        for c in range(width):
            places[len(kept)] = start + c
            kept.append(start + c)
        if lifted is not None:
            rounds.append(start + width)
            signs.append(start + width + 1)
        start += len(each.schema)
    classes = tuple(tuple(places[c] for c in group) for group in join.equivalences)
    joined: Relation = Join(inputs, classes)
    columns = [column(joined, c) for c in range(start)]
    latest: Scalar = columns[rounds[0]]
    sign: Scalar = columns[signs[0]]
    if len(rounds) > 1:
        latest = Call("greatest", tuple(columns[c] for c in rounds), BIGINT, False)
        for other in signs[1:]:
            sign = Call("case", (comparison("eq", sign, columns[other]), _PLUS, _MINUS), BIGINT, False)
    mapped = Map(joined, (latest, sign), (ROUND.name, SIGN.name))
    return _among(Unsigned(Project(mapped, (*kept, start, start + 1))))


def _entering(relation: Relation) -> Relation:
    return _among(Entered(relation)) if isinstance(peel(relation)[0], Reduce) else relation


def _among(node: Fed | Numbered | Delayed | ByRound | Signed | Entered | Unsigned) -> Relation:
    """One that stands among relations from here to the plan, and nowhere else."""
    return cast(Relation, node)
