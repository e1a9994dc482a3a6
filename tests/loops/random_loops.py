"""Random loops over what SQL has, kept up to date through random commits, against the naive meaning of their relations.

python -m tests.loops.random_loops 600 1    for so many seconds, from a seed on; prints what goes wrong, and how to see it
"""

from __future__ import annotations

import signal
import sys
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass
from random import Random
from time import monotonic
from typing import Any
from unittest.mock import patch

import pyarrow as pa

import ivm
from ivm.session.database import core_of
from ivm.sql.bind.query import bind
from ivm.sql.ir.relation import Relation
from ivm.transform.pipeline import optimize
from tests.model import relation as model
from tests.model.relation import EndlessError, evaluate

Rows = Counter[tuple[Any, ...]]
TABLES = {
    "e": "CREATE TABLE e (a BIGINT, b BIGINT)",
    "f": "CREATE TABLE f (a BIGINT NOT NULL, b BIGINT NOT NULL, CHECK (b >= 0))",
}
MOST_ROUNDS = 30
"""A loop that goes on after so many has no end."""
MOST_ROWS = 10_000
"""A history is given up where there are more, which are equal rows."""

# Queries of two columns, a and b, over others: X and Y stand for those.
_JOINS = (
    "SELECT x.a, y.b FROM X x JOIN Y y ON x.b = y.a",
    "SELECT x.a, y.b FROM X x JOIN Y y ON x.b = y.a AND x.a < y.b",
    "SELECT x.a, y.b FROM X x LEFT JOIN Y y ON x.b = y.a",
    "SELECT x.a, y.b FROM X x RIGHT JOIN Y y ON x.b = y.a",
    "SELECT coalesce(x.a, y.a) AS a, y.b FROM X x FULL JOIN Y y ON x.b = y.a",
    "SELECT x.a, y.b FROM X x LEFT JOIN Y y ON x.b = y.a AND y.b > 1",
    "SELECT x.a, x.b FROM X x SEMI JOIN Y y ON x.b = y.a",
    "SELECT x.a, x.b FROM X x ANTI JOIN Y y ON x.b = y.a",
    "SELECT x.a, y.b FROM X x, Y y WHERE x.a < y.a AND x.b >= y.b",
    "SELECT a, x.b FROM X x JOIN Y y USING (a)",
    "SELECT x.a, z.b FROM X x JOIN Y y ON x.b = y.a JOIN X z ON y.b = z.a",
    "SELECT x.a, z.b FROM X x JOIN Y y ON x.b = y.a JOIN Y z ON y.b = z.a AND z.b = x.a",
)
_SUBQUERIES = (
    "SELECT a, b FROM X WHERE b IN (SELECT a FROM Y)",
    "SELECT a, b FROM X WHERE b NOT IN (SELECT a FROM Y)",
    "SELECT a, b FROM X WHERE b NOT IN (SELECT a FROM Y WHERE a IS NOT NULL)",
    "SELECT a, b FROM X x WHERE EXISTS (SELECT 1 FROM Y y WHERE y.a = x.b AND y.b <> x.a)",
    "SELECT a, b FROM X x WHERE NOT EXISTS (SELECT 1 FROM Y y WHERE y.a = x.b)",
    "SELECT a, (SELECT max(b) FROM Y y WHERE y.a = x.b) AS b FROM X x",
    "SELECT a, (SELECT count(*) FROM Y y WHERE y.a = x.b) % 4 AS b FROM X x",
    "SELECT a, b FROM X WHERE b > (SELECT avg(b) FROM Y)",
    "SELECT a, b FROM X WHERE a = (SELECT min(a) FROM Y)",
    "SELECT a, b FROM X x WHERE b >= ALL (SELECT b FROM Y y WHERE y.a = x.a)",
    "SELECT a, b FROM X x WHERE a = ANY (SELECT b FROM Y)",
    "SELECT x.a, l.b FROM X x, LATERAL (SELECT y.b FROM Y y WHERE y.a = x.b ORDER BY y.b LIMIT 2) l",
    "SELECT x.a, l.b FROM X x LEFT JOIN LATERAL (SELECT max(y.b) AS b FROM Y y WHERE y.a = x.b) l ON true",
    "SELECT a, b FROM X x WHERE EXISTS (SELECT 1 FROM Y y WHERE y.a = x.b AND NOT EXISTS (SELECT 1 FROM X z WHERE z.a = y.b AND z.b = x.a))",
)
_GROUPS = (
    "SELECT a, min(b) AS b FROM X GROUP BY a",
    "SELECT a, max(b) AS b FROM X GROUP BY a",
    "SELECT a, count(*) % 5 AS b FROM X GROUP BY a",
    "SELECT a, count(DISTINCT b) AS b FROM X GROUP BY a",
    "SELECT a, sum(b)::BIGINT % 7 AS b FROM X GROUP BY a",
    "SELECT a, round(avg(b))::BIGINT AS b FROM X GROUP BY a",
    "SELECT a, min(b) AS b FROM X GROUP BY a HAVING count(*) > 1",
    "SELECT a, arg_max(b, b * 3 + 1) AS b FROM X GROUP BY a",
    "SELECT a, quantile_disc(b, 0.5) AS b FROM X GROUP BY a",
    "SELECT a, length(string_agg(b::VARCHAR, '' ORDER BY b)) % 4 AS b FROM X GROUP BY a",
    "SELECT a, (count(b) FILTER (b > 1)) % 3 AS b FROM X GROUP BY a",
    "SELECT a, bool_or(b > 2)::BIGINT AS b FROM X GROUP BY a",
    "SELECT min(a) AS a, max(b) AS b FROM X",
    "SELECT count(*) % 3 AS a, sum(b)::BIGINT % 5 AS b FROM X",
    "SELECT a, count(*) % 4 AS b FROM X GROUP BY ROLLUP (a)",
    "SELECT DISTINCT a, b FROM X",
    "SELECT DISTINCT ON (a) a, b FROM X ORDER BY a, b DESC NULLS LAST",
)
_ORDERED = (
    "SELECT a, b FROM (SELECT a, b, row_number() OVER (PARTITION BY a ORDER BY b) AS r FROM X) WHERE r <= 2",
    "SELECT a, rank() OVER (PARTITION BY a ORDER BY b) % 3 AS b FROM X",
    "SELECT a, sum(b) OVER (PARTITION BY a ORDER BY b)::BIGINT % 5 AS b FROM X",
    "SELECT a, count(*) OVER () % 4 AS b FROM X",
    "SELECT a, max(b) OVER (PARTITION BY a) AS b FROM X",
    "(SELECT a, b FROM X ORDER BY b DESC, a LIMIT 2)",
    "(SELECT a, b FROM X ORDER BY a, b LIMIT 2 OFFSET 1)",
)
_SCALARS = (
    "SELECT b AS a, a AS b FROM X",
    "SELECT (a * 3 + 1) % 5 AS a, abs(b - 2) AS b FROM X",
    "SELECT a, CASE WHEN b > 1 THEN b - 1 ELSE a END AS b FROM X",
    "SELECT coalesce(a, 0) AS a, nullif(b, 2) AS b FROM X",
    "SELECT greatest(a, b) AS a, least(a, b) AS b FROM X",
    "SELECT a, length(repeat('x', b::INTEGER)) AS b FROM X WHERE b < 9",
    "SELECT a // nullif(b, 0) AS a, b FROM X",
    "SELECT a, b FROM X WHERE a IS NOT NULL AND b BETWEEN 1 AND 3",
    "SELECT a, b + 1 AS b FROM X WHERE b < 5",
    "SELECT a, b FROM X WHERE a = 1",
    "WITH z AS (SELECT a, b FROM X WHERE a > 0) SELECT z.a, y.b FROM z JOIN Y y ON z.b = y.a",
)
_SETS = (
    "SELECT a, b FROM X UNION SELECT a, b FROM Y",
    "SELECT a, b FROM X UNION ALL SELECT a, b FROM Y",
    "SELECT a, b FROM X EXCEPT SELECT a, b FROM Y",
    "SELECT a, b FROM X EXCEPT ALL SELECT a, b FROM Y",
    "SELECT a, b FROM X INTERSECT SELECT a, b FROM Y",
    "SELECT a, b FROM X INTERSECT ALL SELECT a, b FROM Y",
)
PIECES = (_JOINS, _SUBQUERIES, _GROUPS, _ORDERED, _SCALARS, _SETS)
_ONCE = (
    "SELECT DISTINCT a, b FROM ({})",
    "SELECT DISTINCT a, b FROM ({})",
    "SELECT a, min(b) AS b FROM ({}) GROUP BY a",
    "SELECT a, max(b) AS b FROM ({}) GROUP BY a",
)
BASES = ("SELECT a, b FROM e", "SELECT a, b FROM f", "SELECT a, a AS b FROM e WHERE a = 1", "SELECT 1 AS a, 2 AS b")


class Writer:
    """Writes random queries over what can be read."""

    def __init__(self, random: Random, names: tuple[str, ...]) -> None:
        self._random, self._names = random, names

    def query(self, depth: int) -> str:
        """A query of BIGINT columns a and b."""
        pick = self._random.choice
        piece = pick(pick(PIECES))
        words = {"X": self._read(depth), "Y": self._read(depth - 1)}
        return " ".join(
            words.get(word, words.get(word[:-1], word) + word[1:] if word[:-1] in words else word)
            for word in piece.split(" ")
        )

    def _read(self, depth: int) -> str:
        if depth > 0 and self._random.random() < 0.4:
            return f"({self.query(depth - 1)})"
        return self._random.choice((*self._names, *self._names, "e", "f"))

    def typed(self, query: str) -> str:
        """The query with columns that are BIGINT for sure."""
        return f"SELECT a::BIGINT AS a, b::BIGINT AS b FROM ({query})"


def mutual(random: Random) -> str:
    """A query with several names that read each other, to a limit or as sets."""
    names = ("q", "p", "r")[: random.choice((1, 1, 2, 2, 3))]
    writer, limit = Writer(random, names), random.choice((None, None, random.randint(1, 6)))
    bindings = []
    for name in names:
        parts = [writer.query(random.choice((0, 1, 1, 2))) for _ in range(random.choice((1, 1, 2)))]
        if random.random() < 0.8:
            parts.insert(0, random.choice(BASES))
        query = writer.typed(" UNION ALL ".join(f"SELECT a, b FROM ({part})" for part in parts))
        if limit is None:
            query = random.choice(_ONCE).format(query)
        bindings.append(f"{name}(a BIGINT, b BIGINT) AS ({query})")
    how = (
        "" if limit is None else f"({random.choice(('RETURN AT ', 'RETURN AT ', 'ERROR AT '))}RECURSION LIMIT {limit})"
    )
    return f"WITH MUTUALLY RECURSIVE {how} {', '.join(bindings)} SELECT * FROM {random.choice(names)}"


def working_table(random: Random) -> str:
    """A query of WITH RECURSIVE, whose branch is whatever."""
    writer = Writer(random, ("q",))
    branch = writer.typed(writer.query(random.choice((0, 1, 1, 2))))
    base = writer.typed(random.choice(BASES))
    if random.random() < 0.3:
        return f"WITH RECURSIVE q(a, b) AS ({base} UNION ALL SELECT a, b FROM ({branch}) WHERE a < b AND b < 9) SELECT * FROM q"
    return f"WITH RECURSIVE q(a, b) AS ({base} UNION ({branch})) SELECT * FROM q"


@dataclass
class History:
    """A database with one view, and what its tables hold."""

    db: ivm.Database
    relation: Relation
    tables: dict[str, Rows]

    def meant(self, tables: dict[str, Rows]) -> Rows | None:
        """What the view is to hold; None if it has no end, or raises, also without what it does not need."""
        for relation in (self.relation, optimize(self.relation)):
            with patch.object(model, "MOST_ROUNDS", MOST_ROUNDS + 1), suppress(EndlessError, ivm.NumericError):
                rows = Counter(evaluate(relation, tables))
                if sum(rows.values()) > MOST_ROWS:
                    raise ivm.UnsupportedError("too many rows")
                return rows
        return None

    def grow(self, random: Random) -> None:
        """Rows come, before there is a view."""
        for name, rows in self.tables.items():
            come = [row for *row, diff in self._changes(random, name, last=False) if diff > 0]
            rows.update(map(tuple, come))
            self.db.apply(
                {name: pa.table({c: pa.array([row[i] for row in come], pa.int64()) for i, c in enumerate("ab")})}
            )

    def come_in(self, query: str) -> str:
        """The view comes in; what is wrong then. There is none where it is to have none."""
        meant = self.meant(self.tables)
        try:
            self.db.sql(f"CREATE MATERIALIZED VIEW v AS {query}")
        except ivm.NumericError as error:
            return "" if meant is None else _refused(error) or f"cannot come in over {self.tables}: {error}"
        found = Counter(self.db.view("v").fetchall())
        return "" if found == meant else f"comes in over {self.tables}: found {found}, meant {meant}"

    def commit(self, random: Random, *, last: bool = False) -> str:
        """One commit; what is wrong then."""
        changes = {name: rows for name in self.tables if (rows := self._changes(random, name, last))}
        if not changes:
            return ""
        after = {name: Counter(rows) for name, rows in self.tables.items()}
        for name, rows in changes.items():
            for *row, diff in rows:
                after[name][tuple(row)] += diff
        after = {name: +rows for name, rows in after.items()}
        meant = self.meant(after)
        batches = {name: pa.table({c: pa.array([row[i] for row in rows], pa.int64()) for i, c in enumerate(("a", "b", "_diff"))})
            for name, rows in changes.items()}  # fmt: skip
        try:
            self.db.apply(batches)
        except ivm.NumericError as error:
            return "" if meant is None else _refused(error) or f"refused {changes}: {error}"
        self.tables = after
        found = Counter(self.db.view("v").fetchall())
        return "" if found == meant else f"after {changes}: found {found}, meant {meant}"

    def _changes(self, random: Random, name: str, last: bool) -> list[tuple[Any, ...]]:
        if last:
            return [(*row, -n) for row, n in self.tables[name].items()]
        gone = [row for row in self.tables[name] if random.random() < random.choice((0.1, 0.4))]
        values = (0, 1, 1, 2, 2, 3, 4) + ((None,) if name == "e" else ())
        come = [(random.choice(values), random.choice(values)) for _ in range(random.choice((0, 1, 1, 2, 4)))]
        return [(*row, -1) for row in gone] + [(*row, 1) for row in come]


def _refused(error: ivm.NumericError) -> str:
    """Equal rows are kept as often as they are there, which the model need not."""
    return "refused: too many rows" if "more and more often" in str(error) else ""


def query_of(seed: int) -> str:
    """A random query."""
    return (mutual if seed % 3 else working_table)(Random(seed))


def wrong_with(query: str, seed: int) -> str:
    """What is wrong with a view of a query in a random history; where it is refused, that."""
    random = Random(seed)
    db = ivm.connect(compile="off", recursion_limit=MOST_ROUNDS, sharing=seed % 5 > 0)
    with db:
        for text in TABLES.values():
            db.sql(text)
        try:
            relation = bind(query, core_of(db).catalog).relation
            history = History(db, relation, {name: Counter() for name in TABLES})
            for _ in range(3 * random.randint(0, 1)):
                history.grow(random)
            if wrong := history.come_in(query):
                return wrong
            found = (history.commit(random, last=number == 9) for number in range(10) if db.views())
            return next(filter(None, found), "")
        except MemoryError:  # equal rows are kept as often as they are there
            return "refused: too many rows"
        except ivm.UnsupportedError as error:
            return f"refused: {error}"
        except ivm.Error as error:
            return f"{type(error).__name__}: {error}"


def _given_up(*given: object) -> None:
    raise TimeoutError


def _main(seconds: float, seed: int) -> None:
    until, refused, count = monotonic() + seconds, Counter[str](), 0
    signal.signal(signal.SIGALRM, _given_up)
    while monotonic() < until:
        signal.alarm(20)
        query = query_of(seed)
        try:
            wrong = wrong_with(query, seed)
        except TimeoutError:  # mostly of the model
            wrong = "refused: too slow"
        except Exception as error:  # noqa: BLE001  whatever it is, it is wrong
            wrong = f"{type(error).__name__}: {error}"
        count += 1
        if wrong.startswith("refused: "):
            refused[wrong.split("\n")[0].split(" (line")[0]] += 1
        elif wrong:
            print(f"seed {seed}: {query}\n    {wrong}", flush=True)
        seed += 1
    print(f"{count} histories; refused: {dict(refused)}")


if __name__ == "__main__":
    _main(float(sys.argv[1]), int(sys.argv[2]))
