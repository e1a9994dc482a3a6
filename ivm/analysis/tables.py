"""What a relation reads."""

from __future__ import annotations

from ivm.analysis.fact import fact
from ivm.catalog.clock import CLOCK
from ivm.sql.ir.clock import reads_clock
from ivm.sql.ir.rebuild import scalars_of
from ivm.sql.ir.relation import Get, Relation, inputs_of


@fact
def tables_of(relation: Relation) -> tuple[str, ...]:
    """The tables and views that a relation reads, the clock too, each once."""
    if isinstance(relation, Get):
        return (relation.name,)
    own = (CLOCK.name,) if any(map(reads_clock, scalars_of(relation))) else ()
    return tuple(dict.fromkeys((*(name for each in inputs_of(relation) for name in tables_of(each)), *own)))


@fact
def sized_by(relation: Relation) -> tuple[str, ...]:
    """Whose sizes say how many rows a relation has: tables and views that it reads, and those that these refer to."""
    own = [each.table for each in relation.refers] if isinstance(relation, Get) else []
    below = [name for each in inputs_of(relation) for name in sized_by(each)]
    return tuple(dict.fromkeys((*tables_of(relation), *below, *own)))
