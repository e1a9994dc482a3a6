"""Syntax trees as texts of DuckDB's dialect."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from sqlglot import exp
from sqlglot.generators.duckdb import DuckDBGenerator


def duckdb_text(tree: exp.Expr, *, pretty: bool = False) -> str:
    """The tree in DuckDB's dialect, every name in quotes: whatever it is, it is not read as a word of the grammar."""
    return _Writer(dialect="duckdb", identify=True, comments=False, pretty=pretty).generate(tree)


class _Writer(DuckDBGenerator):
    """sqlglot's, but for what that writes as something else."""

    def _date_add(self, node: exp.Expr) -> str:
        # As date + INTERVAL it would be a TIMESTAMP.
        return self.func("DATE_ADD", node.this, node.expression)

    TRANSFORMS: ClassVar[dict[type[exp.Expr], Callable[[Any, Any], str]]] = {
        **DuckDBGenerator.TRANSFORMS,
        exp.DateAdd: _date_add,
    }
