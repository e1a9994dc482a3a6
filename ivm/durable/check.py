"""Whether the files of a database are what was written, and what is affected where they are not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ivm.durable.history import Damage, Entry, history, whole_before
from ivm.storage.storage import Storage


@dataclass(frozen=True, slots=True)
class Problem:
    """A file, what is wrong with it, what of the database that affects. `harmless`: a crash may leave it."""

    file: str
    what: str
    affects: str
    harmless: bool = False


@dataclass(frozen=True, slots=True)
class Checked:
    """The last record before anything is wrong, the logical time after it (0 and 0: there is none), what is wrong."""

    record: int
    time: int
    problems: list[Problem]


def checked(storage: Storage) -> Checked:
    """What can be opened of a database, and all that is wrong with its files.

    FileNotFoundError where another process takes files away meanwhile. Cost: reads all of them.
    """
    found = list(history(storage))
    whole = whole_before(found)
    last = whole[-1] if whole else None
    return Checked(last.number if last else 0, last.time if last else 0, list(_of_log(storage, found)))


def _of_log(storage: Storage, found: Sequence[Entry | Damage]) -> Iterator[Problem]:
    whole = whole_before(found)
    begun = f"after record {whole[-1].number}, at time {whole[-1].time}," if whole else "from the beginning on"
    affects = f"what was committed {begun} cannot be opened"
    behind = [each for each in found[len(whole) :] if isinstance(each, Entry)]
    if behind:
        affects += (
            f"; of it {len(behind)} records are whole, up to record {behind[-1].number}, at time {behind[-1].time}"
        )
    for each in found:
        if isinstance(each, Damage):
            torn = (
                "nothing: a crash has cut a commit short, or it is being written, and nobody was told that it is there"
            )
            yield Problem(storage.where(each.file), each.why, torn if each.is_torn else affects, each.is_torn)
