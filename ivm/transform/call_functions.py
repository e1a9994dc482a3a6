"""Calls of the application's functions become columns of what an operator of its own makes.

Through all other rules such a call is like any other. What is called on some rows only, in a branch of CASE or behind
AND, says so in its condition. Calls that a join is to look rows up by are found before, while there is a join still.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from ivm.analysis.ranges import can_raise
from ivm.transform.rewrite import at_each, bottom_up, filtered, names, owner, projected, rejoined
from sql.ir.conditions import coalesced, comparison, is_null, junction, negation
from sql.ir.functions import function_of
from sql.ir.functions.called import as_list, calls, is_called, name_of
from sql.ir.rebuild import offsets, row, scalars_of, with_inputs, with_scalars
from sql.ir.relation import Filter, Join, Map, Reduce, Relation, Unnest, Window
from sql.ir.scalar import FALSE, TRUE, Call, Column, Scalar, rewrite, substitute


@bottom_up
def call_functions(relation: Relation) -> Relation:
    """Compute all calls of a node below it, each in a column of its own."""
    scalars = scalars_of(relation)
    if not any(map(calls, scalars)) or (isinstance(relation, Unnest) and not _calls_within(relation)):
        return relation
    match relation:
        case Filter():
            return _filtered(relation)
        case Map() | Unnest() | Window() | Reduce():
            return _over_calls(relation)
    raise AssertionError(f"a {type(relation).__name__} calls nothing")


def _over_calls(relation: Map | Unnest | Window | Reduce) -> Relation:
    calling, written = _Calling(relation.input), dict[Scalar, Scalar]()
    for scalar in scalars_of(relation):
        written[scalar] = calling.placed(scalar)
    width, more = len(relation.input.schema), len(calling.relation.schema)
    made = with_inputs(with_scalars(relation, lambda scalar: written[scalar]), (calling.relation,))
    if isinstance(made, Reduce):
        return made
    return projected(made, (*range(width), *range(more, len(made.schema))), names(relation))


@at_each(Filter)
def call_for_keys(relation: Filter) -> Relation:
    """Compute the calls in an equality of two inputs of a join over these inputs, so that it can look up by them."""
    join = relation.input
    if not isinstance(join, Join):
        return relation
    starts, inputs = offsets(join.inputs), [_Calling(each) for each in join.inputs]
    keyed = {each: _sides(each, starts, inputs) for each in relation.predicates if _is_key(each, starts)}
    if not keyed:
        return relation
    made = tuple(each.relation for each in inputs)
    begins, columns = offsets(made), list[Scalar]()
    for start, end, begin in zip(starts, starts[1:], begins, strict=False):
        columns += (replace(each, index=begin + each.index - start) for each in row(join)[start:end])
    predicates = [
        comparison("eq", *(_shifted(side, begins[place]) for place, side in keyed[each]))
        if each in keyed
        else substitute(each, tuple(columns))
        for each in relation.predicates
    ]
    return rejoined(join, made, columns, predicates=predicates)


def _is_key(predicate: Scalar, starts: tuple[int, ...]) -> bool:
    """Whether it is an equality of two inputs that calls something."""
    if not isinstance(predicate, Call) or predicate.function != "eq" or not calls(predicate):
        return False
    owners = {owner(side, starts) for side in predicate.args}
    return len(owners) == 2 and None not in owners


def _sides(
    predicate: Scalar, starts: tuple[int, ...], inputs: Sequence[_Calling]
) -> tuple[tuple[int, Scalar], tuple[int, Scalar]]:
    """Both sides of an equality: the input of each, and the expression over that, with the calls made there."""
    assert isinstance(predicate, Call), "it is an equality"
    found = []
    for side in predicate.args:
        place = owner(side, starts)
        assert place is not None, "it reads one input"
        found.append((place, inputs[place].placed(_shifted(side, -starts[place]))))
    return found[0], found[1]


def _shifted(scalar: Scalar, by: int) -> Scalar:
    return rewrite(scalar, lambda s: replace(s, index=s.index + by) if isinstance(s, Column) else s)


def _calls_within(unnest: Unnest) -> bool:
    """Whether there are calls but that which the Unnest itself is."""
    return any(calls(arg) if is_called(each) else calls(each) for each in unnest.lists for arg in _args(each))


def _args(scalar: Scalar) -> tuple[Scalar, ...]:
    return scalar.args if isinstance(scalar, Call) else (scalar,)


def _filtered(relation: Filter) -> Relation:
    """The rows that pass. What calls nothing is asked before, if it comes first or cannot raise."""
    first = next(place for place, each in enumerate(relation.predicates) if calls(each))
    early = [
        each
        for place, each in enumerate(relation.predicates)
        if not calls(each) and (place < first or not can_raise(each))
    ]
    calling = _Calling(filtered(relation.input, early))
    late = [calling.placed(each) for each in relation.predicates if each not in early]
    return projected(filtered(calling.relation, late), tuple(range(len(relation.schema))), names(relation))


@dataclass
class _Calling:
    """A relation, and above it a column for each distinct call."""

    relation: Relation
    _found: dict[tuple[Scalar, Scalar], Column] = field(default_factory=dict)

    def placed(self, scalar: Scalar, condition: Scalar = TRUE) -> Scalar:
        """The expression, computed where the condition is true, with calls read from their columns."""
        if not isinstance(scalar, Call) or not calls(scalar):
            return scalar
        if is_called(scalar):
            return self._column(scalar, condition)
        if function_of(scalar.function).lazy or scalar.function in _LOGIC:
            return replace(scalar, args=tuple(self._one_by_one(scalar, condition)))
        return replace(scalar, args=tuple(self.placed(arg, condition) for arg in scalar.args))

    def _one_by_one(self, scalar: Call, condition: Scalar) -> Iterator[Scalar]:
        """The arguments of what looks at one only where those before leave it open."""
        is_case, taken = scalar.function == "case", condition
        for place, arg in enumerate(scalar.args):
            is_value = is_case and place % 2 == 1 and place < len(scalar.args) - 1
            made = self.placed(arg, taken if is_value else condition)
            yield made
            if is_value or place == len(scalar.args) - 1:
                continue
            if is_case:
                taken = _both(condition, made)
                condition = _both(condition, negation(_certain(made, FALSE)))
            elif scalar.function == "coalesce":
                condition = _both(condition, is_null(made))
            else:
                decides = scalar.function == "or"
                known = _certain(made, FALSE if decides else TRUE)
                condition = _both(condition, negation(known) if decides else known)

    def _column(self, call: Call, condition: Scalar) -> Column:
        name, _, *args = call.args
        made = replace(call, args=(name, TRUE, *(self.placed(arg, condition) for arg in args)))
        found = self._found.get((made, TRUE)) or self._found.get((made, condition))
        if found is None:
            found = Column(len(self.relation.schema), call.type)
            self.relation = Unnest(self.relation, (as_list(made, condition),), (name_of(call),))
            self._found[made, condition] = found
        return found


_LOGIC = ("and", "or")


def _both(one: Scalar, other: Scalar) -> Scalar:
    return junction("and", [each for each in (one, other) if each != TRUE])


def _certain(condition: Scalar, instead: Scalar) -> Scalar:
    return coalesced(condition, instead) if condition.nullable else condition
