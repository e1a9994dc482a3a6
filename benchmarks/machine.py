"""Where and on what a figure was measured, and how much memory it took."""

from __future__ import annotations

import hashlib
import os
import platform
import resource
import subprocess
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

_PACKAGES = ("numpy", "numba", "pyarrow", "duckdb")


def describe() -> dict[str, Any]:
    """The machine, the versions that matter and the commit (with '+' if the checkout has changes)."""
    return {
        "processor": _processor(),
        "cores": os.cpu_count(),
        "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "system": platform.platform(),
        "python": platform.python_version(),
        "packages": {name: version(name) for name in _PACKAGES},
        "commit": _commit(),
    }


def reset_peak() -> None:
    """Let `peak_bytes` count from now on, where the system can (Linux)."""
    clear = Path("/proc/self/clear_refs")
    if clear.exists():
        clear.write_text("5", encoding="ascii")


def peak_bytes() -> int:
    """The largest resident memory of this process since `reset_peak`, or where that cannot be, since its start."""
    status = Path("/proc/self/status")
    if not status.exists():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    line = next(line for line in status.read_text(encoding="ascii").splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) * 1024


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()


@cache
def state() -> str:
    """Tells the checkout as it is from any other, its changes included; as far as that is known."""
    try:
        return hashlib.sha256((_git("rev-parse", "HEAD") + _git("diff", "HEAD")).encode()).hexdigest()
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def _commit() -> str:
    try:
        return _git("rev-parse", "--short", "HEAD") + ("+" if _git("status", "--porcelain", "-uno") else "")
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def _git(*arguments: str) -> str:
    command = ["git", "-C", str(Path(__file__).parent), *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()
