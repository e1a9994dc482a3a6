"""Collations as they are written: NOCASE, NOACCENT and NFC, joined by dots, and BINARY and its like."""

from __future__ import annotations

from sqlglot import exp

from ivm.sql.ir.measures import COLLATIONS, PLAIN_COLLATIONS

KNOWN = f"{', '.join(map(str.upper, COLLATIONS))}, joined by dots, and BINARY"
"""What is known, for messages."""


def collation_named(node: exp.Expr) -> str | None:
    """The collation that `node` names, in lower case; None if it is none that is known. A word of DuckDB's grammar is
    put in quotes in the tree.
    """
    name = node.sql("duckdb").replace('"', "").lower()
    if name in PLAIN_COLLATIONS:
        node.replace(exp.to_identifier(name, quoted=True))
        return name
    return name if all(part in COLLATIONS for part in name.split(".")) else None
