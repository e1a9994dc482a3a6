"""Recursive programs: what is bound, what it is optimized to, and the naive meaning agree over random graphs."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from ivm.catalog.catalog import Catalog
from ivm.sql.bind import bind
from ivm.sql.parse import parse
from ivm.sql.statements import CreateTable
from ivm.transform.check import check_relation
from ivm.transform.pipeline import optimize
from tests.model.relation import evaluate
from tests.sql.recursive_programs import PROGRAMS, SCHEMA


@pytest.fixture(scope="module")
def catalog():
    made = Catalog()
    for statement in parse(SCHEMA):
        assert isinstance(statement, CreateTable)
        made.add_table(statement.table)
    return made


def graph(seed: int, levels: bool):
    """Edges between few nodes, some twice; from less to greater if there are to be levels."""
    rng = random.Random(seed)
    size, most = rng.choice([(3, 4), (5, 8), (7, 10)])
    pairs = [(rng.randrange(size), rng.randrange(size)) for _ in range(rng.randrange(2 * most))]
    if levels:
        pairs = [(min(p), max(p)) for p in pairs if p[0] != p[1]]
    edges = Counter(dict.fromkeys(pairs, 1))
    weighted = Counter((s, d, 1 + (s * 7 + d * 3) % 5) for s, d in edges)
    roots = Counter((rng.randrange(size),) for _ in range(rng.randrange(4)))
    return {"e": edges, "w": weighted, "roots": roots}


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_means_what_it_does_naively(name, catalog):
    program = PROGRAMS[name]
    bound = bind(program.sql, catalog).relation
    optimized = optimize(bound)
    check_relation(bound)
    found = 0
    for seed in range(40):
        tables = graph(seed, program.levels)
        expected = program.naive(tables)
        assert evaluate(bound, tables) == expected
        assert evaluate(optimized, tables) == expected
        found += bool(expected)
    assert found > 12
