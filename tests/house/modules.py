"""The project's modules, read as syntax trees: what the house tests look at."""

from __future__ import annotations

import ast
import gc
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("catalog", "sql", "ivm", "tpch", "benchmarks")

# A scan that finds nothing shows nothing; the house had more modules than this on the day it was built.
AT_LEAST = 120


@dataclass(frozen=True)
class Module:
    """One source file: its dotted name, its text and its syntax tree."""

    name: str
    path: Path
    text: str
    tree: ast.Module

    @cached_property
    def nodes(self) -> tuple[ast.AST, ...]:
        """All nodes of the tree, from the outside in."""
        return tuple(ast.walk(self.tree))

    def imports(self) -> Iterator[tuple[int, str, str | None]]:
        """Every import in the file, wherever it stands: line, module named, name taken from it (None: the module)."""
        for node in self.nodes:
            if isinstance(node, ast.Import):
                yield from ((node.lineno, alias.name, None) for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                assert node.level == 0, f"{self.path}:{node.lineno}: relative import"
                assert node.module is not None
                yield from ((node.lineno, node.module, alias.name) for alias in node.names)


@cache
def modules(*packages: str) -> tuple[Module, ...]:
    """The modules of the packages (all of `PACKAGES` if none is named), in order of their names."""
    found = []
    for package in packages or PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            parts = path.relative_to(ROOT).with_suffix("").parts
            name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
            name = name if is_within(name, "ivm") else f"ivm.{name}"
            found.append(_module(name, path))
    gc.freeze()  # millions of nodes that stay, and that every collection would look through
    return tuple(found)


@cache
def _module(name: str, path: Path) -> Module:
    text = path.read_text()
    return Module(name, path.relative_to(ROOT), text, ast.parse(text, str(path)))


@cache
def names() -> frozenset[str]:
    """The dotted names of all modules."""
    return frozenset(module.name for module in modules())


def targets(module: Module) -> Iterator[tuple[int, str]]:
    """The modules that a module imports, as precisely as the import says: line, dotted name.

    `from a.b import c` names a.b.c if that is a module of ours, else a.b.
    """
    for line, source, name in module.imports():
        whole = f"{source}.{name}"
        yield line, whole if name is not None and whole in names() else source


def is_within(name: str, prefix: str) -> bool:
    """True if the dotted name is the prefix or lies below it."""
    return name == prefix or name.startswith(prefix + ".")
