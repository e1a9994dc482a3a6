"""What there is on disk of the last checkpoint, and by what to tell what of it has changed since."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ivm.durable.files import Written
from ivm.durable.manifest import Manifest
from ivm.durable.rows import WrittenRows


@dataclass(frozen=True, slots=True)
class WrittenState:
    """What the node of this number keeps: a file for each of its states, as they were after so many updates."""

    node: int
    updates: int
    files: tuple[Written, ...]


@dataclass(slots=True)
class OnDisk:
    """Everything up to the commit of record `record`, in so many bytes.

    No file's name has the number `next`, or a greater one. `lacks`: views had to be filled anew, so that it is not all
    there is, even if nothing was committed since.
    """

    record: int = 0
    next: int = 1
    bytes: int = 0
    lacks: bool = False
    tables: dict[str, WrittenRows] = field(default_factory=dict)
    states: Mapping[str, WrittenState] = field(default_factory=dict)

    @classmethod
    def of(cls, manifest: Manifest) -> OnDisk:
        """That of a checkpoint, of whose tables and states nothing is known."""
        return cls(manifest.record, manifest.next, sum(written.bytes for _, written in manifest.files()))
