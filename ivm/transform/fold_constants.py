"""Expressions whose value does not depend on the row are computed once, here."""

from __future__ import annotations

from ivm.transform.rewrite import bottom_up
from sql.folded import folded
from sql.ir.rebuild import with_scalars
from sql.ir.relation import Relation


@bottom_up
def fold_constants(relation: Relation) -> Relation:
    """Fold every expression of the relation (see `sql.folded`)."""
    return with_scalars(relation, folded)
