"""What each rule does to SQL that people write, and what it leaves alone."""

from __future__ import annotations

import pytest

from ivm.catalog.catalog import Catalog
from ivm.catalog.function import PythonFunction
from ivm.catalog.types import BIGINT
from ivm.sql.bind import bind
from ivm.sql.ir.text import relation_text
from ivm.sql.parse import parse
from ivm.sql.statements import CreateTable
from ivm.transform import pipeline
from ivm.transform.pipeline import RULES, apply, optimize
from tests.transform.goldens import FOLDER, UNCHANGED, read, rewriting, settled

SCHEMA = """
CREATE TABLE customers (id BIGINT PRIMARY KEY, name VARCHAR NOT NULL, region INTEGER, credit DECIMAL(12,2));
CREATE TABLE orders (
    id BIGINT PRIMARY KEY, customer BIGINT NOT NULL, day DATE NOT NULL, status VARCHAR, total DECIMAL(12,2) NOT NULL
);
CREATE TABLE items (
    order_id BIGINT, line INTEGER, product VARCHAR, quantity INTEGER, price DECIMAL(12,2), PRIMARY KEY (order_id, line)
);
CREATE TABLE shops (
    id BIGINT PRIMARY KEY, owner BIGINT NOT NULL REFERENCES customers, guest BIGINT REFERENCES customers, rent DECIMAL(12,2)
) WITH (check_foreign_keys = true);
CREATE TABLE visits (shop BIGINT REFERENCES shops, day DATE) WITH (check_foreign_keys = true);
"""
ALL = {rule.__name__: rule for rules in RULES for rule in rules} | {"optimize": optimize}
CASES = [(path, i, case) for path in sorted(FOLDER.glob("*.txt")) for i, case in enumerate(read(path))]


@pytest.fixture(scope="module")
def catalog():
    made = Catalog()
    for statement in parse(SCHEMA):
        assert isinstance(statement, CreateTable)
        made.add_table(statement.table)
    made.functions = {"f": PythonFunction("f", (BIGINT,), BIGINT, abs)}
    return made


def run(name, relation):
    return optimize(relation) if name == "optimize" else apply(ALL[name], relation)


@pytest.mark.parametrize(("path", "index", "case"), CASES, ids=[f"{p.stem}-{c.title}" for p, _, c in CASES])
def test_case(path, index, case, catalog):
    relation = bind(case.sql, catalog).relation
    for name in case.first:
        relation = run(name, relation)
    before, after = relation_text(relation), relation_text(run(path.stem, relation))
    assert settled(path, index, case, before, after) == case or rewriting()


def test_every_rule_has_a_case_where_it_applies_and_one_where_it_does_not():
    outcomes = {name: {case.after == UNCHANGED for p, _, case in CASES if p.stem == name} for name in ALL}
    assert not {name: found for name, found in outcomes.items() if found != {True, False} and name != "optimize"}
    assert len(CASES) > 2 * len(ALL)


def test_the_pipeline_is_made_of_the_rules_of_the_package():
    files = {path.stem for path in FOLDER.parents[2].joinpath("ivm", "transform").glob("[a-z]*_*.py")}
    assert files == set(ALL) - {"optimize"}
    assert all(name == getattr(pipeline, name).__name__ for name in ALL)
