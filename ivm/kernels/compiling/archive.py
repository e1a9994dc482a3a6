"""Machine code of many kernels in one file.

It lies in the folder `machine` beside the kernels, a file for each baseline, so that it is packed and removed with
them, and is as trustworthy as they are; `ivm.kernels.compiling.folder` sees to that. It begins with the name of the
format and the length and the digest of the index that follows. The index tells where the parts of each entry are and
what their digests must be: a file that was cut off or damaged has no such entry, rather than a wrong one.

An entry's key is a digest of all that its machine code depends on, so an entry is never out of date: it is not found.
"""

from __future__ import annotations

import hashlib
import json
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from ivm.kernels.compiling.folder import read_beside, replace
from ivm.kernels.compiling.sources import FOLDER, digest, environment
from ivm.kernels.compiling.targets import Target

_FORMAT = "ivm kernels 4"
_HEADER = 128
_DIGEST = 16


class Entry(NamedTuple):
    """A compiled kernel: what numba knows of it, its object code, and its bitcode, for compiling a caller.

    `entry`: the object code by which Python enters it, empty if there can be none; see `ivm.kernels.compiling.entry`.
    """

    about: bytes
    code: bytes
    bitcode: bytes
    entry: bytes


ABOUT, CODE, BITCODE, ENTRY = range(4)


def key(kernel: str, types: str, target: Target) -> str:
    """The key of a kernel (`folder.module.function`) compiled for types that are written as in `signatures.txt`."""
    module = kernel.rpartition(".")[0]
    text = repr((_FORMAT, kernel, types, target.name, digest(module), environment()))
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def path_for(target: Target, code: Path = FOLDER) -> Path:
    """Where the archive of a baseline lies."""
    return code / "machine" / f"{target.name}.kernels"


class Archive:
    """What is in an archive: the parts of its entries, one after the other, and the index of where each lies."""

    def __init__(self, parts: memoryview, index: Mapping[str, list[tuple[int, int, str]]]) -> None:
        self._parts = parts
        self._index = index

    def part(self, key: str, number: int) -> bytes | None:
        """A part of an entry, numbered as in `Entry`; None if there is no such entry, or the part is damaged."""
        if key not in self._index:
            return None
        at, length, seal = self._index[key][number]
        packed = self._parts[at : at + length]
        return zlib.decompress(packed) if _seal(packed) == seal else None

    def entry(self, key: str) -> Entry | None:
        """All of it."""
        parts = [part for number in range(len(Entry._fields)) if (part := self.part(key, number)) is not None]
        return Entry(*parts) if len(parts) == len(Entry._fields) else None


def open_archive(path: Path, code: Path) -> Archive | None:
    """The archive of this name; None if there is none, it is damaged, or not as safe as the modules in `code`."""
    content = read_beside(path, code)
    if content is None:
        return None
    try:
        name, length, seal = content[:_HEADER].decode().split("\t")[:3]
        begin = _HEADER + int(length)
    except ValueError:
        return None
    index = content[_HEADER:begin]
    if name != _FORMAT or _seal(index) != seal:
        return None
    return Archive(memoryview(content)[begin:], json.loads(index))


def write_archive(path: Path, entries: Mapping[str, Entry]) -> None:
    """Put an archive of these entries in place of what is there, whole or not at all. OSError if that fails."""
    index: dict[str, list[tuple[int, int, str]]] = {}
    parts, end = [], 0
    for name, entry in sorted(entries.items()):
        index[name] = []
        for part in map(zlib.compress, entry):
            index[name].append((end, len(part), _seal(part)))
            parts.append(part)
            end += len(part)
    index_text = json.dumps(index).encode()
    header = f"{_FORMAT}\t{len(index_text)}\t{_seal(index_text)}\t".encode().ljust(_HEADER)
    path.parent.mkdir(parents=True, exist_ok=True)
    replace(path, header + index_text + b"".join(parts), 0o644)


def _seal(content: bytes | memoryview) -> str:
    return hashlib.blake2b(content, digest_size=_DIGEST).hexdigest()
