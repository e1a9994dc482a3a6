"""How a directory is opened: by the one process that holds it, or beside that to be read."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from os import PathLike

from ivm.catalog.errors import Error, MissingFunctionError, StorageError
from ivm.durable import ending
from ivm.durable.following import Following, follow_on
from ivm.durable.recovery import Told, open_storage, reached
from ivm.engine.installing import Progress
from ivm.session.core import Core, engine_of
from ivm.session.introspection import following_of
from ivm.session.subscribed_queries import forget_unheard
from ivm.storage.directory import Directory
from ivm.storage.log import Durability
from ivm.storage.pinned import pinned
from ivm.storage.storage import Readable


def held(
    new: Callable[[], Core], path: str | PathLike[str], durability: Durability, interval: float, progress: Told | None
) -> Core:
    """A `new` database that is what a directory holds, which nobody else can open to write."""
    with ExitStack() as undo:
        storage = _only(path)
        undo.callback(storage.close)
        core = new()
        undo.callback(core.close)
        with _recovering(core, storage, progress) as told:
            open_storage(core, storage, durability, interval, told)
            forget_unheard(core)  # a crash may leave what was made for a name that was not written
        undo.pop_all()
    core.is_copied = False
    journal = engine_of(core).journal
    if journal is not None:
        ending.opened(core, journal, storage.where())
    return core


def seen(
    new: Callable[[], Core], path: str | PathLike[str], progress: Told | None, *, follow: bool, fills: bool = True
) -> Core:
    """A `new` database that is what a directory holds now, whoever writes to it meanwhile; to `follow` it, as it goes
    on. `fills`: False leaves views out, for who reads tables alone, and does not follow.
    """
    with ExitStack() as undo:
        directory = Directory(path, writable=False)
        undo.callback(directory.close)
        storage = pinned(directory)
        core = new()
        undo.callback(core.close)
        with _recovering(core, storage, progress) as told:
            there = reached(core, storage, told, fills=fills)
        core.read_only = storage.where()
        if follow:
            following = Following(core, new, directory, there)
            core.more = {"ivm_following": lambda: following_of(following)}
            follow_on(core, following)
            undo.pop_all()
            return core
        undo.pop_all()
    directory.close()
    return core


@contextmanager
def _recovering(core: Core, storage: Readable, progress: Told | None) -> Iterator[Told | None]:
    """What to tell `progress`. StorageError for whatever comes of files that hold what ivm does not write."""
    raised: list[BaseException] = []

    def told(now: Progress) -> None:
        try:
            if progress is not None:
                progress(now)
        except BaseException as error:
            raised.append(error)
            raise

    try:
        given = None if progress is None else told
        core.begin_defining(given)
        yield given
        core.begin_defining(None)
    except BaseException as error:
        if raised:
            raise raised[0] from None
        if isinstance(error, MissingFunctionError):
            raise MissingFunctionError(
                f"cannot open database {storage.where()} without its functions: what was committed since its last "
                f"checkpoint needs them; open it with ivm.connect(.., functions={{..}}): {error}"
            ) from None
        if isinstance(error, Error | MemoryError) or not isinstance(error, Exception):
            raise
        if isinstance(error, OSError):
            where = storage.where(error.filename or "")
            raise StorageError(
                f"cannot open database {storage.where()}: {where}: {error.strerror or error}; see to that, and "
                "open it again"
            ) from error
        raise StorageError(
            f"cannot open database {storage.where()}: {type(error).__name__}: {error}; its files cannot be read, or "
            "hold what ivm does not write. See `ivm check`, or restore it from a backup"
        ) from error


def _only(path: str | PathLike[str]) -> Directory:
    """A directory, held by this process, after what it held and has lost hold of was closed."""
    try:
        return Directory(path)
    except StorageError:
        ending.close_lost()
        return Directory(path)
