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
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from ivm.kernels.compiling.folder import read_beside, replace
from ivm.kernels.compiling.sources import FOLDER, digest, environment
from ivm.kernels.compiling.targets import Target

_FORMAT = "ivm kernels 2"
_HEADER = 128
_DIGEST = 16


@dataclass(frozen=True, slots=True)
class Entry:
    """A compiled kernel: what numba knows of it, its object code, and its bitcode, for compiling a caller."""

    about: bytes
    code: bytes
    bitcode: bytes


def key(kernel: str, types: str, target: Target) -> str:
    """The key of a kernel (`folder.module.function`) compiled for types that are written as in `signatures.txt`."""
    module = kernel.rpartition(".")[0]
    text = repr((_FORMAT, kernel, types, target.name, digest(module), environment()))
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def path_for(target: Target, code: Path = FOLDER) -> Path:
    """Where the archive of a baseline lies."""
    return code / "machine" / f"{target.name}.kernels"


class Archive:
    """What is in an archive."""

    def __init__(self, content: bytes, index: Mapping[str, list[tuple[int, int, str]]]) -> None:
        self._content = content
        self._index = index

    def __contains__(self, key: str) -> bool:
        """Whether there is an entry of this key, damaged or not."""
        return key in self._index

    def __len__(self) -> int:
        """The number of entries."""
        return len(self._index)

    def about(self, key: str) -> bytes | None:
        """What numba knows of an entry; None if there is none, or it is damaged."""
        return self._part(key, 0)

    def code(self, key: str) -> bytes | None:
        """Its object code."""
        return self._part(key, 1)

    def bitcode(self, key: str) -> bytes | None:
        """Its bitcode."""
        return self._part(key, 2)

    def entry(self, key: str) -> Entry | None:
        """All of it."""
        about, code, bitcode = self.about(key), self.code(key), self.bitcode(key)
        return None if about is None or code is None or bitcode is None else Entry(about, code, bitcode)

    def _part(self, key: str, number: int) -> bytes | None:
        if key not in self._index:
            return None
        at, length, seal = self._index[key][number]
        packed = self._content[at : at + length]
        return zlib.decompress(packed) if _seal(packed) == seal else None


def open_archive(path: Path, code: Path) -> Archive | None:
    """The archive of this name; None if there is none, it is damaged, or not as safe as the modules in `code`."""
    content = read_beside(path, code)
    if content is None:
        return None
    try:
        name, length, seal = content[:_HEADER].decode().split("\t")[:3]
        index = content[_HEADER : _HEADER + int(length)]
    except ValueError:
        return None
    return Archive(content, json.loads(index)) if name == _FORMAT and _seal(index) == seal else None


def write_archive(path: Path, entries: Mapping[str, Entry]) -> None:
    """Put an archive of these entries in place of what is there, whole or not at all. OSError if that fails."""
    packed = {name: [zlib.compress(part) for part in _parts(entry)] for name, entry in sorted(entries.items())}
    start = _HEADER + len(_index_of(packed, 10**9))  # the index with the longest places that there can be
    index_text = _index_of(packed, start).ljust(start - _HEADER)
    header = f"{_FORMAT}\t{len(index_text)}\t{_seal(index_text)}\t".encode().ljust(_HEADER)
    path.parent.mkdir(parents=True, exist_ok=True)
    blobs = b"".join(blob for name in packed for blob in packed[name])
    replace(path, header + index_text + blobs, 0o644)


def _parts(entry: Entry) -> Iterable[bytes]:
    return (entry.about, entry.code, entry.bitcode)


def _index_of(packed: Mapping[str, list[bytes]], start: int) -> bytes:
    index = {}
    for name, blobs in packed.items():
        places = []
        for blob in blobs:
            places.append((start, len(blob), _seal(blob)))
            start += len(blob)
        index[name] = places
    return json.dumps(index).encode()


def _seal(content: bytes) -> str:
    return hashlib.blake2b(content, digest_size=_DIGEST).hexdigest()
