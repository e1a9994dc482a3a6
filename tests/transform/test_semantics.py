"""Every rule, and the pipeline, keep the meaning of random relations: the model is the judge."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, assume, given, settings

from ivm.catalog.errors import NumericError
from ivm.transform.check import check_relation
from ivm.transform.pipeline import RULES, apply, fixpoint, optimize
from ivm.transform.rewrite import names
from tests.model.relation import evaluate
from tests.transform.relations import relations, tables

EVERY_RULE = tuple(dict.fromkeys(rule for rules in RULES for rule in rules))
RELAXED = settings(
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
)
LARGEST = 60


def meaning(relation, contents):
    """The bag, or None if some row has no value."""
    try:
        return evaluate(relation, contents)
    except NumericError:
        return None


def assert_same(before, after, contents):
    """`after` means what `before` means; it may have a value where `before` has none, never the other way."""
    check_relation(after)
    assert [f.type for f in after.schema] == [f.type for f in before.schema]
    assert names(after) == names(before)
    expected = meaning(before, contents)
    if expected is not None:
        assert evaluate(after, contents) == expected


@pytest.mark.parametrize("rule", EVERY_RULE, ids=lambda rule: rule.__name__)
@given(before=relations(), contents=tables())
@settings(RELAXED, max_examples=40)
def test_a_rule_keeps_the_meaning(rule, before, contents):
    check_relation(before)
    assume(len(before.schema) <= LARGEST)
    assert_same(before, apply(rule, before), contents)


@given(before=relations(), contents=tables())
@settings(RELAXED, max_examples=120)
def test_the_pipeline_keeps_the_meaning(before, contents):
    assume(len(before.schema) <= LARGEST)
    assert_same(before, optimize(before), contents)


@given(before=relations())
@settings(RELAXED, max_examples=50)
def test_the_pipeline_settles(before):
    assume(len(before.schema) <= LARGEST)
    settled = before
    for rules in RULES:
        settled = fixpoint(settled, rules)
        again = settled
        for rule in rules:
            again = apply(rule, again)
        assert again == settled
