"""`python -m ivm.benchmarks.estimates`: how near the rows that plans are expected to have are to those that they have.

Each node of the plans of TPC-H's views over the loaded tables, once, is filled as if it were a view, and its rows are
counted. What is near is within ten times of what is there, of no row as of one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from ivm.benchmarks.engine import connect
from ivm.engine.engine import Engine
from ivm.engine.sampled import sampled
from ivm.operators.ends import Sink
from ivm.plan.estimate import rounded
from ivm.plan.node import Plan, nodes_of
from ivm.plan.table import ConstantPlan, Named
from ivm.session.core import engine_of
from ivm.session.database import Database, core_of
from ivm.sql.bind import bind
from ivm.tpch import queries
from ivm.tpch.cache import ensure, views_of
from ivm.tpch.reader import Stream
from ivm.tpch.schema import ddl
from ivm.trace.delta import Delta
from ivm.trace.view_log import ViewLog

NEAR = 10.0
_NAME = "counted"

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@dataclass(frozen=True, slots=True)
class Estimated:
    """A node of the plan of a view: what it does, the rows that are expected and those that are there."""

    view: str
    node: str
    expected: float
    there: int

    @property
    def factor(self) -> float:
        """By how much it is expected to have too many rows; below 1: too few."""
        return max(1.0, self.expected) / max(1, self.there)

    @property
    def is_near(self) -> bool:
        """Whether it is within ten times."""
        return 1.0 / NEAR <= self.factor <= NEAR

    def text(self) -> str:
        """On a line."""
        return f"{self.view:4} {self.factor:10.3f} {rounded(self.expected):>12} {self.there:>12,} {self.node}"


@app.command()
def estimates(
    sf: Annotated[float, typer.Option("--sf", min=0.001, help="Scale factor.")] = 0.1,
    views: Annotated[str, typer.Option("--views", help="'all', or names such as q1,q3.")] = "all",
    data: Annotated[Path | None, typer.Option("--data", help="Where streams are. Default: ./data/sf<SF>.")] = None,
    far: Annotated[bool, typer.Option("--far", help="Show those alone that are not near.")] = False,
) -> None:
    """How near expected rows are to those that are there: a line for each node, and the share of those that are."""
    names, stream = views_of(views), ensure(sf, "load", None, data)
    found: list[Estimated] = []
    typer.echo("view     factor     expected        there node")
    for each in estimated(loaded(stream), names):
        found.append(each)
        if not far or not each.is_near:
            typer.echo(each.text())
    near = sum(each.is_near for each in found)
    typer.echo(f"{near} of {len(found)} nodes ({near / max(1, len(found)):.1%}) are within {NEAR:.0f} times")


def loaded(stream: Stream) -> Database:
    """TPC-H's tables with the rows of a stream, in one commit."""
    db = connect()
    db.sql(ddl())
    for batch in stream.batches(stream.manifest.times, None, coalesce=True, ahead=False):
        db.apply(batch.tables)
    return db


def estimated(db: Database, views: Sequence[str]) -> Iterator[Estimated]:
    """The nodes of the plans of views, tables and constants aside, each once; none of them is installed afterwards."""
    core, seen = core_of(db), set[Plan]()
    sizes = sampled(engine_of(core).sizes(), engine_of(core).tables)
    for view in views:
        plan = engine_of(core).planned(bind(queries.text(view), core.catalog).relation).plan
        for node in nodes_of(plan):
            if node not in seen and not isinstance(node, ConstantPlan | Named):
                seen.add(node)
                yield Estimated(view, node.short_text(), sizes.count(node), _there(engine_of(core), node))


class _Counted(ViewLog):
    """A log that counts rows, and keeps none."""

    rows_there = 0

    def append(self, delta: Delta) -> None:
        """Count the rows of a delta."""
        self.rows_there += len(delta) if delta.diffs is None else int(delta.diffs.sum())


def _there(engine: Engine, plan: Plan) -> int:
    """The rows of a plan. Cost: that of installing it as a view."""
    log = _Counted([column.type for column in plan.row], engine.dictionary)
    for _ in engine.grown(_NAME, plan, Sink(log)):
        pass
    engine.sweep()
    return abs(log.rows_there)


if __name__ == "__main__":
    app()
