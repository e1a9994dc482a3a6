"""Rows that shards have: what a SELECT answers over those of each, as plain data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from ivm.catalog.plain import plain_table, table_of
from ivm.catalog.schema import Table


@dataclass(frozen=True, slots=True)
class Reads:
    """What `text`, a SELECT or a COPY of one in DuckDB's dialect, reads of what a shard has.

    `reads`: the tables and maintained views that it reads, as it calls them. `defined`: the names and texts of views
    that are not maintained, which it reads too; those that others read come first. `joined`: what is at each shard
    whole counts at each, and not at the first alone. `once`: the first one's answer is that of all.
    """

    text: str
    reads: tuple[str, ...]
    defined: tuple[tuple[str, str], ...] = ()
    joined: bool = False
    once: bool = False

    def at(self, shard: int) -> Reads:
        """What a shard does: nothing, where the first one's answer is that of all."""
        return replace(self, text=f"SELECT * FROM ({self.text}) LIMIT 0") if self.once and shard else self

    def plain(self) -> dict[str, Any]:
        """As plain values; `of` reads them."""
        return asdict(self)

    @classmethod
    def of(cls, plain: Mapping[str, Any]) -> Reads:
        """What `plain` made plain values of, and JSON lists."""
        defined = tuple((name, text) for name, text in plain["defined"])
        return cls(plain["text"], tuple(plain["reads"]), defined, plain["joined"], plain["once"])


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
