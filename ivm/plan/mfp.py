"""Fused map-filter-project: any chain of Map, Filter and Project as one step over one row."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

from ivm.analysis.expected import Expected, filtered, mapped, projected
from ivm.analysis.ranges import can_raise
from ivm.plan.node import Change, Names, NamesOf, Plan, PlanOver, Sizes
from ivm.plan.reduce import ReducePlan
from ivm.plan.table import TablePlan
from ivm.sql.ir.compared_once import compared_once
from ivm.sql.ir.rebuild import Row, row_of
from ivm.sql.ir.relation import Filter, Map, Project, Relation
from ivm.sql.ir.scalar import Column, Literal, Scalar, columns_of, remap, substitute
from ivm.sql.ir.text import scalar_text


@dataclass(frozen=True)
class Mfp:
    """Append `maps` to a row of `width` columns, keep it where all `predicates` hold, keep columns `projection`.

    A map may read the input's columns and earlier maps; predicates and the projection may read all of them.
    `gathered`: columns that are only passed on are copied in the same pass, since the reader needs all of them.
    """

    width: int
    maps: tuple[Scalar, ...]
    predicates: tuple[Scalar, ...]
    projection: tuple[int, ...]
    gathered: bool = False

    def map(self, scalars: tuple[Scalar, ...]) -> Mfp:
        """This, then `scalars` (over its output) appended to its output."""
        base = self.width + len(self.maps)
        added = tuple(remap(s, self.projection.__getitem__) for s in scalars)
        places = tuple(s.index if isinstance(s, Column) else base + i for i, s in enumerate(added))
        return replace(self, maps=self.maps + added, projection=self.projection + places)

    def filter(self, predicates: tuple[Scalar, ...]) -> Mfp:
        """This, then a filter over its output."""
        added = tuple(remap(p, self.projection.__getitem__) for p in predicates)
        return replace(self, predicates=self.predicates + added)

    def project(self, columns: tuple[int, ...]) -> Mfp:
        """This, then a projection of its output."""
        return replace(self, projection=tuple(self.projection[c] for c in columns))

    def then(self, after: Mfp) -> Mfp:
        """This, then `after` over its output."""
        both = self
        for scalar in after.maps:
            both = both.map((scalar,))
        return replace(both.filter(after.predicates).project(after.projection), gathered=after.gathered)

    def over(self, columns: tuple[Scalar, ...]) -> tuple[tuple[Scalar, ...], tuple[Scalar, ...]]:
        """The output's columns, and the predicates, with `columns` in place of the input's and without maps."""
        values = columns
        for scalar in self.maps:
            values = (*values, substitute(scalar, values))
        return tuple(values[p] for p in self.projection), tuple(substitute(p, values) for p in self.predicates)

    @property
    def read(self) -> frozenset[int]:
        """The input's columns that it reads, those that are only passed on too."""
        every = frozenset(self.projection).union(*map(columns_of, (*self.maps, *self.predicates)))
        return frozenset(c for c in every if c < self.width)

    def placed(self, width: int, places: dict[int, int]) -> Mfp:
        """The same over another row of `width` columns, in which those that it reads stand at `places`."""
        return self._moved(width, places | {self.width + i: width + i for i in range(len(self.maps))})

    def _moved(self, width: int, places: dict[int, int]) -> Mfp:
        """As `placed`, where `places` says of the maps, too, where they stand."""
        maps, predicates = (tuple(remap(s, places.__getitem__) for s in each) for each in (self.maps, self.predicates))
        return Mfp(width, maps, predicates, tuple(places[p] for p in self.projection), self.gathered)

    def pruned(self) -> Mfp:
        """The same without maps that nobody reads, and with equal maps computed once."""
        maps, places = self._distinct_maps()
        predicates = tuple(dict.fromkeys(remap(p, places.__getitem__) for p in self.predicates))
        projection = tuple(places[p] for p in self.projection)
        needed = set(projection).union(*map(columns_of, predicates))
        for i in reversed(range(len(maps))):
            if self.width + i in needed:
                needed |= columns_of(maps[i])
        kept = [i for i in range(len(maps)) if self.width + i in needed]
        final = {i: i for i in range(self.width)} | {self.width + i: self.width + n for n, i in enumerate(kept)}
        left = Mfp(self.width, tuple(maps[i] for i in kept), predicates, projection, self.gathered)
        return left._moved(self.width, final)

    def is_constant(self, column: int) -> bool:
        """Whether a column of the output is a literal."""
        place = self.projection[column]
        return place >= self.width and isinstance(self.maps[place - self.width], Literal)

    def names(self, names: Names) -> Names:
        """The names of the output's columns, from those of the input's."""
        return tuple(names[p] if p < self.width else f"#{i}" for i, p in enumerate(self.projection))

    def lines(self, names: Names) -> list[str]:
        """What EXPLAIN shows of it, over an input whose columns have these names."""
        known = names + tuple(f"#{self.width + i}" for i in range(len(self.maps)))
        lines = [f"filter {scalar_text(predicate, known)}" for predicate in self.predicates]
        lines += [f"map {known[self.width + i]} = {scalar_text(scalar, known)}" for i, scalar in enumerate(self.maps)]
        return [f"    {line}" for line in (*lines, f"project [{', '.join(known[p] for p in self.projection)}]")]

    def _distinct_maps(self) -> tuple[list[Scalar], dict[int, int]]:
        maps: list[Scalar] = []
        seen: dict[Scalar, int] = {}
        places = {i: i for i in range(self.width)}
        for i, scalar in enumerate(self.maps):
            moved = remap(scalar, places.__getitem__)
            if isinstance(moved, Column):
                places[self.width + i] = moved.index
                continue
            if moved not in seen:
                seen[moved] = self.width + len(maps)
                maps.append(moved)
            places[self.width + i] = seen[moved]
        return maps, places


def identity(width: int) -> Mfp:
    """The MFP that changes nothing."""
    return Mfp(width, (), (), tuple(range(width)))


def peel(relation: Relation) -> tuple[Relation, Mfp]:
    """Split a relation into the first node below it that is no map, filter or project, and the MFP above that."""
    if not isinstance(relation, Map | Filter | Project):
        return relation, identity(len(relation.schema))
    base, mfp = peel(relation.input)
    match relation:
        case Map():
            return base, mfp.map(relation.scalars)
        case Filter():
            return base, mfp.filter(relation.predicates)
    return base, mfp.project(relation.columns)


@compared_once
class MfpPlan(PlanOver):
    """A map-filter-project. State: none."""

    input: Plan
    mfp: Mfp
    row: Row

    @property
    def is_risky(self) -> bool:
        """Whether anything in it can raise."""
        return any(map(can_raise, (*self.mfp.maps, *self.mfp.predicates)))

    def named(self, names_of: NamesOf) -> Names:
        """The input's, where they are passed on."""
        return self.mfp.names(self.input.names(names_of))

    def lines(self, names_of: NamesOf) -> list[str]:
        """Filters, maps and the projection."""
        return ["mfp", *self.mfp.lines(self.input.names(names_of))]

    def short_text(self) -> str:
        """Of groups, those that pass a filter."""
        if self.mfp.predicates and isinstance(self.input, ReducePlan):
            return f"filtered {self.input.short_text()}"
        return super().short_text()

    def called(self) -> str:
        """As the input is."""
        return self.input.called()

    def is_constant(self, column: int) -> bool:
        """If it is a literal."""
        return self.mfp.is_constant(column)

    @cached_property
    def unique(self) -> tuple[tuple[int, ...], ...]:
        """Those of the input that are passed on."""
        kept = {c: i for i, c in reversed(list(enumerate(self.mfp.projection)))}
        return tuple(tuple(kept[c] for c in key) for key in self.input.unique if kept.keys() >= set(key))

    def expected(self, sizes: Sizes) -> Expected:
        """What passes the filters, and what is computed of it."""
        maps, predicates = self.mfp.maps, self.mfp.predicates
        whole = mapped(sizes.of(self.input), maps, predicates)
        return projected(filtered(whole, predicates), self.mfp.projection)

    def passed(self, change: Change, rate: float) -> float:
        """Those that pass the filters."""
        return rate * change.kept(self.mfp.predicates)


def table_of(plan: Plan) -> tuple[TablePlan, tuple[int, ...]] | None:
    """The table of which a plan has rows, all or some, and which column of it each of its columns is; None if none."""
    if isinstance(plan, TablePlan):
        return plan, tuple(range(len(plan.row)))
    if isinstance(plan, MfpPlan) and isinstance(plan.input, TablePlan) and not plan.mfp.maps:
        return plan.input, plan.mfp.projection
    return None


def apply_mfp(plan: Plan, mfp: Mfp) -> Plan:
    """`plan` followed by `mfp`, merged into it where it is an MFP itself; nothing is added for the identity."""
    mfp = mfp.pruned()
    if not mfp.predicates and mfp.projection == tuple(range(mfp.width)):
        return plan
    if isinstance(plan, MfpPlan):
        return apply_mfp(plan.input, plan.mfp.then(mfp))
    parts: tuple[Scalar, ...] = (*plan.row, *mfp.maps)
    return MfpPlan(plan, mfp, row_of(tuple(parts[p] for p in mfp.projection)))
