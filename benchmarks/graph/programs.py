"""The programs: what is computed from a graph, as SQL, and how DuckDB says the same where it can."""

from __future__ import annotations

from dataclasses import dataclass

from ivm.benchmarks.graph.shapes import COLUMNS


@dataclass(frozen=True, slots=True)
class Binding:
    """A name within a loop: its columns with their types, and the query that it stands for."""

    name: str
    columns: tuple[str, ...]
    query: str


@dataclass(frozen=True, slots=True)
class Program:
    """A view: what it is called and shows, the tables that it reads, the bindings of its loop, if it has one, and the
    query over these and the tables.

    `mutually`: WITH MUTUALLY RECURSIVE, else WITH RECURSIVE of one binding. `duckdb`: what DuckDB is asked where it
    does not run that text; empty where it has no query for it.
    """

    name: str
    title: str
    reads: tuple[str, ...]
    body: str
    bindings: tuple[Binding, ...] = ()
    mutually: bool = False
    duckdb: str = ""

    def sql(self) -> str:
        """The query of the view."""
        if not self.bindings:
            return self.body
        word = "MUTUALLY RECURSIVE" if self.mutually else "RECURSIVE"
        return f"WITH {word} {', '.join(map(self._bound, self.bindings))} {self.body}"

    def recomputed(self) -> str:
        """The query for DuckDB; empty if it has none."""
        return self.duckdb or ("" if self.mutually else self.sql())

    def _bound(self, binding: Binding) -> str:
        columns = (column if self.mutually else column.split()[0] for column in binding.columns)
        return f"{binding.name} ({', '.join(columns)}) AS ({binding.query})"


def ddl(tables: tuple[str, ...]) -> str:
    """The statements that create these tables."""
    columns = {name: ", ".join(f"{each} BIGINT NOT NULL" for each in COLUMNS[name]) for name in tables}
    return ";".join(f"CREATE TABLE {name} ({columns[name]})" for name in tables)


def _reached(table: str, growth: str) -> str:
    """Each node with the least that a path from the roots has, in DuckDB: nodes that found less go on."""
    return f"""
        WITH RECURSIVE p(v, x) USING KEY (v) AS (
            SELECT v, CAST(0 AS BIGINT) FROM roots
            UNION
            SELECT e.d, min(p.x + {growth}) FROM p JOIN {table} e ON p.v = e.s LEFT JOIN recurring.p k ON k.v = e.d
            WHERE k.v IS NULL OR p.x + {growth} < k.x GROUP BY e.d)
        SELECT v, x FROM p"""


def _distances(name: str, title: str, table: str, growth: str, only: str = "") -> Program:
    """Each node with the least sum of what edges add; `only` is a filter of edges, which says that no sum shrinks."""
    query = f"""
        SELECT v, min(x) AS x FROM (
            SELECT v, CAST(0 AS BIGINT) AS x FROM roots
            UNION ALL
            SELECT e.d, p.x + {growth} FROM p JOIN {table} e ON p.v = e.s{only})
        GROUP BY v"""
    binding = Binding("p", ("v BIGINT", "x BIGINT"), query)
    return Program(name, title, ("roots", table), "SELECT v, x FROM p", (binding,), True, _reached(table, growth))


_REACH = Program(
    "reach",
    "nodes that the roots reach",
    ("roots", "e"),
    "SELECT v FROM r",
    (Binding("r", ("v BIGINT",), "SELECT v FROM roots UNION SELECT e.d FROM r JOIN e ON r.v = e.s"),),
)
_COMPONENTS = Program(
    "components",
    "each node with the least of its component",
    ("e",),
    "SELECT v, l FROM c",
    (
        Binding(
            "c",
            ("v BIGINT", "l BIGINT"),
            """
        SELECT v, min(l) AS l FROM (
            SELECT s AS v, s AS l FROM e UNION ALL SELECT d, d FROM e
            UNION ALL SELECT e.d, c.l FROM c JOIN e ON c.v = e.s
            UNION ALL SELECT e.s, c.l FROM c JOIN e ON c.v = e.d)
        GROUP BY v""",
        ),
    ),
    True,
    """
        WITH RECURSIVE c(v, l) USING KEY (v) AS (
            SELECT v, v FROM (SELECT s AS v FROM e UNION SELECT d FROM e)
            UNION
            SELECT n.v, min(n.l) FROM (
                SELECT e.d AS v, c.l FROM c JOIN e ON c.v = e.s UNION ALL SELECT e.s, c.l FROM c JOIN e ON c.v = e.d
            ) n JOIN recurring.c k ON k.v = n.v WHERE n.l < k.l GROUP BY n.v)
        SELECT v, l FROM c""",
)
_CLOSURE = Program(
    "closure",
    "pairs of nodes with a path from one to the other",
    ("e",),
    "SELECT s, d FROM t",
    (Binding("t", ("s BIGINT", "d BIGINT"), "SELECT s, d FROM e UNION SELECT t.s, e.d FROM t JOIN e ON t.d = e.s"),),
)
_SAME_GENERATION = Program(
    "same_generation",
    "pairs of nodes as far below one that both come from",
    ("e",),
    "SELECT x, y FROM g",
    (
        Binding(
            "g",
            ("x BIGINT", "y BIGINT"),
            """
        SELECT a.d, b.d FROM e a JOIN e b ON a.s = b.s AND a.d <> b.d
        UNION
        SELECT a.d, b.d FROM g JOIN e a ON g.x = a.s JOIN e b ON g.y = b.s""",
        ),
    ),
)
_DATAFLOW = Program(
    "dataflow",
    "where the null of each assignment may get to",
    ("nulls", "assigns"),
    "SELECT o, v FROM f",
    (
        Binding(
            "f",
            ("o BIGINT", "v BIGINT"),
            """
        SELECT v, v FROM nulls
        UNION
        SELECT f.o, a.target FROM f JOIN assigns a ON f.v = a.source""",
        ),
    ),
)
_ALIASES = Program(
    "aliases",
    "pairs of variables whose memory may be the same",
    ("assigns", "derefs"),
    "SELECT v, w FROM memory",
    (
        Binding(
            "flows",
            ("v BIGINT", "w BIGINT"),
            """
        SELECT target AS v, source AS w FROM assigns
        UNION SELECT target, target FROM assigns UNION SELECT source, source FROM assigns
        UNION SELECT a.target, m.w FROM assigns a JOIN memory m ON a.source = m.v
        UNION SELECT a.v, b.w FROM flows a JOIN flows b ON a.w = b.v""",
        ),
        Binding(
            "memory",
            ("v BIGINT", "w BIGINT"),
            """
        SELECT target AS v, target AS w FROM assigns UNION SELECT source, source FROM assigns
        UNION SELECT a.v, b.v FROM through a JOIN through b ON a.p = b.p
        UNION SELECT a.v, b.v FROM through a JOIN memory m ON a.p = m.v JOIN through b ON m.w = b.p""",
        ),
        Binding(
            "through",
            ("p BIGINT", "v BIGINT"),
            "SELECT DISTINCT f.v AS p, d.v FROM flows f JOIN derefs d ON f.w = d.pointer",
        ),
    ),
    True,
)
_POINTS_TO = Program(
    "points_to",
    "the objects that each variable may point to",
    ("news", "assigns", "loads", "stores"),
    "SELECT v, o FROM pt",
    (
        Binding(
            "pt",
            ("v BIGINT", "o BIGINT"),
            """
        SELECT v, o FROM news
        UNION SELECT a.target, p.o FROM assigns a JOIN pt p ON a.source = p.v
        UNION SELECT l.target, h.o FROM loads l JOIN pt p ON l.pointer = p.v JOIN heap h ON p.o = h.x""",
        ),
        Binding(
            "heap",
            ("x BIGINT", "o BIGINT"),
            """
        SELECT DISTINCT p.o AS x, q.o FROM stores s JOIN pt p ON s.pointer = p.v JOIN pt q ON s.source = q.v""",
        ),
    ),
    True,
)
_HOPS = (
    Program(
        "hops2",
        "nodes two edges from those that are asked for",
        ("asked2", "e"),
        "SELECT DISTINCT q.v, b.d FROM asked2 q JOIN e a ON q.v = a.s JOIN e b ON a.d = b.s",
    ),
    Program(
        "hops3",
        "nodes three edges from those that are asked for",
        ("asked3", "e"),
        "SELECT DISTINCT q.v, c.d FROM asked3 q JOIN e a ON q.v = a.s JOIN e b ON a.d = b.s JOIN e c ON b.d = c.s",
    ),
    Program(
        "hops4",
        "pairs that are asked for with a path of four edges",
        ("asked4", "e"),
        "SELECT DISTINCT q.a, q.b FROM asked4 q JOIN e a ON q.a = a.s JOIN e b ON a.d = b.s JOIN e c ON b.d = c.s "
        "JOIN e d ON c.d = d.s AND d.d = q.b",
    ),
)
_TRIANGLES = Program(
    "triangles",
    "how many triangles begin at each node",
    ("e",),
    "SELECT a.s AS v, count(*) AS n FROM e a JOIN e b ON a.d = b.s JOIN e c ON a.s = c.s AND b.d = c.d GROUP BY a.s",
)

PROGRAMS = {
    program.name: program
    for program in (
        _REACH,
        _COMPONENTS,
        _distances("levels", "each node with the fewest edges from a root", "e", "1"),
        _distances("paths", "each node with its least cost from a root", "w", "e.c", " WHERE e.c > 0"),
        _CLOSURE,
        _SAME_GENERATION,
        _DATAFLOW,
        _ALIASES,
        _POINTS_TO,
        *_HOPS,
        _TRIANGLES,
    )
}
"""By name. A view has the name of its program."""

_DRAWN = ("reach", "components", "levels", "paths", "hops2", "hops3", "hops4", "triangles")
FITTING = {
    "uniform": _DRAWN,
    "skewed": _DRAWN,
    "grid": ("reach", "levels", "paths", "closure", "same_generation"),
    "tree": ("reach", "levels", "paths", "closure", "same_generation"),
    "chain": ("reach", "levels"),
    "code": ("dataflow", "aliases", "points_to"),
}
"""The programs that are run over a kind of graph where none are named."""
