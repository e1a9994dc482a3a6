"""`python -m ivm.benchmarks.estimates`: how near the rows that plans are expected to have are to those that they have.

Each node of the plans of TPC-H's views over the loaded tables, or of views over films, once, is filled as if it were a
view, and its rows are counted. What is near is within ten times of what is there, of no row as of one. That is told of
what plans go by, the sizes of tables, and of what EXPLAIN says, which looks at some of their rows, too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated

import typer

from ivm.benchmarks import films
from ivm.benchmarks.asking import Data
from ivm.benchmarks.engine import connect
from ivm.engine.engine import Engine
from ivm.engine.sampled import sampled
from ivm.operators.ends import Sink
from ivm.plan.estimate import rounded
from ivm.plan.node import Plan, Sizes, nodes_of
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
    """A node of the plan of a view: what it does, the rows that are expected by sizes alone, and with some rows of
    the tables, and those that are there.
    """

    view: str
    node: str
    by_sizes: float
    by_rows: float
    there: int

    @property
    def factors(self) -> tuple[float, float]:
        """By how much it is expected to have too many rows, by sizes and by rows; below 1: too few."""
        by_sizes, by_rows = (max(1.0, expected) / max(1, self.there) for expected in (self.by_sizes, self.by_rows))
        return by_sizes, by_rows

    @property
    def near(self) -> tuple[bool, bool]:
        """Whether it is within ten times, by sizes and by rows."""
        by_sizes, by_rows = (1.0 / NEAR <= factor <= NEAR for factor in self.factors)
        return by_sizes, by_rows

    def text(self) -> str:
        """On a line."""
        factors = " ".join(f"{factor:10.3f}" for factor in self.factors)
        counts = f"{rounded(self.by_sizes):>12} {rounded(self.by_rows):>12} {self.there:>12,}"
        return f"{self.view:22} {factors} {counts} {self.node}"


class Schema(StrEnum):
    """What tables and views."""

    TPCH = "tpch"
    FILMS = "films"


@app.command()
def estimates(
    schema: Annotated[Schema, typer.Option("--schema", help="Whose tables and views.")] = Schema.TPCH,
    sf: Annotated[float, typer.Option("--sf", min=0.001, help="Scale factor of TPC-H.")] = 0.1,
    views: Annotated[str, typer.Option("--views", help="Of TPC-H: 'all', or names such as q1,q3.")] = "all",
    data: Data = None,
    far: Annotated[bool, typer.Option("--far", help="Show those alone that are not near, in one way or both.")] = False,
) -> None:
    """How near expected rows are to those that are there: a line for each node, and the share of those that are."""
    if schema is Schema.FILMS:
        db, texts = connect(), films.VIEWS
        films.filled(db)
    else:
        db, texts = loaded(ensure(sf, "load", None, data)), {name: queries.text(name) for name in views_of(views)}
    found: list[Estimated] = []
    typer.echo(f"{'view':22} {'factor':>10} {'with rows':>10} {'expected':>12} {'with rows':>12} {'there':>12} node")
    for each in estimated(db, texts):
        found.append(each)
        if not far or not all(each.near):
            typer.echo(each.text())
    for place, what in enumerate(("sizes", "sizes and some rows")):
        near = sum(each.near[place] for each in found)
        share = f"{near} of {len(found)} nodes ({near / max(1, len(found)):.1%})"
        typer.echo(f"{share} are within {NEAR:.0f} times by {what}")


def loaded(stream: Stream) -> Database:
    """TPC-H's tables with the rows of a stream, in one commit."""
    db = connect()
    db.sql(ddl())
    for batch in stream.batches(stream.manifest.times, None, coalesce=True, ahead=False):
        db.apply(batch.tables)
    return db


def estimated(db: Database, texts: Mapping[str, str]) -> Iterator[Estimated]:
    """The nodes of the plans of views by their names, tables and constants aside, each once; none of them is installed
    afterwards.
    """
    core, seen = core_of(db), set[Plan]()
    engine = engine_of(core)
    by_sizes, by_rows = Sizes(engine.sizes()), sampled(engine.sizes(), engine.tables)
    for view, text in texts.items():
        for node in nodes_of(engine.planned(bind(text, core.catalog).relation).plan):
            if node not in seen and not isinstance(node, ConstantPlan | Named):
                seen.add(node)
                expected = by_sizes.count(node), by_rows.count(node)
                yield Estimated(view, node.short_text(), *expected, _there(engine, node))


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
