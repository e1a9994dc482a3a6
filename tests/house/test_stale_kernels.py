"""Compiled kernels are known by the sources that they were made from."""

from __future__ import annotations

import ast
import os

import pytest

from ivm.kernels.compiling import sources


@pytest.fixture
def kernels(tmp_path):
    """Three modules, of which the first two import the one behind them."""
    (tmp_path / "lower").mkdir()
    (tmp_path / "caller.py").write_text("from ivm.kernels.lower.middle import (\n    f,\n)\n")
    (tmp_path / "lower" / "middle.py").write_text("import numpy\nfrom ivm.kernels import callee\n")
    (tmp_path / "callee.py").write_text("one = 1\n")
    forget()
    yield tmp_path
    forget()


def forget() -> None:
    for each in (sources._text, sources._imports, sources._with_imports):
        each.cache_clear()


def digests(folder) -> list[str]:
    forget()
    return [sources.digest(module, folder) for module in ("caller", "lower.middle", "callee")]


def test_a_change_is_one_of_all_that_import_the_module_at_any_remove(kernels) -> None:
    before = digests(kernels)
    assert len(set(before)) == 3
    os.utime(kernels / "callee.py", ns=(1, 1))
    assert digests(kernels) == before
    (kernels / "callee.py").write_text("two = 2\n")
    assert not set(digests(kernels)) & set(before)
    before = digests(kernels)
    (kernels / "caller.py").write_text("from ivm.kernels.lower.middle import g\n")
    caller, *others = digests(kernels)
    assert caller not in before
    assert others == before[1:]


def test_imports_are_those_that_the_modules_have() -> None:
    walked = 0
    for path in sources.FOLDER.rglob("*.py"):
        imported = set()
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and node.module == "ivm.kernels":
                imported |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("ivm.kernels."):
                named = str(node.module).removeprefix("ivm.kernels.")
                is_folder = (sources.FOLDER / named.replace(".", "/")).is_dir()
                imported |= {f"{named}.{alias.name}" for alias in node.names} if is_folder else {named}
            elif isinstance(node, ast.Import):
                imported |= {
                    a.name.removeprefix("ivm.kernels.") for a in node.names if a.name.startswith("ivm.kernels.")
                }
        module = ".".join(path.relative_to(sources.FOLDER).with_suffix("").parts)
        if module != sources._COMPILER and path.stem != "__init__":
            walked += len(imported)
            assert set(sources._imports(module, sources.FOLDER)) >= imported, module
    assert walked > 100
