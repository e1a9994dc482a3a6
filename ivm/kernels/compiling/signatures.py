"""The signatures that kernels are compiled for ahead, and how they are written.

`signatures.txt` beside the folders of kernels has a line for each: the kernel and the types of its arguments, in
numba's notation (`int64[:, ::1]` is an array of two dimensions, its rows one after the other; `const` is one that may
not be written to). The tests fail where the engine calls a kernel with types that are not there; `make kernels` adds
them.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from ivm.kernels.compiling.sources import FOLDER

LIST = FOLDER / "signatures.txt"


def read_signatures(path: Path = LIST) -> list[tuple[str, str]]:
    """(kernel, types of its arguments) of each line; a kernel is `folder.module.function`."""
    found = []
    for line in path.read_text(encoding="utf-8").splitlines():
        kernel, _, rest = line.partition("(")
        found.append((kernel, rest.removesuffix(")")))
    return found


def write_signatures(signatures: Iterable[tuple[str, str]], path: Path = LIST) -> None:
    """Write the lines in order, each once."""
    lines = sorted({f"{kernel}({types})\n" for kernel, types in signatures})
    path.write_text("".join(lines), encoding="utf-8")
