"""Where a relation is cut, case by case: what may stay where it is, and what must not."""

from __future__ import annotations

import pytest

import ivm
from ivm.cluster.protocol.placing import placement_of
from ivm.distribute.distribute import Distributed, distribute
from ivm.distribute.exchange import Channels
from ivm.distribute.placement import ANYWHERE, REPLICATED, SINGLE, Gathered, Hashed, Placement
from ivm.session.database import core_of
from ivm.sql.bind import bind
from ivm.sql.ir.rebuild import nodes
from ivm.sql.ir.relation import Get, Reduce, TopK
from ivm.transform.pipeline import optimize

TABLES = """
    CREATE TABLE small (id BIGINT PRIMARY KEY, name VARCHAR NOT NULL) REPLICATED;
    CREATE TABLE a (id BIGINT PRIMARY KEY, b BIGINT, x DECIMAL(9,2) NOT NULL, d DOUBLE NOT NULL, city VARCHAR NOT NULL);
    CREATE TABLE b (id BIGINT PRIMARY KEY, a BIGINT NOT NULL, y BIGINT NOT NULL);
    CREATE TABLE line (id BIGINT, number BIGINT, y BIGINT NOT NULL, PRIMARY KEY (id, number)) PARTITIONED BY (id);
"""
SIZES = {"small": 25.0, "a": 1e6, "b": 1e6, "line": 4e6}


@pytest.fixture(scope="module")
def distributed():
    db = ivm.connect(compile="off")
    db.sql(TABLES)
    catalog = core_of(db).catalog
    placed = {table.name: (placement_of(table), 1) for table in catalog.tables}

    def found(text: str, shards: int = 8) -> Distributed:
        return distribute(optimize(bind(text, catalog, "duckdb").relation), placed, SIZES, Channels(), shards)

    return found


def reduces(found: Distributed) -> list[Reduce]:
    return [node for channel in found.channels for node in nodes(channel.relation) if isinstance(node, Reduce)]


def test_tables_partitioned_alike_are_joined_where_they_are(distributed):
    found = distributed("SELECT a.id, line.y FROM a JOIN line USING (id)")
    assert not found.channels
    assert found.placement == Hashed((0,))


def test_a_replicated_table_costs_no_exchange(distributed):
    assert not distributed("SELECT a.id, name FROM a JOIN small ON a.b = small.id").channels
    assert distributed("SELECT name FROM small").placement == REPLICATED


def test_of_two_tables_the_one_that_is_elsewhere_is_sent(distributed):
    found = distributed("SELECT a.id, b.y FROM a JOIN b ON b.a = a.id")
    assert [channel.to for channel in found.channels] == [Hashed((0,))]
    assert found.level == 2


def test_rows_without_the_columns_that_place_them_are_anywhere(distributed):
    assert distributed("SELECT x FROM a").placement == ANYWHERE


def test_exact_sums_are_added_up_before_they_are_sent(distributed):
    (first,) = reduces(distributed("SELECT city, sum(x), avg(x), count(*), max(x) FROM a GROUP BY city"))
    assert [each.function for each in first.aggregates] == ["sum", "count_star", "max"]


@pytest.mark.parametrize("aggregate", ["sum(d)", "avg(d)", "median(x)", "string_agg(city, ',' ORDER BY id)"])
def test_what_does_not_follow_from_parts_is_computed_of_the_rows(distributed, aggregate):
    found = distributed(f"SELECT city, {aggregate} FROM a GROUP BY city")
    assert not reduces(found)
    assert len(found.channels) == 1


def test_a_group_is_not_added_up_where_rows_are_only_taken_away(distributed):
    found = distributed("SELECT b, count(*) FROM (SELECT b FROM a EXCEPT ALL SELECT y FROM b) GROUP BY b")
    assert all(not channel.relation.differs for channel in found.channels if isinstance(channel.relation, Get))
    differences = [node for channel in found.channels for node in nodes(channel.relation) if isinstance(node, Get)]
    assert not any(each.differs for each in differences)


def test_one_group_of_everything_is_at_one_shard(distributed):
    found = distributed("SELECT count(*) FROM a")
    assert found.placement == SINGLE
    assert len(found.channels) == 2, "the counts, and the row that says which shard has the sum"


def test_the_first_of_each_shard_are_sent(distributed):
    (channel,) = distributed("SELECT id, x FROM a ORDER BY x DESC LIMIT 3 OFFSET 2").channels
    assert isinstance(channel.relation, TopK)
    assert (channel.relation.limit, channel.relation.offset) == (5, 0)


def test_an_anti_join_by_the_own_key_needs_no_exchange_of_what_it_leaves(distributed):
    found = distributed("SELECT x FROM a WHERE id NOT IN (SELECT id FROM line)")
    assert not found.channels


def test_equal_parts_of_two_queries_are_one(distributed):
    one = distributed("SELECT a.id, b.y FROM a JOIN b ON b.a = a.id")
    other = distributed("SELECT a.id, b.y + 1 FROM a JOIN b ON b.a = a.id")
    assert {channel.name for channel in one.channels} == {channel.name for channel in other.channels}


def ways(found: Distributed) -> list[Placement]:
    return [channel.to for channel in found.channels]


def test_groups_of_many_shards_are_put_together_by_neighbours_first(distributed):
    query = "SELECT city, sum(x), avg(x), count(*), max(x) FROM a GROUP BY city"
    assert ways(distributed(query, 63)) == [Hashed((0,))]
    found = distributed(query, 128)
    assert ways(found) == [Gathered((0,), 12), Hashed((0,))]
    assert [[each.function for each in one.aggregates] for one in reduces(found)] == [
        ["sum", "count_star", "max"],
        ["sum", "sum", "max"],
    ]
    assert found.level == 3
    assert {channel.relation.schema for channel in found.channels} == {found.channels[0].relation.schema}


def test_so_are_the_first_of_many_shards_and_the_one_group_of_everything(distributed):
    first, second = distributed("SELECT id, x FROM a ORDER BY x DESC LIMIT 3 OFFSET 2", 100).channels
    assert (first.to, second.to, first.level, second.level) == (Gathered((), 10), SINGLE, 1, 2)
    for channel in (first, second):
        assert isinstance(channel.relation, TopK)
        assert (channel.relation.limit, channel.relation.offset) == (5, 0)
    assert set(ways(distributed("SELECT count(*) FROM a", 101))) == {Gathered((), 11), SINGLE}


@pytest.mark.parametrize("rows", ["y, count(*) FROM line GROUP BY y", "*, row_number() OVER (ORDER BY id) FROM a"])
def test_what_spreads_over_many_shards_or_has_no_parts_is_sent_once(distributed, rows):
    few, many = distributed(f"SELECT {rows}"), distributed(f"SELECT {rows}", 128)
    assert ways(few) == ways(many)
    assert few.level == many.level


def test_over_many_shards_rows_are_hashed_by_all_that_groups_of_groups_are_by(distributed):
    query = "SELECT city, b, count(DISTINCT d) FROM a GROUP BY city, b"
    few, many = distributed(query), distributed(query, 128)
    assert (ways(few), ways(many)) == ([Hashed((0,))], [Hashed((0, 1))])
    assert len(many.channels) == 1, "nothing is sent again for the outer groups"
