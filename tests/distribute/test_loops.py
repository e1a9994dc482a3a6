"""Where loops run over shards, case by case: by what is carried along, or at one shard."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import ivm
from ivm.analysis.order_free import order_of
from ivm.cluster.driver.explain import distributed_text
from ivm.cluster.protocol.placing import placement_of
from ivm.distribute.distribute import Distributed, distribute
from ivm.distribute.exchange import Channels
from ivm.distribute.placement import REPLICATED, SINGLE, Hashed, Placement
from ivm.session.database import core_of
from ivm.sql.bind import bind
from ivm.sql.ir.rebuild import nodes
from ivm.sql.ir.relation import LetRec
from ivm.transform.pipeline import optimize

TABLES = """
    CREATE TABLE e (s BIGINT, d BIGINT, PRIMARY KEY (s, d));
    CREATE TABLE owned (owner BIGINT, s BIGINT, d BIGINT, PRIMARY KEY (owner, s, d));
    CREATE TABLE road (s BIGINT, d BIGINT, PRIMARY KEY (s, d)) REPLICATED;
    CREATE TABLE all_roads (s BIGINT, d BIGINT, PRIMARY KEY (s, d)) REPLICATED;
    CREATE TABLE town (id BIGINT PRIMARY KEY, name VARCHAR) REPLICATED;
"""
SIZES = {"e": 1e6, "owned": 1e6, "road": 1e3, "all_roads": 1e6, "town": 1e3}
CLOSURE = "WITH RECURSIVE r(s, d) AS (SELECT s, d FROM e UNION SELECT r.s, e.d FROM r JOIN e ON r.d = e.s)"
Found = Callable[[str], Distributed]


@pytest.fixture(scope="module")
def distributed() -> Found:
    db = ivm.connect(compile="off")
    db.sql(TABLES)
    catalog = core_of(db).catalog
    placed = {table.name: (placement_of(table), 1) for table in catalog.tables}

    def found(text: str) -> Distributed:
        return distribute(optimize(bind(text, catalog, "duckdb").relation), placed, SIZES, Channels(), 8)

    return found


def ways(found: Distributed) -> list[Placement]:
    return [channel.to for channel in found.channels]


def said(found: Distributed) -> list[str]:
    """What EXPLAIN says of loops."""
    lines = distributed_text(found).splitlines()
    first = next(i for i, line in enumerate(lines) if line.startswith("loop "))
    return [line.strip() for line in lines[first:] if line]


def test_a_loop_begins_where_its_rows_are_and_what_it_looks_up_is_everywhere(distributed: Found) -> None:
    found = distributed(f"{CLOSURE} SELECT * FROM r")
    assert (ways(found), found.placement, found.level) == ([REPLICATED], Hashed((0,)), 2)
    assert said(found) == [
        "loop r by s, which it carries along: each shard runs the rounds of its own",
        "every shard keeps all of exchange 1: 1000000 rows",
    ]


def test_what_it_gives_is_joined_where_it_is(distributed: Found) -> None:
    found = distributed(f"{CLOSURE} SELECT r.d, owned.d AS x FROM r JOIN owned ON owned.owner = r.s")
    assert (ways(found), found.level) == ([REPLICATED], 2)


def test_what_is_joined_by_the_carried_column_is_not_copied(distributed: Found) -> None:
    found = distributed("""WITH RECURSIVE r(o, s, d) AS (SELECT owner, s, d FROM owned
        UNION SELECT r.o, r.s, x.d FROM r JOIN owned x ON r.d = x.s AND r.o = x.owner) SELECT * FROM r""")
    assert (ways(found), found.placement) == ([], Hashed((0,)))
    assert said(found) == ["loop r by o, which it carries along: each shard runs the rounds of its own"]


def test_names_may_be_joined_by_it(distributed: Found) -> None:
    twice = "SELECT x.o, x.s, y.d FROM r x JOIN r y ON x.d = y.s AND x.o = y.o"
    found = distributed(f"""WITH MUTUALLY RECURSIVE r(o BIGINT, s BIGINT, d BIGINT) AS (
        SELECT owner, s, d FROM owned UNION {twice}) SELECT * FROM r""")
    assert (ways(found), found.placement) == ([], Hashed((0,)))


def test_each_name_carries_it_in_a_column_of_its_own(distributed: Found) -> None:
    found = distributed("""WITH MUTUALLY RECURSIVE ev(s BIGINT, v BIGINT) AS (
            SELECT s, d FROM e UNION SELECT od.o, e.d FROM od JOIN e ON od.v = e.s),
        od(v BIGINT, o BIGINT) AS (SELECT DISTINCT e.d, ev.s FROM ev JOIN e ON ev.v = e.s)
        SELECT ev.s, ev.v FROM ev JOIN od ON od.o = ev.s AND od.v = ev.v""")
    assert ways(found) == [REPLICATED]
    assert set(found.loops.values()) == {Hashed((0,)), Hashed((1,))}


def test_tables_that_are_everywhere_cost_nothing(distributed: Found) -> None:
    found = distributed("""WITH RECURSIVE r(s, d) AS (SELECT s, d FROM e
        UNION SELECT r.s, road.d FROM r JOIN road ON r.d = road.s) SELECT * FROM r""")
    assert (ways(found), found.level, found.placement) == ([], 1, Hashed((0,)))
    found = distributed(f"{CLOSURE.replace(' e ', ' road ').replace('e.', 'road.')} SELECT * FROM r")
    assert (ways(found), found.level, found.placement) == ([], 1, REPLICATED)
    assert said(found) == ["loop r at every shard alike: all that it reads is there"]


def test_what_is_everywhere_is_still_cut_where_it_is_much(distributed: Found) -> None:
    closure = CLOSURE.replace(" e ", " all_roads ").replace("e.", "all_roads.")
    found = distributed(f"{closure} SELECT * FROM r")
    assert (ways(found), found.placement) == ([Hashed((0,))], Hashed((0,))), "what it begins with is sent, to be once"


def test_a_loop_that_carries_nothing_is_gathered(distributed: Found) -> None:
    found = distributed("""WITH RECURSIVE r(v) AS (SELECT s FROM e WHERE d = 0
        UNION SELECT e.d FROM r JOIN e ON r.v = e.s JOIN town ON town.id = e.d) SELECT v FROM r""")
    assert (ways(found), found.placement) == ([SINGLE, SINGLE], SINGLE)
    assert said(found)[0] == "loop r on one shard: it carries no column along"


def test_so_is_one_that_begins_with_one_value(distributed: Found) -> None:
    found = distributed(f"{CLOSURE} SELECT d FROM r WHERE s = 5")
    assert found.placement == SINGLE
    assert said(found)[0] == "loop r on one shard: it begins with one value of s alone"


def test_a_group_of_everything_in_a_gathered_loop_is_there_alone(distributed: Found) -> None:
    found = distributed("""WITH MUTUALLY RECURSIVE r(v BIGINT) AS (SELECT s FROM e WHERE d = 0
            UNION SELECT e.d FROM r JOIN e ON r.v = e.s JOIN n ON n.n > 0),
        n(n BIGINT) AS (SELECT count(*) FROM r) SELECT n FROM n""")
    assert ways(found) == [SINGLE] * 3, "the row, too, that says at which shard"


@pytest.mark.parametrize("source", ["s, s AS v, 0 AS x FROM e", "d, d AS v, 0 AS x FROM road"])
def test_small_values_come_first_as_in_one_piece(distributed: Found, source: str) -> None:
    """That lengths are not negative is shown by a filter, which runs where they come from."""
    found = distributed(f"""WITH MUTUALLY RECURSIVE p(s BIGINT, v BIGINT, x BIGINT) AS (SELECT s, v, min(x) FROM (
        SELECT {source} UNION ALL SELECT p.s, o.d, p.x + o.owner FROM p JOIN owned o ON p.v = o.s WHERE o.owner >= 0
        ) AS y (s, v, x) GROUP BY s, v) SELECT * FROM p""")
    (loop,) = found.loops
    assert [each.grows for each in order_of(loop).valued] == [True]


def test_it_is_one_loop_whoever_reads_it(distributed: Found) -> None:
    """Each reader would have another column: one joins by the first, the other by the second."""
    found = distributed("""WITH MUTUALLY RECURSIVE r(o BIGINT, p BIGINT, v BIGINT) AS (SELECT owner, s, d FROM owned
            UNION SELECT r.o, r.p, q.v FROM r JOIN q ON q.o = r.o AND q.p = r.p),
        q(o BIGINT, p BIGINT, v BIGINT) AS (SELECT DISTINCT r.o, r.p, e.d FROM r JOIN e ON r.v = e.s)
        SELECT r.v FROM r JOIN q ON r.p = q.p""")
    relations = [found.relation, *(channel.relation for channel in found.channels)]
    loops = {node.bindings for relation in relations for node in nodes(relation) if isinstance(node, LetRec)}
    assert len(loops) == 1
