"""Calls of the application's functions, which no program holds: see `ivm.sql.ir.functions.called`."""

from __future__ import annotations

from ivm.catalog.errors import UnsupportedError
from ivm.render.scalars.bodies.body import Body
from ivm.render.scalars.functions import Apply, Context
from ivm.sql.ir.functions.called import CALLED, name_of
from ivm.sql.ir.scalar import Call


def _refused(call: Call, context: Context) -> Apply:
    raise UnsupportedError(
        f"cannot call {name_of(call)}() here: a function of Python's is called in clauses of views that look at rows "
        "alone; compute its value in a view below"
    )


BODIES = (Body(CALLED, strict=_refused),)
