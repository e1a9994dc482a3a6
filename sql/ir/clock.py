"""The clock: what time it is, which is the same for all that a commit changes, and never falls.

Between binding and planning `NOW` stands for it wherever an expression reads it. `ivm.transform.read_clock` makes a
column of it, of a table of one row that commits and ticks change.
"""

from __future__ import annotations

from ivm.catalog.clock import CLOCK, NOW_COLUMN
from ivm.sql.ir.relation import Get, Project
from ivm.sql.ir.scalar import Call, Scalar, columns_of, walk

NOW = Call("now", (), CLOCK.fields[NOW_COLUMN].type, nullable=False)
"""The time of the commit, a TIMESTAMPTZ."""

READ = Project(Get(CLOCK.name, CLOCK.fields, keys=((),)), (NOW_COLUMN,))
"""What the table holds of it: one row of one column."""


def reads_clock(scalar: Scalar) -> bool:
    """Whether the expression depends on what time it is."""
    return any(isinstance(part, Call) and part.function == NOW.function for part in walk(scalar))


def is_of_clock(scalar: Scalar) -> bool:
    """Whether the expression depends on what time it is, and on no row."""
    return reads_clock(scalar) and not columns_of(scalar)
