"""Search for cases that fail: seeds one after another, with counts of what came of them."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

from tests.random.case import Case
from tests.random.changes import random_batches
from tests.random.names import named
from tests.random.plain import computed_view, plain_view, wide_view
from tests.random.queries import Queries
from tests.random.returning import returning_batches
from tests.random.run import Outcome, run
from tests.random.scope import Relation
from tests.random.stacks import Stacks
from tests.random.tables import Table, random_tables

Views = list[tuple[str, str]]

SHORT = 0.7
"""How many cases are of plain views, and of few rows that go and return."""
ZONES = ("UTC", "Europe/Zurich", "America/New_York", "Asia/Kolkata")
RETURNING = 0.4
"""How many of the other cases have such a history."""


@dataclass(slots=True)
class Counts:
    """What came of many cases. `examples` has a query for each reason to refuse or skip."""

    cases: int = 0
    views: int = 0
    filled: int = 0
    compared: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    skipped: Counter[str] = field(default_factory=Counter)
    examples: dict[str, str] = field(default_factory=dict)

    def add(self, case: Case, outcome: Outcome) -> None:
        """Count a case."""
        self.cases += 1
        self.views += len(case.views)
        self.filled += len(outcome.filled)
        self.compared += outcome.compared
        for message in outcome.refused:
            reason = construct(message)
            self.refused[reason] += 1
            self.examples.setdefault(reason, f"{message}\n{outcome.texts[message]}")
        self.skipped.update(construct(reason) for reason in outcome.skipped)

    def text(self) -> str:
        """A report of a few lines."""
        lines = [
            f"{self.cases} cases, {self.views} views, {self.filled} of them with rows, {self.compared} comparisons; "
            f"{self.refused.total()} views refused, {self.skipped.total()} skipped"
        ]
        lines += [f"  refused {count}: {reason}" for reason, count in self.refused.most_common(15)]
        lines += [f"  skipped {count}: {reason}" for reason, count in self.skipped.most_common(10)]
        return "\n".join(lines)


def construct(message: str) -> str:
    """A message without what differs from query to query."""
    message = re.sub(r"\(line \d+, column \d+\)", "", message)
    message = re.sub(r"'[^']*'|\"[^\"]*\"", "...", message)
    return re.sub(r"\d+(\.\d+)?", "N", message)[:110].strip()


def random_case(seed: int) -> Case:
    """The case of a seed: more often a short one, of which many are run in the time of one that is long to plan."""
    rng = Random(seed)
    tables = random_tables(rng)
    if rng.random() < SHORT:
        tables = tuple(replace(table, columns=table.columns[: max(2, table.keys)]) for table in tables[:2])
        views, batches, late = _plain_views(rng, tables), returning_batches(rng, tables), rng.choice((1, 1, 1, 2))
    else:
        views, late = _any_views(rng, tables), rng.randint(0, 2)
        batches = (returning_batches if rng.random() < RETURNING else random_batches)(rng, tables)
    ways = rng.randrange(1, 1_000_000) if rng.random() < 0.5 else 0
    zone = rng.choice(ZONES) if any(column.kind == "TSZ" for table in tables for column in table.columns) else "UTC"
    return Case(tables, tuple(views), batches, late, ways, zone)


def _plain_views(rng: Random, tables: tuple[Table, ...]) -> Views:
    makers = rng.choices((plain_view, computed_view, wide_view), (6, 3, 1), k=rng.randint(3, 6))
    return [(f"v{number}", make(rng, tables)) for number, make in enumerate(makers)]


def _any_views(rng: Random, tables: tuple[Table, ...]) -> Views:
    relations = [Relation(table.name, tuple((c.name, c.kind) for c in table.columns)) for table in tables]
    views = []
    for number in range(rng.choice((1, 1, 2, 3))):
        text, columns = (Stacks if rng.random() < 0.2 else Queries)(rng, relations).view()
        name = named(rng, f"v{number}") if rng.random() < 0.1 else f"v{number}"
        views.append((name, text))
        if rng.random() < 0.3:
            relations.append(Relation(name, columns))
    return views


def try_seed(seed: int, counts: Counts, compile: Any = "off", shards: int | None = None) -> tuple[Case, Outcome]:
    """Run the case of a seed."""
    case = random_case(seed)
    outcome = run(case, compile, shards)
    counts.add(case, outcome)
    return case, outcome
