"""Where a join is cyclic, and which of its lookups race; where it is not, no plan changes."""

from __future__ import annotations

import pytest

import ivm
from ivm.analysis.expected import unknown
from ivm.plan.join_keys import Side, Step
from ivm.plan.join_races import cycle, raced
from tests.engine.chunks import sizes_from

EDGES = {
    "triangle": ((0, 1), (1, 2), (0, 2)),
    "four": ((0, 1), (1, 2), (2, 3), (3, 0)),
    "clique": ((0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)),
    "chain": ((0, 1), (1, 2), (2, 3)),
    "star": ((0, 1), (0, 2), (0, 3)),
    "twice": ((0, 1), (0, 1), (1, 2)),
    "with ears": ((0, 1), (1, 2), (0, 2), (2, 3), (3, 4), (0,)),
    "covered": ((0, 1), (1, 2), (0, 2), (0, 1, 2)),
    "apart": ((0, 1), (1, 2), (0, 2), (3, 4), (4, 5)),
    "three each": ((0, 1, 2), (2, 3, 4), (4, 5, 0)),
    "nothing": ((0,), ()),
}
CYCLES = {"triangle": 3, "four": 4, "clique": 6, "with ears": 3, "apart": 3, "three each": 3}


def _sides(*edges: tuple[int, ...], unique: tuple[tuple[int, ...], ...] = (), rows: float | None = None) -> list[Side]:
    expected = None if rows is None else unknown(rows, 3)
    return [Side(dict(enumerate(edge)), unique, frozenset(unique), expected, False) for edge in edges]


@pytest.mark.parametrize("name", EDGES)
def test_what_is_left_without_ears(name: str) -> None:
    found = cycle(_sides(*EDGES[name]))
    assert found == frozenset(range(CYCLES[name])) if name in CYCLES else len(found) <= 1


def _steps(*inputs: int) -> list[Step]:
    return [Step(each, (0,)) for each in inputs]


def test_the_inputs_of_a_triangle_race_and_test_by_all_that_is_bound() -> None:
    (ways,) = raced(_sides(*EDGES["triangle"]), 0, _steps(1, 2))
    assert ways == ((Step(1, (0,)), Step(2, (0, 1))), (Step(2, (0,)), Step(1, (0, 1))))


def test_all_that_know_the_next_attribute_race() -> None:
    first, second = raced(_sides(*EDGES["clique"]), 0, _steps(1, 3, 2, 5, 4))
    assert [[step.input for step in way] for way in first] == [[1, 3], [3, 1]]
    assert [[step.input for step in way] for way in second] == [[2, 5, 4], [5, 2, 4], [4, 2, 5]]
    assert {step.key for way in second for step in way[1:]} == {(0, 1)}


def test_what_no_other_input_knows_is_looked_up_as_before() -> None:
    first, second = raced(_sides(*EDGES["four"]), 0, _steps(1, 2, 3))
    assert first == ((Step(1, (0,)),),)
    assert [[step.input for step in way] for way in second] == [[2, 3], [3, 2]]


def test_ears_keep_their_lookups() -> None:
    ways = list(raced(_sides(*EDGES["with ears"]), 4, _steps(3, 1, 2, 0, 5)))
    assert [len(each) for each in ways] == [1, 1, 2, 1]
    assert ways[0] == ((Step(3, (0,)),),)
    assert ways[-1] == ((Step(5, (0,)),),)


@pytest.mark.parametrize("name", [name for name in EDGES if name not in CYCLES])
def test_without_a_cycle_nothing_races(name: str) -> None:
    steps = _steps(*range(1, len(EDGES[name])))
    assert list(raced(_sides(*EDGES[name]), 0, steps)) == [((step,),) for step in steps]


def test_few_rows_do_not_race() -> None:
    assert len(list(raced(_sides(*EDGES["triangle"], rows=60.0), 0, _steps(1, 2)))) == 2
    assert len(list(raced(_sides(*EDGES["triangle"], rows=1e6), 0, _steps(1, 2)))) == 1


def test_a_key_of_both_columns_tests() -> None:
    (ways,) = raced(_sides(*EDGES["triangle"], unique=((1, 0),)), 0, _steps(1, 2))
    assert ways == ((Step(1, (0,)), Step(2, (1, 0))), (Step(2, (0,)), Step(1, (1, 0))))


@pytest.mark.parametrize("key", [(0,), (1,)])
def test_what_has_one_row_of_a_value_does_not_race(key: tuple[int, ...]) -> None:
    assert len(list(raced(_sides(*EDGES["triangle"], unique=(key,)), 0, _steps(1, 2)))) == 2


@pytest.fixture
def db() -> ivm.Database:
    db = ivm.connect(compile="off")
    for name in "abc":
        db.sql(f"CREATE TABLE {name} (x BIGINT, y BIGINT, w BIGINT)")
    db.sql("CREATE TABLE customer (id BIGINT PRIMARY KEY, place BIGINT)")
    db.sql("CREATE TABLE supplier (id BIGINT PRIMARY KEY, place BIGINT)")
    db.sql("CREATE TABLE sale (customer BIGINT, supplier BIGINT)")
    return db


def test_explained(db: ivm.Database) -> None:
    said = db.explain("SELECT a.x, b.y FROM a, b, c WHERE a.y = b.x AND b.y = c.y AND c.x = a.x AND a.w + b.w > c.w")
    assert said.split("plan:\n")[1].split("    output")[0].splitlines() == [
        "  delta join",
        "    path of a",
        "      race: each row goes the way whose first lookup meets the fewest rows",
        "        lookup b(x) by [y] before; lookup c(x, y) by [x, y] before where #2:w + #5:w > #8:w",
        "        lookup c(x) by [x] before; lookup b(x, y) by [y, y] before where #2:w + #5:w > #8:w",
        "    path of b",
        "      race: each row goes the way whose first lookup meets the fewest rows",
        "        lookup a(y) by [x]; lookup c(x, y) by [x, y] before where #2:w + #5:w > #8:w",
        "        lookup c(y) by [y] before; lookup a(x, y) by [x, x] where #2:w + #5:w > #8:w",
        "    path of c",
        "      race: each row goes the way whose first lookup meets the fewest rows",
        "        lookup a(x) by [x]; lookup b(x, y) by [y, y] where #2:w + #5:w > #8:w",
        "        lookup b(y) by [y]; lookup a(x, y) by [x, x] where #2:w + #5:w > #8:w",
    ]
    assert "every operator is incremental" in said


def test_views_share_what_they_race_for(db: ivm.Database) -> None:
    db.sql("CREATE MATERIALIZED VIEW v AS SELECT a.x, b.y FROM a, b, c WHERE a.y = b.x AND b.y = c.y AND c.x = a.x")
    before = db.sql("SELECT * FROM ivm_arrangements WHERE kind = 'index'").fetchall()
    assert len(before) == 9
    db.sql(
        "CREATE MATERIALIZED VIEW u AS SELECT a.w FROM a, b, c WHERE a.y = b.x AND b.y = c.y AND c.x = a.x AND a.w = 3"
    )
    assert len(db.sql("SELECT * FROM ivm_arrangements WHERE kind = 'index'").fetchall()) == 9
    db.sql("DROP VIEW v")
    db.sql("DROP VIEW u")
    assert not db.sql("SELECT * FROM ivm_arrangements WHERE kind = 'index'").fetchall()


@pytest.mark.parametrize(
    "query",
    [
        "SELECT s.customer FROM sale s, customer c, supplier p WHERE s.customer = c.id AND s.supplier = p.id AND c.place = p.place",
        "SELECT a.x FROM a, b, c WHERE a.y = b.x AND b.y = c.y",
        "SELECT a.x FROM a, b, c WHERE a.y = b.x AND b.y = c.y AND c.x > a.x",
        "SELECT a.x FROM a, b WHERE a.y = b.x AND a.x = b.y",
    ],
)
def test_no_race(db: ivm.Database, query: str) -> None:
    assert "race" not in db.explain(query)


def test_tables_that_have_grown_race_too(db: ivm.Database) -> None:
    query = "SELECT a.x FROM a, b, c WHERE a.y = b.x AND b.y = c.y AND c.x = a.x"
    with sizes_from(20):
        for name in "abc":
            db.sql(f"INSERT INTO {name} SELECT i, i, i FROM range(50) AS r(i)")
        assert "race" not in db.explain(query)
        for name in "abc":
            db.sql(f"INSERT INTO {name} SELECT i, i, i FROM range(50) AS r(i)")
        assert "race" in db.explain(query)
