"""The official queries reach the shape that the planner wants, whatever their derived tables and commas."""

from __future__ import annotations

from pathlib import Path

import pytest

from ivm import tpch
from ivm.catalog.catalog import Catalog
from ivm.sql.bind import bind
from ivm.sql.ir.classes import merged_classes
from ivm.sql.ir.rebuild import offsets
from ivm.sql.ir.relation import Filter, Get, Join, Map, Project, inputs_of
from ivm.sql.ir.scalar import columns_of
from ivm.sql.parse import parse
from ivm.sql.statements import CreateTable
from ivm.transform.pipeline import optimize

FOLDER = Path(tpch.__file__).parent
# How many tables each query joins.
JOINED = {1: 0, 3: 3, 5: 6, 6: 0, 7: 6, 8: 8, 9: 6, 10: 4, 12: 2, 14: 2, 19: 2}


@pytest.fixture(scope="module")
def catalog():
    made = Catalog()
    for statement in parse((FOLDER / "schema.sql").read_text()):
        assert isinstance(statement, CreateTable)
        made.add_table(statement.table)
    return made


def nodes(relation):
    yield relation
    for inner in inputs_of(relation):
        yield from nodes(inner)


def base(relation):
    """What a stack of maps, filters and projections stands on."""
    while isinstance(relation, Map | Filter | Project):
        relation = relation.input
    return relation


def owner(column, join):
    return sum(start <= column for start in offsets(join.inputs)) - 1


def optimized(query, catalog):
    text = (FOLDER / "queries" / f"q{query:02}.sql").read_text()
    return optimize(bind(text.strip().rstrip(";"), catalog).relation)


@pytest.mark.parametrize("query", JOINED)
def test_one_join_holds_all_tables(query, catalog):
    joins = [node for node in nodes(optimized(query, catalog)) if isinstance(node, Join)]
    assert [len(join.inputs) for join in joins] == ([JOINED[query]] if JOINED[query] else [])
    for join in joins:
        assert all(isinstance(base(each), Get) for each in join.inputs)
        linked = merged_classes([{owner(c, join) for c in group} for group in join.equivalences])
        assert linked == (tuple(range(len(join.inputs))),), "some input is not looked up by a key"


@pytest.mark.parametrize("query", JOINED)
def test_predicates_above_the_join_need_more_than_one_input(query, catalog):
    for node in nodes(optimized(query, catalog)):
        if isinstance(node, Filter) and isinstance(base(node), Join):
            assert isinstance(node.input, Join)
            owners = [{owner(c, node.input) for c in columns_of(p)} for p in node.predicates]
            assert all(len(found) > 1 for found in owners)


@pytest.mark.parametrize("query", JOINED)
def test_optimizing_again_changes_nothing(query, catalog):
    once = optimized(query, catalog)
    assert optimize(once) == once
