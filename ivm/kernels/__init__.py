"""Compiled loops over plain arrays: hash, probe, group, merge, sort, consolidate. No objects, no policy.

What is compiled is kept beside the modules. It depends on all of them, since kernels call each other, so its names bear
a digest of them all; what has another one is removed.
"""

from __future__ import annotations

import contextlib
import hashlib
from pathlib import Path

_STAMP = "kernels.stamp"
_COMPILED = ("*.loop", "*.nbi", "*.nbc")  # the latter two are numba's own


def _digest(folder: Path) -> str:
    """Of the names and texts of a folder's modules."""
    digest = hashlib.sha256()
    for path in sorted(folder.glob("*.py")):
        text = path.read_bytes()
        digest.update(f"{path.name} {len(text)}\n".encode() + text)
    return digest.hexdigest()


def _forget_stale(folder: Path, digest: str) -> None:
    """Remove the compiled kernels of `folder` unless they were made from the files that are there now."""
    stamp = folder / "__pycache__" / _STAMP
    if stamp.exists() and stamp.read_bytes() == digest.encode():
        return
    for pattern in _COMPILED:
        for compiled in stamp.parent.glob(pattern):
            compiled.unlink(missing_ok=True)
    stamp.parent.mkdir(exist_ok=True)
    stamp.write_bytes(digest.encode())


SOURCES = _digest(Path(__file__).parent)
"""Tells this state of the kernels from all others."""

# Where nothing may be written, nothing stale was written either: an installation replaces the folder as a whole.
with contextlib.suppress(OSError):
    _forget_stale(Path(__file__).parent, SOURCES)
