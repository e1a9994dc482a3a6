"""A folder of Parquet files of changes, one for each delivery.

A file is written aside, then the mark says that it has come, then it gets its name. So whoever takes files away when it
has read them takes nothing from what is remembered, and what is killed in between is finished by who comes next.
"""

from __future__ import annotations

import json
import os
from io import BytesIO
from os import PathLike
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from ivm.catalog.errors import StorageError, UnsupportedError
from ivm.deliveries.target import Mark
from ivm.storage.directory_folder import DirectoryFolder
from ivm.storage.entries import sync_directory
from ivm.storage.storage import aside_of

_MARK, _PART = "_delivered.json", "_part"
"""Names that readers of folders leave out."""
_NUMBER = b"ivm.delivery"
"""By what a file knows its delivery, before it has a name of its own."""


class Parquet:
    """See `Target`. Files are called by the number of the delivery and the time up to which they have all changes."""

    def __init__(self, path: str | bytes | PathLike[str]) -> None:
        self._path = Path(os.fsdecode(path)).absolute()
        self.where = str(self._path)

    def begin(self, empty: pa.Table) -> Mark | None:
        """See `Target.begin`."""
        _check_types(empty)
        if (self._path / "_delta_log").is_dir():
            raise StorageError(f"{self.where} is a table of Delta's; write to='delta:{self.where}'")
        try:
            self._path.mkdir(parents=True, exist_ok=True)
            for each in self._path.glob(aside_of("*")):  # what was being written
                each.unlink()
            mark = self._mark()
            self._finish(mark)
        except OSError as error:
            raise StorageError(f"cannot deliver to folder {self.where}: {error}") from error
        return mark

    def put(self, changes: pa.Table, mark: Mark) -> None:
        """See `Target.put`. Cost: four syncs of the disk; of no rows two."""
        folder = DirectoryFolder(self._path)
        if changes.num_rows:
            buffer = BytesIO()
            numbered = {**(changes.schema.metadata or {}), _NUMBER: str(mark.number)}
            pq.write_table(changes.replace_schema_metadata(numbered), buffer)
            folder.put(_PART, [buffer.getbuffer()])
        folder.put(_MARK, [json.dumps(mark._asdict()).encode()])
        self._finish(mark)

    def _mark(self) -> Mark | None:
        path = self._path / _MARK
        if not path.exists():
            others = next(self._path.glob("*.parquet"), None)
            if others is not None:
                raise StorageError(
                    f"cannot deliver to folder {self.where}: it holds {others.name}, and nothing says up to when it "
                    "has all changes; give an empty folder"
                )
            return None
        try:
            return Mark(**json.loads(path.read_bytes()))
        except (ValueError, TypeError) as error:
            raise StorageError(f"cannot read {path}: {error}; deliver to another folder") from error

    def _finish(self, mark: Mark | None) -> None:
        """Give a part its name if the mark says that it has come; else it has not."""
        part = self._path / _PART
        if not part.exists():
            return
        number = _number_of(part)
        if mark is None or number != mark.number:
            part.unlink()
        else:
            part.replace(self._path / f"{mark.number:08}-{mark.time}.parquet")
        sync_directory(self._path)


def _number_of(part: Path) -> int:
    return int(pq.read_schema(part).metadata[_NUMBER])


def _check_types(empty: pa.Table) -> None:
    for field in empty.schema:
        try:
            pq.write_table(pa.table({field.name: empty.column(field.name)}), BytesIO())
        except pa.ArrowException as error:
            raise UnsupportedError(
                f"cannot deliver column {field.name!r} in Parquet, which has nothing for {field.type}; have the view "
                f"cast it, as in CAST(.. AS VARCHAR)"
            ) from error
