"""What a kernel's machine code depends on, as digests: its module and those that it imports, by their texts.

A kernel is compiled together with what it calls, so a change of a module changes the digests of all that import it, at
any remove. What `compiled` imports only keeps and finds machine code; it is left out.
"""

from __future__ import annotations

import hashlib
import platform
import re
import sys
from functools import cache
from importlib import metadata
from pathlib import Path

FOLDER = Path(__file__).parent.parent
"""Where the kernels are, in folders by duty; a module is named from here on, as `hashing.index` is."""

_COMPILER = "compiling.compiled"
_IMPORT = re.compile(
    r"^[ \t]*(?:from|import)[ \t]+ivm\.kernels((?:\.\w+)*)(?:[ \t]+import[ \t]+([\w, \t]+))?", re.MULTILINE
)


def digest(module: str, folder: Path = FOLDER) -> str:
    """Tells this state of a module, and of all that it imports of the kernels, from others."""
    found = hashlib.sha256()
    for name in sorted(_with_imports(module, folder)):
        text = _text(name, folder)
        found.update(f"{name} {len(text)}\n{text}".encode())
    return found.hexdigest()


def size(module: str, folder: Path = FOLDER) -> int:
    """How much text a module and all that it imports of the kernels have: a guess at what compiling them takes."""
    return sum(len(_text(name, folder)) for name in _with_imports(module, folder))


def shared(one: str, other: str, folder: Path = FOLDER) -> int:
    """How much text two modules have in common, with all that they import of the kernels."""
    both = _with_imports(one, folder) & _with_imports(other, folder)
    return sum(len(_text(name, folder)) for name in both)


@cache
def environment() -> str:
    """What else machine code depends on: versions of compiler, Python and numpy, and the kind of machine."""
    parts = [f"{name} {metadata.version(name)}" for name in ("numba", "llvmlite", "numpy")]
    python = f"{sys.implementation.name} {sys.version_info.major}.{sys.version_info.minor}"
    return ", ".join([*parts, python, sys.platform, platform.machine()])


@cache
def _with_imports(module: str, folder: Path) -> frozenset[str]:
    found: set[str] = set()
    waiting = [module]
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += _imports(name, folder)
    return frozenset(found)


@cache
def _imports(module: str, folder: Path) -> tuple[str, ...]:
    if module == _COMPILER:
        return ()
    named: list[str] = []
    for path, names in _IMPORT.findall(_text(module, folder)):
        named += [path, *(f"{path}.{name.split()[0]}" for name in names.split(",") if name.strip())]
    return tuple(name[1:] for name in named if _path(name[1:], folder).is_file())


@cache
def _text(module: str, folder: Path) -> str:
    return _path(module, folder).read_text(encoding="utf-8")


def _path(module: str, folder: Path) -> Path:
    return folder / f"{module.replace('.', '/')}.py"
