"""Reading files that another process may write, and put others in place of, meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from catalog.errors import StorageError
from ivm.storage.storage import Storage

T = TypeVar("T")
_TRIES = 5


def undisturbed(storage: Storage, work: Callable[[], T]) -> T:
    """What `work` makes of the files; where it fails, and files have come or gone since it began, it is done again.

    StorageError if that happens time and again, or for what is wrong with files that stay.
    """
    for _ in range(_TRIES):
        names = storage.names()
        try:
            return work()
        except (StorageError, FileNotFoundError):
            if storage.names() == names:
                raise
    raise StorageError(
        f"cannot read {storage.where()}: its files were replaced {_TRIES} times while they were read; try again when "
        "less is written"
    )
