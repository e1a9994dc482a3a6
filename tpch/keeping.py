"""Where a stream is kept in a database, so that a run that ended somehow goes on where it ended, exactly once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import ivm
from ivm.tpch.errors import StreamError
from ivm.tpch.manifest import Manifest
from ivm.tpch.schema import ddl, relations


@dataclass(frozen=True, slots=True)
class KeptStream:
    """A stream in a database: each commit is remembered as a batch whose number is its last time in the stream."""

    source: str

    def options(self, time: int) -> dict[str, Any]:
        """What `Database.apply` is given of changes up to a time of the stream."""
        return {"batch": (self.source, time)}

    def reached(self, db: ivm.Database) -> int:
        """The last time of the stream whose changes are there; 0: none."""
        return db.batches().get(self.source, 0)


class NotKept(KeptStream):
    """A stream in a database that is gone with the process: nothing need be remembered."""

    def options(self, time: int) -> dict[str, Any]:
        """Nothing."""
        return {}


def begin(db: ivm.Database, manifest: Manifest, *, is_kept: bool) -> KeptStream:
    """Make the tables that a stream needs, where they are missing. StreamError if they hold something else."""
    kept = _kept(manifest) if is_kept else NotKept("")
    db.sql(ddl().replace("CREATE TABLE", "CREATE TABLE IF NOT EXISTS"))
    known = relations()
    if kept.source not in db.batches() and any(table.rows for table in db.tables() if table.name in known):
        others = ", ".join(name for name in db.batches() if name.startswith("tpch ")) or "other rows"
        raise StreamError(f"the database holds {others}, not {kept.source}; give another directory to --db")
    return kept


def _kept(manifest: Manifest) -> KeptStream:
    made = [f"{name} {value}" for name, value in manifest.parameters.items()]
    said = [f"tpch {manifest.stream}", f"scale factor {manifest.sf:g}", f"seed {manifest.seed}", *made]
    return KeptStream(", ".join(said))
