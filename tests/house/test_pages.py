"""What a reader meets: every public thing is documented, no file is long, the engine knows no benchmark by name."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from tests.house.modules import AT_LEAST, PACKAGES, ROOT, modules

LONGEST = 400

Documented = ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


def public(body: list[ast.stmt]) -> Iterator[Documented]:
    """The public classes and functions of a body, with the public members of the classes."""
    for node in body:
        if isinstance(node, Documented) and not node.name.startswith("_") and not needs_none(node):
            yield node
            if isinstance(node, ast.ClassDef):
                yield from public(node.body)


def needs_none(node: Documented) -> bool:
    """True for an overload and a property's setter: what they belong to is documented."""
    decorators = [ast.unparse(decorator) for decorator in node.decorator_list]
    return any(d.rpartition(".")[2] in ("overload", "setter") for d in decorators)


def test_every_public_thing_has_a_docstring():
    checked = 0
    found = []
    for module in modules():
        if not ast.get_docstring(module.tree):
            found.append(f"{module.path}: no docstring")
        for node in public(module.tree.body):
            checked += 1
            if not ast.get_docstring(node):
                found.append(f"{module.path}:{node.lineno}: {node.name} has no docstring")
    assert not found, "\n".join(found)
    assert checked >= 2 * AT_LEAST


def test_no_file_is_long():
    files = [path for folder in (*PACKAGES, "tests", "setup") for path in (ROOT / folder).rglob("*.py")]
    lengths = {path.relative_to(ROOT): len(path.read_text().splitlines()) for path in files}
    long = {str(path): length for path, length in lengths.items() if length > LONGEST}
    assert not long, f"over {LONGEST} lines, split them: {long}"
    assert len(lengths) >= AT_LEAST


def benchmark_names() -> re.Pattern[str]:
    """The names of TPC-H that mean nothing else: its columns, and the relations that are no ordinary words."""
    schema = (ROOT / "tpch" / "schema.sql").read_text()
    columns = re.findall(r"^\s*(\w{1,2}_\w+)\s", schema, flags=re.MULTILINE)
    assert len(columns) == 61
    return re.compile(rf"\b({'|'.join(['tpc_?h', 'lineitem', 'partsupp', *columns])})", flags=re.IGNORECASE)


def words(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Every name and string of the code with its line; docstrings are prose, and left out."""
    prose = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=word) | ast.Attribute(attr=word) | ast.arg(arg=word) | ast.keyword(arg=str(word)):
                yield node.lineno, word
            case ast.FunctionDef(name=word) | ast.ClassDef(name=word):
                yield node.lineno, word
            case ast.Constant(value=str(word)) if id(node) not in prose:
                yield node.lineno, word


def test_the_engine_knows_no_benchmark_by_name():
    names = benchmark_names()
    found = []
    read = 0
    for module in modules("catalog", "sql", "ivm"):
        for line, word in words(module.tree):
            read += 1
            if names.search(word):
                found.append(f"{module.path}:{line}: {word}")
    assert not found, "\n".join(found)
    assert read > 100 * AT_LEAST
