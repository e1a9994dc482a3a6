"""Relations that read themselves, for tests: of edges `e (s, d)` and of `roots (v)`, all of them BIGINT."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import ivm
from ivm.catalog.schema import Field
from ivm.session.database import core_of
from ivm.sql.bind.query import bind
from ivm.sql.ir.rebuild import rebuilt
from ivm.sql.ir.relation import Binding, Get, LetRec, RecursiveGet, Relation
from ivm.transform.pipeline import optimize

TABLES = "CREATE TABLE e (s BIGINT NOT NULL, d BIGINT NOT NULL); CREATE TABLE roots (v BIGINT NOT NULL)"


@dataclass(frozen=True)
class Program:
    """Bindings, each a name, its columns and its query; which one is read; and after how many rounds it ends."""

    bindings: tuple[tuple[str, str, str], ...]
    result: int = 0
    limit: int | None = None
    fails_at_limit: bool = False

    def relation(self) -> LetRec:
        """The loop, of which each binding has gone through the transforms."""
        db = ivm.connect(compile="off")
        db.sql(TABLES)
        for name, columns, _ in self.bindings:
            db.sql(f"CREATE TABLE {name} ({columns})")
        names = {name for name, _, _ in self.bindings}

        def read(node: Relation) -> Relation:
            if not isinstance(node, Get) or node.name not in names:
                return node
            return RecursiveGet(node.name, tuple(Field(field.name, field.type, True) for field in node.schema))

        bindings = list[Binding]()
        for name, _, query in self.bindings:
            relation = optimize(rebuilt(bind(query, core_of(db).catalog).relation, read))
            bindings.append(Binding(name, relation.schema, relation, name))
        db.close()
        return LetRec(tuple(bindings), self.result, self.limit, self.fails_at_limit)


def _one(name: str, columns: str, query: str) -> Program:
    return Program(((name, columns, query),))


def _two(*bindings: Sequence[str]) -> Program:
    first, last = (tuple(each) for each in bindings)
    return Program((first, last), result=1)  # type: ignore[arg-type]


PROGRAMS = {
    "reach": _one("r", "v BIGINT", "SELECT v FROM roots UNION SELECT e.d FROM r JOIN e ON r.v = e.s"),
    "closure": _one("t", "s BIGINT, d BIGINT", "SELECT s, d FROM e UNION SELECT t.s, e.d FROM t JOIN e ON t.d = e.s"),
    "closure of itself": _one(
        "t", "s BIGINT, d BIGINT", "SELECT s, d FROM e UNION SELECT a.s, b.d FROM t a JOIN t b ON a.d = b.s"
    ),
    "components": _one(
        "c",
        "v BIGINT, l BIGINT",
        """SELECT v, min(l) AS l FROM (
            SELECT s AS v, s AS l FROM e UNION ALL SELECT d, d FROM e
            UNION ALL SELECT e.d, c.l FROM c JOIN e ON c.v = e.s UNION ALL SELECT e.s, c.l FROM c JOIN e ON c.v = e.d
        ) GROUP BY v""",
    ),
    "shortest paths": _one(
        "p",
        "v BIGINT, x BIGINT",
        """SELECT v, min(x) AS x FROM (
            SELECT v, 0 AS x FROM roots
            UNION ALL SELECT e.d, p.x + 1 + (e.s * 7 + e.d * 3) % 5 FROM p JOIN e ON p.v = e.s
        ) GROUP BY v""",
    ),
    "same generation": _one(
        "g",
        "x BIGINT, y BIGINT",
        """SELECT a.d AS x, b.d AS y FROM e a JOIN e b ON a.s = b.s AND a.d <> b.d
        UNION SELECT a.d, b.d FROM g JOIN e a ON g.x = a.s JOIN e b ON g.y = b.s""",
    ),
    "parts": _one(
        "q",
        "root BIGINT, sub BIGINT, n BIGINT",
        """SELECT s AS root, d AS sub, 1 + (s + d) % 3 AS n FROM e WHERE s < d
        UNION ALL SELECT q.root, b.d, q.n * (1 + (b.s + b.d) % 3) FROM q JOIN e b ON q.sub = b.s WHERE b.s < b.d""",
    ),
    "sums": _one(
        "b",
        "id BIGINT, x BIGINT",
        """SELECT id, CAST(sum(x) AS BIGINT) AS x FROM (
            SELECT s * 16 + d AS id, d AS x FROM e UNION ALL SELECT id // 2, x FROM b WHERE id > 1
        ) GROUP BY id""",
    ),
    "even and odd": _two(
        ("ev", "v BIGINT", "SELECT v FROM roots UNION SELECT e.d FROM od JOIN e ON od.v = e.s"),
        ("od", "v BIGINT", "SELECT DISTINCT e.d AS v FROM ev JOIN e ON ev.v = e.s"),
    ),
    "won positions": _two(
        ("hi", "a BIGINT", "SELECT DISTINCT s AS a FROM e WHERE d NOT IN (SELECT a FROM lo)"),
        ("lo", "a BIGINT", "SELECT DISTINCT s AS a FROM e WHERE d NOT IN (SELECT a FROM hi)"),
    ),
    "core": _one(
        "gone",
        "v BIGINT",
        """SELECT v FROM (SELECT s AS v FROM e UNION SELECT d FROM e) n WHERE (
            SELECT count(*) FROM (SELECT s AS a, d AS b FROM e UNION ALL SELECT d, s FROM e) w
            WHERE w.a = n.v AND w.b NOT IN (SELECT v FROM gone)) < 3""",
    ),
    "ranks": Program(
        (
            (
                "p",
                "v BIGINT, x BIGINT",
                """SELECT v, CAST(sum(x) AS BIGINT) AS x FROM (
                    SELECT s AS v, 150 AS x FROM e UNION ALL SELECT e.d, p.x * 85 // 300 FROM p JOIN e ON p.v = e.s
                ) GROUP BY v""",
            ),
        ),
        limit=8,
    ),
    "first two": _one(
        "r",
        "v BIGINT",
        """SELECT v FROM roots UNION SELECT d FROM (
            SELECT s, d, row_number() OVER (PARTITION BY s ORDER BY d) AS k FROM (
                SELECT e.s, e.d FROM r JOIN e ON r.v = e.s)
        ) WHERE k <= 2""",
    ),
    "count": _two(
        ("r", "v BIGINT", "SELECT v FROM roots UNION SELECT e.d FROM r JOIN e ON r.v = e.s"),
        ("k", "n BIGINT", "SELECT count(*) AS n FROM r"),
    ),
    "above the least": _one(
        "r",
        "v BIGINT",
        """SELECT v FROM roots
        UNION SELECT e.d FROM e WHERE e.s IN (SELECT v FROM r) AND e.d > (SELECT min(v) FROM r)""",
    ),
}
ENDLESS = _one(
    "w", "v BIGINT, n BIGINT", "SELECT v, 0 AS n FROM roots UNION ALL SELECT e.d, w.n + 1 FROM w JOIN e ON w.v = e.s"
)
"""It does not end where a root reaches a cycle."""
OVERFLOWING = _one(
    "w", "v BIGINT, n BIGINT", "SELECT v, 1 AS n FROM roots UNION ALL SELECT e.d, w.n * 4096 FROM w JOIN e ON w.v = e.s"
)
"""A path of six edges from a root is too long for it."""
