"""What a relation reads."""

from __future__ import annotations

from ivm.analysis.fact import fact
from sql.ir.relation import Get, Relation, inputs_of


@fact
def tables_of(relation: Relation) -> tuple[str, ...]:
    """The tables and views that a relation reads, each once."""
    if isinstance(relation, Get):
        return (relation.name,)
    return tuple(dict.fromkeys(name for each in inputs_of(relation) for name in tables_of(each)))
