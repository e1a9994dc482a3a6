"""Compiled loops on disk and in memory, by their source text.

A loop's text is written to a file named by its hash, so that numba's own cache, which lies beside the file,
finds what an earlier process compiled. The helpers that a loop calls are compiled into it, so their text counts
too, and so do versions.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import sys
import tempfile
from collections.abc import Callable
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

import ivm.kernels

Kernel = Callable[..., int]

_HELPERS = ("calendar.py", "checked.py", "wide.py")


def cache_directory() -> Path:
    """Where loops are kept: `IVM_CACHE_DIR`, else the platform's cache directory for users."""
    chosen = os.environ.get("IVM_CACHE_DIR")
    if chosen:
        return Path(chosen)
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA", Path.home() / "AppData" / "Local"))
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache"))
    return base / "ivm"


@cache
def _versions() -> bytes:
    """What a compiled loop depends on beside its own text."""
    parts = [metadata.version("numba"), metadata.version("numpy"), metadata.version("llvmlite")]
    parts.append(".".join(map(str, sys.version_info[:3])))
    for helper in _HELPERS:
        parts.append((Path(ivm.kernels.__path__[0]) / helper).read_text(encoding="utf-8"))
    return "\n".join(parts).encode()


def digest(source: str) -> str:
    """The name of a loop: a hash of its text and of all that it is compiled with."""
    return hashlib.sha256(_versions() + source.encode()).hexdigest()[:32]


def load(source: str) -> Kernel:
    """The compiled loop; about 0.5 s if no process has compiled it yet, else some milliseconds.

    Raises whatever writing, importing or compiling the text raises.
    """
    name = f"ivm_loop_{digest(source)}"
    path = _written(name, source)
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    kernel: Any = module.loop
    return kernel


def _written(name: str, source: str) -> Path:
    """The file of the text. One that exists stays as it is, since numba compares its time stamp."""
    try:
        return _write(cache_directory() / "loops", name, source)
    except OSError:
        # A read-only home must not stop anybody; the price is compiling in every process.
        return _write(Path(tempfile.mkdtemp(prefix="ivm-loops-")), name, source)


def _write(directory: Path, name: str, source: str) -> Path:
    path = directory / f"{name}.py"
    if path.exists():
        return path
    directory.mkdir(parents=True, exist_ok=True)
    handle, draft = tempfile.mkstemp(dir=directory, suffix=".tmp")
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(source)
    os.replace(draft, path)
    return path
