"""A folder: whole files under names that are written once, by the few calls that any place for files can do.

What several machines share is kept so: a directory that all of them see, a distributed file system, an object store. A
file is never changed; what is said anew is said under another name. See `ivm.storage.storage` for what one process has
to itself, and writes on.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable


class Folder(Protocol):
    """Whole files. Names are made of letters, digits, dashes and dots, in parts with a slash between. Any thread calls.

    An OSError of a call that writes tells nothing: it may have been done, or be done later. The same call again, with
    the same bytes, does no harm.
    """

    def where(self, name: str = "") -> str:
        """What a user calls the folder, or a file of it, in messages."""
        ...

    def put(self, name: str, data: bytes) -> None:
        """A file of these bytes, whole or not there. It survives a loss of power, and all can read it, on return."""
        ...

    def put_new(self, name: str, data: bytes) -> bool:
        """The same if nothing has that name, and whether that was so. Of all who call, one is told so, at most.

        Nobody may be told so whose file is there all the same: an answer was lost, and the call made again.
        """
        ...

    def get(self, name: str) -> bytes:
        """The bytes of a file. FileNotFoundError if it is not there."""
        ...

    def names(self, under: str) -> list[str]:
        """The names of all files whose names have `under` and a slash in front of their last part, sorted."""
        ...

    def remove(self, name: str) -> None:
        """Let a file go, if it is there."""
        ...


@runtime_checkable
class Emptying(Protocol):
    """What a folder may have besides: one call that lets many files go."""

    def remove_under(self, under: str) -> None:
        """Let all files go whose names have `under` and a slash in front, and what the place has noted of that name."""
        ...


def remove_under(folder: Folder, under: str) -> None:
    """See `Emptying`. Cost: one call where the folder has it, else a list, and one for each file."""
    if isinstance(folder, Emptying):
        folder.remove_under(under)
        return
    for name in folder.names(under):
        folder.remove(name)


def names_of(under: str, last_parts: Sequence[str]) -> list[str]:
    """The names of files by their last parts, sorted, without those that are only being written."""
    return sorted(f"{under}/{each}" for each in last_parts if not each.startswith(ASIDE))


ASIDE = "."
"""What the last part of a name begins with while its file is being written."""
