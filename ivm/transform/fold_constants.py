"""Expressions whose value does not depend on the row are computed once, here."""

from __future__ import annotations

from ivm.sql.folded import folded
from ivm.sql.ir.rebuild import with_scalars
from ivm.sql.ir.relation import Relation
from ivm.transform.rewrite import bottom_up


@bottom_up
def fold_constants(relation: Relation) -> Relation:
    """Fold every expression of the relation (see `ivm.sql.folded`)."""
    return with_scalars(relation, folded)
