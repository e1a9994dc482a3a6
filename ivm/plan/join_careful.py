"""A join taken apart from what can raise, for when it does: a path meets rows that another path takes back."""

from __future__ import annotations

from dataclasses import replace

from ivm.plan.join import JoinPlan, PathPlan
from ivm.plan.mfp import Mfp, identity
from sql.ir.rebuild import row_of
from sql.ir.scalar import Scalar


def apart(plan: JoinPlan) -> tuple[JoinPlan, Mfp]:
    """The join without anything that can raise, and the MFP that does the rest."""
    below, after = _split(plan.final, plan.risky)
    row = plan.joined_row
    paths = tuple(_without(path, plan.risky) for path in plan.paths)
    return replace(plan, paths=paths, final=below, row=row_of(tuple(row[p] for p in below.projection))), after


def _without(path: PathPlan, risky: tuple[Scalar, ...]) -> PathPlan:
    def kept(predicates: tuple[Scalar, ...]) -> tuple[Scalar, ...]:
        return tuple(p for p in predicates if p not in risky)

    stages = tuple(replace(stage, predicates=kept(stage.predicates), bound=None) for stage in path.stages)
    return replace(path, predicates=kept(path.predicates), stages=stages)


def _split(final: Mfp, predicates: tuple[Scalar, ...]) -> tuple[Mfp, Mfp]:
    """`final` under `predicates` as two: the columns that they read, and the rest."""
    after = replace(final, predicates=predicates)
    needed = tuple(sorted(after.read))
    return identity(final.width).project(needed), after.placed(len(needed), {c: i for i, c in enumerate(needed)})
