"""Where the rows of a distributed collection are: a fact about a relation whose tables are spread over shards.

Whatever the placement, the rows at each shard are a bag (no negative multiplicities where the whole has none), and the
sum of these bags is the collection; a replicated one is at each shard whole.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Hashed:
    """A row is at the shard that the hash of these of its columns, in this order, chooses; of none: all at one."""

    columns: tuple[int, ...]

    def moved(self, place: Callable[[int], int | None]) -> Placement:
        """The placement of rows in which column c stands at `place(c)`; anywhere if one of them is not kept."""
        places = tuple(map(place, self.columns))
        kept = tuple(c for c in places if c is not None)
        return Hashed(kept) if len(kept) == len(places) else ANYWHERE

    def text(self, names: Sequence[str]) -> str:
        """For EXPLAIN."""
        return f"hashed by {', '.join(names[c] for c in self.columns)}" if self.columns else "on one shard"


@dataclass(frozen=True, slots=True)
class Gathered:
    """Each `of` neighbouring shards have a shard for what they send, which the hash of these columns chooses.

    So rows of equal columns are together if neighbours have sent them; others are at another shard. What a shard has
    sent it takes back where it is, so there are no negative multiplicities here either.
    """

    columns: tuple[int, ...]
    of: int

    def moved(self, place: Callable[[int], int | None]) -> Placement:
        """Anywhere, for whoever does not know what was sent by whom."""
        return ANYWHERE

    def text(self, names: Sequence[str]) -> str:
        """For EXPLAIN."""
        by = f"hashed by {', '.join(names[c] for c in self.columns)}, " if self.columns else ""
        return f"{by}on one shard for each {self.of} neighbours"


@dataclass(frozen=True, slots=True)
class Replicated:
    """Every shard has all rows."""

    def moved(self, place: Callable[[int], int | None]) -> Placement:
        """Still everywhere."""
        return self

    def text(self, names: Sequence[str]) -> str:
        """For EXPLAIN."""
        return "on every shard"


@dataclass(frozen=True, slots=True)
class Anywhere:
    """Each row is at some shard; its columns do not say at which."""

    def moved(self, place: Callable[[int], int | None]) -> Placement:
        """Still anywhere."""
        return self

    def text(self, names: Sequence[str]) -> str:
        """For EXPLAIN."""
        return "anywhere"


Placement = Hashed | Gathered | Replicated | Anywhere
SINGLE = Hashed(())
REPLICATED = Replicated()
ANYWHERE = Anywhere()


def is_repeated(placement: Placement, shard: int) -> bool:
    """Whether the rows that a shard has of a collection are those that the first shard has, and gives."""
    return bool(shard) and isinstance(placement, Replicated)
