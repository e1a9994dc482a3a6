"""What there is on disk of the last checkpoint, and by what to tell what of it has changed since."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ivm.durable.files import Files
from ivm.durable.manifest import Manifest
from ivm.durable.moment import Moment
from ivm.durable.payload import definition_of
from ivm.durable.rows import WrittenRows, write_rows
from ivm.storage.stored import Stored


@dataclass(frozen=True, slots=True)
class WrittenState:
    """What the node of this number keeps: a file for each of its states, as they were after so many updates."""

    node: int
    updates: int
    files: tuple[Stored, ...]


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

    @property
    def updates(self) -> dict[str, tuple[int, int]]:
        """By plans, the number of the node and how many updates it had; see `moment_of`."""
        return {plan: (each.node, each.updates) for plan, each in self.states.items()}


def write_moment(files: Files, moment: Moment, known: OnDisk) -> tuple[Manifest, OnDisk]:
    """Write down what of a moment is not on disk yet: the manifest that says so, and what there is on disk by then.

    StorageError if that is not possible; `files` has what is to be removed then. Cost: writes what has come since, and
    what nodes keep, if it has changed.
    """
    tables, states = {}, {}
    for plan, kept in moment.states.items():
        if kept.segments is None:
            states[plan] = known.states[plan]
        else:
            written = (files.write("state", (each.batch for each in state)) for state in kept.segments)
            states[plan] = WrittenState(kept.node, kept.updates, tuple(written))
    for name, (reader, since) in moment.tables.items():
        names = [field.name for field in moment.catalog.table(name).fields]
        tables[name] = write_rows(files, names, reader, known.tables.get(name), since)
    manifest = Manifest(
        moment.record,
        moment.time,
        files.next,
        moment.batches,
        definition_of(moment.catalog),
        moment.planned,
        moment.indexes,
        {name: rows.files for name, rows in tables.items()},
        {plan: state.files for plan, state in states.items()},
    )
    on_disk = OnDisk.of(manifest)
    on_disk.tables, on_disk.states = tables, states
    return manifest, on_disk
