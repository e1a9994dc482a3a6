"""Programs give what their names say, by DuckDB's query, round by round, and as views over a graph that changes."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import Any

import duckdb
import pytest

import ivm
from ivm.benchmarks.graph import maintain, recompute
from ivm.benchmarks.graph.maintain import run
from ivm.benchmarks.graph.programs import FITTING, PROGRAMS, Binding, Program, ddl
from ivm.benchmarks.graph.shapes import COLUMNS, KINDS, Shape
from ivm.benchmarks.graph.stream import ensure

Rows = set[Any]
Tables = dict[str, Rows]


def closed(rows: Iterable[Any]) -> Rows:
    found = set(rows)
    while more := {(a, d) for a, b in found for c, d in found if b == c} - found:
        found |= more
    return found


def nodes(t: Tables) -> set[int]:
    return {node for edge in t["e"] for node in edge}


def reach(t: Tables) -> Rows:
    pairs, roots = closed(t["e"]), {v for (v,) in t["roots"]}
    return {(v,) for v in roots} | {(d,) for s, d in pairs if s in roots}


def components(t: Tables) -> Rows:
    pairs = closed([*t["e"], *((d, s) for s, d in t["e"])])
    return {(v, min(w for x, w in pairs if x == v)) for v in nodes(t)}


def distances(t: Tables, edges: Iterable[tuple[int, int, int]]) -> Rows:
    known = {v: 0 for (v,) in t["roots"]}
    edges = list(edges)
    for _ in range(len(edges) + 1):
        for s, d, cost in edges:
            if s in known:
                known[d] = min(known.get(d, known[s] + cost), known[s] + cost)
    return set(known.items())


def levels(t: Tables) -> Rows:
    return distances(t, ((s, d, 1) for s, d in t["e"]))


def paths(t: Tables) -> Rows:
    return distances(t, ((s, d, c) for s, d, c in t["w"]))


def closure(t: Tables) -> Rows:
    return closed(t["e"])


def same_generation(t: Tables) -> Rows:
    found = {(b, d) for a, b in t["e"] for c, d in t["e"] if a == c and b != d}
    while more := {(b, d) for a, b in t["e"] for c, d in t["e"] if (a, c) in found} - found:
        found |= more
    return found


def dataflow(t: Tables) -> Rows:
    pairs = closed((source, target) for target, source in t["assigns"])
    nulls = {v for (v,) in t["nulls"]}
    return {(v, v) for v in nulls} | {(s, d) for s, d in pairs if s in nulls}


def aliases(t: Tables) -> Rows:
    """As in Datalog: values flow along assignments, and by memory that may be the same; with all aliases of values."""
    own = {(v, v) for row in t["assigns"] for v in row}
    flows, memory = own | t["assigns"], set(own)
    while True:
        before = len(flows), len(memory)
        flows = closed(flows | {(x, y) for x, z in t["assigns"] for w, y in memory if z == w})
        same = {(x, y) for z, x in flows for w, y in flows if z == w or (z, w) in memory}
        memory |= {(v, w) for p, v in t["derefs"] for q, w in t["derefs"] if (p, q) in same}
        if before == (len(flows), len(memory)):
            return memory


def points_to(t: Tables) -> Rows:
    variables, heap = defaultdict[int, set[int]](set), defaultdict[int, set[int]](set)
    for v, o in t["news"]:
        variables[v].add(o)
    for _ in range(200):
        for target, source in t["assigns"]:
            variables[target] |= variables[source]
        for target, pointer in t["loads"]:
            variables[target] |= {o for x in variables[pointer] for o in heap[x]}
        for pointer, source in t["stores"]:
            for x in variables[pointer]:
                heap[x] |= variables[source]
    return {(v, o) for v, objects in variables.items() for o in objects}


def hops(count: int) -> Callable[[Tables], Rows]:
    def found(t: Tables) -> Rows:
        rows = {(v, v) for (v,) in t[f"asked{count}"]}
        for _ in range(count):
            rows = {(v, d) for v, s in rows for x, d in t["e"] if s == x}
        return rows

    return found


def hops4(t: Tables) -> Rows:
    return t["asked4"] & hops(4)({"asked4": {(a,) for a, _ in t["asked4"]}, "e": t["e"]})


def triangles(t: Tables) -> Rows:
    found = [a for a, b in t["e"] for c, d in t["e"] if b == c and (a, d) in t["e"]]
    return {(v, found.count(v)) for v in found}


TWINS: dict[str, Callable[[Tables], Rows]] = {
    "reach": reach,
    "components": components,
    "levels": levels,
    "paths": paths,
    "closure": closure,
    "same_generation": same_generation,
    "dataflow": dataflow,
    "aliases": aliases,
    "points_to": points_to,
    "hops2": hops(2),
    "hops3": hops(3),
    "hops4": hops4,
    "triangles": triangles,
}


def random_tables(program: Program, rng: random.Random) -> Tables:
    most = rng.choice([2, 5, 9])
    found = {
        name: {tuple(rng.randrange(most) for _ in COLUMNS[name]) for _ in range(rng.randrange(2 * most))}
        for name in program.reads
    }
    return {**found, "w": {(s, d, c + 1) for s, d, c in found["w"]}} if "w" in found else found


@pytest.mark.parametrize("name", PROGRAMS)
def test_all_ways_give_what_it_is_called(name: str) -> None:
    program, rng = PROGRAMS[name], random.Random(name)
    for _ in range(25):
        tables = random_tables(program, rng)
        with duckdb.connect() as other:
            other.execute(ddl(program.reads))
            for table, rows in tables.items():
                for row in rows:
                    other.execute(f"INSERT INTO {table} VALUES {row if len(row) > 1 else f'({row[0]})'}")
            wanted = sorted(TWINS[name](tables))
            if program.recomputed():
                assert sorted(other.execute(program.recomputed()).fetchall()) == wanted
            assert sorted(other.execute(recompute._by_rounds(other, program)).fetchall()) == wanted


SHAPES = {
    "uniform": Shape("uniform", 24, 2),
    "skewed": Shape("skewed", 24, 3),
    "grid": Shape("grid", 25),
    "tree": Shape("tree", 40),
    "chain": Shape("chain", 24),
    "code": Shape("code", 120),
}


def untold(step: str, done: int, total: int) -> None:
    pass


@pytest.fixture
def interpreted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Databases that compile nothing, which takes longer than these graphs."""
    monkeypatch.setattr(maintain, "connect", lambda: ivm.connect(compile="off"))


@pytest.mark.usefixtures("interpreted")
@pytest.mark.parametrize("batch", [1, 9])
@pytest.mark.parametrize(("kind", "name"), [(kind, name) for kind in KINDS for name in FITTING[kind]])
def test_a_view_follows_a_graph_that_changes(kind: str, name: str, batch: int, tmp_path) -> None:
    program = PROGRAMS[name]
    stream = ensure(SHAPES[kind], 27, tmp_path, untold)
    report = run(stream, program, batch, 3, untold)
    changing = len([table for table in program.reads if table != "roots"])
    assert report.changes == 27 * changing
    assert report.commits == report.changes // batch
    assert report.verified == -(-report.commits // 3)
    assert set(report.millis) == {"p50", "p90", "p99", "max"}
    assert report.state_bytes > 0


@pytest.mark.usefixtures("interpreted")
def test_a_graph_without_changes_is_compared_once(tmp_path) -> None:
    report = run(ensure(SHAPES["uniform"], 0, tmp_path, untold), PROGRAMS["hops2"], 1, 5, untold)
    assert (report.commits, report.verified, report.millis) == (0, 1, {})


@pytest.mark.usefixtures("interpreted")
def test_a_view_that_differs_is_told(tmp_path, monkeypatch) -> None:
    stream = ensure(SHAPES["uniform"], 30, tmp_path, untold)
    wrong = Program("loops", "", ("e",), "SELECT s, d FROM e", duckdb="SELECT d AS s, s AS d FROM e")
    with pytest.raises(ivm.VerificationError, match=r"after 4 commits: the view loops .* too many, such as \("):
        run(stream, wrong, 1, 4, untold)


def test_the_text_of_a_loop() -> None:
    one = Binding("r", ("v BIGINT",), "SELECT v FROM roots")
    two = Binding("q", ("a BIGINT", "b BIGINT"), "SELECT v, v FROM r")
    assert Program("p", "", (), "FROM r", (one,)).sql() == "WITH RECURSIVE r (v) AS (SELECT v FROM roots) FROM r"
    assert Program("p", "", (), "FROM q", (one, two), True).sql() == (
        "WITH MUTUALLY RECURSIVE r (v BIGINT) AS (SELECT v FROM roots), "
        "q (a BIGINT, b BIGINT) AS (SELECT v, v FROM r) FROM q"
    )
    assert Program("p", "", (), "FROM q", (one, two), True).recomputed() == ""


def test_each_program_has_a_twin_and_fits_a_graph() -> None:
    assert TWINS.keys() == PROGRAMS.keys() == {name for names in FITTING.values() for name in names}
    assert tuple(FITTING) == KINDS == tuple(SHAPES)
