"""One shard of a cluster's folder by itself: loaded in this process, and opened there to be looked at."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from os import PathLike, fspath
from pathlib import Path

from ivm.catalog.errors import InterfaceError, StorageError
from ivm.catalog.schema import Field
from ivm.cluster.files.chains import current, files_of
from ivm.cluster.files.files import Files
from ivm.cluster.files.folders import address_of, folder_of
from ivm.cluster.files.versions import Version, Versions
from ivm.cluster.protocol.placing import placement_of
from ivm.cluster.protocol.wire import EXCHANGE
from ivm.cluster.shard.loading import load
from ivm.cluster.shard.resident import Resident
from ivm.durable.manifest import NAME as MANIFEST
from ivm.durable.recovery import Told
from ivm.durable.restore import bound_again
from ivm.engine.backend import Reading
from ivm.engine.engine import Engine
from ivm.engine.installing import Progress
from ivm.engine.relations import NUMBER, TEXT
from ivm.results.result import table_of
from ivm.session.core import Core
from ivm.storage.log import log_name

Make = Callable[[int, int], Resident]
"""Makes a new shard of a number, of so many."""
_TIMES = 5
"""So often it is begun anew, where the folder has been spread over other shards meanwhile."""


def loaded(
    versions: Versions, version: Version, number: int, make: Make = Resident,
    tell: Callable[[int, int], None] = lambda done, of: None,
) -> Resident:  # fmt: skip
    """A shard as of a version that was published. `tell` is told how many versions it has gone through, of how many.

    StorageError if it cannot be loaded. Cost: reads its last snapshot, and what all shards of its group were given
    since.
    """

    def shard(number: int) -> Resident:
        return make(number, version.shards)

    found = load(versions, EXCHANGE.inputs, shard, number, (version.version, version.id), tell).shard
    assert isinstance(found, Resident), "it was made so"
    return found


def seen(
    new: Callable[[Engine], Core], path: str | PathLike[str], number: int, make: Make, progress: Told | None
) -> Core:  # fmt: skip
    """A `new` database that is what a shard has, as of the last version of a folder, whoever commits meanwhile.

    `ivm_shard` is there, which says where the rows of tables and views are that this one has some of. Raises as
    `_newest` does.
    """
    made = list[Resident]()

    def kept(number: int, shards: int) -> Resident:
        made.append(make(number, shards))
        return made[-1]

    try:
        resident, shards, where = _newest(path, number, kept, progress)
        core = new(resident.engine)
    except BaseException:
        for each in made[-1:]:  # all have the same that compiles, and helps
            each.engine.close()
        raise
    core.catalog.become(resident.catalog)
    for view in core.catalog.views:  # which a shard has no need to know of all
        core.engine.oracle_sql[view.name] = bound_again(view, core.catalog).oracle_sql
    core.read_only, core.part = where, f"shard {number} of {shards} of {where}"
    core.more = {"ivm_shard": lambda: _shard(resident)}
    return core


def _shard(resident: Resident) -> Reading:
    """A row for each table and maintained view: where its rows are, and how many are here."""
    rows = list(_placed(resident))
    return lambda: table_of(rows, name=TEXT, kind=TEXT, placement=TEXT, rows=NUMBER)


def _placed(resident: Resident) -> Iterator[tuple[str, str, str, int]]:
    for table in resident.catalog.tables:
        where = placement_of(table).text(_names(table.fields))
        yield table.name, "table", where, resident.engine.tables[table.name].count
    for view in resident.catalog.views:
        if view.maintained:
            where = resident.views[view.name].placement.text(_names(view.schema))
            yield view.name, "view", where, len(resident.engine.views[view.name].log)


def _names(fields: Sequence[Field]) -> list[str]:
    return [field.name for field in fields]


def _newest(path: str | PathLike[str], number: int, make: Make, progress: Told | None) -> tuple[Resident, int, str]:
    """A shard as of the last version of a folder; over how many shards that is, and where.

    StorageError if there is no cluster's folder, or the shard cannot be loaded; InterfaceError if there is no such
    shard. `progress` is told the versions that it has gone through, as of a view without a name. Cost: see `loaded`.
    """
    root = Files(folder_of(address_of(path)))

    def tell(done: int, of: int) -> None:
        if progress is not None:
            progress(Progress("", done, of))

    for left in reversed(range(_TIMES)):
        name, newest = current(root)
        if not newest.version:
            raise StorageError(_none(path))
        if number >= newest.shards:
            raise InterfaceError(
                f"cannot open shard {number} of {fspath(path)}: it is over {newest.shards} shards, whose numbers begin "
                "at 0"
            )
        versions = Versions(files_of(root, name))
        try:
            return loaded(versions, newest, number, make, tell), newest.shards, root.where()
        except StorageError:
            if not left or current(root)[0] == name:
                raise
    raise AssertionError


def _none(path: str | PathLike[str]) -> str:
    text = fspath(path)
    if "://" not in text and any((Path(text) / name).exists() for name in (MANIFEST, log_name(1))):
        return f"cannot open a shard of {text}: it is a database in one piece; leave shard out"
    return f"cannot open a shard of {text}: there is no database over shards; give a cluster's folder"
