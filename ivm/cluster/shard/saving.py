"""A shard as a checkpoint has it, and back.

Beside the manifest, which is that of a database, are the plans of views and of the fragments of channels: they were
made beside other views, which may be gone by now, so nobody could make them again.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from ivm.catalog.catalog import Catalog
from ivm.catalog.errors import StorageError
from ivm.catalog.plain import Plain
from ivm.cluster.planning.guards import at_home
from ivm.cluster.protocol.orders import kept_of
from ivm.cluster.shard.shard import KeptForNames, Shard
from ivm.dataflow.node import Node
from ivm.distribute.distribute import Distributed
from ivm.distribute.exchange import Channel
from ivm.durable.files import Files, Reading
from ivm.durable.manifest import manifest_of, plain_of
from ivm.durable.moment import Moment, SavedNode, moment_of
from ivm.durable.on_disk import OnDisk, write_moment
from ivm.durable.payload import catalog_of
from ivm.durable.restore import Saved, Unusable, made_indexes, restore_tables
from ivm.plan.arrangement import ArrangementPlan
from ivm.plan.identity import Identities
from ivm.plan.node import Plan
from ivm.plan.plain import plain_plans, plans_of
from ivm.sql.ir.relation import Relation
from ivm.storage.storage import Readable
from ivm.storage.stored import Stored

PlansAgain = Callable[[Catalog, Mapping[str, Mapping[str, float]], Mapping[str, int]], None]


class Snapshots:
    """What is on disk of a shard: the last two snapshots that it has, by their names."""

    def __init__(self) -> None:
        self._known: tuple[tuple[str, OnDisk], ...] = ()

    def saving(
        self,
        engine: Shard,
        catalog: Catalog,
        planned: Mapping[str, Mapping[str, float]],
        editions: Mapping[str, int],
        cut: Mapping[str, Channel | Distributed],
    ) -> Saving:
        """What there is now, to be written by another thread while commits go on.

        `planned`: by what each view was distributed. `editions`: see `Channels`. `cut`: what came of that, by the names
        of channels and views. Cost: that of the number of tables, and reads the states that have changed: later they
        might be within a commit for long, which readers of trees wait for.
        """
        base, known = self._known[0] if len(self._known) > 1 else ("", OnDisk())
        moment = moment_of(engine, catalog, 0, Identities(), known.updates)
        moment = replace(moment, planned=planned, states={plan: _read(kept) for plan, kept in moment.states.items()})
        plans = {name: (cut[name].relation, plan) for name, plan in engine.plans().items()}
        return Saving(self, moment, base, known, dict(editions), plans, engine.kept)

    def have(self, name: str, on_disk: OnDisk) -> None:
        """There is another one."""
        self._known = *self._known[-1:], (name, on_disk)

    def forget(self) -> None:
        """Somebody else has written others."""
        self._known = ()


def _read(kept: SavedNode) -> SavedNode:
    return kept if kept.segments is None else replace(kept, segments=[list(each) for each in kept.segments])


class Saving:
    """See `ivm.cluster.protocol.terms.Saving`."""

    def __init__(
        self,
        snapshots: Snapshots,
        moment: Moment,
        base: str,
        known: OnDisk,
        editions: Mapping[str, int],
        plans: Mapping[str, tuple[Relation, Plan]],
        kept: KeptForNames,
    ) -> None:
        self._snapshots = snapshots
        self._moment = moment
        self._base = base
        self._known = self._on_disk = known
        self._editions = editions
        self._plans = plans
        self._kept = kept

    def write(self, files: Files, base: str) -> tuple[bytes, Sequence[Stored]]:
        """See `Saving.write`."""
        if self._base not in ("", base):
            self._snapshots.forget()  # the next one is written as a whole
            raise StorageError(f"cannot go on from snapshot {self._base}: it is not the last but one any more")
        manifest, self._on_disk = write_moment(files, self._moment, self._known)
        identities = Identities()
        of = {name: identities.of(relation) for name, (relation, _) in self._plans.items()}
        plans = {"of": of} | plain_plans({name: plan for name, (_, plan) in self._plans.items()})
        head = {"manifest": plain_of(manifest), "editions": self._editions, "plans": plans, "kept": self._kept}
        return json.dumps(head, separators=(",", ":")).encode(), [written for _, written in manifest.files()]

    def written(self, name: str) -> None:
        """See `Saving.written`."""
        self._snapshots.have(name, self._on_disk)


def load(engine: Shard, head: bytes, place: Readable, plan_again: PlansAgain) -> tuple[Catalog, OnDisk]:
    """Bring a new engine to where it was saved; what exists there, and what there is on disk. `plan_again` makes the
    views, as they were planned.

    StorageError where a file cannot be read, or what was saved is of another release, which plans otherwise.
    """
    try:
        plain = json.loads(head)
        manifest, editions = manifest_of(plain["manifest"]), plain["editions"]
        catalog, on_disk = catalog_of(manifest.defined), OnDisk.of(manifest)
        plans, kept = _Plans(plain["plans"]), kept_of(plain.get("kept", {}))  # which earlier releases did not know
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise StorageError(
            f"cannot read {place.where()}: it was not written by ivm: {error!r}; restore it from a backup"
        ) from error
    engine.begin_at(manifest.time)
    engine.keep_for_names(kept)
    with Reading(place, (written for _, written in manifest.files())) as reading:
        tables = [at_home(table, catalog.table) for table in catalog.tables]
        restore_tables(engine, reading, manifest, tables, on_disk)
        indexes, saved = made_indexes(engine, manifest), Saved(reading, manifest.states)
        engine.renderer.saved, engine.planned_once = _Whole(saved), plans
        try:
            plan_again(catalog, manifest.planned, editions)
        finally:
            engine.renderer.saved = engine.planned_once = None
            indexes.clear()  # views have those that they need
    on_disk.states = saved.restored
    return catalog, on_disk


class _Whole:
    """Gives new nodes what was saved of their plans; there is nothing else that one could be filled from."""

    def __init__(self, saved: Saved) -> None:
        self._saved = saved

    def __call__(self, plan: Plan | ArrangementPlan, node: Node, contents: bool) -> bool:
        """True. StorageError where nothing was saved."""
        try:
            is_saved = self._saved(plan, node, contents)
        except Unusable as error:
            raise StorageError(f"cannot use what was saved of a view: {error}") from error
        if not is_saved:
            raise _others()
        return True


class _Plans:
    """Gives views, and fragments of channels, the plans that they had."""

    def __init__(self, plain: Plain) -> None:
        try:
            self._of, self._plans = plain["of"], plans_of(plain)
        except (KeyError, TypeError, ValueError) as error:
            raise _others() from error
        self._identities = Identities()

    def __call__(self, name: str, relation: Relation) -> Plan:
        """StorageError where it was that of something else: so this release cuts a view otherwise."""
        if self._of.get(name) != self._identities.of(relation):
            raise _others()
        return self._plans[name]


def _others() -> StorageError:
    return StorageError("what was saved is of other plans than this release of ivm makes; use the one that wrote it")
