"""Delta joins: for each input a path of lookups into arrangements of the others, without intermediate state."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import field, replace
from functools import cached_property
from itertools import accumulate
from math import prod

from ivm.analysis.expected import Expected, mapped, projected
from ivm.analysis.expected_joins import joined
from ivm.analysis.ranges import can_raise
from ivm.plan.arrangement import ArrangementPlan
from ivm.plan.join_keys import MOVED, Choice, sides_of
from ivm.plan.mfp import Mfp, identity
from ivm.plan.node import Change, Names, NamesOf, Plan, Sizes, nodes_of
from ivm.plan.reduce import ReducePlan
from ivm.plan.table import ConstantPlan
from ivm.sql.ir.compared_once import compared_once
from ivm.sql.ir.rebuild import Row, row_of
from ivm.sql.ir.scalar import Scalar
from ivm.sql.ir.text import scalar_text


@compared_once
class BoundPlan:
    """What limits the rows that a stage looks up: their value in the arrangement stands in `comparison` to `scalar`.

    `comparison` is lt, le, eq, ge or gt; `scalar` is over the columns bound before. `carried`: the columns bound before
    that are read later but for the comparison. Changes that are equal in key and `carried` cancel on the rows that
    are on the same side of the bound of each, so that only the others are visited.
    `other`: a comparison in the other direction, and with what, that the same value has to stand in as well, if any.
    """

    comparison: str
    scalar: Scalar
    carried: tuple[int, ...]
    other: tuple[str, Scalar] | None = None

    @property
    def sides(self) -> tuple[tuple[str, Scalar], ...]:
        """Each comparison, and what it is with."""
        return ((self.comparison, self.scalar), *(() if self.other is None else (self.other,)))


@compared_once
class StagePlan:
    """One half-join of a path: look up in `arrangement` of input `input` by the columns `stream` bound before.

    `inclusive`: whether changes of the looked-up input at the same time are seen (see `ivm.plan.join_ties.Ties`).
    `unique`: at most one row of the input has a key. `predicates` hold over the joined row from here on.
    `bound`: one of them, by which an ordered arrangement finds its rows; None for a lookup of all rows of the key.
    """

    input: int
    arrangement: ArrangementPlan
    stream: tuple[int, ...]
    inclusive: bool
    unique: bool
    predicates: tuple[Scalar, ...]
    bound: BoundPlan | None = None

    @property
    def ways(self) -> tuple[tuple[StagePlan, ...], ...]:
        """The one that there is; see `RacePlan`."""
        return ((self,),)

    @property
    def visits_all(self) -> bool:
        """Whether a lookup meets all rows of the input."""
        return not self.arrangement.key and self.bound is None

    def lines(self, names: Names, names_of: NamesOf) -> list[str]:
        """The lookup, over a joined row whose columns have these `names`."""
        by = ", ".join(names[c] for c in self.stream)
        kind = "lookup one" if self.unique else "lookup"
        seen = "" if self.inclusive else " before"
        moved = "; a moved bound visits the rows between" if self.bound is not None else ""
        return [f"{kind} {self.arrangement.text(names_of)} by [{by}]{seen}{_where(self.predicates, names)}{moved}"]


@compared_once
class RacePlan:
    """The same inputs looked up in several orders: each row goes the way whose first lookup meets the fewest rows.

    All `ways` bind the same columns and test the same, so that what follows need not know which one a row has gone.
    """

    ways: tuple[tuple[StagePlan, ...], ...]

    def lines(self, names: Names, names_of: NamesOf) -> list[str]:
        """That it is a race, and then a line for each way."""
        ways = ("; ".join(line for stage in way for line in stage.lines(names, names_of)) for way in self.ways)
        return ["race: each row goes the way whose first lookup meets the fewest rows", *(f"  {way}" for way in ways)]


def stage_of(ways: tuple[tuple[StagePlan, ...], ...]) -> StagePlan | RacePlan:
    """A race of the ways, if there are several; else the one has one stage."""
    return RacePlan(ways) if len(ways) > 1 else ways[0][0]


@compared_once
class PathPlan:
    """How the changes of input `source` find their partners: `predicates` first, then the stages in turn.

    `needed` are the columns of `source` that the path reads: changes that are equal in them cancel before it begins.
    None: there are no such changes.
    """

    source: int
    needed: tuple[int, ...]
    predicates: tuple[Scalar, ...]
    stages: tuple[StagePlan | RacePlan, ...]

    @property
    def lookups(self) -> tuple[StagePlan, ...]:
        """All that a change may come by."""
        return lookups_of(self.stages)

    @property
    def tested(self) -> tuple[Scalar, ...]:
        """All predicates of it."""
        return self.predicates + tuple(p for lookup in self.lookups for p in lookup.predicates)


@compared_once
class JoinPlan(Plan):
    """A delta join: a path for each input, no intermediate state. State: only the arrangements that the stages name.

    An input whose changes cannot meet anything has no path; there is at least one.

    Within a path, columns are those of all collections side by side (`offsets`); `final` makes the output of them.
    `classes` (equal columns) and `predicates` over them are what the paths together test. `whole` is the path by which
    all rows of the join are found, to hydrate what reads it; plans that differ in nothing else are equal.
    """

    inputs: tuple[Plan, ...]
    classes: tuple[tuple[int, ...], ...]
    predicates: tuple[Scalar, ...]
    paths: tuple[PathPlan, ...]
    final: Mfp
    row: Row
    whole: int = field(default=-1, compare=False)

    @property
    def arrangements(self) -> tuple[ArrangementPlan, ...]:
        """Those that the stages look up in, each once."""
        return tuple(dict.fromkeys(lookup.arrangement for path in self.paths for lookup in path.lookups))

    @cached_property
    def offsets(self) -> tuple[int, ...]:
        """Where each input's columns begin in the joined row."""
        return tuple(accumulate((len(each.row) for each in self.inputs[:-1]), initial=0))

    @cached_property
    def joined_row(self) -> Row:
        """The columns of all inputs side by side."""
        return row_of(column for each in self.inputs for column in each.row)

    def below(self) -> tuple[Plan, ...]:
        """The inputs."""
        return self.inputs

    def read_anew(self) -> tuple[Plan, ...]:
        """The input whose path finds all rows."""
        return (self.inputs[self.paths[self.whole].source],)

    def named(self, names_of: NamesOf) -> Names:
        """The inputs', where they are passed on."""
        return self.final.names(self._joined_names(names_of))

    def _joined_names(self, names_of: NamesOf) -> Names:
        return tuple(name for each in self.inputs for name in each.names(names_of))

    def lines(self, names_of: NamesOf) -> list[str]:
        """The paths with their lookups, the inputs that have none, the output."""
        names = self._joined_names(names_of)
        lines = ["delta join"]
        for path in self.paths:
            lines.append(f"  path of {self.inputs[path.source].short_text()}{_where(path.predicates, names)}")
            lines += [f"    {line}" for stage in path.stages for line in stage.lines(names, names_of)]
        sources = {path.source for path in self.paths}
        for silent in (each for i, each in enumerate(self.inputs) if i not in sources):
            lines.append(f"  no path of {silent.short_text()}: its changes meet nothing")
        return [*lines, "  output", *self.final.lines(names)]

    @cached_property
    def risky(self) -> tuple[Scalar, ...]:
        """The predicates that can raise."""
        tested = dict.fromkeys(p for path in self.paths for p in path.tested)
        return tuple(p for p in tested if can_raise(p))

    @property
    def is_risky(self) -> bool:
        """Whether anything in the join can raise."""
        return bool(self.risky) or any(map(can_raise, self.final.maps))

    @cached_property
    def is_append_only(self) -> bool:
        """If all inputs are; what can raise may take back what it has given (see `apart`)."""
        return not self.is_risky and super().is_append_only

    @cached_property
    def most_rows(self) -> int | None:
        """The product."""
        bounds = [each.most_rows for each in self.inputs]
        known = [bound for bound in bounds if bound is not None]
        return prod(known) if len(known) == len(bounds) else None

    def is_constant(self, column: int) -> bool:
        """If it is a literal."""
        return self.final.is_constant(column)

    def expected(self, sizes: Sizes) -> Expected:
        """What of the inputs meets in the classes and passes the predicates."""
        whole = joined([sizes.of(each) for each in self.inputs], self.classes, self.predicates)
        return projected(mapped(whole, self.final.maps, self.predicates), self.final.projection)

    def passed(self, change: Change, rate: float) -> float:
        """What the paths find together."""
        lookups = None if change.sizes is None else Choice(sides_of(self.inputs, self.classes, change.sizes), ())
        return sum(self._found(change, path, lookups) for path in self.paths)

    def _found(self, change: Change, path: PathPlan, lookups: Choice | None) -> float:
        """What a path finds; without `lookups`, each finds one row."""
        rows = change.rates[self.inputs[path.source]]
        if not rows:
            return 0.0
        rows *= change.kept(path.predicates)
        for stage in (lookup for each in path.stages for lookup in each.ways[0]):
            target = self.inputs[stage.input]
            if stage.visits_all and not target.is_small:
                change.whole[f"all rows of {target.called()}"] = None
            met = rows if lookups is None else rows * lookups.found(stage.input, stage.arrangement.key)
            if stage.bound is not None:  # the order holds those that pass side by side
                met *= change.kept(stage.predicates)
                if change.sizes is not None and isinstance(self.inputs[path.source], ReducePlan):
                    met = min(met, rows * MOVED)
            change.lookups += rows
            change.visited += met
            rows = met if stage.bound is not None else met * change.kept(stage.predicates)
        return rows

    def _unkeyed(self) -> Iterator[tuple[Plan, Plan]]:
        """The inputs whose changes meet all of an input that is not small, and that input."""
        for path in self.paths:
            for target in (self.inputs[lookup.input] for lookup in path.lookups if lookup.visits_all):
                if not target.is_small:
                    yield self.inputs[path.source], target

    def costs(self) -> Iterator[str]:
        """Changes that are compared with all rows of an input, where neither is small for ever."""
        for source, target in self._unkeyed():
            if not source.is_small:
                yield f"every change of {source.called()} is compared with all rows of {target.called()}"

    def remarks(self) -> Iterator[str]:
        """A small collection whose rare change concerns all rows of a large one (x > (SELECT avg ..))."""
        for source, target in self._unkeyed():
            if source.is_small and not isinstance(source, ConstantPlan):  # what is constant never changes
                yield f"a change of {source.called()} visits all rows of {target.called()}"


def lookups_of(stages: Iterable[StagePlan | RacePlan]) -> tuple[StagePlan, ...]:
    """All lookups of stages, whichever way."""
    return tuple(lookup for stage in stages for way in stage.ways for lookup in way)


def arrangements_of(plan: Plan) -> tuple[ArrangementPlan, ...]:
    """Every arrangement that the plan needs, each once, in the order in which the plan names them."""
    joins = (node for node in nodes_of(plan) if isinstance(node, JoinPlan))
    return tuple(dict.fromkeys(each for join in joins for each in join.arrangements))


def _where(predicates: tuple[Scalar, ...], names: Names) -> str:
    return f" where {' and '.join(scalar_text(p, names) for p in predicates)}" if predicates else ""


def apart(plan: JoinPlan) -> tuple[JoinPlan, Mfp]:
    """The join without anything that can raise, and the MFP that does the rest: a path meets rows that another takes
    back, so that what raises is asked again of what is left.
    """
    below, after = _split(plan.final, plan.risky)
    row = plan.joined_row
    paths = tuple(_without(path, plan.risky) for path in plan.paths)
    return replace(plan, paths=paths, final=below, row=row_of(tuple(row[p] for p in below.projection))), after


def _without(path: PathPlan, risky: tuple[Scalar, ...]) -> PathPlan:
    def kept(predicates: tuple[Scalar, ...]) -> tuple[Scalar, ...]:
        return tuple(p for p in predicates if p not in risky)

    def without(stages: tuple[StagePlan, ...]) -> tuple[StagePlan, ...]:
        return tuple(replace(stage, predicates=kept(stage.predicates), bound=None) for stage in stages)

    stages = tuple(stage_of(tuple(map(without, stage.ways))) for stage in path.stages)
    return replace(path, predicates=kept(path.predicates), stages=stages)


def _split(final: Mfp, predicates: tuple[Scalar, ...]) -> tuple[Mfp, Mfp]:
    """`final` under `predicates` as two: the columns that they read, and the rest."""
    after = replace(final, predicates=predicates)
    needed = tuple(sorted(after.read))
    return identity(final.width).project(needed), after.placed(len(needed), {c: i for i, c in enumerate(needed)})
