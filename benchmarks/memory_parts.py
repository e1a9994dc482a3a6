"""What a process's memory is made of, as far as its parts can be asked, and what else may pile up in it."""

from __future__ import annotations

import ctypes
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from stat import S_ISREG

import pyarrow as pa

import ivm
from ivm import duck
from ivm.render.scalars import compiler
from ivm.session.core import engine_of
from ivm.session.database import core_of

_MIB = 1 << 20
_MALLOC = ("heap", "", "", "", "mapped", "", "", "used", "free", "")
"""What glibc says of its memory, in its order."""


class _Mallinfo(ctypes.Structure):
    _fields_ = tuple((f"{place} {name}", ctypes.c_size_t) for place, name in enumerate(_MALLOC))


def parts(db: ivm.Database, folder: Path) -> dict[str, float]:
    """MiB, or numbers, by what they are of; `folder` is where the database is."""
    core, found = core_of(db), {**_process(), **_malloc()}
    found["Arrow"] = pa.total_allocated_bytes() / _MIB
    found["DuckDB"] = _duckdb()
    with core.lock:
        engine = engine_of(core)
        found["state"], found["text"] = engine.state_bytes() / _MIB, engine.text_bytes() / _MIB
        found["codes"], found["nodes"] = engine.dictionary.count, len(engine.renderer.graph.nodes)
        found["listeners"] = len(list(engine.listeners.of(None)))
    found["loops"] = len(compiler._workshop._tickets)
    found["modules"] = len(sys.modules)
    found["blocks"] = sys.getallocatedblocks()
    found["open files"], found["threads"] = len(os.listdir("/proc/self/fd")), threading.active_count()
    sizes = list(_sizes(folder))
    found["files"], found["disk"] = len(sizes), sum(sizes) / _MIB
    return found


def _sizes(folder: Path) -> Iterator[int]:
    """Those of all files; some come and go meanwhile."""
    for path in folder.rglob("*"):
        with suppress(FileNotFoundError):
            status = path.stat()
            if S_ISREG(status.st_mode):
                yield status.st_size


def _process() -> dict[str, float]:
    """What Linux says: resident, of that what is no file's, and how many maps there are."""
    lines = Path("/proc/self/smaps_rollup").read_text(encoding="utf-8").splitlines()[1:]
    sizes = {line.split(":")[0]: int(line.split()[1]) / 1024 for line in lines}
    maps = Path("/proc/self/maps").read_text(encoding="utf-8").count("\n")
    return {"resident": sizes["Rss"], "anonymous": sizes["Anonymous"], "maps": maps}


def _malloc() -> dict[str, float]:
    ask = ctypes.CDLL(None).mallinfo2
    ask.restype = _Mallinfo
    said = ask()
    return {f"malloc's {name}": getattr(said, f"{place} {name}") / _MIB for place, name in enumerate(_MALLOC) if name}


def _duckdb() -> float:
    """What the instances of this process say that they have."""
    total = 0.0
    for made in list(duck._instances._made.values()):
        with made.cursor() as cursor:
            total += cursor.execute("SELECT sum(memory_usage_bytes)::DOUBLE FROM duckdb_memory()").fetchall()[0][0] or 0
    return total / _MIB
