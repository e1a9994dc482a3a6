"""Whether the files of a database are what was written, and what is affected where they are not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ivm.catalog.errors import StorageError
from ivm.durable.files import read_batches
from ivm.durable.history import Damage, Entry, history, whole_before
from ivm.durable.manifest import NAME, Manifest, read_manifest
from ivm.durable.names import NAME as NAMES
from ivm.durable.names import read_names
from ivm.storage.certain import NAME as NOTE
from ivm.storage.certain import noted
from ivm.storage.log import first_of, log_files
from ivm.storage.storage import Readable


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
    problems: Sequence[Problem]


def checked(storage: Readable) -> Checked:
    """What can be opened of a database, and all that is wrong with its files, which stay as they are meanwhile.

    Cost: reads all of them.
    """
    try:
        manifest = read_manifest(storage)
    except StorageError as error:
        record = min(map(first_of, log_files(storage)), default=1) - 1
        unreadable = Problem(
            storage.where(NAME), str(error), f"everything up to record {record}: nothing can be opened"
        )
        return Checked(0, 0, [unreadable, *_of_log(storage, list(history(storage, record)), None)])
    found = list(history(storage, manifest.record if manifest else 0))
    whole, problems = whole_before(found), list(_of_checkpoint(storage, manifest)) if manifest else []
    begun = (manifest.record, manifest.time) if manifest else (0, 0)
    record, time = (whole[-1].number, whole[-1].time) if whole else begun
    problems += [*_of_log(storage, found, manifest), *_of_end(storage, found, begun[0]), *_of_names(storage)]
    return Checked(record, time, problems)


def _of_names(storage: Readable) -> Iterator[Problem]:
    try:
        read_names(storage)
    except StorageError as error:
        yield Problem(storage.where(NAMES), str(error), "what named subscriptions have acknowledged; they begin anew")


def _of_checkpoint(storage: Readable, manifest: Manifest) -> Iterator[Problem]:
    for what, written in manifest.files():
        try:
            read_batches(storage, written)
        except StorageError as error:
            yield Problem(storage.where(written.file), str(error), what)


def _of_log(storage: Readable, found: Sequence[Entry | Damage], manifest: Manifest | None) -> Iterator[Problem]:
    whole = whole_before(found)
    last = (whole[-1].number, whole[-1].time) if whole else (manifest.record, manifest.time) if manifest else None
    begun = f"after record {last[0]}, at time {last[1]}," if last else "from the beginning on"
    affects = f"what was committed {begun} cannot be opened"
    behind = [each for each in found[len(whole) :] if isinstance(each, Entry)]
    if behind:
        affects += (
            f"; of it {len(behind)} records are whole, up to record {behind[-1].number}, at time {behind[-1].time}"
        )
    for each in found:
        if isinstance(each, Damage) and not each.is_torn:
            yield Problem(storage.where(each.file), each.why, affects)


def _of_end(storage: Readable, found: Sequence[Entry | Damage], begun: int) -> Iterator[Problem]:
    """What is missing at the end of a log that begins behind record `begun`, as far as that can be known."""
    last = found[-1] if found else None
    if isinstance(last, Damage) and not last.is_torn:
        return  # what is behind cannot be opened, which is said
    certain, torn = noted(storage), last if isinstance(last, Damage) else None
    end = begun if last is None else last.number - (torn is not None)
    why = f"; {torn.why}" if torn is not None else ""
    if certain is None:
        told = (
            f"whether there were others behind record {end} that were acknowledged is not known; opening it writes it"
        )
        yield Problem(storage.where(NOTE), f"it is missing, or damaged{why}", told, True)
    elif end < certain:
        what = f"the log ends at record {end}, and record {certain} was written and synced{why}"
        lost = f"what records {end + 1} to {certain} held, which was acknowledged"
        or_copied = "it is lost, or the files were copied while others were written"
        yield Problem(storage.where(max(log_files(storage))), what, f"{lost}: {or_copied}")
    elif torn is not None:
        told = "nothing: a crash has cut a commit short, or it is being written, and nobody was told that it is there"
        yield Problem(storage.where(torn.file), torn.why, told, True)
