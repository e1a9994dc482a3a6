"""Rows whose value is their group's extreme are ranked once, not joined with the extremes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

from ivm.analysis.lifted import is_lifted
from ivm.analysis.non_negative import is_non_negative
from ivm.analysis.unique_keys import unique_keys
from ivm.sql.ir.classes import Classes, merged_classes
from ivm.sql.ir.conditions import is_null, negation
from ivm.sql.ir.rebuild import offsets, row
from ivm.sql.ir.relation import Join, Order, Project, Reduce, Relation, TopK
from ivm.sql.ir.scalar import Column
from ivm.transform.restrict_reduce import is_selective
from ivm.transform.rewrite import at_each, filtered, rejoined

_MOST = 64  # ways to find the inputs of one join among those of another; only equal ones make more than one


@at_each(Join)
def attain_extremes(relation: Join) -> Relation:
    """Join(X.., Y.., Reduce by k compute max(v) over Join(Y..)) where Y's v is that max and Y's k its key reads
    TopK(Join(Y..), by k, order v, limit 1 with ties) in place of Y and the Reduce.

    Y are inputs of the outer join that equal all of the inner one's, under at least the same equalities. An X that few
    rows pass, at most one for a group, goes below the TopK, which then holds no row whose group it would drop. One
    ordered state replaces two: the values of each group, and Y by its values. Not of rows that change from round to
    round of a loop.
    """
    extremes = (_extreme(number, each) for number, each in enumerate(relation.inputs))
    for extreme in (each for each in extremes if each is not None):
        for chosen in _choices(relation, extreme):
            after = _Attaining(relation, extreme, chosen).result()
            if after is not None:
                return after
    return relation


@dataclass(frozen=True)
class _Extreme:
    """An input of a join: `places` are the columns of a Reduce's schema that its columns are."""

    number: int
    reduce: Reduce
    places: tuple[int, ...]
    inner: tuple[Relation, ...]  # what the Reduce joins, under `classes`
    classes: tuple[tuple[int, ...], ...]
    keys: tuple[int, ...]  # columns of the inner join
    value: int


def _through(relation: Relation) -> tuple[Relation, tuple[int, ...]]:
    """The relation below projections, and which of its columns each column is."""
    columns = tuple(range(len(relation.schema)))
    while isinstance(relation, Project):
        columns = tuple(relation.columns[c] for c in columns)
        relation = relation.input
    return relation, columns


def _extreme(number: int, relation: Relation) -> _Extreme | None:
    reduce, places = _through(relation)
    if not isinstance(reduce, Reduce) or [a.function for a in reduce.aggregates] not in (["min"], ["max"]):
        return None
    value = reduce.aggregates[0].arg
    keys = [key.index for key in reduce.keys if isinstance(key, Column)]
    if not isinstance(value, Column) or len(keys) < len(reduce.keys):
        return None
    below, columns = _through(reduce.input)
    joined = (below.inputs, below.equivalences) if isinstance(below, Join) else ((below,), ())
    if not all(map(is_non_negative, joined[0])) or any(map(is_lifted, joined[0])):
        return None
    return _Extreme(number, reduce, places, *joined, tuple(columns[k] for k in keys), columns[value.index])


def _choices(join: Join, extreme: _Extreme) -> Iterator[tuple[int, ...]]:
    """Ways to find the Reduce's inputs among the join's own."""
    own = [i for i in range(len(join.inputs)) if i != extreme.number]
    equal_ones = [[i for i in own if join.inputs[i] == each] for each in extreme.inner]
    for count, chosen in enumerate(product(*equal_ones)):
        if count == _MOST:
            return
        if len(set(chosen)) == len(chosen):
            yield chosen


class _Attaining:
    """One way to do it: input `chosen[i]` of the join stands for input i of the inner one."""

    def __init__(self, join: Join, extreme: _Extreme, chosen: tuple[int, ...]) -> None:
        self.join, self.extreme, self.chosen = join, extreme, chosen
        self.starts = offsets(join.inputs)
        self.outer = [c for i in chosen for c in self._columns(i)]  # of each of the inner join
        self.class_of = {column: n for n, group in enumerate(join.equivalences) for column in group}
        self.keys = tuple(self.outer[k] for k in extreme.keys)
        self.value = self.outer[extreme.value]

    def _columns(self, number: int) -> range:
        return range(self.starts[number], self.starts[number + 1])

    def result(self) -> Relation | None:
        """The join in its new form, with the same columns; None if the equalities are not those that it takes."""
        extremes = dict(zip(self._columns(self.extreme.number), self.extreme.places, strict=True))
        if not self._holds({place: column for column, place in extremes.items()}):
            return None
        numbers = range(len(self.join.inputs))
        absorbed = [i for i in numbers if self._absorbs(i)]
        inside = sorted({*self.chosen, *absorbed})
        outside = [i for i in numbers if i not in inside and i != self.extreme.number]
        ranked, settled = self._ranked(inside, absorbed)
        inputs = (*(self.join.inputs[i] for i in outside), ranked)
        columns = row(Join(inputs))
        own = [c for i in (*outside, *inside) for c in self._columns(i)]
        values = dict(zip(own, columns, strict=True))
        values |= {column: values[(*self.keys, self.value)[place]] for column, place in extremes.items()}
        met = [{values[c] for c in group} for group in settled]
        classes = [g for g in self.join.equivalences if not any(s.issuperset(values[c] for c in g) for s in met)]
        left = Join(self.join.inputs, tuple(classes))
        return rejoined(left, inputs, (values[c] for c in range(len(values))))

    def _holds(self, found: dict[int, int]) -> bool:
        """Whether the join equates what the inner one does, its keys with the Reduce's, the value with the extreme.

        `found`: where the columns of the Reduce stand.
        """
        wanted = (*self.keys, self.value)
        if len(found) < len(wanted):
            return False
        together: list[tuple[int, ...]] = [(column, found[place]) for place, column in enumerate(wanted)]
        together += [tuple(self.outer[c] for c in group) for group in self.extreme.classes]
        return all(len({self.class_of.get(c, -1 - c) for c in group}) == 1 for group in together)

    def _absorbs(self, number: int) -> bool:
        """Whether the input has at most one row for a group, and few at all."""
        relation = self.join.inputs[number]
        if number == self.extreme.number or number in self.chosen or not is_selective(relation):
            return False
        keyed = {self.class_of[k] for k in self.keys if k in self.class_of}
        grouped = {c for c, column in enumerate(self._columns(number)) if self.class_of.get(column) in keyed}
        return is_non_negative(relation) and any(unique and unique <= grouped for unique in unique_keys(relation))

    def _ranked(self, inside: list[int], absorbed: list[int]) -> tuple[Relation, Classes]:
        """The TopK over the inputs `inside`, and the groups of columns that are equal in it, or alone not NULL."""
        places = {column: place for place, column in enumerate(c for i in inside for c in self._columns(i))}
        groups = [{self.outer[c] for c in group} for group in self.extreme.classes]
        fixed = {*self.keys, *(c for i in absorbed for c in self._columns(i))}
        groups += [fixed.intersection(group) for group in self.join.equivalences] if absorbed else []
        inner = merged_classes({places[c] for c in group} for group in groups)
        below: Relation = self.join.inputs[inside[0]]
        if len(inside) > 1 or inner:
            below = Join(tuple(self.join.inputs[i] for i in inside), inner)
        value = row(below)[places[self.value]]
        if value.nullable:
            below = filtered(below, [negation(is_null(value))])
        order = Order(value.index, descending=self.extreme.reduce.aggregates[0].function == "max")
        group = tuple(dict.fromkeys(places[k] for k in self.keys))
        return TopK(below, group, (order,), 1, ties=True), (*merged_classes(groups), (self.value,))
