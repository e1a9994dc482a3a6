"""Syntax trees as texts of DuckDB's dialect."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from sqlglot import exp
from sqlglot.errors import ErrorLevel
from sqlglot.errors import UnsupportedError as SqlglotUnsupportedError
from sqlglot.generators.duckdb import DuckDBGenerator

from catalog.errors import UnsupportedError


def duckdb_text(tree: exp.Expr, *, pretty: bool = False, copy: bool = True) -> str:
    """The tree in DuckDB's dialect, every name in quotes: whatever it is, it is not read as a word of the grammar.

    Without `copy` the tree is used up. UnsupportedError where DuckDB has nothing for what stands in it.
    """
    writer = _Writer(dialect="duckdb", identify=True, comments=False, pretty=pretty, unsupported_level=ErrorLevel.RAISE)
    try:
        return writer.generate(tree, copy=copy)
    except SqlglotUnsupportedError as error:
        raise UnsupportedError(f"DuckDB, which verifies views, has no such thing: {error}; leave it out") from error


class _Writer(DuckDBGenerator):
    """sqlglot's, but for what that writes as something else."""

    def _date_add(self, node: exp.Expr) -> str:
        # As date + INTERVAL it would be a TIMESTAMP.
        return self.func("DATE_ADD", node.this, node.expression)

    TRANSFORMS: ClassVar[dict[type[exp.Expr], Callable[[Any, Any], str]]] = {
        **DuckDBGenerator.TRANSFORMS,
        exp.DateAdd: _date_add,
    }
