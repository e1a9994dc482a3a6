"""Functions that are bound by the types of their arguments alone: by name, and by sqlglot's class of such calls."""

from __future__ import annotations

from sqlglot import exp

from sql.ir.functions import FUNCTIONS

PLAIN = {name: function for function in FUNCTIONS.values() for name in function.names}
"""Their declarations by each name that SQL calls them by."""

KINDS: dict[type[exp.Expr], tuple[str, tuple[str, ...]]] = {
    kind: (function.names[0], tuple(kind.arg_types)[: len(function.takes)])
    for name, function in PLAIN.items()
    if (kind := exp.FUNCTION_BY_NAME.get(name.upper())) is not None
}
"""Of each class the function's first name, and under which names its arguments stand in a node."""
