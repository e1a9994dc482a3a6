"""What can be had of a cluster's folder, as the directory of a database in one piece."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from ivm.catalog.errors import StorageError
from ivm.cluster.files.checking import Found
from ivm.cluster.files.versions import Version, Versions
from ivm.cluster.shard.held import rows_of_table
from ivm.cluster.shard.opening import loaded
from ivm.durable.copying import new_directory
from ivm.durable.of_rows import DirectoryOfRows

Told = Callable[[int, int], None]
"""How many shards have been read, of how many."""


def recovered(found: Found, path: Path, to: int | None = None, tell: Told = lambda done, of: None) -> Version:
    """Write all rows of all shards to a new directory, as of the last version that can be had as a whole, or the last
    one that is not after a logical time; that version.

    StorageError if there is none, or the directory cannot be written: nothing is left of it then. Cost: one shard after
    the other is loaded in this process.
    """
    wanted = [found.versions[number] for number in found.whole]
    chosen = [each for each in wanted if to is None or each.time <= to <= wanted[-1].time]
    if not chosen:
        if wanted:
            raise StorageError(
                f"cannot copy {found.files.where()} as of time {to}: what can be read of it goes from time "
                f"{wanted[0].time} to {wanted[-1].time}; give one of these"
            )
        raise StorageError(
            f"cannot copy {found.files.where()}: there is no version that every shard can be loaded at; `ivm check` "
            "says why"
        )
    version, versions = chosen[-1], Versions(found.files)
    with new_directory(path) as aside, DirectoryOfRows(aside) as directory:
        for shard in range(version.shards):
            tell(shard, version.shards)
            resident = loaded(versions, version, shard)
            for table in resident.catalog.tables:
                directory.write(table.name, rows_of_table(resident, table.name))
        directory.end(resident.catalog, version.time, version.batches)
    return version
