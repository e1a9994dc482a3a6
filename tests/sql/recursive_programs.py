"""Recursive programs, each twice: as SQL, and as the naive meaning over Python's counters."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

Row = tuple[Any, ...]
Rows = Counter[Row]
Names = Mapping[str, Rows]
Step = Callable[[Names], Rows]

SCHEMA = """
CREATE TABLE e (s BIGINT NOT NULL, d BIGINT NOT NULL);
CREATE TABLE w (s BIGINT NOT NULL, d BIGINT NOT NULL, c BIGINT NOT NULL);
CREATE TABLE roots (v BIGINT NOT NULL);
"""


@dataclass(frozen=True, slots=True)
class Program:
    """`bindings` in order; the query reads the one called `result`. In `levels` edges go from less to greater alone."""

    sql: str
    bindings: tuple[tuple[str, Step], ...]
    result: str
    limit: int | None = None
    levels: bool = False

    def naive(self, tables: Names) -> Rows:
        """All bindings again, in order, until nothing changes, or for `limit` rounds."""
        now: dict[str, Rows] = {name: Counter() for name, _ in self.bindings}
        for _ in range(self.limit or 1000):
            before = dict(now)
            for name, step in self.bindings:
                now[name] = net(step({**tables, **now}))
            if before == now:
                break
        else:
            assert self.limit is not None, "no end"
        return now[self.result]


def net(rows: Mapping[Row, int]) -> Rows:
    return Counter({row: n for row, n in rows.items() if n})


def once(rows: Rows) -> Rows:
    return Counter({row: 1 for row, n in rows.items() if n > 0})


def plus(*parts: Rows) -> Rows:
    total: Rows = Counter()
    for part in parts:
        for row, n in part.items():
            total[row] += n
    return total


def minus(one: Rows, other: Rows) -> Rows:
    """The rows of a set that are not in another."""
    return Counter({row: 1 for row in one if row not in other})


def meet(one: Rows, other: Rows, on: tuple[int, int], made: Callable[[Row, Row], Row]) -> Rows:
    total: Rows = Counter()
    for x, n in one.items():
        for y, m in other.items():
            if x[on[0]] == y[on[1]]:
                total[made(x, y)] += n * m
    return total


def each(rows: Rows, made: Callable[[Row], list[Row]]) -> Rows:
    total: Rows = Counter()
    for row, n in rows.items():
        for new in made(row):
            total[new] += n
    return total


def grouped(rows: Rows, value: Callable[[list[tuple[Row, int]]], Any]) -> Rows:
    """By the first column."""
    groups: dict[Any, list[tuple[Row, int]]] = {}
    for row, n in rows.items():
        groups.setdefault(row[0], []).append((row, n))
    return Counter({(k, value(members)): 1 for k, members in groups.items()})


def least(members: list[tuple[Row, int]]) -> Any:
    return min(row[1] for row, _ in members)


def summed(members: list[tuple[Row, int]]) -> Any:
    return sum(row[1] * n for row, n in members)


def ends(x: Row, y: Row) -> Row:
    return x[0], y[1]


def both_ways(rows: Rows) -> Rows:
    return each(rows, lambda r: [r, r[::-1]])


def nodes(n: Names) -> Rows:
    return once(each(n["e"], lambda r: [(r[0],), (r[1],)]))


def _new_labels(n: Names) -> Rows:
    own = each(n["e"], lambda r: [(r[0], r[0]), (r[1], r[1])])
    return grouped(plus(own, meet(n["c"], both_ways(n["e"]), (0, 0), lambda x, y: (y[1], x[1]))), least)


def _won(name: str) -> Step:
    return lambda n: once(meet(minus(nodes(n), n[name]), n["e"], (0, 1), lambda x, y: (y[0],)))


def _gone(n: Names) -> Rows:
    degrees = meet(minus(nodes(n), n["gone"]), both_ways(n["e"]), (0, 0), lambda x, y: (y[1],))
    return Counter({row: 1 for row in nodes(n) if degrees[row] < 3})


def _ranks(n: Names) -> Rows:
    out = Counter(s for s, _ in n["e"].elements())
    share = each(n["p"], lambda r: [(r[0], r[1] * 85 // (100 * out[r[0]]))] if out[r[0]] else [])
    return grouped(
        plus(each(nodes(n), lambda r: [(r[0], 150)]), meet(share, n["e"], (0, 0), lambda x, y: (y[1], x[1]))), summed
    )


def _kind(number: int) -> Callable[[Names], Rows]:
    """A quarter of the edges: new, assign, load and store."""
    return lambda n: each(n["e"], lambda r: [r] if (r[0] + 2 * r[1]) % 4 == number else [])


_KINDS = ", ".join(
    f"{name} AS (SELECT s AS v, d AS w FROM e WHERE (s + 2 * d) % 4 = {number})"
    for number, name in enumerate(("fresh", "assigned", "loaded", "stored"))
)


def _points(n: Names) -> Rows:
    fresh, assigned, loaded = (_kind(number)(n) for number in range(3))
    return once(
        plus(
            fresh,
            meet(assigned, n["pt"], (1, 0), ends),
            meet(meet(loaded, n["pt"], (1, 0), ends), n["hp"], (1, 0), ends),
        )
    )


def _heap(n: Names) -> Rows:
    return once(meet(meet(_kind(3)(n), n["pt"], (0, 0), lambda x, y: (y[1], x[1])), n["pt"], (1, 0), ends))


def _working(n: Names) -> Rows:
    work = once(n["e"])
    found = once(n["e"])
    while work:
        work = minus(once(meet(work, work, (1, 0), ends)), found)
        found = plus(found, work)
    return found


def _generation(n: Names) -> Rows:
    base = each(meet(n["e"], n["e"], (0, 0), lambda x, y: (x[1], y[1])), lambda r: [r] if r[0] != r[1] else [])
    half = meet(n["g"], n["e"], (0, 0), lambda x, y: (y[1], x[1]))
    return once(plus(base, meet(half, n["e"], (1, 0), ends)))


PROGRAMS = {
    "reach": Program(
        "WITH RECURSIVE r(v) AS (SELECT v FROM roots UNION SELECT d FROM r JOIN e ON v = s) SELECT * FROM r",
        (("r", lambda n: once(plus(n["roots"], meet(n["r"], n["e"], (0, 0), lambda x, y: (y[1],))))),),
        "r",
    ),
    "closure": Program(
        "WITH RECURSIVE t AS (SELECT s, d FROM e UNION SELECT t.s, e.d FROM t JOIN e ON t.d = e.s) SELECT * FROM t",
        (("t", lambda n: once(plus(n["e"], meet(n["t"], n["e"], (1, 0), ends)))),),
        "t",
    ),
    "closure by halves": Program(
        "WITH MUTUALLY RECURSIVE t (s BIGINT, d BIGINT) AS"
        " (SELECT s, d FROM e UNION SELECT a.s, b.d FROM t a JOIN t b ON a.d = b.s) SELECT * FROM t",
        (("t", lambda n: once(plus(n["e"], meet(n["t"], n["t"], (1, 0), ends)))),),
        "t",
    ),
    "components": Program(
        "WITH MUTUALLY RECURSIVE c (v BIGINT, l BIGINT) AS (SELECT v, min(l) FROM (SELECT s AS v, s AS l FROM e"
        " UNION ALL SELECT d, d FROM e UNION ALL SELECT e.d, c.l FROM c JOIN e ON c.v = e.s"
        " UNION ALL SELECT e.s, c.l FROM c JOIN e ON c.v = e.d) GROUP BY v) SELECT * FROM c",
        (("c", _new_labels),),
        "c",
    ),
    "shortest paths": Program(
        "WITH MUTUALLY RECURSIVE d (v BIGINT, x BIGINT) AS (SELECT v, min(x) FROM (SELECT v, 0 AS x FROM roots"
        " UNION ALL SELECT w.d, d.x + w.c FROM d JOIN w ON d.v = w.s) GROUP BY v) SELECT * FROM d",
        (
            (
                "d",
                lambda n: grouped(
                    plus(
                        each(n["roots"], lambda r: [(r[0], 0)]),
                        meet(n["d"], n["w"], (0, 0), lambda x, y: (y[1], x[1] + y[2])),
                    ),
                    least,
                ),
            ),
        ),
        "d",
    ),
    "same generation": Program(
        "WITH RECURSIVE g(x, y) AS (SELECT a.d, b.d FROM e a JOIN e b ON a.s = b.s AND a.d <> b.d"
        " UNION SELECT a.d, b.d FROM g JOIN e a ON g.x = a.s JOIN e b ON g.y = b.s) SELECT * FROM g",
        (("g", _generation),),
        "g",
    ),
    "bill of materials": Program(
        "WITH RECURSIVE q(root, sub, n) AS (SELECT s, d, c FROM w"
        " UNION ALL SELECT q.root, w.d, q.n * w.c FROM q JOIN w ON q.sub = w.s) SELECT * FROM q",
        (
            (
                "q",
                lambda n: plus(n["w"], meet(n["q"], n["w"], (1, 0), lambda x, y: (x[0], y[1], x[2] * y[2]))),
            ),
        ),
        "q",
        levels=True,
    ),
    "sums up a tree": Program(
        "WITH MUTUALLY RECURSIVE b (id BIGINT, x BIGINT) AS (SELECT id, CAST(sum(x) AS BIGINT) FROM"
        " (SELECT s * 16 + d AS id, d AS x FROM e UNION ALL SELECT id // 2, x FROM b WHERE id > 1) GROUP BY id)"
        " SELECT * FROM b",
        (
            (
                "b",
                lambda n: grouped(
                    plus(
                        each(n["e"], lambda r: [(r[0] * 16 + r[1], r[1])]),
                        each(n["b"], lambda r: [(r[0] // 2, r[1])] if r[0] > 1 else []),
                    ),
                    summed,
                ),
            ),
        ),
        "b",
    ),
    "even and odd": Program(
        "WITH MUTUALLY RECURSIVE even (v BIGINT) AS (SELECT v FROM roots UNION SELECT d FROM odd JOIN e ON v = s),"
        " odd (v BIGINT) AS (SELECT DISTINCT d FROM even JOIN e ON v = s) SELECT * FROM odd",
        (
            ("even", lambda n: once(plus(n["roots"], meet(n["odd"], n["e"], (0, 0), lambda x, y: (y[1],))))),
            ("odd", lambda n: once(meet(n["even"], n["e"], (0, 0), lambda x, y: (y[1],)))),
        ),
        "odd",
    ),
    "won positions": Program(
        "WITH MUTUALLY RECURSIVE hi (a BIGINT) AS (SELECT DISTINCT s FROM e WHERE d NOT IN (SELECT a FROM lo)),"
        " lo (a BIGINT) AS (SELECT DISTINCT s FROM e WHERE d NOT IN (SELECT a FROM hi)) SELECT * FROM lo",
        (("hi", _won("lo")), ("lo", _won("hi"))),
        "lo",
    ),
    "core": Program(
        "WITH MUTUALLY RECURSIVE gone (v BIGINT) AS (WITH n AS (SELECT s AS v FROM e UNION SELECT d FROM e),"
        " b AS (SELECT s, d FROM e UNION ALL SELECT d, s FROM e) SELECT v FROM n EXCEPT"
        " SELECT d FROM b WHERE s IN (SELECT v FROM n EXCEPT SELECT v FROM gone) GROUP BY d HAVING count(*) >= 3)"
        " SELECT * FROM gone",
        (("gone", _gone),),
        "gone",
    ),
    "page ranks": Program(
        "WITH MUTUALLY RECURSIVE (RETURN AT RECURSION LIMIT 8) p (v BIGINT, r BIGINT) AS ("
        "WITH o AS (SELECT s, count(*) AS n FROM e GROUP BY s) SELECT v, CAST(sum(r) AS BIGINT) FROM"
        " ((SELECT s AS v, 150 AS r FROM e UNION SELECT d, 150 FROM e) UNION ALL"
        " SELECT e.d, p.r * 85 // (100 * o.n) FROM p JOIN o ON o.s = p.v JOIN e ON e.s = p.v) GROUP BY v)"
        " SELECT * FROM p",
        (("p", _ranks),),
        "p",
        limit=8,
    ),
    "points to": Program(
        f"WITH {_KINDS} SELECT * FROM (WITH MUTUALLY RECURSIVE"
        " pt (v BIGINT, o BIGINT) AS (SELECT v, w FROM fresh UNION SELECT a.v, pt.o FROM assigned a JOIN pt ON a.w = pt.v"
        " UNION SELECT l.v, hp.q FROM loaded l JOIN pt ON l.w = pt.v JOIN hp ON pt.o = hp.p),"
        " hp (p BIGINT, q BIGINT) AS (SELECT DISTINCT p.o, q.o FROM stored t JOIN pt p ON t.v = p.v JOIN pt q ON t.w = q.v)"
        " SELECT * FROM pt)",
        (("pt", _points), ("hp", _heap)),
        "pt",
    ),
    "working table": Program(
        "WITH RECURSIVE q AS (SELECT s, d FROM e UNION SELECT a.s, b.d FROM q a JOIN q b ON a.d = b.s) SELECT * FROM q",
        (("q", _working),),
        "q",
    ),
}
