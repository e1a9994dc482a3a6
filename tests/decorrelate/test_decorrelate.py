"""A relation without dependent joins is the one that it was made from, evaluated by nested loops."""

from __future__ import annotations

from hypothesis import HealthCheck, given, settings

from ivm.catalog.errors import NumericError
from ivm.sql.decorrelate.decorrelate import decorrelate, independent_joins
from ivm.sql.ir.rebuild import FreeOuters, scalars_of
from ivm.sql.ir.relation import Apply, Relation, inputs_of
from ivm.sql.ir.scalar import Outer, walk
from ivm.sql.ir.text import relation_text
from ivm.transform.check import check_relation
from tests.decorrelate.relations import contents, queries
from tests.model.relation import evaluate

RELAXED = settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))


def nodes(relation: Relation):
    yield relation
    for each in inputs_of(relation):
        yield from nodes(each)


def meaning(relation: Relation, tables):
    try:
        return evaluate(relation, tables)
    except NumericError:
        return None


@RELAXED
@given(queries(3), contents())
def test_the_meaning_stays(query: Relation, tables):
    wanted = meaning(query, tables)
    between = independent_joins(query)
    assert not FreeOuters().of(between)
    for node in nodes(between):
        assert not (isinstance(node, Apply) and FreeOuters().of(node.right)), relation_text(between)
    after = decorrelate(query)
    for node in nodes(after):
        assert not isinstance(node, Apply)
        assert not any(isinstance(s, Outer) for scalar in scalars_of(node) for s in walk(scalar))
    check_relation(after)
    assert [f.type for f in after.schema] == [f.type for f in query.schema]
    if wanted is None or evaluated_apart(query):
        return
    assert evaluate(between, tables) == wanted
    assert evaluate(after, tables) == wanted


def evaluated_apart(relation: Relation, around: frozenset[int] = frozenset()) -> bool:
    """Whether a join that may fail does not read all rows around it: it fails even where no such row asks for it."""
    if not isinstance(relation, Apply):
        return any(evaluated_apart(each, around) for each in inputs_of(relation))
    if relation.kind == "single" and not around <= FreeOuters().of(relation):
        return True
    return evaluated_apart(relation.left, around) or evaluated_apart(relation.right, around | {relation.binding})
