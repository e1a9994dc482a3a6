"""ivm: an embeddable engine for standing SQL queries, exactly right after each commit at the cost of the change."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, Literal

from ivm.catalog.errors import (
    AccessError,
    BindError,
    ClusterError,
    ConstraintError,
    Error,
    InterfaceError,
    LagError,
    MemoryLimitError,
    MissingFunctionError,
    NumericError,
    ParseError,
    RecursionLimitError,
    StorageError,
    TransactionError,
    TypeMismatchError,
    UnsupportedError,
    ViewDroppedError,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import timedelta
    from os import PathLike

    from ivm.engine.installing import Progress
    from ivm.engine.reader import View
    from ivm.engine.transaction import Transaction
    from ivm.results.result import Result
    from ivm.session.cursor import Cursor
    from ivm.session.database import Database
    from ivm.session.delivering import Delivery
    from ivm.session.introspection import TableInfo, ViewInfo
    from ivm.session.oracle import VerificationError, Verified
    from ivm.session.snapshot import Snapshot
    from ivm.session.sources import Source, SourceInfo
    from ivm.session.what_if import WhatIf
    from ivm.subscriptions.subscription import Subscription

    __version__: str

__all__ = [
    "AccessError",
    "BindError",
    "ClusterError",
    "ConstraintError",
    "Cursor",
    "Database",
    "Delivery",
    "Error",
    "InterfaceError",
    "LagError",
    "MemoryLimitError",
    "MissingFunctionError",
    "NumericError",
    "ParseError",
    "Progress",
    "RecursionLimitError",
    "Result",
    "Snapshot",
    "Source",
    "SourceInfo",
    "StorageError",
    "Subscription",
    "TableInfo",
    "Transaction",
    "TransactionError",
    "TypeMismatchError",
    "UnsupportedError",
    "VerificationError",
    "Verified",
    "View",
    "ViewDroppedError",
    "ViewInfo",
    "WhatIf",
    "connect",
]

_PLACES = {
    "Cursor": "ivm.session.cursor",
    "Database": "ivm.session.database",
    "Delivery": "ivm.session.delivering",
    "Progress": "ivm.engine.installing",
    "Result": "ivm.results.result",
    "Snapshot": "ivm.session.snapshot",
    "Source": "ivm.session.sources",
    "SourceInfo": "ivm.session.sources",
    "Subscription": "ivm.subscriptions.subscription",
    "WhatIf": "ivm.session.what_if",
    "TableInfo": "ivm.session.introspection",
    "Transaction": "ivm.engine.transaction",
    "VerificationError": "ivm.session.oracle",
    "Verified": "ivm.session.oracle",
    "View": "ivm.engine.reader",
    "ViewInfo": "ivm.session.introspection",
}
"""Where a name is, that is imported when it is first asked for: the engine takes some tenths of a second."""


def connect(
    path: str | PathLike[str] | None = None,
    *,
    read_only: bool = False,
    follow: bool = False,
    durability: Literal["commit", "interval", "off"] = "commit",
    interval: float = 0.1,
    history: int | str | timedelta = 0,
    compile: Literal["background", "wait", "off"] = "background",
    sharing: bool = True,
    memory_limit: int | None = None,
    recursion_limit: int | None = None,
    external_access: bool = False,
    threads: int | None = 1,
    shards: int | None = None,
    shard: int | None = None,
    ticks: str | float | None = None,
    timezone: str = "UTC",
    functions: Mapping[str, Callable[..., Any] | Mapping[str, Any]] | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> Database:
    """The database in a directory, as the last commit left it; or a new, empty one in memory.

    One process at a time has a directory open; a process that it forks has no part in it. What nobody closes is closed
    when the process ends. On glibc this also tells the process's allocator to keep up to 64 MiB of freed memory, which
    saves page faults, in each of as many arenas as there are cores (or MALLOC_ARENA_MAX says).

    Args:
        path: A directory, which is made if it is not there. None (default) or ":memory:": in memory.
        read_only: True opens a directory that is there to read what it holds now, beside a process that changes it.
            Nothing can be changed (AccessError), and what others commit from now on is not seen. Default: False.
        follow: True lets a database that is opened with `read_only` go on as that process does: a thread of its own
            looks every 20 ms for what has been committed, and lets views and who listens know; `Database.refresh`
            looks at once. `ivm_following` tells how far it is. Default: False.
        durability: When a commit survives a loss of power: "commit" (default), when it returns; "interval", after
            `interval` seconds and the time that the disk takes, as a thread of its own writes it; "off", when the
            operating system has written it. With the last two a process that is killed may lose the last commits,
            some milliseconds as a rule: a commit waits when more than 64 MiB, or 1,024 commits, are left to be written.
            `close` and the normal end of a process write all of them. Whatever is chosen, the commits up to one of
            them are there, whole.
        interval: The seconds of "interval". Default: 0.1.
        history: For how many logical times before the present, or for how long as a timedelta or text such as "1 hour",
            tables and views can be read as of (`SELECT .. AS OF`, `snapshot`, `View.arrow(as_of=...)`), and changes of
            views be asked for (`View.changes`). A database that is opened again has as much of the past of views as was
            kept before, and begins to keep that of tables. Default: 0.
        compile: "background" (default): expressions are interpreted until they have seen enough rows to be worth a
            kernel, which a process of its own then compiles. "wait": they are compiled before they first run. "off":
            they are always interpreted. The answers are the same.
        sharing: False gives each view arrangements and operators of its own, all but the tables' rows: the same
            answers from more state, to measure by and to test. Default: True.
        memory_limit: Bytes that tables and views may take together. A view that is expected to need more than what is
            left of it is refused (MemoryLimitError) before it is installed, by the estimate that EXPLAIN shows. It is
            no limit for changes: a commit is never refused for its size. Default: None, no limit.
        recursion_limit: Rounds before which a recursive view must have ended; a commit in which it has not is refused
            (RecursionLimitError). One that has a RECURSION LIMIT of its own goes by that. Default: None, a million.
        external_access: True lets SQL text read files and the network and load extensions of DuckDB (`FROM 'x.csv'`,
            `read_text`, `https://`). False (default): it sees the tables and views of this database and nothing else,
            whoever wrote it, and is refused with AccessError; and what does not fit into memory is refused rather than
            spilled to disk.
        threads: How many threads work on a commit of many rows, and on filling a view; None: as many as there are
            processors for this process. Commits of less than some ten thousands of rows take one. The answers are the
            same. More than one does not pay yet on a small machine, so measure. Default: 1.
        shards: Spreads the tables over so many engines in this process, as a cluster would, each with a part of the
            rows, to try a distribution; `EXPLAIN` and `ivm_operators` say what it exchanges and how even that is. In
            memory only, without `memory_limit`. Default: None, one engine.
        shard: Opens, with `read_only`, one shard of a cluster's folder, a directory or a URI, in this process and by
            itself, to look at: the rows that it has as of the last commit of all, its plans and its sizes. SELECTs
            answer from these rows alone. `ivm_shard` says where the rows of each table and view are. The numbers of
            shards begin at 0. Default: None, the whole database of a directory.
        ticks: Lets time pass for views that compare with now() every so often, in seconds or as "1s" or "5 minutes", as
            `Database.tick` does; by a thread of its own, which ends with the database and is not in a process that is
            forked. Nothing happens while no view reads the clock. Default: None, when something is committed.
        timezone: The time zone by whose clocks SQL text tells moments, values of TIMESTAMP WITH TIME ZONE, such as
            "Europe/Zurich"; what `SET TimeZone` sets, and RESET sets again. A view keeps the one in which it was
            created. Default: "UTC".
        functions: What `Database.create_function` would be told, before a directory is opened whose views call them; it
            may be told later, if no commit since the last checkpoint needs them. Functions by their names, each as it
            is, if its annotations say its types, or as a dict of the arguments of `create_function`. Default: None.
        progress: Called while a directory is opened, from this thread: with the bytes of the log that were read, as of
            a view without a name, then with each view that is filled; of a `shard` with the versions that it has gone
            through since it was saved. If it raises, nothing is opened. Default: None.

    Raises:
        StorageError: The directory cannot be used, is held by another process, or is damaged.
        TypeMismatchError: A number is negative, too large or no whole number, there are no threads at all, or
            `compile` or `durability` is none of those.
        InterfaceError: There is no such `shard`.
        BindError: There is no such `timezone`; or views call functions that are declared in another way.
        MissingFunctionError: Commits since the last checkpoint need functions that are not given.
        UnsupportedError: `memory_limit`, `recursion_limit` or a length of time as `history` with `shards`; `ticks` with
            `read_only`, or `follow` without; `shard` without it, or with `follow` or `shards`.
    """
    from os import fspath  # noqa: PLC0415

    from ivm.arguments import (  # noqa: PLC0415
        at_least_one,
        callback,
        duration,
        history_of,
        one_of,
        period,
        whole_number,
        zone_named,
    )
    from ivm.catalog.names import database_name  # noqa: PLC0415
    from ivm.engine.engine import Engine  # noqa: PLC0415
    from ivm.kernels.memory.allocator import keep_freed_pages  # noqa: PLC0415
    from ivm.render.scalars.compiler import Compiler  # noqa: PLC0415
    from ivm.session.core import Core  # noqa: PLC0415
    from ivm.session.database import Database, core_of  # noqa: PLC0415
    from ivm.session.functions import create_function, declared_all  # noqa: PLC0415
    from ivm.session.ticking import begin_ticks  # noqa: PLC0415
    from ivm.trace.helpers import Helpers, cores  # noqa: PLC0415

    kept = history_of(history)
    memory_limit = None if memory_limit is None else whole_number(memory_limit, "memory_limit")
    recursion_limit = None if recursion_limit is None else at_least_one(recursion_limit, "recursion_limit")
    helpers = Helpers(cores() if threads is None else at_least_one(threads, "threads"))
    one_of(compile, ("background", "wait", "off"), "compile")
    one_of(durability, ("commit", "interval", "off"), "durability")
    interval = duration(interval, "interval")
    seconds = None if ticks is None else period(ticks, "ticks")
    callback(progress, "progress")
    called = declared_all(functions or {})
    if follow and not read_only:
        raise UnsupportedError("cannot follow a database that is opened to be written; give read_only=True too")
    if seconds is not None and read_only:
        raise UnsupportedError("cannot let time pass in a database that is only read; leave ticks out")
    zone = zone_named(timezone)
    keep_freed_pages()

    def compiler() -> Compiler | None:
        return None if compile == "off" else Compiler(wait=compile == "wait")

    def new() -> Core:
        engine = Engine(compiler(), kept, sharing=sharing, memory_limit=memory_limit, helpers=helpers)
        if recursion_limit is not None:
            engine.recursion_limit = recursion_limit
        return over(engine)

    def over(engine: Engine) -> Core:
        core = Core(engine, external_access=external_access)
        for each in called:
            create_function(core, each)
        return core

    def set_up(made: Database) -> Database:
        core_of(made).settings.first_zone = zone
        if seconds is not None:
            begin_ticks(core_of(made), seconds)
        return made

    if shard is not None:
        from ivm.cluster.shard.opening import seen as seen_shard  # noqa: PLC0415
        from ivm.cluster.shard.resident import Resident  # noqa: PLC0415

        number, one = whole_number(shard, "shard"), compiler()
        if path in (None, ":memory:") or not read_only or follow or shards is not None:
            raise UnsupportedError(
                "cannot open a shard but to read what it has now; give a cluster's folder and read_only=True, without "
                "follow and shards"
            )

        def make(number: int, of: int) -> Resident:
            return Resident(number, of, one, kept, sharing=sharing, helpers=helpers)

        core = seen_shard(over, path, number, make, progress)
        core.catalog.database = database_name(fspath(path))
        return set_up(Database(core))
    if shards is not None:
        from ivm.cluster.driver.database import in_process  # noqa: PLC0415

        if path not in (None, ":memory:"):
            raise StorageError("cannot open a database over shards from a directory; leave the path out")
        if memory_limit is not None:
            raise UnsupportedError("cannot limit the memory of a database over shards; leave memory_limit out")
        if recursion_limit is not None:
            raise UnsupportedError("cannot limit recursion of a database over shards; give views a RECURSION LIMIT")
        if not isinstance(kept, int):
            raise UnsupportedError("cannot keep history for a length of time over shards; give a number of times")
        sharded = in_process(at_least_one(shards, "shards"), kept, compile, sharing, external_access)
        for each in called:
            create_function(core_of(sharded), each)
        return set_up(sharded)
    if path is None or path == ":memory:":
        if read_only:
            raise StorageError("cannot open a database in memory with read_only: it would be empty; give a directory")
        return set_up(Database(new()))
    from ivm.durable.opening import held, seen  # noqa: PLC0415

    core = seen(new, path, progress, follow=follow) if read_only else held(new, path, durability, interval, progress)
    core.catalog.database = database_name(fspath(path))
    return set_up(Database(core))


def __getattr__(name: str) -> Any:
    if name == "__version__":
        value: Any = _version()
    elif name in _PLACES:
        value = getattr(importlib.import_module(_PLACES[name]), name)
    else:
        raise AttributeError(f"module 'ivm' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_PLACES, "__version__"})


def _version() -> str:
    metadata = importlib.import_module("importlib.metadata")
    try:
        return str(metadata.version("ivm-engine"))
    except metadata.PackageNotFoundError:
        return "0"
