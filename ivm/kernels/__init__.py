"""Compiled loops over plain arrays: hash, probe, group, merge, sort, consolidate. No objects, no policy.

Numba keeps compiled kernels beside their sources and compiles one anew when its own file changes, but not when a kernel
changes that it calls. So all of them are forgotten here as soon as any file of this package is another one.
"""

from __future__ import annotations

import contextlib
from pathlib import Path

_STAMP = "kernels.stamp"


def _forget_stale(folder: Path) -> None:
    """Remove the compiled kernels of `folder` unless they were made from the files that are there now."""
    files = sorted((path.name, path.stat().st_mtime_ns, path.stat().st_size) for path in folder.glob("*.py"))
    stamp, present = folder / "__pycache__" / _STAMP, repr(files)
    if stamp.exists() and stamp.read_text(encoding="utf-8") == present:
        return
    for pattern in ("*.nbi", "*.nbc"):
        for compiled in stamp.parent.glob(pattern):
            compiled.unlink(missing_ok=True)
    stamp.parent.mkdir(exist_ok=True)
    stamp.write_text(present, encoding="utf-8")


# Where nothing may be written, nothing stale was written either: an installation replaces the folder as a whole.
with contextlib.suppress(OSError):
    _forget_stale(Path(__file__).parent)
