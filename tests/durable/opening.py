"""Databases over any storage, and what they hold, to compare."""

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from shutil import copytree

from typer.testing import CliRunner

import ivm
from ivm.cli import app
from ivm.durable.recovery import open_storage
from ivm.engine.engine import Engine
from ivm.session.core import Core, engine_of
from ivm.session.database import Database, core_of
from ivm.storage.certain import NAME as CERTAIN
from ivm.storage.certain import noted
from tests.durable.disk import Disk


def opened(storage, durability="commit", interval=3600.0, history=0) -> Database:
    core = Core(Engine(None, history=history), external_access=False)
    open_storage(core, storage, durability, interval)
    return Database(core)


def finish(db: ivm.Database) -> None:
    """Wait until all is written."""
    core = core_of(db)
    with core.lock:
        journal = engine_of(core).journal
        assert journal is not None
        journal.finish()


def begin_file(db: ivm.Database) -> int:
    """Let the log go on in a new file, as a checkpoint does."""
    core = core_of(db)
    with core.lock:
        journal = engine_of(core).journal
        assert journal is not None
        return journal.begin_file()


def killed(db: ivm.Database, path: Path, to: Path) -> Path:
    """Another directory, as one would be if the process that has it open were killed now."""
    finish(db)
    copytree(path, to)
    return to


def call(*arguments: object):
    """What the command line does with these arguments."""
    return CliRunner().invoke(app, list(map(str, arguments)), env={"COLUMNS": "200"})


def contents(db: ivm.Database) -> dict[str, object]:
    """All rows of all tables and views, the definitions, the time and the batches."""
    names = [*(table.name for table in db.tables()), *(view.name for view in db.views())]
    rows = {name: sorted(map(repr, db.sql(f'SELECT * FROM "{name}"').fetchall())) for name in names}
    said = {each.name: (each.columns, each.sql) for each in db.views()}
    return {
        "rows": rows,
        "views": said,
        "columns": {t.name: t.columns for t in db.tables()},
        "time": db.time,
        "batches": db.batches(),
    }


def held_by(files: Mapping[str, bytes]) -> dict[str, object]:
    """The contents of a database over these files, whose note of what is certain does not say too much.

    They follow from the files, so the same ones are opened once.
    """
    held, number = _held_by(frozenset((name, data) for name, data in files.items() if name != CERTAIN))
    assert (noted(Disk(dict(files))) or 0) <= number
    return held


@lru_cache(maxsize=1 << 10)
def _held_by(files: frozenset[tuple[str, bytes]]) -> tuple[dict[str, object], int]:
    db = opened(Disk(dict(files)))
    number = begin_file(db)
    return contents(db), number
