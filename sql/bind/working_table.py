"""WITH RECURSIVE whose branch is no sum of what it makes of each row: each round sees the last round's rows alone."""

from __future__ import annotations

from ivm.catalog.schema import Field, Schema
from ivm.catalog.types import BOOLEAN
from ivm.sql.bind.clauses.order import distinct
from ivm.sql.ir.linear import needs
from ivm.sql.ir.relation import (
    Binding,
    Constant,
    Join,
    LetRec,
    Negate,
    Project,
    RecursiveGet,
    Reduce,
    Relation,
    Threshold,
    Union,
)
from ivm.sql.ir.scalar import TRUE

_FLAG: Schema = (Field("is", BOOLEAN, False),)
_SET = Constant(((True,),), _FLAG)


def working_table(name: str, schema: Schema, base: Relation, branch: Relation, *, each_once: bool) -> LetRec:
    """The loop of `name AS (base UNION [ALL] branch)` in which the branch sees the rows that the last round added.

    With W, all, begun for its bindings, and ' for what they held in the round before:

    - W = base where begun' is empty + branch(W'), each once and without all' if `each_once`: the rows of this round;
    - all = all' + W: what has been found so far, which is the result;
    - begun = one row: empty in the first round only, since W reads it before it is made.

    The branch runs in the second round, and in others as long as W' has rows. Where it has rows without any of W', that
    has to be asked: later = begun', and branch(W') counts where begun' - later' + (later' where W' has rows) is there.
    """
    every, begun, later = f"{name} so far", f"{name} begun", f"{name} later"
    had, has_begun, is_later = RecursiveGet(name, schema), RecursiveGet(begun, _FLAG), RecursiveGet(later, _FLAG)
    asked = not needs(branch, name)
    if asked:
        has_rows = Reduce(had, (TRUE,), (), ("has",))
        running = Union((has_begun, Negate(is_later), _where(is_later, has_rows)))
        branch = _where(branch, running)
    made: Relation = Union((base, Negate(_where(base, has_begun)), branch))
    if each_once:
        made = Threshold(Union((distinct(made), Negate(RecursiveGet(every, schema)))))
    bindings = [
        Binding(name, schema, made),
        Binding(every, schema, Union((RecursiveGet(every, schema), had))),
        *([Binding(later, _FLAG, has_begun)] if asked else ()),
        Binding(begun, _FLAG, _SET),
    ]
    return LetRec(tuple(bindings), 1)


def _where(relation: Relation, flag: Relation) -> Relation:
    """The rows of a relation if the flag has its row, else none."""
    width = len(relation.schema)
    return Project(Join((relation, flag)), tuple(range(width)), tuple(field.name for field in relation.schema))
