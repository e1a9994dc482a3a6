"""Rows that shards have: what a SELECT answers over those of each, as plain data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ivm.catalog.plain import plain_table, table_of
from ivm.catalog.schema import Table


@dataclass(frozen=True, slots=True)
class Reads:
    """What `text`, a SELECT or a COPY of one in DuckDB's dialect, reads of what a shard has.

    `reads`: the tables and maintained views that it reads, as it calls them. `defined`: the names and texts of views
    that are not maintained, which it reads too; those that others read come first.
    """

    text: str
    reads: tuple[str, ...]
    defined: tuple[tuple[str, str], ...] = ()

    def plain(self) -> dict[str, Any]:
        """As plain values; `of` reads them."""
        return {"text": self.text, "reads": list(self.reads), "defined": [list(each) for each in self.defined]}

    @classmethod
    def of(cls, plain: Mapping[str, Any]) -> Reads:
        """What `plain` made plain values of."""
        return cls(plain["text"], tuple(plain["reads"]), tuple((name, text) for name, text in plain["defined"]))


@dataclass(frozen=True, slots=True)
class Selection:
    """The rows that a SELECT answers at all shards together, to be inserted into `table`."""

    table: Table
    query: Reads

    def plain(self) -> dict[str, Any]:
        """As plain values; `of` reads them."""
        return {"table": plain_table(self.table), "query": self.query.plain()}

    @classmethod
    def of(cls, plain: Mapping[str, Any]) -> Selection:
        """What `plain` made plain values of."""
        return cls(table_of(plain["table"]), Reads.of(plain["query"]))
