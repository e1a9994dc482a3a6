"""A disk in memory that writes down what is done to it, can fail at any call, and knows what a loss of power may leave."""

from __future__ import annotations

import errno
import random
from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa

from ivm.storage.certain import NAME as CERTAIN
from ivm.storage.storage import Storage, is_aside

SECTOR = 512


class DiskFile:
    def __init__(self, disk: Disk, name: str, number: int) -> None:
        self.disk, self.name, self.number = disk, name, number

    def write(self, at, data):
        whole = b"".join(bytes(each) for each in data)
        kept = self.disk.meet("write", self.name, len(whole))
        self.disk.did("write", self.number, at, whole[:kept])
        if kept < len(whole):
            raise OSError(errno.ENOSPC, "No space left on device")

    def truncate(self, size):
        self.disk.meet("truncate", self.name)
        self.disk.did("truncate", self.number, size)

    def sync(self):
        self.disk.meet("sync", self.name)
        self.disk.did("sync", self.number)

    def close(self):
        pass


class Disk(Storage):
    """See `ivm.storage.storage.Storage`. `fails`: at which call (of `calls` so far), and how: an errno, or "short".
    `failed`: what calls have done so, and of which file.

    Calls that concern the note of what is certain are not counted; with `without_note` each of them fails.
    """

    without_note = False

    def __init__(self, names: dict[str, bytes] | None = None) -> None:
        self.steps: list[tuple[Any, ...]] = []
        self.calls = 0
        self.fails: dict[int, int | str] = {}
        self.failed: list[tuple[str, str]] = []
        self._files: list[bytearray] = []
        self._names: dict[str, int] = {}
        self._notes: set[int] = set()
        for name, content in (names or {}).items():
            self._names[name] = len(self._files)
            self._files.append(bytearray(content))
        self._first = {name: bytes(self._files[number]) for name, number in self._names.items()}

    def meet(self, what, name="", size=0):
        """Count a call, and fail if it is its turn; how many of `size` bytes are written."""
        if name == CERTAIN:
            if self.without_note:
                raise OSError(errno.ENOSPC, "made to fail")
            return size
        self.calls += 1
        failure = self.fails.get(self.calls)
        if failure == "short":
            return size // 2
        if failure is not None:
            self.failed.append((what, name))
            raise OSError(failure, "made to fail")
        return size

    def did(self, *step):
        self.steps.append(step)
        _do(step, self._files, self._names)

    def where(self, name=""):
        return f"disk/{name}" if name else "disk"

    def names(self):
        return sorted(name for name in self._names if not is_aside(name))

    def create(self, name):
        self.meet("create", name)
        self.did("create", name)
        if name == CERTAIN:
            self._notes.add(self._names[name])
        return DiskFile(self, name, self._names[name])

    def open(self, name):
        self.meet("open", name)
        return DiskFile(self, name, self._names[name])

    def read(self, name, *, mapped=True):
        if name not in self._names:
            raise FileNotFoundError(errno.ENOENT, "No such file", name)
        return pa.py_buffer(bytes(self._files[self._names[name]]))

    def rename(self, old, new):
        self.meet("rename", old)
        self.did("rename", old, new)

    def remove(self, name):
        self.meet("remove", name)
        self.did("remove", name)

    def sync_names(self):
        self.meet("sync_names")
        self.did("sync_names")

    def close(self):
        pass

    def files(self) -> dict[str, bytes]:
        """All there is now."""
        return {name: bytes(self._files[number]) for name, number in self._names.items()}

    @staticmethod
    def replayed(steps: Sequence[tuple[Any, ...]]) -> dict[str, bytes]:
        """All there is after these steps on an empty disk."""
        files, names = list[bytearray](), dict[str, int]()
        for step in steps:
            _do(step, files, names)
        return {name: bytes(files[number]) for name, number in names.items()}

    def after_loss(self, steps: int, chance: random.Random) -> Iterator[dict[str, bytes]]:
        """What may be there after so many steps and a loss of power: what was synced, and any of what was not."""
        is_note = steps and self.steps[steps - 1][:2] in [("write", number) for number in self._notes]
        for choice in ("all", "none") if is_note else ("all", "none", "sectors", "prefix", "sectors"):
            yield self._left(self.steps[:steps], choice, chance)

    def _left(self, steps: Sequence[tuple[Any, ...]], choice: str, chance: random.Random) -> dict[str, bytes]:
        names_at = max((i for i, step in enumerate(steps) if step[0] == "sync_names"), default=-1)
        name_steps = [i for i, step in enumerate(steps) if step[0] in ("create", "rename", "remove")]
        unsure = [i for i in name_steps if i > names_at]
        kept_names = {"all": len(unsure), "none": 0}.get(choice, chance.randint(0, len(unsure)))
        lost = set(unsure[kept_names:])
        files, names = [bytearray(self._first[name]) for name in self._first], {n: i for i, n in enumerate(self._first)}
        synced: dict[int, bytes] = dict(enumerate(map(bytes, files)))
        for i, step in enumerate(steps):
            if step[0] == "create":
                files.append(bytearray())
                synced[len(files) - 1] = b""
                if i not in lost:
                    names[step[1]] = len(files) - 1
            elif step[0] in ("rename", "remove"):
                if i not in lost:
                    _do(step, files, names)
            elif step[0] == "sync":
                synced[step[1]] = bytes(files[step[1]])
            else:
                _do(step, files, names)
        return {name: _torn(synced[number], bytes(files[number]), choice, chance) for name, number in names.items()}


def _torn(old: bytes, new: bytes, choice: str, chance: random.Random) -> bytes:
    """Of a file that was synced as `old` and written to be `new`: what is there."""
    if choice in ("all", "none") or old == new:
        return new if choice == "all" else old
    if choice == "prefix":
        cut = chance.randint(0, len(new))
        return new[:cut] if cut > len(old) or not new.startswith(old) else new[: max(cut, len(old))]
    size = chance.choice([len(old), len(new), max(len(old), len(new))])
    made = bytearray(size)
    for begin in range(0, size, SECTOR):
        source = chance.choice([old, new])
        part = source[begin : begin + SECTOR][: size - begin]
        made[begin : begin + len(part)] = part
    if new.startswith(old):  # what was synced is not written again
        made[: len(old)] = old
    return bytes(made)


def _do(step, files, names):
    match step:
        case ("write", number, at, data):
            file = files[number]
            if len(file) < at:
                file.extend(bytes(at - len(file)))
            file[at : at + len(data)] = data
        case ("truncate", number, size):
            del files[number][size:]
        case ("create", name):
            names[name] = len(files)
            files.append(bytearray())
        case ("rename", old, new):
            names[new] = names.pop(old)
        case ("remove", name):
            names.pop(name, None)
