"""What a piece of a random query may refer to."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random


@dataclass(frozen=True, slots=True)
class Col:
    """A column as it is written, and the class of its type."""

    text: str
    kind: str


@dataclass(frozen=True, slots=True)
class Relation:
    """What may stand in FROM by its name, with the names and kinds of its columns."""

    name: str
    columns: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Scope:
    """The columns of this block, and those of the blocks around it; `outer` are meant to be used rarely."""

    columns: tuple[Col, ...]
    outer: tuple[Col, ...] = ()
    correlation: float = 0.3
    nested: bool = field(default=True)
    """Whether a subquery may refer to the columns: not so for expressions that are grouped by."""

    def pick(self, rng: Random, kind: str) -> str | None:
        """A column of a kind, if there is one."""
        local = [c.text for c in self.columns if c.kind == kind]
        outer = [c.text for c in self.outer if c.kind == kind]
        if outer and (not local or rng.random() < self.correlation):
            return rng.choice(outer)
        return rng.choice(local) if local else None

    def kinds(self) -> tuple[str, ...]:
        """The kinds that occur, of this block's columns."""
        return tuple(sorted({c.kind for c in self.columns}))

    def inside(self) -> tuple[Col, ...]:
        """What a subquery of this block may refer to."""
        return (*self.outer, *(self.columns if self.nested else ()))
